//! The slices of a study as comma-separated values, for whoever wants to compute with them.

use std::collections::BTreeSet;

use hoptax_result::{Disturbance, Sample, StudyResult};

/// Columns before those of what was measured.
const COLUMNS: [&str; 8] = ["round", "load", "block", "arm", "copy", "began_s", "set_aside", "slowdown"];

/// One line for each slice of the complete rounds, in the order of time; only the header without any. After the columns that
/// every slice has follows one for each measure of the study, with its unit in its name. `set_aside` is empty for a slice
/// that counts, and otherwise has what disturbed it, joined by `+`. `slowdown` is by what factor the machine was slower than
/// usual; costs in CPU time are differences of values divided by it. What was not measured is empty.
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
    let disturbances: Vec<&str> = disturbances.iter().copied().map(Disturbance::word).collect();
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

/// The shortest text that reads as the same number.
fn value(values: Option<&Vec<Option<f64>>>, number: usize) -> String {
    let value = values.and_then(|values| values.get(number).copied().flatten());
    value.map_or_else(String::new, |value| value.to_string())
}

/// Ids have commas between knobs.
fn quoted(name: &str) -> String {
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
    fn a_result_without_evidence_has_a_header_alone() {
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
