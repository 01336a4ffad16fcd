//! Tables of several sittings of a study: each cost by sitting and combined.

use hoptax_result::{
    ArmResult, Bound, CostMeasure, HoldsFor, Interval, SittingCost, SittingsResult, StudyResult,
};

use crate::numbers::{UNCERTAIN_SIGN, counted, decimals, difference, ends, grouped, or_dash};
use crate::quantity::{Form, Quantity};
use crate::table::Table;

/// The heading of the tables by sitting.
pub(crate) const HEADING: &str = "Variation between sittings";

/// The measures of the tables by sitting.
pub(crate) const CPU: [CostMeasure; 2] = [CostMeasure::CpuShare, CostMeasure::CpuUs];

/// A table for each of `measures` in which any arm has a cost: a row for each arm, a column for each sitting, and the combined cost. `one`
/// has all sittings as one study, whose costs are judged together.
pub(crate) fn tables(
    result: &SittingsResult,
    one: Option<&StudyResult>,
    measures: &[CostMeasure],
) -> Vec<Table> {
    let tables = measures.iter().map(|measure| table(result, one, *measure));
    tables.filter(|table| !table.rows.is_empty()).collect()
}

fn table(result: &SittingsResult, one: Option<&StudyResult>, measure: CostMeasure) -> Table {
    let sittings = (1..=result.sittings.len()).map(|number| format!("sitting {number}"));
    let is_several = result.sittings.len() > 1;
    let combined: &[&str] = if is_several { &["combined", "next sitting", "between sittings"] } else { &[] };
    let headings = std::iter::once("arm".to_owned()).chain(sittings);
    let rows = result.arms.iter().filter_map(|arm| {
        let cost = arm.costs.iter().find(|cost| (cost.measure, &cost.load) == (measure, &None))?;
        let mut cells: Vec<String> = cost
            .estimates
            .iter()
            .map(|one| or_dash(one.map(|one| marked(&one.interval, measure, one.interval.contains(0.0)))))
            .collect();
        if is_several {
            cells.extend(combined_cells(cost, one.and_then(|one| one.arm(&arm.id))));
        }
        Some((arm.id.clone(), cells))
    });
    Table::of_words(measure.words(), headings.chain(combined.iter().map(ToString::to_string)), rows)
}

/// A cost, marked if its sign `is_uncertain`.
fn marked(cost: &Interval, measure: CostMeasure, is_uncertain: bool) -> String {
    difference(&scaled(*cost, measure)) + if is_uncertain { UNCERTAIN_SIGN } else { "" }
}

/// The combined cost or its bounds, the prediction interval of another sitting, and the standard deviation between sittings. `judged` is the
/// arm of all sittings as one study. Without it, costs have not been judged together, and the cost's own interval decides about its sign.
fn combined_cells(cost: &SittingCost, judged: Option<&ArmResult>) -> [String; 3] {
    let unknown = |why: String| [why, "-".to_owned(), "-".to_owned()];
    let Some(combined) = cost.combined else {
        let bound = judged.and_then(|arm| arm.bounds.cost(cost.measure));
        return unknown(bound.map_or_else(|| "withheld".to_owned(), bounded));
    };
    let (Some(another), Some(between)) = (cost.another_sitting, cost.between_sittings) else {
        return unknown("single sitting".to_owned());
    };
    let is_uncertain = judged.map(|arm| arm.cost.uncertain_signs.contains(&cost.measure));
    [
        marked(&combined, cost.measure, is_uncertain.unwrap_or_else(|| combined.contains(0.0))),
        ends(&scaled(another, cost.measure)),
        grouped(between * unit(cost.measure), decimals(scaled(combined, cost.measure).half_width())),
    ]
}

/// The ends of a bound of a cost.
fn bounded(bound: &Bound) -> String {
    let [low, high] = [bound.low, bound.high].map(|end| end.map(|end| end * unit(bound.measure)));
    Quantity::bounded(low, high, "", Form::Difference).text()
}

