//! The quiet p99 must rest on most responses, and on as many of an arm as of the one that it is compared with.

use hoptax_result::{ArmLoad, ArmResult, Finding, Measure, Measured, Severity, StudyResult};

use crate::check::Check;
use crate::thresholds::{self, Limits};

/// Too few responses in quiet slices, or too different a share of them.
pub(super) const QUIET: Check<StudyResult> = Check {
    id: "quiet-slices",
    protects_from: "a tail without the waiting that the arm itself causes",
    source: "own: shares of the responses in slices in which generator and proxies hardly waited for a processor; simulated coverage",
    judge: |result, limits| {
        let of_arm = |arm: &ArmResult| -> Vec<Finding> {
            let other = result.arms.iter().find(|other| Some(&other.id) == arm.compared_with.as_ref());
            let judge = |load: &ArmLoad| {
                let share = load.quiet_share?;
                let others = other.and_then(|other| other.under(&load.load)).and_then(|one| one.quiet_share);
                let found = few(result, share, limits).or_else(|| differs(share, others?, limits))?;
                Some(Finding { arm: Some(arm.id.clone()), load: Some(load.load.clone()), ..found })
            };
            arm.loads.iter().filter_map(judge).collect()
        };
        result.arms.iter().flat_map(of_arm).collect()
    },
    withhold: None,
};

/// Withholds the quiet p99 of an arm with few responses in quiet slices, and differences from it.
fn few(result: &StudyResult, share: f64, limits: &Limits) -> Option<Finding> {
    let least = limits.value(&thresholds::QUIET_SHARE);
    let wait_share =
        result.plan.quiet_rule.map_or(limits.value(&thresholds::QUIET_WAIT), |rule| rule.max_wait_share);
    let message = format!(
        "{:.0} % of its responses are in quiet slices, in which generator and proxies each waited for a processor for at most {} % of \
         the time",
        share * 100.0,
        (wait_share * 1e4).round() / 100.0
    );
    let advice = "the quiet p99 is only bounded, by quiet slices and all slices together; stop other work on the machine, or lower the rate";
    (share < least).then(|| finding(Measured::percent(share, least), message, advice))
}

/// Withholds the cost of an arm in quiet p99 if it has more or fewer quiet slices than the arm that it is compared with.
fn differs(share: f64, others: f64, limits: &Limits) -> Option<Finding> {
    let most = limits.value(&thresholds::QUIET_DIFFERENCE);
    let difference = (share - others).abs();
    let message = format!(
        "{:.0} % of its responses are in quiet slices, and {:.0} % of those of the arm that it is compared with",
        share * 100.0,
        others * 100.0
    );
    let advice = "either the arm makes somebody wait, or its few slices differ by chance: its cost in quiet p99 is only bounded, by quiet \
                  slices and all slices together; add rounds";
    let found = || finding(Measured::percent(difference, most), message, advice);
    (difference > most).then(|| Finding { costs_alone: true, ..found() })
}

fn finding(measured: Measured, message: String, advice: &str) -> Finding {
    let one = Finding::new("quiet-slices", Severity::Info, measured, message, advice);
    Finding { measures: vec![Measure::ResponseQuietP99], withholds: true, ..one }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Bound, BoundOf, CostMeasure, Severity, StudyResult};

    use crate::study::tests::{fired, withheld};

    #[test]
    fn an_arm_with_few_quiet_slices_loses_its_quiet_p99_alone() {
        let of =
            |share: f64| move |result: &mut StudyResult| result.arms[2].loads[1].quiet_share = Some(share);
        let quiet = ["+lua fixed-rate ResponseQuietP99", "lua fixed-rate ResponseQuietP99"];
        // Those of the baseline have 80 %.
        assert_eq!(fired("quiet-slices", of(0.71)).0, None);
        assert_eq!(fired("quiet-slices", of(0.49)).0, Some(Severity::Info));
        assert_eq!(withheld(of(0.49)), quiet);
    }

    #[test]
    fn an_arm_with_another_share_of_quiet_slices_loses_its_cost() {
        let of =
            |share: f64| move |result: &mut StudyResult| result.arms[2].loads[1].quiet_share = Some(share);
        for share in [0.69, 0.91] {
            assert_eq!(withheld(of(share)), ["+lua fixed-rate ResponseQuietP99"], "{share}");
        }
    }

    #[test]
    fn a_refused_cost_is_bounded_by_what_all_slices_say_as_well() {
        let bound = |measure, low, high| Bound::new(BoundOf::Cost, measure, low, high).unwrap();
        let left = |of_all: Bound| {
            let (_, result) = fired("quiet-slices", |result| {
                let load = &mut result.arms[2].loads[1];
                load.quiet_share = Some(0.69);
                let quiet = bound(CostMeasure::ResponseQuietP99Us, Some(-10.0), Some(30.0));
                load.bounds.0 = vec![quiet, of_all];
            });
            let found = result.arms[2].loads[1].bounds.cost(CostMeasure::ResponseQuietP99Us).cloned();
            found.map(|found| (found.low, found.high, found.by))
        };
        let of_all = bound(CostMeasure::ResponseP99Us, Some(-200.0), Some(20.0));
        let by = vec!["quiet-slices".to_owned()];
        assert_eq!(left(of_all), Some((Some(-200.0), Some(30.0), by.clone())));
        let open = bound(CostMeasure::ResponseP99Us, Some(-200.0), None);
        assert_eq!(left(open), Some((Some(-200.0), None, by)));
    }
}
