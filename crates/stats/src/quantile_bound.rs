//! Bounds of a quantile of response time that need no minimum number of responses.

use hoptax_result::CountedTime;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::beta::beta_reg;

use crate::RoundTimes;
use crate::mixture::Mixture;

/// Bounds of a quantile: an end is `None` if the data do not bound the quantile on that side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ends {
    /// The quantile is at least this.
    pub low: Option<f64>,
    /// The quantile is at most this.
    pub high: Option<f64>,
}

/// The probability that the variation between rounds is larger than assumed.
const SPREAD_CHANCE: f64 = 0.1;

/// Bounds of the `p` quantile of response time, in nanoseconds. Each holds with a probability of at least `(1 + confidence) / 2`. `rounds`
/// holds the times of each round, as in [`crate::RoundTimes`]. Unlike [`crate::quantile_level`], it needs no minimum of responses: with
/// fewer, the ends are further apart, and finally the upper one is missing.
///
/// **Method.** Order statistics, with the effective number of independent responses in place of the number of responses. The number of
/// responses beyond the quantile is binomial, with the probability `1 - p` and the effective number. So a lower end is a value that more
/// responses exceed than could exceed the quantile by chance, and the upper end likewise. The effective number is the number of responses
/// divided by the design effect: how much more the share beyond the end varies between rounds than it would if responses were independent.
/// Rounds are few, so an upper limit of that variance is taken, at a chance of one in ten. If fewer than five rounds have responses beyond
/// an end, for example because stalls of the machine make up the tail, their variation is unknown. The end is then the smallest or largest
/// value of all, provided that all responses are unlikely to lie on one side of the quantile.
///
/// **Source.** R. S. Woodruff, "Confidence Intervals for Medians and Other Position Measures", *Journal of the American Statistical
/// Association* 47(260), 1952, for quantiles at the limits of a share; E. L. Korn and B. I. Graubard, "Confidence Intervals for
/// Proportions With Small Expected Number of Positive Counts Estimated From Survey Data", *Survey Methodology* 24(2), 1998, for exact
/// binomial limits with the effective number of observations.
///
/// **Coverage.** Simulated by `tests/bound_coverage.rs` with 3,200 to 11,520 responses in 8 to 16 rounds, for p90 and p99. The ends of a
/// difference contain the truth in 97 to 100 % of studies, also where a few stalls of the machine make up the p99 and differ between the
/// arms, and the interval of [`crate::quantile_cost()`] covers in as few as 73 %. The ends of a level contain it in 99 to 100 % where every
/// round has its share of the tail. The p99 that stalls make up is above the upper end in 6 to 12 %: in studies that met too few stalls,
/// and the data of such a study do not show it.
///
/// **Degenerate cases.** Rounds without responses are left out. Both ends are `None` with fewer than two rounds left, when `p` or
/// `confidence` is not strictly between 0 and 1, and when values are not in ascending order. The upper end is `None` if even the
/// largest value may lie below the quantile, and the lower one likewise.
pub fn quantile_ends(rounds: &[&[CountedTime]], p: f64, confidence: f64) -> Ends {
    let with_responses = rounds.iter().filter(|times| times.iter().any(|time| time.count > 0));
    let is_inside = |share: f64| share > 0.0 && share < 1.0;
    let mixture = Mixture::new(with_responses.copied())
        .filter(|mixture| mixture.rounds() > 1 && is_inside(p) && is_inside(confidence));
    mixture.map(|mixture| ends(&mixture, p, confidence)).unwrap_or_default()
}

fn ends(mixture: &Mixture, p: f64, confidence: f64) -> Ends {
    let chance = (1.0 - confidence) / 2.0;
    let below = |share: f64| mixture.quantile(share, None);
    let beyond = |share: f64| mixture.quantile(1.0 - share, None);
    Ends { low: end(mixture, p, chance, below), high: end(mixture, 1.0 - p, chance, beyond) }
}

/// Number of parts into which the search for an end divides one side of the quantile.
const STEPS: u32 = 40;
/// Fewest rounds with responses beyond an end; in a study with fewer rounds, all of them. With fewer, the variation between rounds is not
/// known.
const ROUNDS_BEYOND: usize = 5;

/// The end on one side of a quantile, which holds `share` of the distribution. It is the value nearest to the quantile for which this many
/// responses or fewer beyond it have a probability of at most `chance`. If there is none, it is the outermost value, provided that it is
/// equally unlikely that no response lies beyond the quantile. `at` returns the value beyond which a share of the responses lies.
fn end(mixture: &Mixture, share: f64, chance: f64, at: impl Fn(f64) -> f64) -> Option<f64> {
    let mut largest = 1.0_f64;
    let factor = spread_factor(mixture)?;
    let outermost = at(0.0);
    let steps = (1..STEPS).rev().map(|step| share * f64::from(step) / f64::from(STEPS));
    for smaller in steps {
        let value = at(smaller);
        let (rounds_beyond, design_effect) = beyond(mixture, value, outermost);
        largest = largest.max(design_effect * factor);
        if rounds_beyond < ROUNDS_BEYOND.min(mixture.rounds()) {
            break;
        }
        let responses = mixture.effective() / largest;
        if chance_of_at_most(smaller * responses, responses, share) <= chance {
            return Some(value);
        }
    }
    (chance_of_at_most(0.0, mixture.effective() / largest, share) <= chance).then_some(outermost)
}

