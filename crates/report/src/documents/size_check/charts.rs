//! The charts of a check of predictions: the measured and the predicted value of each composition.

use hoptax_result::{CheckedComposition, CheckedResponse, CheckedTime, Interval, SizeCheckResult};

use super::worst_first;
use crate::chart::{Chart, IntervalRow, Intervals};
use crate::document::Section;
use crate::quantity::Quantity;

/// Maximum number of drawn compositions. A study may have hundreds.
const MOST: usize = 40;

/// The sections of the charts; those without numbers are left out.
pub(super) fn charts(result: &SizeCheckResult) -> Vec<Section> {
    let all = worst_first(result);
    let rest = match all.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" {more} with smaller errors are in the table."),
    };
    let cpu = |one: &&CheckedComposition| {
        rows(&one.arm, &one.load, one.is_extrapolated, &one.measured_us, &one.predicted_us)
    };
    let rows_of_cpu = all.iter().take(MOST).flat_map(cpu).collect();
    let cpu = Intervals::new("CPU time of each composition", "CPU time for each request, us", rows_of_cpu);
    let note = format!("The largest error first.{rest}");
    let cpu = Section::of_charts("CPU time as measured and predicted", &note, cpu.map(Chart::Intervals));
    let of_time = |name: &str, time: fn(&CheckedResponse) -> Option<&CheckedTime>| {
        let row = |one: &CheckedResponse| {
            let time = time(one)?;
            Some(rows(&one.arm, &one.load, one.is_extrapolated, &time.measured_us, &time.predicted_us))
        };
        let rows = result.response_times.iter().take(MOST).filter_map(row).flatten().collect();
        Intervals::new(&format!("{name} of each composition"), &format!("{name} of response time, us"), rows)
    };
    let times = [of_time("mean", |one| Some(&one.mean)), of_time("p99", |one| one.p99.as_ref())];
    let note = "Response times include the origin.";
    let times = times.into_iter().flatten().map(Chart::Intervals);
    let times = Section::of_charts("Response times as measured and predicted", note, times);
    cpu.into_iter().chain(times).collect()
}

fn rows(
    arm: &str,
    load: &str,
    is_extrapolated: bool,
    measured: &Interval,
    predicted: &Interval,
) -> [IntervalRow; 2] {
    let name = format!("{arm} under {load}");
    let us = |interval: &Interval| Quantity::level(interval, "us");
    let predicted = IntervalRow::predicted(&name, us(predicted));
    let predicted = if is_extrapolated { predicted.with_note("beyond measurements") } else { predicted };
    [IntervalRow::measured(&name, us(measured)), predicted]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checked, result};
    use super::*;
    use crate::document::Block;
    use crate::fixture::interval_rows;

    #[test]
    fn each_composition_has_two_rows_the_largest_error_first_and_what_is_extrapolated_is_said() {
        let all = charts(&result());
        let [cpu, times] = all.as_slice() else { panic!("{all:?}") };
        let cpu = &interval_rows([cpu])[0];
        assert_eq!(cpu.len(), 6);
        assert_eq!((cpu[0].name.as_str(), &cpu[0].note), ("idle-hops under saturation", &None));
        assert_eq!(cpu[1].note.as_deref(), Some("beyond measurements"));
        assert!(cpu[2..].iter().all(|row| row.note.is_none()));
        let sizes: Vec<usize> = interval_rows([times]).iter().map(Vec::len).collect();
        assert_eq!(sizes, [4, 2], "one p99 is withheld");
    }

    #[test]
    fn compositions_that_are_not_drawn_are_counted() {
        let mut many = result();
        many.compositions.extend((0..50).map(|number| checked(&format!("arm-{number}"), 100.0, 1.0)));
        let all = charts(&many);
        assert_eq!(interval_rows([&all[0]])[0].len(), 2 * MOST);
        let Block::Note(note) = &all[0].blocks[0] else { panic!("{:?}", all[0]) };
        assert!(note.contains("13 with smaller errors"), "{note}");
        many.compositions.clear();
        many.response_times.clear();
        assert!(charts(&many).is_empty());
    }
}
