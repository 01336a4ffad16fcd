//! What an arm costs at a quantile of response time: quantiles of all rounds together, interval by leaving rounds
//! out.

use hoptax_result::Interval;

use crate::{mean_over_rounds, quantile_supported};

/// The response times of one round: of an arm, and of what it is compared with.
///
/// Each side is a list of values in nanoseconds and how often each came, the values in rising order and none of them
/// twice.
#[derive(Clone, Copy, Debug)]
pub struct RoundTimes<'a> {
    /// Those of the arm.
    pub arm: &'a [(u64, u64)],
    /// Those of what it is compared with, of all copies of it.
    pub other: &'a [(u64, u64)],
}

/// By how much the `p` quantile of response time of an arm exceeds that of what it is compared with, with its
/// `confidence` interval, nanoseconds.
///
/// **Method.** Each side's quantile is that of the mixture of its rounds in which each round weighs the same,
/// interpolated linearly between recorded values. The interval is that of the delete-one jackknife over rounds: a
/// round is left out on both sides at once, and the standard error of the difference is turned into an interval by
/// Student's `t` with one degree of freedom less than there are rounds.
///
/// **Source.** J. W. Tukey, "Bias and Confidence in Not-quite Large Samples" (abstract), *Annals of Mathematical
/// Statistics* 29, 1958, for the jackknife with Student's `t`; J. Shao and C. F. J. Wu, "A General Theory for
/// Jackknife Variance Estimation", *Annals of Statistics* 17(3), 1989, for why it holds here: leaving out one value
/// of a sample gives a wrong standard error of its quantile, leaving out a large group of values, as a round is,
/// gives a right one.
///
/// **Why not the mean of each round's quantiles.** The expected quantile of a sample depends on its size where the
/// tail is heavy, and the arm has fewer answers than the copies of what it is compared with. Then an arm that costs
/// nothing has a cost, of either sign. Quantiles of all rounds together are those of samples as large as the study
/// has.
///
/// **Why not a bootstrap.** In simulated studies of 8 to 16 rounds the percentile bootstrap over rounds held the
/// truth in 79 to 96 %, the one with corrected bias and acceleration (`BCa`) in 66 to 97 %, and tests that are
/// inverted for the share below a quantile in 80 to 97 %; the jackknife held zero in 88 to 98 % of the same
/// studies. Correcting the jackknife's estimate for its bias costs up to 13 points: the correction is mostly noise.
///
/// **What it can do.** `tests/tail_coverage.rs` simulates it. For p50 and p90 the 95 % interval covers in 92 to 97
/// %, in 88 % for the p90 of an arm with more stalls than what it is compared with. For p99 it covers in 91 to 97 %
/// where every round has its share of the tail, and in 87 to 90 % where the tail differs from process to process
/// and one process stands against nine. Where a few stalls of the machine in the whole study make the p99, it holds
/// zero for arms that cost nothing in 96 to 98 %, but a true difference in as few as 73 %: rounds that saw no stall
/// know nothing of stalls, and no rule that looks at the data of such a study was found to tell whether it is one
/// of them. There more rounds help, and more answers per round help less.
///
/// **What it leans to.** Where every round has its share of the tail, the cost of an arm that costs nothing is at
/// the median within 0.05 of its half-width of zero. Where a few stalls make the p99, it is below zero in 52 to 66
/// studies of 100 when one process stands against four to nine copies, at the median by 0.05 to 0.3 of the
/// half-width, while the mean of such costs is above zero: one process meets few stalls more often than nine
/// together do, and many now and then. The mean of each round's quantiles leans by two thirds of its half-width
/// there. With as many copies on both sides nothing leans.
///
/// On rounds measured on a 2-core Intel virtual machine, with an arm and what it is compared with drawn anew in
/// each round from arms that cost nothing, it holds zero in 94, 95 and 93 % (p50, p90 and p99 of 16 rounds, one
/// against four), and in 96 and 88 % (p50 and p90 of 10 rounds, one against nine).
///
/// **Degenerate cases.** Rounds without answers on either side are left out. `None` with fewer than two rounds left,
/// when the answers of one side are too few for the quantile ([`quantile_supported`], with rounds of unequal size
/// counted for what they are worth at equal weight), when `p` or `confidence` does not lie strictly between 0 and 1,
/// and when values are not in rising order. Rounds that agree give an interval without width.
pub fn quantile_cost(rounds: &[RoundTimes<'_>], p: f64, confidence: f64) -> Option<Interval> {
    let has_answers = |times: &[(u64, u64)]| times.iter().any(|(_, count)| *count > 0);
    let complete = || rounds.iter().filter(|round| has_answers(round.arm) && has_answers(round.other));
    let arm = Mixture::new(complete().map(|round| round.arm), p)?;
    let other = Mixture::new(complete().map(|round| round.other), p)?;
    let difference = |left_out| arm.quantile(p, left_out) - other.quantile(p, left_out);
    jackknife(arm.rounds.len(), difference, confidence)
}

/// The `p` quantile of response time of one arm, with its `confidence` interval, nanoseconds. `rounds` holds for each
/// round its times, as in [`RoundTimes`].
///
/// **Method, source, degenerate cases.** Those of [`quantile_cost`], for one side.
pub fn quantile_level(rounds: &[&[(u64, u64)]], p: f64, confidence: f64) -> Option<Interval> {
    let with_answers = rounds.iter().filter(|times| times.iter().any(|(_, count)| *count > 0));
    let mixture = Mixture::new(with_answers.copied(), p)?;
    jackknife(mixture.rounds.len(), |left_out| mixture.quantile(p, left_out), confidence)
}

/// The interval of `estimate`, which is asked for all rounds and for all but one of them.
fn jackknife(rounds: usize, estimate: impl Fn(Option<usize>) -> f64, confidence: f64) -> Option<Interval> {
    let count = rounds as f64;
    let of_all = estimate(None);
    let pseudo_value = |round| count * of_all - (count - 1.0) * estimate(Some(round));
    let pseudo_values: Vec<f64> = (0..rounds).map(pseudo_value).collect();
    // Their mean is the estimate with its bias corrected; only their spread is wanted.
    let half_width = mean_over_rounds(&pseudo_values, confidence)?.half_width();
    Some(Interval { estimate: of_all, low: of_all - half_width, high: of_all + half_width })
}

/// The distribution of a side's response times when each of its rounds weighs the same.
struct Mixture {
    /// For each round its values, rising, and the share of its answers that took at most so long.
    rounds: Vec<Vec<(u64, f64)>>,
}

impl Mixture {
    /// None when a round's values do not rise, and when all together do not support the `p` quantile. Every round has
    /// an answer.
    fn new<'a>(rounds: impl Iterator<Item = &'a [(u64, u64)]>, p: f64) -> Option<Self> {
        let mut shares = Vec::new();
        let mut inverse_counts = 0.0;
        for times in rounds {
            if !times.is_sorted_by(|a, b| a.0 < b.0) {
                return None;
            }
            let answers: f64 = times.iter().map(|(_, count)| *count as f64).sum();
            inverse_counts += 1.0 / answers;
            let mut at_most = 0.0;
            let recorded = times.iter().filter(|(_, count)| *count > 0);
            let share = |&(value, count): &(u64, u64)| {
                at_most += count as f64;
                (value, at_most / answers)
            };
            shares.push(recorded.map(share).collect());
        }
        // Kish's effective sample size: a share of all rounds is as sure as one of so many answers of a single sample.
        let effective = (shares.len() as f64).powi(2) / inverse_counts;
        // A hair more, since the sum of inverses rounds; not a number where there is no round.
        quantile_supported((effective * (1.0 + 1e-12)) as u64, p).then_some(Self { rounds: shares })
    }

    /// The `p` quantile of all rounds but `left_out`, nanoseconds.
    fn quantile(&self, p: f64, left_out: Option<usize>) -> f64 {
        let kept = || {
            let rounds = self.rounds.iter().enumerate();
            rounds.filter(|(index, _)| Some(*index) != left_out).map(|(_, round)| round.as_slice())
        };
        let share_sum = |value: u64| kept().map(|round| share_at_most(round, value)).sum::<f64>();
        // Sums of shares round: what misses the rank by less than a part of an answer has it.
        let wanted = p * kept().count() as f64 - 1e-9;
        let mut below = kept().filter_map(|round| round.first()).map(|(value, _)| *value).min().unwrap_or(0);
        if share_sum(below) >= wanted {
            return below as f64;
        }
        let mut reached = kept().filter_map(|round| round.last()).map(|(value, _)| *value).max().unwrap_or(0);
        // The share grows at recorded values only, so this ends at one.
        while reached - below > 1 {
            let middle = below + (reached - below) / 2;
            if share_sum(middle) >= wanted { reached = middle } else { below = middle }
        }
        let previous = kept().filter_map(|round| last_at_most(round, below)).max().unwrap_or(below);
        let (from, to) = (share_sum(previous), share_sum(reached));
        let way = ((wanted - from) / (to - from)).clamp(0.0, 1.0);
        previous as f64 + way * (reached - previous) as f64
    }
}

