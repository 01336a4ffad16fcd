//! The chart of several sittings: the cost of each arm, combined and by sitting.

use hoptax_result::{CostMeasure, SittingArm, SittingCost, SittingsResult};

use crate::chart::{Chart, IntervalRow, Intervals, Tone};
use crate::document::Section;
use crate::quantity::Quantity;
use crate::sittings::{CPU, scaled};

/// Maximum number of drawn numbers. If there are more, only the combined costs are drawn.
const MOST: usize = 120;

/// The costs in the first measure of CPU time in which any arm has one; none without one.
pub(super) fn chart(result: &SittingsResult) -> Option<Section> {
    let (measure, mut arms) = CPU.into_iter().find_map(|measure| {
        let of_arm = |arm| Some((arm, cost(arm, measure)?));
        let arms: Vec<(&SittingArm, &SittingCost)> = result.arms.iter().filter_map(of_arm).collect();
        arms.iter().any(|(_, cost)| cost.combined.is_some()).then_some((measure, arms))
    })?;
    let estimate = |cost: &SittingCost| cost.combined.map_or(f64::NEG_INFINITY, |combined| combined.estimate);
    arms.sort_by(|(_, one), (_, other)| estimate(other).total_cmp(&estimate(one)));
    let sittings = result.sittings.len();
    let has_each = sittings > 1 && arms.len() * (sittings + 1) <= MOST;
    let unit = if measure == CostMeasure::CpuShare { "%" } else { "us" };
    let mut rows = Vec::new();
    for (arm, cost) in arms {
        let row = |kind: &'static str, tone: Tone, interval| IntervalRow {
            name: arm.id.clone(),
            kind,
            tone,
            // Here, nothing has judged all costs together.
            number: Quantity::judged_alone(&scaled(interval, measure), unit),
            note: None,
        };
        rows.extend(cost.combined.map(|combined| row("over all sittings", Tone::Own, combined)));
        let each = cost.estimates.iter().enumerate().filter(|_| has_each);
        rows.extend(each.filter_map(|(number, one)| {
            let sitting = row("one sitting", Tone::Other, one.as_ref()?.interval);
            Some(sitting.with_note(format!("sitting {}", number + 1)))
        }));
    }
    let note = "The interval of one sitting holds for that sitting only; its processes and its hour are in it. ? marks a sign that is \
                not supported by its own interval.";
    let chart = Intervals::new("cost of each arm", measure.words(), rows);
    let title = if sittings > 1 { "Cost of each arm over all sittings" } else { "Cost of each arm" };
    Section::of_charts(title, note, chart.map(Chart::Intervals))
}

/// The cost of an arm itself.
fn cost(arm: &SittingArm, measure: CostMeasure) -> Option<&SittingCost> {
    arm.costs.iter().find(|cost| cost.measure == measure && cost.load.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::interval_rows;
    use crate::sittings::fixture;

    fn rows(result: &SittingsResult) -> Vec<IntervalRow> {
        interval_rows(&chart(result)).concat()
    }

    #[test]
    fn each_sitting_is_below_the_cost_over_all_unless_there_are_too_many() {
        let mut result = fixture::three();
        let all = rows(&result);
        let kinds: Vec<&str> = all.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, ["over all sittings", "one sitting", "one sitting", "one sitting"]);
        assert!(all.iter().all(|row| row.name == "jwt"), "only jwt has a cost as a share: {all:?}");
        assert_eq!(all[2].note.as_deref(), Some("sitting 2"));
        let many = vec![result.arms[0].clone(); MOST];
        result.arms.extend(many);
        assert!(rows(&result).iter().all(|row| row.kind == "over all sittings"));
    }

    #[test]
    fn a_cost_whose_interval_contains_zero_is_marked() {
        let mut result = fixture::three();
        let share = &mut result.arms[0].costs[1];
        share.combined = Some(hoptax_result::Interval::around(-0.002, 0.003));
        let texts: Vec<String> = rows(&result).iter().map(|row| row.number.text()).collect();
        assert_eq!(texts[0], "-0.20 ±0.30 ?");
        assert!(texts[1..].iter().all(|text| !text.ends_with('?')), "{texts:?}");
    }

    #[test]
    fn sittings_without_a_cost_in_cpu_time_have_no_chart() {
        let mut result = fixture::three();
        result.arms.iter_mut().for_each(|arm| arm.costs.clear());
        assert!(chart(&result).is_none());
    }
}
