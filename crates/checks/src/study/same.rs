//! A/A arms: copies of the baseline must not differ from it.

use std::collections::BTreeSet;

use hoptax_result::{
    ArmKind, ArmResult, CostMeasure, Finding, Interval, Measured, Severity, StudyResult, grouped, signed,
};
use hoptax_stats::chance_of_difference;

use crate::check::Check;
use crate::thresholds::{self, Limits};

/// Each interval of an A/A arm should cover zero, as nineteen in twenty do.
pub(super) const SAME: Check<StudyResult> = Check {
    id: "same-differs",
    protects_from: "a setup that reports a difference where there is none",
    source: "A/A tests; Kohavi, Tang and Xu, Trustworthy Online Controlled Experiments (2020), chapter 19; several arms: Bonferroni",
    judge: |result, limits| {
        CostMeasure::OF_SLICES.into_iter().filter_map(|measure| of_measure(result, limits, measure)).collect()
    },
    withhold: None,
};

/// The cost of an A/A arm.
struct Null<'a> {
    arm: &'a ArmResult,
    /// The load; none for the cost of the arm itself.
    load: Option<&'a str>,
    cost: Interval,
}

/// The costs of the A/A arms in one measure: of the arms themselves, and under loads that other arms have to themselves.
fn nulls(result: &StudyResult, measure: CostMeasure) -> Vec<Null<'_>> {
    let usual = |arm: &ArmResult| result.plan.usual_load_name(&arm.id, measure);
    let all: BTreeSet<&str> = result.arms.iter().filter_map(usual).collect();
    let same = result.arms.iter().filter(|arm| arm.kind == ArmKind::Same);
    same.flat_map(|arm| {
        let own = usual(arm);
        let others = all.iter().filter(move |load| Some(**load) != own).map(|load| Some(*load));
        std::iter::once(None)
            .chain(others)
            .filter_map(move |load| Some(Null { arm, load, cost: measure.interval(arm.cost_under(load)?)? }))
    })
    .collect()
}

/// The cost of an A/A arm that differs most in one measure, if by more than chance explains for their
/// number.
fn of_measure(result: &StudyResult, limits: &Limits, measure: CostMeasure) -> Option<Finding> {
    let same = nulls(result, measure);
    let chance = |null: &Null<'_>| {
        let confidence = result.plan.quantile_confidence();
        let freedom = result.degrees_of_freedom(&null.cost, null.arm.contrast(), measure, null.load);
        chance_of_difference(&null.cost, freedom, confidence).unwrap_or(1.0) * same.len() as f64
    };
    let found = same.iter().min_by(|a, b| chance(a).total_cmp(&chance(b)))?;
    let (Null { arm, load, cost }, chance) = (found, chance(found));
    if chance > 1.0 - result.plan.confidence {
        return None;
    }
    let other = result.reference_of(arm)?;
    let level = match load {
        None => result.level_of_reference(arm, other, measure)?.estimate,
        Some(_) => other.level_under(*load, measure)?.estimate,
    };
    let by = match result.share_of_reference(arm, other, measure, *load) {
        Some(share) => {
            let percent = |share: f64| signed(share * 100.0, 1);
            format!("{} % ({} to {})", percent(share.estimate), percent(share.low), percent(share.high))
        }
        None => format!("{} % of a level that may be zero", signed(cost.estimate / level * 100.0, 1)),
    };
    let max = level * limits.value(&thresholds::SAME_COST_FAIL_SHARE);
    let is_rare = chance < limits.value(&thresholds::SAME_RARE);
    let severity = match (is_rare, cost.estimate.abs() > max) {
        (true, true) => Severity::Fail,
        _ => Severity::Warn,
    };
    let under = load.map_or_else(String::new, |load| format!(" under {load}"));
    let message = format!(
        "{} of `{}`{under} differs by {by} from an identical arm; by chance, this measure does so in one of {} \
         studies",
        measure.measure().as_str(),
        arm.id,
        grouped((1.0 / chance).min(1e6), 0)
    );
    let advice = if severity == Severity::Fail {
        "the machine distorts this measure: stop other work on it and run again"
    } else if is_rare {
        "intervals of this measure are too narrow here: ignore costs of this size or smaller"
    } else {
        ONE_IN_TWENTY
    };
    let measured =
        Measured::percent(cost.estimate.abs() / level, limits.value(&thresholds::SAME_COST_FAIL_SHARE));
    let one = Finding::new("same-differs", severity, measured, message, advice);
    Some(Finding { load: load.map(str::to_owned), measures: vec![measure.measure()], ..one })
}