/// The share of a round's answers that took at most `value`.
fn share_at_most(round: &[(u64, f64)], value: u64) -> f64 {
    let count = round.partition_point(|(recorded, _)| *recorded <= value);
    count.checked_sub(1).map_or(0.0, |last| round[last].1)
}

/// The largest value of a round that is not above `value`.
fn last_at_most(round: &[(u64, f64)], value: u64) -> Option<u64> {
    let count = round.partition_point(|(recorded, _)| *recorded <= value);
    Some(round[count.checked_sub(1)?].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of a thousand answers, evenly from `first` on.
    fn even(first: u64) -> Vec<(u64, u64)> {
        (first..first + 1000).map(|value| (value, 1)).collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn a_shift_of_all_answers_is_the_cost_at_every_quantile() {
        let (arm, other) = ([even(1100), even(1140)], [even(1000), even(1040)]);
        let rounds: Vec<RoundTimes> =
            arm.iter().zip(&other).map(|(arm, other)| RoundTimes { arm, other }).collect();
        for p in [0.5, 0.9] {
            let cost = quantile_cost(&rounds, p, 0.95).unwrap();
            assert!(near(cost.estimate, 100.0) && near(cost.half_width(), 0.0), "{p}: {cost:?}");
        }
    }

    #[test]
    fn the_interval_is_the_one_worked_by_hand() {
        // Medians of the rounds are 499, 519 and 539. Without the first they are 529 together, without the last 509. Pseudo
        // values 3 * 519 - 2 * {529, 519, 509} = {499, 519, 539}: standard error 20 / sqrt(3), t with two degrees 4.302653.
        let rounds = [even(0), even(20), even(40)];
        let level = quantile_level(&rounds.each_ref().map(Vec::as_slice), 0.5, 0.95).unwrap();
        assert!((level.estimate - 519.0).abs() < 1e-3, "{level:?}");
        assert!((level.half_width() - 4.302_653 * 20.0 / 3_f64.sqrt()).abs() < 1e-3, "{level:?}");
    }

    #[test]
    fn a_round_weighs_the_same_however_many_answers_it_has() {
        let (few, many) = ([(10, 500), (20, 500)], [(30, 50_000), (40, 50_000)]);
        let level = quantile_level(&[&few, &many], 0.5, 0.95).unwrap();
        assert!(near(level.estimate, 20.0), "{level:?}");
    }

    #[test]
    fn too_few_answers_support_no_quantile() {
        let round = even(0);
        let rounds = |count| vec![RoundTimes { arm: &round, other: &round }; count];
        assert_eq!(quantile_cost(&rounds(9), 0.99, 0.95), None);
        assert!(quantile_cost(&rounds(10), 0.99, 0.95).is_some());
        // One round of a hundred thousand does not make up for three of a thousand.
        let large: Vec<(u64, u64)> = (0..1000).map(|value| (value, 100)).collect();
        let mut unequal = rounds(7);
        unequal.push(RoundTimes { arm: &large, other: &large });
        assert_eq!(quantile_cost(&unequal, 0.99, 0.95), None);
    }

    #[test]
    fn rounds_without_answers_are_left_out_on_both_sides() {
        let (arm, other) = (even(1100), even(1000));
        let complete = RoundTimes { arm: &arm, other: &other };
        let without = [complete, RoundTimes { arm: &[], ..complete }, complete];
        assert_eq!(quantile_cost(&without, 0.5, 0.95), quantile_cost(&[complete; 2], 0.5, 0.95));
        let nothing = RoundTimes { other: &[(7, 0)], ..complete };
        assert_eq!(quantile_cost(&[complete, nothing], 0.5, 0.95), None);
        assert_eq!(quantile_cost(&[], 0.5, 0.95), None);
    }

    #[test]
    fn what_cannot_be_computed_is_not_answered() {
        let round = even(0);
        let falling: Vec<(u64, u64)> = round.iter().rev().copied().collect();
        let rounds = [RoundTimes { arm: &round, other: &falling }; 3];
        assert_eq!(quantile_cost(&rounds, 0.5, 0.95), None);
        let rounds = [RoundTimes { arm: &round, other: &round }; 3];
        for (p, confidence) in [(0.0, 0.95), (1.0, 0.95), (f64::NAN, 0.95), (0.5, 0.0), (0.5, 1.0)] {
            assert_eq!(quantile_cost(&rounds, p, confidence), None, "{p} {confidence}");
        }
    }
}
