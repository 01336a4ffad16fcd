//! Top-down counters: which share of a processor's issue slots did useful work, and what the others waited for. Read from the output of
//! `perf stat`, which knows the events and formulas of each processor.
//!
//! **Source.** A. Yasin, "A Top-Down Method for Performance Analysis and Counters Architecture", ISPASS 2014; perf's metric groups
//! `TopdownL1` (Intel, Arm) and `PipelineL1` (AMD Zen 4 and later).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The metric groups of the first level.
pub const GROUPS: [&str; 2] = ["TopdownL1", "PipelineL1"];

/// Prefix of perf's names of the parts, before their usual names.
const PREFIX: &str = "tma_";

/// A line of `perf stat --json-output` as far as it is used: a value in percent, and `%` with the name of a metric.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    /// A number, or text of one.
    metric_value: Option<Value>,
    metric_unit: Option<String>,
}

/// The metric group of the first level among those that `perf list metricgroup` prints; none if perf knows none for this processor.
pub fn group(list: &str) -> Option<&'static str> {
    GROUPS.into_iter().find(|group| list.lines().any(|line| line.trim().eq_ignore_ascii_case(group)))
}

/// The parts that `perf stat --json-output --metrics GROUP` printed, as shares of the issue slots, by name.
///
/// Empty if the processor did not count: perf then prints `<not supported>` or no metric at all. A line that is no JSON is skipped,
/// because perf mixes warnings in and wrote an invalid comma before 6.13. A part that is printed for several kinds of processors is the
/// mean of them, which perf does not weight.
pub fn shares(text: &str) -> BTreeMap<String, f64> {
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| line.starts_with('{')) {
        let Ok(line) = serde_json::from_str::<Line>(&line.replace(", }", "}")) else { continue };
        let name = line.metric_unit.as_deref().and_then(|unit| unit.strip_prefix('%')).map(str::trim);
        let percent = line.metric_value.and_then(|value| number(&value)).filter(|value| value.is_finite());
        if let (Some(name), Some(percent)) = (name.filter(|name| is_name(name)), percent) {
            let name = name.strip_prefix(PREFIX).unwrap_or(name).replace('_', " ");
            found.entry(name).or_default().push(percent / 100.0);
        }
    }
    // Values are divided before they are added, because the sum of large numbers may be infinite.
    let mean = |values: &[f64]| values.iter().map(|value| value / values.len() as f64).sum();
    found.into_iter().map(|(name, values)| (name, mean(&values))).collect()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns true if a unit names a part, unlike `of all branches`.
fn is_name(unit: &str) -> bool {
    !unit.is_empty() && !unit.contains(' ')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(found: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (name, share) in expected {
            assert!((found[*name] - share).abs() < 1e-6, "{name}: {found:?}");
        }
    }

    #[test]
    fn the_parts_of_a_recorded_output_are_read() {
        // An Intel Sapphire Rapids; its invalid comma is that of perf.
        near(
            &shares(include_str!("../../recorded/top-down-intel.json")),
            &[
                ("backend bound", 0.432_260_02),
                ("frontend bound", 0.292_122_67),
                ("bad speculation", 0.071_389_72),
                ("retiring", 0.204_227_59),
            ],
        );
        // Metrics of a group are listed after the group.
        near(
            &shares(include_str!("../../recorded/top-down-group.json")),
            &[
                ("backend bound", 0.699_506_31),
                ("bad speculation", 0.027_717_83),
                ("frontend bound", 0.120_260_74),
                ("retiring", 0.152_515_13),
            ],
        );
    }

    #[test]
    fn a_processor_that_does_not_count_has_no_parts() {
        assert!(shares(include_str!("../../recorded/top-down-not-supported.json")).is_empty());
        assert!(shares("Cannot find metric or group `TopdownL1'\n").is_empty());
    }

    #[test]
    fn the_group_is_the_one_that_perf_lists() {
        assert_eq!(group("\nMetric Groups:\n\nPipelineL1\nPipelineL2\nl2_cache\n"), Some("PipelineL1"));
        assert_eq!(group("Metric Groups:\n  TopdownL1\n  TopdownL2\n"), Some("TopdownL1"));
        // An AMD processor whose perf knows caches only.
        assert_eq!(group("\nMetric Groups:\n\nbranch_prediction\nl2_cache\ntlb\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".*\n.*") {
            shares(&text);
            group(&text);
        }
    }
}
