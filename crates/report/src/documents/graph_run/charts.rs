//! The charts of a graph run: the CPU time and response times of its proxies, measured and predicted.

use hoptax_result::{CheckedTime, GraphRunNumber, GraphRunResult};

use super::{cpu_time, dearest_first, measured};
use crate::chart::{Chart, IntervalRow, Intervals, Tone};
use crate::document::Section;
use crate::quantity::Quantity;

/// The sections of the charts; those without numbers are left out.
pub(super) fn charts(result: &GraphRunResult) -> Vec<Section> {
    let note = "Each proxy for each of its requests, and all of them for each request to the entry.";
    let cpu = Intervals::new("CPU time of each proxy", "CPU time for each request, us", cpu(result));
    let cpu = Section::of_charts("CPU time of each proxy", note, cpu.map(Chart::Intervals));
    let note = "Times that are not known with an interval are left out. Added: with proxies less without.";
    let times = Intervals::new("response time at the entry", "response time, us", at_entry(result));
    let added = Intervals::new("time added by all proxies", "added response time, us", added(result));
    let times = times.into_iter().chain(added).map(Chart::Intervals);
    cpu.into_iter().chain(Section::of_charts("Response time at the entry", note, times)).collect()
}

/// A measured number, and below it the prediction; withheld numbers are left out.
fn rows(name: &str, measured: Option<Quantity>, predicted: Option<&CheckedTime>) -> Vec<IntervalRow> {
    let measured = measured.map(|measured| IntervalRow::measured(name, measured));
    let predicted = predicted.map(|time| Quantity::level(&time.predicted_us, "us"));
    measured.into_iter().chain(predicted.map(|predicted| IntervalRow::predicted(name, predicted))).collect()
}

fn cpu(result: &GraphRunResult) -> Vec<IntervalRow> {
    let check = result.check.as_ref();
    let mut all = match result.proxies.len() {
        0 | 1 => Vec::new(),
        _ => rows(
            "all proxies",
            measured(result, GraphRunNumber::AllCpu),
            check.and_then(|check| check.all.as_ref()),
        ),
    };
    for (number, proxy) in dearest_first(result) {
        let predicted = check.and_then(|check| check.proxies.get(number)?.cpu.as_ref());
        all.extend(rows(&proxy.service, cpu_time(proxy), predicted));
    }
    all
}

/// Response times with proxies and without.
fn at_entry(result: &GraphRunResult) -> Vec<IntervalRow> {
    let of = |name: &str, (kind, tone): (&'static str, Tone), number| {
        let number = measured(result, number)?;
        Some(IntervalRow { name: name.to_owned(), kind, tone, number, note: None })
    };
    let (with, without) = (("with proxies", Tone::Own), ("without proxies", Tone::Other));
    let all = [
        of("mean", with, GraphRunNumber::ProxiedMean),
        of("mean", without, GraphRunNumber::DirectMean),
        of("p99", with, GraphRunNumber::ProxiedP99),
        of("p99", without, GraphRunNumber::DirectP99),
    ];
    all.into_iter().flatten().collect()
}

fn added(result: &GraphRunResult) -> Vec<IntervalRow> {
    let check = result.check.as_ref();
    let (mean, p99) =
        (check.and_then(|check| check.mean.as_ref()), check.and_then(|check| check.p99.as_ref()));
    let mean = rows("mean", measured(result, GraphRunNumber::AddedMean), mean);
    mean.into_iter().chain(rows("p99", measured(result, GraphRunNumber::AddedP99), p99)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::quantity::Basis;

    #[test]
    fn each_proxy_is_drawn_as_measured_and_as_predicted_the_dearest_first() {
        let run = run();
        let names: Vec<(String, &str)> = cpu(&run).into_iter().map(|row| (row.name, row.kind)).collect();
        let of = |name: &str| [(name.to_owned(), "measured"), (name.to_owned(), "predicted")];
        assert_eq!(names, ["all proxies", "front", "back"].map(of).concat());
        assert_eq!(added(&run).len(), 2, "the p99 is withheld");
        assert_eq!(at_entry(&run).len(), 3);
        assert_eq!(charts(&run).len(), 2);
    }

    #[test]
    fn wide_intervals_are_drawn_as_bounds() {
        let mut run = run();
        run.proxies[1].is_wide = true;
        run.wide = vec![GraphRunNumber::AllCpu, GraphRunNumber::AddedMean, GraphRunNumber::DirectP99];
        let bounded = |rows: Vec<IntervalRow>| -> Vec<String> {
            let bounded = rows.into_iter().filter(|row| row.number.basis == Basis::Bounded);
            bounded.map(|row| format!("{} {}", row.name, row.kind)).collect()
        };
        assert_eq!(bounded(cpu(&run)), ["all proxies measured", "back measured"]);
        assert_eq!(bounded(added(&run)), ["mean measured"]);
        assert_eq!(bounded(at_entry(&run)), ["p99 without proxies"]);
    }

    #[test]
    fn a_run_without_a_prediction_has_measured_numbers_alone_and_a_void_one_none() {
        let mut run = run();
        run.check = None;
        assert!(cpu(&run).iter().chain(&added(&run)).all(|row| row.kind == "measured"));
        (run.added, run.all_cpu_us) = (None, None);
        run.proxies.iter_mut().for_each(|proxy| proxy.cpu_us_per_request = None);
        for times in [&mut run.body.proxied, &mut run.body.direct] {
            (times.mean_us, times.p99_us) = (None, None);
        }
        assert!(charts(&run).is_empty());
    }
}
