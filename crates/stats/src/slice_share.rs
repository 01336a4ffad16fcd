//! Compares the shares of slices that a rule chose in two arms, such as quiet slices: their difference, and how much of it may be chance.

use crate::critical::two_sided_normal;

/// Slices of an arm in a round, and those of them that a rule chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChosenSlices {
    /// Slices that the rule chose.
    pub chosen: u32,
    /// All slices.
    pub all: u32,
}

/// The slices of an arm in a round, and of the arm that it is compared with, of all its copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChosenInRound {
    /// Slices of the arm.
    pub arm: ChosenSlices,
    /// Slices of the arm that it is compared with.
    pub other: ChosenSlices,
}

/// A difference of the shares of chosen slices, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareDifference {
    /// The middle of its interval. It is nearer to zero than the observed difference, the more so with few slices.
    middle: f64,
    standard_error: f64,
}

/// Confidence of the interval that tells a difference from chance.
const OF_CHANCE: f64 = 0.95;
/// Confidence of the interval whose upper end excludes larger differences with 95 %.
const OF_SIZE: f64 = 0.9;

impl ChosenSlices {
    fn share(self) -> f64 {
        f64::from(self.chosen) / f64::from(self.all.max(1))
    }

    fn add(&mut self, other: Self) {
        self.chosen += other.chosen;
        self.all += other.all;
    }

    /// The variance of a share `p` of that many slices, if they are independent.
    fn variance(self, p: f64) -> f64 {
        p * (1.0 - p) / f64::from(self.all.max(1))
    }
}

/// The sums over the rounds in which both arms have slices.
fn sums(rounds: &[ChosenInRound]) -> ChosenInRound {
    let mut sum = ChosenInRound::default();
    for round in complete(rounds) {
        sum.arm.add(round.arm);
        sum.other.add(round.other);
    }
    sum
}

fn complete(rounds: &[ChosenInRound]) -> impl Iterator<Item = &ChosenInRound> {
    rounds.iter().filter(|round| round.arm.all > 0 && round.other.all > 0)
}

/// The dispersion of slices: the variation of differences of shares from round to round as a multiple of that of independent slices.
/// `arms` has the rounds of each arm of a study.
///
/// **Method.** Cochran's Q of the differences of the rounds, weighted by their binomial variances, summed over arms and divided by its
/// degrees of freedom, at least 1. Variation that both arms share from round to round, such as how often the machine stalls, is not part of
/// it. The arms share one factor because each has too few rounds for one of its own.
///
/// **Source.** P. McCullagh and J. A. Nelder, *Generalized Linear Models*, second edition, 1989, section 4.5 (heterogeneity factor).
///
/// **Degenerate cases.** Rounds in which one of the two sides has no slice are left out, and so are arms of which a rule chose all slices
/// or none, on both sides. 1 without two rounds of an arm.
pub fn slice_dispersion(arms: &[Vec<ChosenInRound>]) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for rounds in arms {
        let sum = sums(rounds);
        let (own, others) = (sum.arm.share(), sum.other.share());
        let of_round = |round: &ChosenInRound| {
            let variance = round.arm.variance(own) + round.other.variance(others);
            (round.arm.share() - round.other.share(), 1.0 / variance)
        };
        let of_rounds: Vec<(f64, f64)> = complete(rounds).map(of_round).collect();
        let weights: f64 = of_rounds.iter().map(|(_, weight)| weight).sum();
        if of_rounds.len() < 2 || !weights.is_finite() {
            continue;
        }
        let mean = of_rounds.iter().map(|(difference, weight)| weight * difference).sum::<f64>() / weights;
        squares +=
            of_rounds.iter().map(|(difference, weight)| weight * (difference - mean).powi(2)).sum::<f64>();
        freedom += of_rounds.len() as f64 - 1.0;
    }
    if freedom > 0.0 { (squares / freedom).max(1.0) } else { 1.0 }
}

/// The difference of the shares of chosen slices of an arm and of the one that it is compared with. `dispersion` is that of the study:
/// [`slice_dispersion`].
///
/// **Method.** Each side gets one chosen slice and one other in addition, so that few slices that are all chosen do not look like an exact
/// share of one. The variance is that of two independent binomial shares, times `dispersion`.
///
/// **Source.** A. Agresti and B. Caffo, "Simple and Effective Confidence Intervals for Proportions and Differences of Proportions Result
/// from Adding Two Successes and Two Failures", *The American Statistician* 54(4), 2000.
///
/// **Degenerate cases.** Rounds in which one of the two sides has no slice are left out. `None` without a round.
pub fn share_difference(rounds: &[ChosenInRound], dispersion: f64) -> Option<ShareDifference> {
    complete(rounds).next()?;
    let mut sum = sums(rounds);
    let added = ChosenSlices { chosen: 1, all: 2 };
    sum.arm.add(added);
    sum.other.add(added);
    let (own, others) = (sum.arm.share(), sum.other.share());
    let variance = sum.arm.variance(own) + sum.other.variance(others);
    Some(ShareDifference { middle: own - others, standard_error: (dispersion * variance).sqrt() })
}

impl ShareDifference {
    /// Upper limit of the size of the true difference, whatever its sign: a larger one is excluded with 95 % confidence.
    pub fn may_be(&self) -> f64 {
        self.middle.abs() + self.half_width(OF_SIZE)
    }

    /// Returns true if chance alone may explain the difference: its 95 % interval contains zero.
    pub fn may_be_chance(&self) -> bool {
        self.middle.abs() <= self.half_width(OF_CHANCE)
    }