/// The unit of a measure in tables: a share is shown in percent, bytes of memory in MiB.
pub(crate) fn unit(measure: CostMeasure) -> f64 {
    match measure {
        CostMeasure::CpuShare => 100.0,
        CostMeasure::OfRounds(measure) => 1.0 / measure.definition().unit,
        _ => 1.0,
    }
}

/// An interval in the unit of tables.
pub(crate) fn scaled(interval: Interval, measure: CostMeasure) -> Interval {
    interval.times(unit(measure))
}

/// One line per sitting: its number, time, length and verdict.
pub(crate) fn sittings(result: &SittingsResult) -> Vec<String> {
    let line = |(number, sitting): (usize, &hoptax_result::SittingRecord)| {
        let verdict = sitting.verdict.as_str();
        let stated = if result.states(number) { "" } else { ", without costs" };
        format!(
            "sitting {}: {}, {}, {verdict}{stated} ({})",
            number + 1,
            sitting.started_at,
            counted(sitting.rounds.into(), "round"),
            sitting.folder
        )
    };
    result.sittings.iter().enumerate().map(line).collect()
}

/// The scope of the intervals.
pub(crate) fn holds(result: &SittingsResult) -> String {
    let confidence = result.confidence * 100.0;
    match result.holds_for {
        HoldsFor::Sitting => format!(
            "± is half of the {confidence} % interval over the rounds of the sitting; it holds for that sitting only and excludes \
             variation between days; ? marks a sign that is not supported by that interval",
            confidence = grouped(confidence, 0)
        ),
        HoldsFor::Machine => format!(
            "± of a sitting is half of its {confidence} % interval over rounds and holds for that sitting only; ± of the \
             combined cost holds for the machine: all sittings count alike, and the interval is Student's over them, or has variances \
             that borrow from each other (after Smyth). Next sitting is \
             the interval of another sitting of the same precision; between sittings is the standard deviation of their true \
             costs; ? marks a sign that is not supported, of a sitting by its own interval, of the combined cost once all costs of the \
             column are judged together",
            confidence = grouped(confidence, 0)
        ),
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use hoptax_result::{
        SittingArm, SittingEstimate, SittingRecord, SittingsBody, SittingsMachine, SittingsResult, Verdict,
    };

    use super::*;

    fn cost(measure: CostMeasure, unit: f64) -> SittingCost {
        let one = |estimate: f64| {
            let interval = Interval::around(estimate * unit, 0.45 * unit);
            Some(SittingEstimate { interval, standard_error: 0.2 * unit })
        };
        SittingCost {
            measure,
            load: None,
            estimates: vec![one(19.4), one(20.2), one(21.2)],
            holds_for: HoldsFor::Machine,
            combined: Some(Interval::around(20.27 * unit, 2.24 * unit)),
            between_sittings: Some(0.88 * unit),
            another_sitting: Some(Interval::around(20.27 * unit, 4.48 * unit)),
        }
    }

    /// Three sittings; `cors` was withheld in all but the last.
    pub(crate) fn three() -> SittingsResult {
        let sitting = |day: u32| SittingRecord {
            started_at: format!("2026-01-0{day}T08:00:00Z"),
            ended_at: None,
            folder: format!("quick-2026010{day}T080000Z"),
            rounds: 16,
            verdict: Verdict::Sound,
            program: hoptax_result::sample::program(),
        };
        let last = SittingEstimate { interval: Interval::around(1.5, 0.3), standard_error: 0.13 };
        let arm = |id: &str, costs: Vec<SittingCost>| SittingArm {
            id: id.to_owned(),
            compared_with: "baseline".to_owned(),
            costs,
        };
        let withheld = SittingCost {
            measure: CostMeasure::CpuUs,
            load: None,
            estimates: vec![None, None, Some(last)],
            holds_for: HoldsFor::Sitting,
            combined: Some(last.interval),
            between_sittings: None,
            another_sitting: None,
        };
        let body = SittingsBody {
            study: "quick".to_owned(),
            machine: SittingsMachine {
                cpu_model: "Processor".to_owned(),
                cpus: 2,
                memory_bytes: 1 << 34,
                kernel: "6.18".to_owned(),
                proxy_version: Some("1.40.0".to_owned()),
                never_halted: true,
            },
            holds_for: HoldsFor::Machine,
            confidence: 0.95,
            sittings: vec![sitting(1), sitting(2), sitting(3)],
            arms: vec![
                arm(
                    "jwt",
                    vec![
                        cost(CostMeasure::CpuUs, 1.0),
                        cost(CostMeasure::CpuShare, 0.045),
                        SittingCost { load: Some("in-use".to_owned()), ..cost(CostMeasure::CpuUs, 2.0) },
                    ],
                ),
                arm("cors", vec![withheld]),
            ],
        };
        SittingsResult::new((), body)
    }

    /// Only the first of them.
    pub(crate) fn one() -> SittingsResult {
        let mut result = three();
        result.holds_for = HoldsFor::Sitting;
        result.sittings.truncate(1);
        result.arms.truncate(1);
        for cost in &mut result.arms[0].costs {
            cost.estimates.truncate(1);
            cost.holds_for = HoldsFor::Sitting;
            (cost.between_sittings, cost.another_sitting) = (None, None);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::BoundOf;

    use super::*;

    #[test]
    fn every_sitting_has_a_column_and_the_combination_has_three() {
        let result = fixture::three();
        let tables = tables(&result, None, &CostMeasure::all());
        assert_eq!(tables.len(), 2, "measures without any arm have no table");
        for table in &tables {
            assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()), "{table:?}");
        }
        assert_eq!(tables[0].texts(0)[3], "+20.3 ±2.2");
        assert_eq!(tables[0].texts(1)[2..4], ["+1.50 ±0.30", "single sitting"]);
        // 0.045 of the numbers above, in percent.
        assert_eq!(tables[1].texts(0)[3], "+91 ±10");
    }

    #[test]
    fn a_sign_is_marked_by_the_judgement_of_all_costs_or_else_by_the_interval() {
        let mut result = fixture::three();
        let cells = |result: &SittingsResult, one: Option<&StudyResult>| {
            tables(result, one, &CostMeasure::all())[0].texts(0)
        };
        let mut one = hoptax_result::sample::study("quick", "2026-01-01T00:00:00Z", 10.0);
        one.arms = vec![hoptax_result::sample::arm("jwt")];
        assert_eq!(cells(&result, Some(&one))[3], "+20.3 ±2.2");
        one.arms[0].cost.uncertain_signs.push(CostMeasure::CpuUs);
        assert_eq!(cells(&result, Some(&one))[3], "+20.3 ±2.2 ?");
        let cost = &mut result.arms[0].costs[0];
        cost.combined = Some(Interval::around(-0.2, 0.3));
        cost.estimates[0].as_mut().unwrap().interval = Interval::around(-0.4, 0.5);
        let now = cells(&result, None);
        assert_eq!((now[0].as_str(), now[3].as_str()), ("-0.40 ±0.50 ?", "-0.20 ±0.30 ?"));
        assert!(holds(&result).contains("? marks a sign that is not supported"));
    }

    #[test]
    fn a_cost_that_is_not_combined_has_its_bounds_or_is_withheld() {
        let mut result = fixture::three();
        result.arms[0].costs[0].combined = None;
        let cells = |one: Option<&StudyResult>| tables(&result, one, &CostMeasure::all())[0].texts(0);
        assert_eq!(cells(None)[3..], ["withheld", "-", "-"]);
        let mut one = hoptax_result::sample::study("quick", "2026-01-01T00:00:00Z", 10.0);
        one.arms = vec![hoptax_result::sample::arm("jwt")];
        one.arms[0].bounds.0.extend(Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(-20.0), Some(300.0)));
        assert_eq!(cells(Some(&one))[3..], ["-20 to +300", "-", "-"]);
    }

    #[test]
    fn one_sitting_has_no_combination() {
        let result = fixture::one();
        let tables = tables(&result, None, &CostMeasure::all());
        assert_eq!(tables[0].headings(), ["arm", "sitting 1"]);
        assert!(holds(&result).contains("that sitting only"));
    }
}
