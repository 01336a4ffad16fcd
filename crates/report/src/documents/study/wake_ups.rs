//! How many requests a wake-up of a proxy carries, beside the load of its CPU time: those that share a wake-up share its cost.

use hoptax_result::{ArmResult, Interval, StudyResult, Verdict};

use crate::quantity::{Form, Quantity};
use crate::rows::{Row, baselines};

/// The requests per wake-up of the dearest arm and of the arm that it is compared with, both under the load of the dearest arm's CPU time,
/// because an arm has another number under another load. Without a dearest arm, those of the main reference under its own load. None if the
/// kernel did not count them, and of a void study.
pub(super) fn note(result: &StudyResult, dearest: Option<&Row<'_>>) -> Option<String> {
    let arm = dearest.map(|row| row.arm).or_else(|| baselines(result).first().copied())?;
    let load = result.plan.cpu_load_of(&arm.id)?;
    let mark = dearest.map_or("", |row| row.mark.as_str());
    let reference = result.reference_of(arm).map(|other| (other, format!("{}{mark}", other.id)));
    let arms = reference.into_iter().chain([(arm, dearest.map_or_else(|| arm.id.clone(), Row::marked))]);
    let of_arm = |(one, name): (&ArmResult, String)| {
        Some(format!("`{name}` {}", requests_per_wake_up(one, &load.name)?.text()))
    };
    let all: Vec<String> = arms.filter(|_| result.verdict != Verdict::Void).filter_map(of_arm).collect();
    (!all.is_empty()).then(|| format!("requests per wake-up of the proxy: {}", all.join(", ")))
}

/// The reciprocal of the wake-ups per request under a load; only bounded if the interval of these reaches zero.
fn requests_per_wake_up(arm: &ArmResult, load: &str) -> Option<Quantity> {
    let Interval { estimate, low, high, .. } = arm.under(load)?.parts?.voluntary_switches?;
    // A pure number, with as many decimals as its interval supports.
    let unit = "";
    if low > 0.0 {
        let requests = Interval::new(1.0 / estimate, 1.0 / high, 1.0 / low);
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
        let expected = "requests per wake-up of the proxy: `baseline{size=4096}` 0.500 ±0.026, \
                        `compress/gzip` 0.500 ±0.026";
        assert_eq!(of_both, expected);
        let bounded = note(Interval::around(0.01, 0.01), Verdict::Caution).unwrap();
        assert!(bounded.contains("`baseline{size=4096}` ≥ 50.0, "), "{bounded}");
    }

    #[test]
    fn an_arm_with_a_load_of_its_own_stands_beside_its_reference_under_that_load() {
        let mut result = fixture::loaded();
        result.verdict = Verdict::Caution;
        let ids = result.arms.iter().map(|arm| arm.id.clone());
        let others: Vec<String> = ids.filter(|id| id != "compress/gzip").collect();
        result.plan.loads[1].arms = others;
        result.plan.loads[2].arms = ["baseline{size=4096}", "compress/gzip"].map(str::to_owned).into();
        for load in result.arms.iter_mut().flat_map(|arm| &mut arm.loads) {
            let wake_ups = Interval::around(if load.load == "half" { 4.0 } else { 2.0 }, 0.4);
            load.parts = Some(Parts { voluntary_switches: Some(wake_ups), ..Parts::default() });
        }
        let found = study(&result).notes.into_iter().find(|note| note.contains("per wake-up"));
        let expected = "requests per wake-up of the proxy: `baseline{size=4096} (10,000/s)` 0.250 ±0.028, \
                        `compress/gzip (10,000/s)` 0.250 ±0.028";
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn without_counts_and_for_a_void_study_there_is_no_note() {
        assert_eq!(note(Interval::around(0.0, 0.0), Verdict::Caution), None);
        assert_eq!(note(Interval::around(2.0, 0.1), Verdict::Void), None);
        let notes = study(&fixture::loaded()).notes;
        assert!(notes.iter().all(|note| !note.contains("per wake-up")), "{notes:?}");
    }
}
