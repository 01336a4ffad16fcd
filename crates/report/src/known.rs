//! Arms with known costs and their measured costs, as evidence that the setup measures correctly.

use hoptax_result::{ArmResult, CostMeasure, Interval, StudyResult};

use crate::numbers::{difference, grouped};

/// One sentence per known answer, in the order of the arms.
pub(crate) fn sentences(result: &StudyResult) -> Vec<String> {
    let of_arm = |arm: &ArmResult| [response_time(arm), cpu_time(result, arm)];
    result.arms.iter().flat_map(of_arm).flatten().collect()
}

fn response_time(arm: &ArmResult) -> Option<String> {
    let known = arm.known_answer?;
    let low = plain(known.response_p50_low_us?);
    let seen = costs(arm.cost.response_us.p50.as_ref());
    let expected = match known.response_p50_high_us {
        Some(high_us) => format!("{low} to {} us", plain(high_us)),
        None => format!("{low} us or more"),
    };
    Some(format!("{}: p50 {seen}, expected {expected}", arm.id))
}

/// The arm that burns CPU time is compared with the same function without burning, because the function's own cost is unknown.
fn cpu_time(result: &StudyResult, arm: &ArmResult) -> Option<String> {
    let known_us = |arm: &ArmResult| arm.known_answer?.cpu_us;
    let expected_us = known_us(arm).filter(|us| *us > 0.0)?;
    let is_empty = |other: &&ArmResult| {
        other.function == arm.function && known_us(other).is_some_and(|expected_us| expected_us <= 0.0)
    };
    let empty = result.arms.iter().find(is_empty)?;
    let both = arm.cost.cpu_us_per_request.zip(result.cost_beside(arm, empty, CostMeasure::CpuUs));
    let seen = both.map(|(full, empty)| {
        // Treat the errors of the two arms as independent.
        let (estimate, half) = (full.estimate - empty.estimate, full.half_width().hypot(empty.half_width()));
        Interval::around(estimate, half)
    });
    let expected = plain(expected_us);
    Some(format!(
        "{}: CPU {}, expected {expected} us more than without burning",
        arm.id,
        costs(seen.as_ref())
    ))
}

fn costs(seen: Option<&Interval>) -> String {
    let seen = seen.map(|seen| format!("{} us", difference(seen)));
    seen.unwrap_or_else(|| "withheld".to_owned())
}

fn plain(us: f64) -> String {
    grouped(us, if us.fract() == 0.0 { 0 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn known_answers_are_compared_with_measured_costs() {
        assert_eq!(
            sentences(&fixture::study()),
            [
                "control/delay: p50 +5,009.8 ±1.1 us, expected 4,900 to 5,700 us",
                "control/burn{us=10}: CPU +10.02 ±0.79 us, expected 10 us more than without burning"
            ]
        );
        assert!(sentences(&fixture::void()).iter().all(|sentence| sentence.contains(" withheld,")));
    }
}