/// Returns the factor by which the variance between rounds may be larger than it looks.
fn spread_factor(mixture: &Mixture) -> Option<f64> {
    let freedom = mixture.rounds() as f64 - 1.0;
    Some(freedom / ChiSquared::new(freedom).ok()?.inverse_cdf(SPREAD_CHANCE))
}

/// The number of rounds with responses between a value and the outermost one, and how much more the share of these responses varies between
/// rounds than if they were independent.
fn beyond(mixture: &Mixture, value: f64, outermost: f64) -> (usize, f64) {
    let below = mixture.shares_at_most(value);
    let is_beyond = |share: &&f64| if value < outermost { **share < 1.0 } else { **share > 0.0 };
    let rounds = below.len() as f64;
    let mean = below.iter().sum::<f64>() / rounds;
    let variance = below.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (rounds - 1.0);
    let of_independent = mean * (1.0 - mean) * rounds / mixture.effective();
    let design_effect = if of_independent > 0.0 { variance / of_independent } else { 1.0 };
    (below.iter().filter(is_beyond).count(), design_effect)
}

/// The chance that at most `count` of `responses` independent responses are on a side that holds this share of the distribution: the
/// binomial distribution, extended to fractions.
fn chance_of_at_most(count: f64, responses: f64, share: f64) -> f64 {
    beta_reg((responses - count).max(f64::MIN_POSITIVE), count + 1.0, 1.0 - share)
}

/// Bounds of the difference between the `p` quantile of an arm and that of the arm that it is compared with, from [`quantile_ends`] of
/// each: the difference is at least the lower end of one minus the upper end of the other. Where both sides vary, that is wider than
/// necessary, since both ends are rarely at their worst together.
///
/// **Degenerate cases.** As for [`quantile_ends`]: an end of the difference is `None` if one of the two is.
pub fn quantile_cost_ends(rounds: &[RoundTimes<'_>], p: f64, confidence: f64) -> Ends {
    let arm: Vec<&[CountedTime]> = rounds.iter().map(|round| round.arm).collect();
    let other: Vec<&[CountedTime]> = rounds.iter().map(|round| round.other).collect();
    let [arm, other] = [arm, other].map(|times| quantile_ends(&times, p, confidence));
    let less = |one: Option<f64>, two: Option<f64>| Some(one? - two?);
    Ends { low: less(arm.low, other.high), high: less(arm.high, other.low) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round with one response at each value.
    fn even(values: std::ops::Range<u64>) -> Vec<CountedTime> {
        values.map(|ns| CountedTime { ns, count: 1 }).collect()
    }

    #[test]
    fn the_chance_of_at_most_a_count_is_binomial() {
        // Of 100 independent values, 4 or fewer lie beyond the p90 with a chance of 2.37 %.
        assert!((chance_of_at_most(4.0, 100.0, 0.1) - 0.023_711_083).abs() < 1e-6);
        // The largest of 368 values is above the p99 with 97.5 %, that of 366 with a little less.
        assert!(chance_of_at_most(0.0, 368.0, 0.01) < 0.025 && chance_of_at_most(0.0, 366.0, 0.01) > 0.025);
    }

    #[test]
    fn ends_lie_around_the_quantile_and_further_apart_with_fewer_responses() {
        let round = even(0..1000);
        let width = |rounds: usize| {
            let ends = quantile_ends(&vec![round.as_slice(); rounds], 0.9, 0.95);
            let (low, high) = (ends.low.unwrap(), ends.high.unwrap());
            assert!(low < 899.0 && high > 899.0, "{low} {high}");
            high - low
        };
        assert!(width(20) < width(5));
    }

    #[test]
    fn without_enough_responses_the_upper_end_is_missing() {
        let round = even(0..100);
        let ends = quantile_ends(&[round.as_slice(); 3], 0.99, 0.95);
        assert!(ends.high.is_none() && ends.low.is_some_and(|low| low < 99.0), "{ends:?}");
        assert!(quantile_ends(&[round.as_slice(); 4], 0.99, 0.95).high.is_some());
    }

    #[test]
    fn rounds_that_differ_bound_less_than_rounds_that_agree() {
        let (low, high) = (even(0..1000), even(500..1500));
        let agree = quantile_ends(&[even(250..1250).as_slice(); 12], 0.5, 0.95);
        let differ = quantile_ends(&[low.as_slice(), &high].repeat(6), 0.5, 0.95);
        assert!(differ.low.unwrap() < agree.low.unwrap() && differ.high.unwrap() > agree.high.unwrap());
    }

    #[test]
    fn degenerate_input_has_no_ends() {
        let round = even(0..1000);
        let falling: Vec<CountedTime> = round.iter().rev().copied().collect();
        let none = Ends::default();
        assert_eq!(quantile_ends(&[], 0.5, 0.95), none);
        assert_eq!(quantile_ends(&[&round], 0.5, 0.95), none);
        assert_eq!(quantile_ends(&[&round, &falling], 0.5, 0.95), none);
        for (p, confidence) in [(0.0, 0.95), (1.0, 0.95), (f64::NAN, 0.95), (0.5, 0.0), (0.5, 1.0)] {
            assert_eq!(quantile_ends(&[&round, &round], p, confidence), none);
        }
    }
}
