//! Responses by status, for loads that expect several: requests that a limit admits, and requests that it
//! refuses.

use std::collections::BTreeSet;

use hoptax_result::{CountedTime, ResponseCost, Sample, StatusResult};
use hoptax_stats::mean_over_rounds;

use super::histogram;
use super::response::{Round, level};
use super::samples::{Rounds, seconds};

/// The results of each status under a load.
pub(super) fn statuses(rounds: &Rounds<'_>, arm: &str, load: &str) -> Vec<StatusResult> {
    let samples: Vec<&Sample> = rounds.samples(arm, load).collect();
    let all: BTreeSet<u16> = samples.iter().flat_map(|sample| sample.statuses.keys().copied()).collect();
    let counts = |sample: &Sample, status: u16| histogram::counts(sample.statuses.get(&status));
    let sum = |counts: &[CountedTime]| counts.iter().map(|time| time.count).sum::<u64>();
    let whole: u64 =
        samples.iter().flat_map(|sample| all.iter().map(|status| sum(&counts(sample, *status)))).sum();
    let of_status = |status: u16| {
        let by_round: Vec<Vec<CountedTime>> = samples.iter().map(|sample| counts(sample, status)).collect();
        let count: u64 = by_round.iter().map(|counts| sum(counts)).sum();
        let rate = |(sample, counts): (&&Sample, &Vec<CountedTime>)| {
            let seconds = seconds(sample);
            (seconds > 0.0).then(|| sum(counts) as f64 / seconds)
        };
        let rates: Vec<f64> = samples.iter().zip(&by_round).filter_map(rate).collect();
        let rounds_of_one: Vec<Round<'_>> = by_round.iter().map(|own| Round { own, other: &[] }).collect();
        let at = |p: f64| level(&rounds_of_one, p, rounds.confidence);
        StatusResult {
            status,
            count,
            share: if whole == 0 { 0.0 } else { count as f64 / whole as f64 },
            per_second: mean_over_rounds(&rates, rounds.confidence),
            response_us: ResponseCost { p50: at(0.5), p90: at(0.9), p99: at(0.99), quiet_p99: None },
        }
    };
    all.iter().map(|status| of_status(*status)).collect()
}