/// Advice for a finding that chance explains. Of six measures that are independent of each other, one or more have such a finding in
/// 1 - 0.95^6 of the studies, and fewer if they vary together.
const ONE_IN_TWENTY: &str = "one sound study in twenty has this finding in a given measure, and up to one in four has it in one or more \
                             of the six measures: ignore costs of this size or smaller";

#[cfg(test)]
mod tests {
    use hoptax_result::{
        CostMeasure, Disturbance, Interval, Sample, Severity, StudyResult, StudyRound, Verdict,
    };

    use crate::study::tests::{fired, withheld};

    fn differs(estimate: f64, half_width: f64) -> impl Fn(&mut StudyResult) {
        move |result| result.arms[1].cost.cpu_us_per_request = Some(Interval::around(estimate, half_width))
    }

    #[test]
    fn a_difference_between_identical_arms_fires() {
        let fires = |estimate: f64, half_width: f64| fired("same-differs", differs(estimate, half_width)).0;
        assert_eq!(fires(0.3, 0.31), None);
        assert_eq!(fires(-0.3, 0.2), Some(Severity::Warn));
        // Many standard errors, but small: the intervals are too narrow.
        assert_eq!(fires(0.3, 0.05), Some(Severity::Warn));
        let (severity, result) = fired("same-differs", differs(2.0, 0.5));
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        assert!(withheld(differs(2.0, 0.5)).iter().all(|place| place.ends_with(" Cpu")));
    }

    /// Twelve rounds, in `usable` of which the slices of CPU time count.
    fn rounds(usable: u32) -> Vec<StudyRound> {
        let round = |number: u32| {
            let by = if number < usable { Vec::new() } else { vec![Disturbance::Steal] };
            let sample = |arm: &str| Sample {
                arm: arm.to_owned(),
                load: "fixed-rate".to_owned(),
                began_s: vec![f64::from(number)],
                block: vec![0],
                copy: vec![0],
                set_aside: vec![by.clone()],
                slowdown: vec![None],
                values: [("cpu_us_per_request".to_owned(), vec![Some(40.0)])].into(),
                ..Sample::default()
            };
            StudyRound {
                round: number,
                samples: ["baseline", "same"].map(sample).into(),
                ..StudyRound::default()
            }
        };
        (0..12).map(round).collect()
    }

    #[test]
    fn chance_is_that_of_the_rounds_that_the_interval_is_over() {
        let fires = |usable: u32| {
            fired("same-differs", |result| {
                differs(2.1, 0.7)(result);
                result.rounds = rounds(usable);
                (result.plan.rounds_completed, result.plan.rounds_planned) = (12, 12);
            })
            .0
        };
        // Three half-widths: 4e-5 with 11 degrees of freedom, 0.006 with two.
        assert_eq!((fires(12), fires(3)), (Some(Severity::Fail), Some(Severity::Warn)));
    }

    #[test]
    fn four_standard_errors_are_not_called_one_in_twenty() {
        let advice =
            |half_width: f64| fired("same-differs", differs(-0.3, half_width)).1.findings[0].advice.clone();
        let usual = advice(0.28);
        assert!(
            usual.starts_with("one sound study in twenty has this finding in a given measure"),
            "{usual}"
        );
        assert!(usual.contains("one in four") && CostMeasure::OF_SLICES.len() == 6, "{usual}");
        let (_, result) = fired("same-differs", differs(-0.3, 0.28));
        let message = &result.findings[0].message;
        assert!(message.contains("; by chance, this measure does so in one of "), "{message}");
        assert!(advice(0.1).contains("too narrow"));
    }

    #[test]
    fn one_of_twenty_identical_arms_may_differ() {
        let (severity, _) = fired("same-differs", |result| {
            differs(-0.3, 0.28)(result);
            for number in 2..=20 {
                let mut copy = result.arms[1].clone();
                copy.id = format!("same#{number}");
                copy.cost.cpu_us_per_request = Some(Interval::around(0.05, 0.28));
                result.arms.push(copy);
            }
        });
        assert_eq!(severity, None);
    }

    #[test]
    fn tails_are_judged_too() {
        let (severity, result) = fired("same-differs", |result| {
            result.arms[1].cost.response_us.p99 = Some(Interval::around(90.0, 30.0));
        });
        assert_eq!(severity, Some(Severity::Fail));
        assert_eq!(result.verdict, Verdict::Caution);
    }
}
