//! The ratios of the rates of arms, over the rounds that found both rates.

use hoptax_result::{FindState, FoundArm, Interval};
use hoptax_stats::{RatioRound, ratio_over_rounds};

/// A ratio is reported if at most one round in this many found no rate.
const FEWEST_PER_LOST: usize = 4;

/// Adds to each arm except the first its ratio to the first, or the reason why there is none.
pub(super) fn with_ratios(mut arms: Vec<FoundArm>, confidence: f64) -> Vec<FoundArm> {
    let Some(first) = arms.first().cloned() else { return arms };
    for arm in arms.iter_mut().skip(1) {
        match ratio(&first, arm, confidence) {
            Ok(ratio) => arm.ratio = Some(ratio),
            Err(reason) => arm.no_ratio = Some(reason),
        }
    }
    arms
}

/// The ratio of an arm to the first, or the reason why it is unknown.
fn ratio(first: &FoundArm, arm: &FoundArm, confidence: f64) -> Result<Interval, String> {
    for one in [first, arm] {
        if !matches!(one.found.state, FindState::Found | FindState::Bounded) {
            return Err(match one.found.rate.or(one.found.upper_end()) {
                Some(_) => format!("only a bound of the rate of `{}` is known", one.arm),
                None => format!("the search found no rate of `{}`", one.arm),
            });
        }
    }
    let all = first.round_rates.iter().zip(&arm.round_rates);
    let both = all.filter_map(|(first, own)| Some(RatioRound { reference: (*first)?, value: (*own)? }));
    let both: Vec<RatioRound> = both.collect();
    let rounds = first.round_rates.len();
    let lost = rounds - both.len().min(rounds);
    if lost * FEWEST_PER_LOST > rounds {
        return Err(format!("{lost} of {rounds} rounds found no rate of this arm or of the first"));
    }
    ratio_over_rounds(&both, confidence)
        .ok_or_else(|| format!("an interval needs two rounds, and {rounds} are complete; raise --budget"))
}

#[cfg(test)]
mod tests {
    use hoptax_result::FoundGoal;

    use super::*;

    fn arm(name: &str, state: FindState, round_rates: &[Option<f64>]) -> FoundArm {
        FoundArm {
            arm: name.to_owned(),
            found: FoundGoal {
                objectives: Vec::new(),
                state,
                rate: None,
                upper_rate: None,
                estimate: None,
                limited_by: Vec::new(),
            },
            min_rate: 1.0,
            max_rate: 2.0,
            closed_loop_rate: 1.0,
            round_rates: round_rates.to_vec(),
            ratio: None,
            no_ratio: None,
        }
    }

    fn ratio_of(first: &[Option<f64>], second: &[Option<f64>]) -> FoundArm {
        let arms = vec![arm("one", FindState::Found, first), arm("two", FindState::Found, second)];
        let arms = with_ratios(arms, 0.95);
        assert_eq!((&arms[0].ratio, &arms[0].no_ratio), (&None, &None));
        arms[1].clone()
    }

    #[test]
    fn a_ratio_pairs_the_rates_of_a_round() {
        let found = ratio_of(&[Some(10.0), Some(20.0)], &[Some(20.0), Some(40.0)]);
        assert!(found.ratio.is_some_and(|ratio| (ratio.low - 2.0).abs() < 1e-9), "{found:?}");
        let unpaired = ratio_of(&[Some(10.0), Some(20.0)], &[Some(40.0), Some(20.0)]);
        assert!(unpaired.ratio.is_some_and(|ratio| ratio.low < 1.0), "{unpaired:?}");
    }

    #[test]
    fn few_lost_rounds_are_left_out_and_many_leave_no_ratio() {
        let all = [Some(10.0); 6];
        let mut one_lost = all;
        one_lost[2] = None;
        assert!(ratio_of(&all, &one_lost).ratio.is_some());
        let mut two_lost = one_lost;
        two_lost[4] = None;
        let reason = ratio_of(&two_lost, &all).no_ratio.unwrap();
        assert_eq!(reason, "2 of 6 rounds found no rate of this arm or of the first");
    }

    #[test]
    fn without_rounds_or_a_rate_the_reason_is_stated() {
        let reason = ratio_of(&[Some(10.0)], &[Some(10.0)]).no_ratio.unwrap();
        assert!(reason.contains("1 are complete; raise --budget"), "{reason}");
        let arms = vec![arm("one", FindState::GeneratorLimited, &[]), arm("two", FindState::Found, &[])];
        let reason = with_ratios(arms, 0.95)[1].no_ratio.clone().unwrap();
        assert_eq!(reason, "the search found no rate of `one`");
    }

    #[test]
    fn a_rate_of_which_a_bound_is_known_is_called_bounded_and_not_missing() {
        let reason = |state: FindState, rate: Option<f64>, upper_rate: Option<f64>| {
            let mut arms = vec![arm("one", state, &[]), arm("two", FindState::Found, &[])];
            (arms[0].found.rate, arms[0].found.upper_rate) = (rate, upper_rate);
            with_ratios(arms, 0.95)[1].no_ratio.clone().unwrap()
        };
        let bounded = "only a bound of the rate of `one` is known";
        assert_eq!(reason(FindState::Unfinished, Some(9_041.0), None), bounded);
        assert_eq!(reason(FindState::MinimumFailed, None, Some(2.0)), bounded);
        // The upper rate is that of the generator.
        let unknown = reason(FindState::GeneratorLimited, None, Some(2.0));
        assert_eq!(unknown, "the search found no rate of `one`");
    }
}
