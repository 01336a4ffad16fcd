//! Tails of response time: quantiles over all rounds together, never means of quantiles.
//!
//! The median is not here: a slice has enough responses for its own median, so medians are compared slice by slice, like CPU time. All
//! requests of a slice hit the same phase of the machine's periodic activity, so medians of slices take a few values with gaps in between,
//! and the median over all rounds jumps from one to the next: in two null studies on real Envoy 26 of 40 jackknife intervals of that median
//! covered zero, at a nominal 95 % each, and 37 of 40 paired intervals did.

use hoptax_result::{CountedTime, Interval, ResponseCost};
use hoptax_stats::{
    RoundTimes, effective_responses, quantile_cost, quantile_cost_half_width, quantile_level, quantile_share,
    share_cost,
};

use super::times::Times;

/// Response times of one round, of an arm and of the arm that it is compared with.
pub(super) struct Round<'a> {
    pub(super) own: &'a [CountedTime],
    pub(super) other: &'a [CountedTime],
}

/// Responses slower than this count as slow, nanoseconds.
const SLOW_NS: u64 = 1_000_000;

/// Times of an arm under an open load, round by round.
pub(super) fn rounds<'a>(times: &'a [Times], arm: &str, other: Option<&str>, load: &str) -> Vec<Round<'a>> {
    let of_round = |times: &'a Times| {
        let of =
            |arm: &str| times.get(&(arm.to_owned(), load.to_owned())).map_or([].as_slice(), Vec::as_slice);
        Round { own: of(arm), other: other.map(of).unwrap_or_default() }
    };
    times.iter().map(of_round).collect()
}

fn both<'a>(rounds: &[Round<'a>]) -> Vec<RoundTimes<'a>> {
    rounds.iter().map(|round| RoundTimes { arm: round.own, other: round.other }).collect()
}

/// A quantile of an arm's own response times, us.
pub(super) fn level(rounds: &[Round<'_>], p: f64, confidence: f64) -> Option<Interval> {
    quantile_level(&times_of_arm(rounds), p, confidence).map(|ns| ns.in_units(1e3))
}

/// The response times of the arm itself, without those of the arm that it is compared with.
fn times_of_arm<'a>(rounds: &[Round<'a>]) -> Vec<&'a [CountedTime]> {
    rounds.iter().map(|round| round.own).collect()
}

/// The effective number of responses of the arm, by which [`level`] decides if there are enough; [`responses`] is the actual number.
pub(super) fn effective(rounds: &[Round<'_>]) -> u64 {
    effective_responses(&times_of_arm(rounds))
}

/// The tails of an arm's own response times, us; without the median. If a machine stalls for a few percent of the time, its stalls make up
/// the slowest hundredth of the responses, but little of the slowest tenth. So only p99 is also computed from quiet slices.
pub(super) fn levels(all: &[Round<'_>], quiet: &[Round<'_>], confidence: f64) -> ResponseCost {
    let at = |rounds: &[Round<'_>], p: f64| level(rounds, p, confidence);
    ResponseCost { p50: None, p90: at(all, 0.9), p99: at(all, 0.99), quiet_p99: at(quiet, 0.99) }
}

/// The differences of the tails from those of the other arm, us. Each compares slices of the same kind in both arms.
pub(super) fn costs(all: &[Round<'_>], quiet: &[Round<'_>], confidence: f64) -> ResponseCost {
    let at =
        |rounds: &[Round<'_>], p: f64| quantile_cost(&both(rounds), p, confidence).map(|ns| ns.in_units(1e3));
    ResponseCost { p50: None, p90: at(all, 0.9), p99: at(all, 0.99), quiet_p99: at(quiet, 0.99) }
}

/// The difference of a tail as a share of that of the other arm.
pub(super) fn share(rounds: &[Round<'_>], p: f64, confidence: f64) -> Option<Interval> {
    quantile_share(&both(rounds), p, confidence)
}

/// The half-width of the difference at p99, us, even with too few responses for p99.
pub(super) fn p99_half_width(rounds: &[Round<'_>], confidence: f64) -> Option<f64> {
    quantile_cost_half_width(&both(rounds), 0.99, confidence).map(|ns| ns / 1e3)
}

/// The difference of the shares of responses that took longer than 1 ms.
pub(super) fn slow_share(rounds: &[Round<'_>], confidence: f64) -> Option<Interval> {
    share_cost(&both(rounds), SLOW_NS, confidence)
}

/// The share of responses within `ns` nanoseconds. None without responses.
pub(super) fn share_within(rounds: &[Round<'_>], ns: u64) -> Option<f64> {
    let all: u64 = responses(rounds);
    let own = rounds.iter().flat_map(|round| round.own);
    let below: u64 = own.filter(|time| time.ns <= ns).map(|time| time.count).sum();
    (all > 0).then(|| below as f64 / all as f64)
}

/// Number of responses of the arm.
pub(super) fn responses(rounds: &[Round<'_>]) -> u64 {
    rounds.iter().flat_map(|round| round.own).map(|time| time.count).sum()
}
