//! A table as comma-separated values.

use crate::numbers::ungrouped;
use crate::tables::{Table, Values};

/// A line with the names of the columns, and a line for each row. Missing values are empty.
pub fn text(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..table.rows() {
        let fields: Vec<String> = table.columns.iter().map(|column| field(&column.values, row)).collect();
        text += &(fields.join(",") + "\n");
    }
    text
}

fn field(values: &Values, row: usize) -> String {
    let field = match values {
        Values::Ids(ids) => at(ids, row).map(|id| quoted(id)),
        Values::Words(words) => at(words, row).cloned(),
        Values::Integers(integers) => at(integers, row).map(i64::to_string),
        Values::Doubles { values, decimals: None } => at(values, row).map(f64::to_string),
        Values::Doubles { values, decimals: Some(decimals) } => {
            at(values, row).map(|value| ungrouped(*value, *decimals))
        }
    };
    field.unwrap_or_default()
}

fn at<T>(values: &[Option<T>], row: usize) -> Option<&T> {
    values.get(row)?.as_ref()
}

/// Quotes a text for CSV, because ids have commas between their knobs.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{CostMeasure, StudyResult};

    use super::text;
    use crate::{fixture, tables};

    fn numbers(result: &StudyResult) -> String {
        text(&tables::numbers(result))
    }

    fn slices(result: &StudyResult) -> String {
        text(&tables::slices(result))
    }

    fn timeline(result: &StudyResult) -> String {
        text(&tables::timeline(result))
    }

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
        let mut uncertain = fixture::loaded();
        let lua = uncertain.arms.iter_mut().find(|arm| arm.id == "lua").unwrap();
        assert!(!lua.cost.uncertain_signs.contains(&CostMeasure::CpuUs));
        lua.cost.uncertain_signs.push(CostMeasure::CpuUs);
        for (of, sign) in [(text, "yes"), (numbers(&uncertain), "no")] {
            let all: Vec<&str> = of.lines().collect();
            let cost =
                all.iter().find(|line| line.contains("\"lua\",\"baseline\",,,cost_cpu_us_per_request,"));
            assert!(
                all[0].ends_with(",high,sign_supported") && cost.unwrap().ends_with(&format!(",{sign}")),
                "{of}"
            );
            let level = all.iter().find(|line| line.contains("\"lua\",\"baseline\",,,cpu_us_per_request,"));
            assert!(level.unwrap().ends_with(','), "{of}");
        }
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
        assert_eq!(slices(&result), "round,load,block,arm,copy,began_s,set_aside,slowdown\n");
    }

    #[test]
    fn an_arm_with_several_knobs_is_one_field() {
        let mut result = fixture::study();
        result.rounds[0].samples[0].arm = "f{a=1,b=\"2\"}".to_owned();
        assert!(slices(&result).contains(",\"f{a=1,b=\"\"2\"\"}\","));
    }
}
