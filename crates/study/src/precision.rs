//! How narrow the intervals of a study are, and how narrow more rounds are likely to make them.

use hoptax_result::{Interval, StudyResult};
use hoptax_stats::{LOOK_CONFIDENCE, half_width_after, precise_enough, rounds_needed, standard_error};

/// What a forecast of more rounds aims at: intervals narrower by a quarter are worth a thought.
const NARROWER: f64 = 0.75;

/// How narrow the intervals of a study are likely to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Rounds in all.
    pub rounds: u32,
    /// The half-width that nearly all costs in CPU time have then, as a share of the CPU time of what each is compared with.
    pub half_width_share: f64,
}

/// The half-widths of all costs in CPU time, each as a share of the CPU time of what its arm is compared with: 0.01 for 1 %. One
/// for each arm that has such a cost; infinite where it could not be computed.
///
/// The estimates of the costs have no part in them, so that a study which stops by them does not favour small costs or large ones.
pub fn half_widths(result: &StudyResult) -> Vec<f64> {
    let proxied = |id: &String| result.arms.iter().find(|arm| arm.id == *id && !arm.hops.is_empty());
    let compared = result.arms.iter().filter(|arm| !arm.hops.is_empty());
    let with_other = compared.filter_map(|arm| Some((arm, proxied(arm.compared_with.as_ref()?)?)));
    with_other
        .map(|(arm, other)| {
            let share = arm.cost.cpu_us_per_request.zip(other.cpu_us_per_request);
            let share = share.map(|(cost, level)| cost.half_width() / level.estimate);
            share.filter(|share| *share >= 0.0).unwrap_or(f64::INFINITY)
        })
        .collect()
}

/// The smallest half-width that is [`precise_enough`] for nearly all of `half_widths`.
///
/// **Degenerate cases.** `None` without any, and where too many are infinite.
pub fn of_nearly_all(half_widths: &[f64]) -> Option<f64> {
    let mut sorted = half_widths.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.into_iter().find(|target| precise_enough(half_widths, *target)).filter(|target| target.is_finite())
}

/// How narrow the intervals of nearly all costs in CPU time will be after `rounds` rounds, by those that `result` has.
///
/// **Method.** [`half_width_after`] of the half-width that nearly all have now. With two rounds it is an order of magnitude: in
/// four studies on one slow virtual machine, what the costs of two random rounds promised was 0.4 to 2.6 times what all 16 (in
/// one of them 10) came to, from the tenth to the ninetieth percentile; with eight rounds it was 0.5 to 1.4 times. Pooling the
/// spread of all arms was worse in each of them, since arms differ in it.
///
/// **Degenerate cases.** `None` where there is no such half-width, and with fewer than two rounds, measured or asked for.
pub fn forecast(result: &StudyResult, rounds: u32) -> Option<Forecast> {
    let now = of_nearly_all(&half_widths(result))?;
    let (measured, confidence) = (result.plan.rounds_completed, result.plan.quantile_confidence());
    let then = half_width_after(now * at_looks(measured, confidence)?, measured, rounds)?;
    Some(Forecast { rounds, half_width_share: then / at_looks(rounds, confidence)? })
}

/// How many rounds would make the intervals narrower by a quarter than `planned` rounds do.
///
/// **Degenerate cases.** As [`forecast`]; and `None` where that many rounds are out of reach.
pub fn forecast_of_more(result: &StudyResult, planned: u32) -> Option<Forecast> {
    let expected = forecast(result, planned)?;
    let confidence = result.plan.quantile_confidence();
    let at_look = expected.half_width_share * at_looks(planned, confidence)?;
    forecast(result, rounds_needed(at_look, planned, at_look * NARROWER)?)
}

/// How many times as wide an interval over `rounds` rounds is at the confidence of looks as at `confidence`.
fn at_looks(rounds: u32, confidence: f64) -> Option<f64> {
    let one = Interval { estimate: 0.0, low: -1.0, high: 1.0 };
    Some(standard_error(&one, rounds, confidence)? / standard_error(&one, rounds, LOOK_CONFIDENCE)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_all_is_the_widest_of_few_and_the_last_but_one_of_twenty() {
        assert_eq!(of_nearly_all(&[0.03, 0.01, 0.02]), Some(0.03));
        let mut twenty = vec![0.01; 19];
        twenty.push(f64::INFINITY);
        assert_eq!(of_nearly_all(&twenty), Some(0.01));
        twenty[0] = f64::INFINITY;
        assert_eq!(of_nearly_all(&twenty), None);
        assert_eq!(of_nearly_all(&[]), None);
    }

    #[test]
    fn intervals_at_looks_are_wider() {
        // R: qt(0.98, 9) / qt(0.975, 9) = 2.398441 / 2.262157.
        assert!((at_looks(10, 0.95).unwrap() - 2.398_441 / 2.262_157).abs() < 1e-6);
        assert!((at_looks(10, LOOK_CONFIDENCE).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(at_looks(1, 0.95), None);
    }
}
