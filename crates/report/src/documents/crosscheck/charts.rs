//! The charts of a crosscheck: the times that each generator reports, beside the truth.

use hoptax_result::{CrosscheckResult, Scenario, ToolRuns};

use super::{OWN, QUANTILES, Quantile};
use crate::chart::{Chart, IntervalRow, Intervals, Level, Scale, Tone};
use crate::document::Section;
use crate::quantity::{Form, Quantity};

const PERCENT: f64 = 100.0;

/// A chart of each quantile; none without a time and its truth.
pub(super) fn charts(result: &CrosscheckResult) -> Option<Section> {
    let of = |quantile: &Quantile| {
        let rows = result
            .scenarios
            .iter()
            .flat_map(|scenario| scenario.tools.iter().filter_map(move |tool| row(quantile, scenario, tool)));
        let chart = Intervals::new(
            &format!("{} as reported", quantile.name),
            &format!("reported {}, % of the truth", quantile.name),
            rows.collect(),
        );
        let truth = Level { y: PERCENT, text: "the truth".to_owned() };
        Some(Chart::Intervals(Intervals { scale: Scale::Logarithmic, level: Some(truth), ..chart? }))
    };
    let note = "Point: the median over the runs of a generator. Line: from its lowest run to its highest.";
    Section::of_charts("Reported times beside the truth", note, QUANTILES.iter().filter_map(of))
}

/// A generator in a scenario; none without a report.
fn row(quantile: &Quantile, scenario: &Scenario, tool: &ToolRuns) -> Option<IntervalRow> {
    let middle = PERCENT * quantile.ratio(&tool.runs)?;
    let each = tool.runs.iter().filter_map(|run| quantile.ratio(std::slice::from_ref(run)));
    let (low, high) = each
        .fold((middle, middle), |(low, high), ratio| (low.min(PERCENT * ratio), high.max(PERCENT * ratio)));
    let number = if tool.runs.len() > 1 {
        Quantity::estimated(middle, Some(low), Some(high), "%")
    } else {
        Quantity::point(middle, "%", Form::Level)
    };
    let (kind, tone) = if tool.tool == OWN { (OWN, Tone::Own) } else { ("another generator", Tone::Other) };
    Some(IntervalRow { name: format!("{} in {}", tool.tool, scenario.name), kind, tone, number, note: None })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, result, run};
    use super::*;
    use crate::fixture::interval_rows;

    #[test]
    fn each_generator_is_beside_the_truth_with_the_range_of_its_runs() {
        let mut result = result();
        let hey = &mut result.scenarios[0].tools[1].runs;
        hey.push(run(numbers(950.0, 400.0, Some(4_800.0))));
        let all = interval_rows(&charts(&result));
        let names: Vec<(&str, Tone)> = all[0].iter().map(|row| (row.name.as_str(), row.tone)).collect();
        let expected = [
            ("hoptax in delay", Tone::Own),
            ("hey in delay", Tone::Other),
            ("hoptax in freeze", Tone::Own),
            ("hey in freeze", Tone::Other),
        ];
        assert_eq!(names, expected, "h2load states no p99, k6 did not run");
        let of_hey = &all[0][1].number;
        let near = |end: Option<f64>, percent: f64| (end.unwrap() - percent).abs() < 1e-6;
        assert!(near(of_hey.low, 100.0 * 2_000.0 / 480_000.0) && near(of_hey.high, 1.0), "{of_hey:?}");
        assert!(all[0][0].number.low.is_none(), "one run has no range");
    }

    #[test]
    fn a_truth_that_is_not_known_has_no_chart() {
        let mut result = result();
        for run in result.scenarios.iter_mut().flat_map(|one| &mut one.tools).flat_map(|one| &mut one.runs) {
            run.known = None;
            (run.seen.p50_us, run.seen.p99_us) = (Some(3.0), Some(9.0));
        }
        assert!(charts(&result).is_none());
    }
}
