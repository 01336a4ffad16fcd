//! The slices and the arms of a study as comma-separated values, for further computation.

use std::collections::BTreeSet;

use hoptax_result::{Disturbance, Interval, Sample, StudyResult};

/// Columns before those of the measures.
const COLUMNS: [&str; 8] = ["round", "load", "block", "arm", "copy", "began_s", "set_aside", "slowdown"];

/// One line for each number of each arm, with its interval: [`StudyResult::named_numbers`]. The prefix `cost_` marks a difference
/// from the arm that it is compared with. In a timeline, the suffix `_from_10_s` marks the phase that begins then; numbers of the
/// whole slice have none. `load` is empty for numbers that belong to no load or come from the default one. `proxy` names the
/// proxy that the number describes, and is empty for all proxies together.
pub fn numbers(result: &StudyResult) -> String {
    let mut text = "arm,compared_with,load,proxy,number,estimate,low,high\n".to_owned();
    for number in result.named_numbers() {
        let places = [Some(number.arm), number.compared_with, number.load, number.proxy];
        let places = places.map(|place| place.map(quoted).unwrap_or_default()).join(",");
        let Interval { estimate, low, high } = number.interval;
        text += &format!("{places},{},{estimate},{low},{high}\n", number.name);
    }
    text
}

/// One line for each slice of the complete rounds, in chronological order; only the header if there are none. The
/// columns of every slice are followed by one for each measure of the study, with its unit in its name. `set_aside` is
/// empty for a slice that counts, and otherwise lists its disturbances, joined by `+`. `slowdown` is the factor by
/// which the machine was slower than usual; costs in CPU time are differences of values divided by it. Values that were
/// not measured are empty.
pub fn slices(result: &StudyResult) -> String {
    let samples = || result.rounds.iter().flat_map(|round| &round.samples);
    let measures: BTreeSet<&String> = samples().flat_map(|sample| sample.values.keys()).collect();
    let measures: Vec<&String> = measures.into_iter().collect();
    let header: Vec<&str> = COLUMNS.into_iter().chain(measures.iter().map(|name| name.as_str())).collect();
    let mut text = header.join(",") + "\n";
    for round in &result.rounds {
        let slices =
            round.samples.iter().flat_map(|sample| (0..sample.began_s.len()).map(move |n| (sample, n)));
        let mut slices: Vec<(&Sample, usize)> = slices.collect();
        slices.sort_by(|a, b| began_s(a).total_cmp(&began_s(b)));
        for (sample, number) in slices {
            text += &line(round.round, sample, number, &measures);
        }
    }
    text
}

fn began_s((sample, number): &(&Sample, usize)) -> f64 {
    sample.began_s.get(*number).copied().unwrap_or_default()
}

fn line(round: u32, sample: &Sample, number: usize, measures: &[&String]) -> String {
    let whole = |values: &[u32]| values.get(number).map_or_else(String::new, u32::to_string);
    let disturbances = sample.set_aside.get(number).map(Vec::as_slice).unwrap_or_default();
    let disturbances: Vec<&str> = disturbances.iter().copied().map(Disturbance::as_str).collect();
    let mut fields = vec![
        round.to_string(),
        quoted(&sample.load),
        whole(&sample.block),
        quoted(&sample.arm),
        whole(&sample.copy),
        format!("{:.6}", began_s(&(sample, number))),
        disturbances.join("+"),
        value(Some(&sample.slowdown), number),
    ];
    fields.extend(measures.iter().map(|measure| value(sample.values.get(*measure), number)));
    fields.join(",") + "\n"
}

/// One line for each interval of each slice of a timeline, in chronological order. `until_s` is the end of the interval since the
/// start of its slice. Times are empty if nothing was answered.
pub fn timeline(result: &StudyResult) -> String {
    let mut text =
        "round,load,arm,until_s,sent,answered,late,failed,in_flight,response_p50_us,response_p99_us,\
                    response_max_us\n"
            .to_owned();
    let optional = |us: Option<f64>| us.map_or_else(String::new, |us| us.to_string());
    for round in &result.rounds {
        for course in &round.courses {
            let place = format!("{},{},{}", round.round, quoted(&course.load), quoted(&course.arm));
            for interval in &course.intervals {
                let counts =
                    [interval.sent, interval.answered, interval.late, interval.failed(), interval.in_flight];
                let counts = counts.map(|count| count.to_string()).join(",");
                let times = [interval.response_p50_us, interval.response_p99_us, interval.response_max_us];
                let times = times.map(optional).join(",");
                text += &format!("{place},{},{counts},{times}\n", interval.to_s);
            }
        }
    }
    text
}

/// The shortest text that parses as the same number.
fn value(values: Option<&Vec<Option<f64>>>, number: usize) -> String {
    let value = values.and_then(|values| values.get(number).copied().flatten());
    value.map_or_else(String::new, |value| value.to_string())
}

/// Quotes an id, since ids have commas between knobs.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_slice_has_a_line_in_the_order_of_time() {
        insta::assert_snapshot!(slices(&fixture::study()));
    }

    #[test]
    fn every_number_has_a_line_and_withheld_ones_have_none() {
        let text = numbers(&fixture::loaded());
        let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert!(text.contains("\n\"lua\",\"baseline\",,,cost_cpu_us_per_request,4.95,"), "{text}");
        assert_eq!(lines("\"lua\",\"baseline\",,\"gateway\",memory_bytes,"), 1);
        assert_eq!(lines("\"lua\",\"baseline\",,\"gateway\",memory_per_connection_bytes,"), 1);
        assert_eq!(lines("\"lua\",\"baseline\",\"half\",,response_p99_us,"), 1);
        assert_eq!(lines("\"baseline\",,,,cost_"), 0);
        assert_eq!(numbers(&fixture::void()).lines().count(), 1);
    }

    #[test]
    fn every_interval_of_a_timeline_has_a_line() {
        let text = timeline(&fixture::timeline());
        let fields = text.lines().map(|line| line.split(',').count());
        assert!(fields.clone().all(|count| count == 12), "{text}");
        assert_eq!(fields.count(), 1 + 40);
        assert!(text.contains("\n0,\"course\",\"plain\",11,200,150,0,50,0,900,"), "{text}");
        let text = numbers(&fixture::timeline());
        let count = |name: &str| text.matches(&format!("\"plain\",,\"course\",,{name},")).count();
        assert_eq!(
            (count("hurt_s"), count("hurt_s_from_0_s"), count("hurt_s_from_10_s")),
            (1, 1, 1),
            "{text}"
        );
    }

    #[test]
    fn a_result_without_evidence_has_only_a_header() {
        let mut result = fixture::study();
        result.rounds.clear();
        assert_eq!(slices(&result), COLUMNS.join(",") + "\n");
    }

    #[test]
    fn an_arm_with_several_knobs_is_one_field() {
        let mut result = fixture::study();
        result.rounds[0].samples[0].arm = "f{a=1,b=\"2\"}".to_owned();
        assert!(slices(&result).contains(",\"f{a=1,b=\"\"2\"\"}\","));
    }
}
