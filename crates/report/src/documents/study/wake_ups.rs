//! How many requests a wake-up of a proxy carries, beside the load of its CPU time: those that share a wake-up share its cost.

use hoptax_result::{ArmResult, Interval, StudyResult, Verdict};

use crate::quantity::{Form, Quantity};
use crate::rows::{Row, baselines};

/// The requests per wake-up of the arm that others are compared with, and of the dearest one, under the load of their CPU time; none if the
/// kernel did not count them, and of a void study.
pub(super) fn note(result: &StudyResult, dearest: Option<&Row<'_>>) -> Option<String> {
    let plain = baselines(result).first().map(|arm| (*arm, arm.id.clone()));
    let arms = plain.into_iter().chain(dearest.map(|row| (row.arm, row.marked())));
    let of_arm = |(arm, name): (&ArmResult, String)| {
        Some(format!("`{name}` {}", requests_per_wake_up(result, arm)?.text()))
    };
    let all: Vec<String> = arms.filter(|_| result.verdict != Verdict::Void).filter_map(of_arm).collect();
    (!all.is_empty()).then(|| format!("requests per wake-up of the proxy: {}", all.join(", ")))
}

/// The reciprocal of the wake-ups per request; only bounded if the interval of these reaches zero.
fn requests_per_wake_up(result: &StudyResult, arm: &ArmResult) -> Option<Quantity> {
    let load = result.plan.cpu_load_of(&arm.id)?;
    let Interval { estimate, low, high } = arm.under(&load.name)?.parts?.voluntary_switches?;
    // A pure number, with as many decimals as its interval supports.
    let unit = "";
    if low > 0.0 {
        let requests = Interval { estimate: 1.0 / estimate, low: 1.0 / high, high: 1.0 / low };
        return Some(Quantity::level(&requests, unit));
    }
    (high > 0.0).then(|| Quantity::bounded(Some(1.0 / high), None, unit, Form::Level))
}

#[cfg(test)]
mod tests {
    use hoptax_result::Parts;

    use super::super::study;
    use super::*;
    use crate::fixture;

    /// The note of a study whose proxies wake up this often for each request.
    fn note(wake_ups: Interval, verdict: Verdict) -> Option<String> {
        let mut result = fixture::loaded();
        result.verdict = verdict;
        for load in result.arms.iter_mut().flat_map(|arm| &mut arm.loads) {
            let is_in_use = load.load == "fixed-rate";
            let parts = Parts { voluntary_switches: Some(wake_ups), ..Parts::default() };
            load.parts = is_in_use.then_some(parts);
        }
        study(&result).notes.into_iter().find(|note| note.contains("per wake-up"))
    }

    #[test]
    fn requests_per_wake_up_stand_beside_the_load_of_cpu_time() {
        let of_both = note(Interval::around(2.0, 0.1), Verdict::Caution).unwrap();
        assert_eq!(
            of_both,
            "requests per wake-up of the proxy: `baseline` 0.500 ±0.026, `compress/gzip` 0.500 ±0.026"
        );
        let bounded = note(Interval::around(0.01, 0.01), Verdict::Caution).unwrap();
        assert!(bounded.contains("`baseline` ≥ 50.0, "), "{bounded}");
    }

    #[test]
    fn without_counts_and_for_a_void_study_there_is_no_note() {
        assert_eq!(note(Interval::around(0.0, 0.0), Verdict::Caution), None);
        assert_eq!(note(Interval::around(2.0, 0.1), Verdict::Void), None);
        let notes = study(&fixture::loaded()).notes;
        assert!(notes.iter().all(|note| !note.contains("per wake-up")), "{notes:?}");
    }
}