    fn half_width(&self, confidence: f64) -> f64 {
        two_sided_normal(confidence).map_or(f64::INFINITY, |z| z * self.standard_error)
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use statrs::distribution::{Binomial, Discrete};

    use super::*;

    fn round(arm: (u32, u32), other: (u32, u32)) -> ChosenInRound {
        let of = |(chosen, all): (u32, u32)| ChosenSlices { chosen, all };
        ChosenInRound { arm: of(arm), other: of(other) }
    }

    /// Probabilities of the outcomes of a comparison.
    #[derive(Debug, Default)]
    struct Rates {
        /// The observed difference is at most a tenth, and one of two tenths is excluded.
        alike: f64,
        /// Not alike, and the difference is more than chance explains.
        different: f64,
        /// The observed difference is more than a tenth.
        observed: f64,
    }

    /// The exact rates with this many slices of the arm, each chosen with probability `own`, and `copies` times as many of the other, each
    /// chosen with probability `others`: the sum over all possible numbers of chosen slices.
    fn rates(slices: u32, copies: u32, own: f64, others: f64) -> Rates {
        let of = |p: f64, all: u32| Binomial::new(p, all.into()).unwrap();
        let (chances, others_all) = ([of(own, slices), of(others, copies * slices)], copies * slices);
        let mut rates = Rates::default();
        for arm in 0..=slices {
            for other in 0..=others_all {
                let chance = chances[0].pmf(arm.into()) * chances[1].pmf(other.into());
                let round = round((arm, slices), (other, others_all));
                let observed = (round.arm.share() - round.other.share()).abs();
                let found = share_difference(&[round], 1.0).unwrap();
                let is_small = observed <= 0.1 + 1e-9;
                if is_small && found.may_be() <= 0.2 {
                    rates.alike += chance;
                } else if !found.may_be_chance() {
                    rates.different += chance;
                }
                rates.observed += if is_small { 0.0 } else { chance };
            }
        }
        rates
    }

    #[test]
    fn arms_that_differ_by_twice_the_limit_rarely_pass_even_with_few_slices() {
        // The worst is 17 slices against 17 that are always chosen.
        for (slices, copies) in [(4, 1), (8, 2), (17, 1), (24, 1), (40, 1), (80, 2)] {
            for others in [1.0, 0.95, 0.8, 0.7] {
                let found = rates(slices, copies, others - 0.2, others);
                assert!(found.alike <= 0.12, "{slices} {copies} {others}: {found:?}");
            }
        }
        // The observed difference alone passes a quarter of them.
        let observed = rates(16, 2, 0.6, 0.8).observed;
        assert!((0.7..0.8).contains(&observed), "{observed}");
    }

    #[test]
    fn arms_that_are_alike_are_hardly_ever_called_different_however_few_the_slices() {
        for (slices, copies) in [(4, 1), (8, 2), (16, 2), (40, 1), (80, 2)] {
            for share in [0.95, 0.77, 0.6] {
                let found = rates(slices, copies, share, share);
                assert!(found.different <= 0.07, "{slices} {copies} {share}: {found:?}");
            }
        }
        // The observed difference alone calls most of them different.
        let observed = rates(8, 2, 0.77, 0.77).observed;
        assert!(observed > 0.5, "{observed}");
    }

    #[test]
    fn enough_slices_tell_that_arms_are_alike() {
        for (slices, copies, share, least) in
            [(144, 2, 0.77, 0.97), (80, 2, 0.9, 0.98), (40, 2, 0.95, 0.97), (40, 2, 0.77, 0.6)]
        {
            let found = rates(slices, copies, share, share);
            assert!(found.alike >= least, "{slices} {copies} {share}: {found:?}");
        }
        // Eight slices tell nothing, even if all are chosen.
        let few = share_difference(&[round((8, 8), (8, 8))], 1.0).unwrap();
        assert!(few.may_be() > 0.2 && few.may_be_chance(), "{few:?}");
    }

    #[test]
    fn what_varies_for_both_arms_alike_is_no_dispersion_and_what_varies_for_one_is() {
        let together: Vec<ChosenInRound> = (0..6).map(|n| round((n, 10), (2 * n, 20))).collect();
        assert!((slice_dispersion(slice::from_ref(&together)) - 1.0).abs() < 1e-12);
        // Variances of 0.25 / 10 on each side, and differences of +-0.5: Q = 2 * 0.25 / 0.05 with one degree of freedom.
        let apart = vec![round((10, 10), (5, 10)), round((0, 10), (5, 10))];
        assert!((slice_dispersion(slice::from_ref(&apart)) - 10.0).abs() < 1e-9);
        // With the five degrees of the arm that does not vary by itself: 10 / 6.
        assert!((slice_dispersion(&[together, apart.clone()]) - 10.0 / 6.0).abs() < 1e-9);
        let [narrow, wide] = [1.0, 4.0].map(|factor| share_difference(&apart, factor).unwrap());
        assert!((wide.standard_error - 2.0 * narrow.standard_error).abs() < 1e-12);
    }

    #[test]
    fn degenerate_input() {
        let none = round((0, 0), (3, 10));
        assert_eq!([share_difference(&[], 1.0), share_difference(&[none], 1.0)], [None; 2]);
        let some = round((3, 10), (3, 10));
        assert_eq!(share_difference(&[some, none], 1.0), share_difference(&[some], 1.0));
        let all = round((10, 10), (10, 10));
        for rounds in [vec![], vec![some], vec![some, none], vec![all, all]] {
            assert_eq!(slice_dispersion(slice::from_ref(&rounds)).to_bits(), 1.0_f64.to_bits(), "{rounds:?}");
        }
    }
}
