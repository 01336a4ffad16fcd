//! The chart of a gate: the change of each limited measure with its interval, beside its limit.

use hoptax_result::{GateLimit, GateOutcome, GateResult};

use crate::chart::{DifferenceRow, Differences, Outcome};
use crate::document::Section;
use crate::quantity::Quantity;

const PERCENT: f64 = 100.0;

/// The changes of all arms, that of the A/A arm last; none if none is known.
pub(super) fn charts(result: &GateResult) -> Option<Section> {
    let own = result.limits.iter().filter_map(|limit| row(limit, limit.arm.clone()));
    let same = result.same.iter().filter_map(|limit| row(limit, format!("{} (A/A)", limit.arm)));
    let rows: Vec<DifferenceRow> = own.chain(same).collect();
    let chart = Differences {
        title: "changes from the reference, with their limits".to_owned(),
        axis: "change from the reference, %".to_owned(),
        margin: None,
        rows,
    };
    Section::of_differences("Changes and limits", chart)
}

/// A limit with its change; none if the change is unknown.
fn row(limit: &GateLimit, subject: String) -> Option<DifferenceRow> {
    let change = limit.change_share?;
    let outcome = match limit.outcome {
        GateOutcome::Failed => Outcome::Failed,
        GateOutcome::Passed => Outcome::Passed,
        GateOutcome::Undecided | GateOutcome::Unknown => Outcome::Undecided,
    };
    Some(DifferenceRow {
        subject,
        measure: limit.measure.name().to_owned(),
        share: Quantity::difference(&change.times(PERCENT), "%"),
        text: format!("limit {}", limit.limit),
        limit: Some(PERCENT * limit.limit_share),
        outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Chart;
    use crate::document::Block;
    use crate::gate::fixture;

    fn rows(result: &GateResult) -> Vec<DifferenceRow> {
        let Some(section) = charts(result) else { return Vec::new() };
        let [Block::Chart(chart)] = section.blocks.as_slice() else { panic!("{section:?}") };
        let Chart::Differences(all) = chart.as_ref() else { panic!("{chart:?}") };
        all.rows.clone()
    }

    #[test]
    fn each_known_change_is_beside_its_limit_and_the_same_arm_is_last() {
        let all = rows(&fixture::gate());
        let outcomes: Vec<(&str, Outcome)> =
            all.iter().map(|row| (row.subject.as_str(), row.outcome)).collect();
        assert_eq!(
            outcomes,
            [
                ("baseline", Outcome::Failed),
                ("baseline", Outcome::Undecided),
                ("lua<&>", Outcome::Passed),
                ("baseline (A/A)", Outcome::Passed)
            ]
        );
        assert_eq!((all[0].limit, all[0].text.as_str()), (Some(3.0), "limit cpu>+3%"));
    }

    #[test]
    fn without_a_known_change_there_is_no_chart() {
        let mut result = fixture::gate();
        result.same.clear();
        result.limits.retain(|limit| limit.change_share.is_none());
        assert!(charts(&result).is_none() && !result.limits.is_empty());
    }
}
