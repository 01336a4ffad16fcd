//! The ratios of the rates of arms, over the rounds that found both.

use hoptax_checks::objective::Objective;
use hoptax_result::{FindState, FoundArm, Interval};
use hoptax_stats::ratio_over_rounds;

/// A ratio is known if at most one in this many rounds found no rate.
const FEWEST_PER_LOST: usize = 4;

/// Requests of a trial that are later than a percentile permits, below which chance decides how trials of a queue end. Intervals of
/// ratios of a queue to a server that fails sharply contain the truth too rarely then (`stats/tests/search_ratio_coverage.rs`).
const FEWEST_LATE: f64 = 50.0;

/// What the arms were judged by.
pub(super) struct Judgement<'a> {
    pub objectives: &'a [Objective],
    /// Length of the trials that decide, seconds.
    pub final_trial_s: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// Adds to each arm but the first its ratio to the first, or the reason why it has none.
pub(super) fn with_ratios(mut arms: Vec<FoundArm>, judgement: &Judgement<'_>) -> Vec<FoundArm> {
    let Some(first) = arms.first().cloned() else { return arms };
    for arm in arms.iter_mut().skip(1) {
        match of(&first, arm, judgement.confidence) {
            Ok(ratio) => {
                arm.ratio = Some(ratio);
                arm.ratio_caution = few_late(&first, judgement).or_else(|| few_late(arm, judgement));
            }
            Err(reason) => arm.no_ratio = Some(reason),
        }
    }
    arms
}

/// Says so if an arm is limited by a percentile that few requests of a trial decide.
fn few_late(arm: &FoundArm, judgement: &Judgement<'_>) -> Option<String> {
    let rate = arm.found.rate?;
    judgement.objectives.iter().find_map(|objective| {
        let percentile = objective.percentile()?;
        let name = objective.to_string();
        let late = rate * judgement.final_trial_s * (1.0 - percentile / 100.0);
        (arm.found.limited_by.contains(&name) && late < FEWEST_LATE).then(|| {
            format!(
                "the interval of its ratio may be too narrow: `{name}` limits `{}`, and is decided by {late:.0} requests of a trial, so by \
                 chance if the arm fails gradually. Use --preset careful for longer trials",
                arm.arm
            )
        })
    })
}

/// The ratio of an arm to the first, or why it is not known.
fn of(first: &FoundArm, arm: &FoundArm, confidence: f64) -> Result<Interval, String> {
    for one in [first, arm] {
        if one.found.state != FindState::Found {
            return Err(format!("the search found no rate of `{}`", one.arm));
        }
    }
    let all = first.round_rates.iter().zip(&arm.round_rates);
    let both: Vec<(f64, f64)> = all.filter_map(|(first, own)| first.zip(*own)).collect();
    let rounds = first.round_rates.len();
    let lost = rounds - both.len().min(rounds);
    if lost * FEWEST_PER_LOST > rounds {
        return Err(format!("{lost} of {rounds} rounds found no rate of one of them"));
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
                conditional_throughput: None,
                limited_by: Vec::new(),
            },
            min_rate: 1.0,
            max_rate: 2.0,
            closed_loop_rate: 1.0,
            round_rates: round_rates.to_vec(),
            ratio: None,
            no_ratio: None,
            ratio_caution: None,
        }
    }

    fn judgement(objectives: &[Objective]) -> Judgement<'_> {
        Judgement { objectives, final_trial_s: 1.0, confidence: 0.95 }
    }

    fn ratio_of(first: &[Option<f64>], second: &[Option<f64>]) -> FoundArm {
        let arms = vec![arm("one", FindState::Found, first), arm("two", FindState::Found, second)];
        let arms = with_ratios(arms, &judgement(&[]));
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
        assert_eq!(reason, "2 of 6 rounds found no rate of one of them");
    }

    #[test]
    fn without_rounds_or_a_rate_the_reason_is_stated() {
        let reason = ratio_of(&[Some(10.0)], &[Some(10.0)]).no_ratio.unwrap();
        assert!(reason.contains("1 are complete; raise --budget"), "{reason}");
        let arms = vec![arm("one", FindState::GeneratorLimited, &[]), arm("two", FindState::Found, &[])];
        let reason = with_ratios(arms, &judgement(&[]))[1].no_ratio.clone().unwrap();
        assert_eq!(reason, "the search found no rate of `one`");
    }

    #[test]
    fn a_percentile_that_few_requests_of_a_trial_decide_is_a_caution() {
        let objectives: Vec<Objective> = vec!["p99<5ms".parse().unwrap(), "errors<0.1%".parse().unwrap()];
        let limited = |name: &str, rate: f64, by: &str| {
            let mut arm = arm(name, FindState::Found, &[Some(rate); 6]);
            arm.found.rate = Some(rate);
            arm.found.limited_by = vec![by.to_owned()];
            arm
        };
        let caution =
            |arms: Vec<FoundArm>| with_ratios(arms, &judgement(&objectives))[1].ratio_caution.clone();
        let slow = limited("slow", 1_200.0, "p99<5ms");
        let fast = limited("fast", 12_000.0, "p99<5ms");
        let why = caution(vec![slow.clone(), fast.clone()]).unwrap();
        assert!(why.contains("`p99<5ms` limits `slow`, and is decided by 12 requests"), "{why}");
        assert_eq!(caution(vec![fast.clone(), slow]), Some(why));
        assert_eq!(caution(vec![fast.clone(), fast.clone()]), None);
        assert_eq!(caution(vec![fast, limited("fails", 1_200.0, "errors<0.1%")]), None);
    }
}
