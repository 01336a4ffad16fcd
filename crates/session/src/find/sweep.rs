//! Measures response times at rates up to the highest that was found.

use std::time::Duration;

use hoptax_report::documents;
use hoptax_result::{Interval, Latency, LoadResult, ProcessAccount, Sweep, SweepKnee, SweepPoint};
use hoptax_stats::{TimesAtRate, knee, mean_over_rounds};

use super::Found;
use super::trials::{Trials, answered_rate};
use crate::update::{Say, Update};

/// Number of rates, in equal steps up to the highest.
const RATES: usize = 10;
/// Blocks of trials: each visits each rate once. No process starts anew for a block, as it does for a round.
const BLOCKS: usize = 6;
/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// Returns the time that a sweep takes.
pub(super) fn duration(trial: Duration, warmup: Duration) -> Duration {
    (trial + warmup) * (RATES * BLOCKS) as u32
}

/// Measures the curve up to `highest`, requests per second. After an interrupt or a trial that cannot run, it has the trials so far.
pub(super) fn run(
    trials: &mut Trials<'_>,
    highest: f64,
    warmup: Duration,
    trial: Duration,
    say: Say<'_>,
) -> Found<Sweep> {
    let rates: Vec<f64> = (1..=RATES).map(|step| highest * step as f64 / RATES as f64).collect();
    let mut measured: Vec<Vec<Option<LoadResult>>> = vec![Vec::new(); RATES];
    let mut failure = None;
    for number in (0..BLOCKS).flat_map(order) {
        // An order visits each rate.
        let (rate, results) = (rates[number], &mut measured[number]);
        let (result, generator_limits) = match trials.judged_at_rate(rate, warmup, trial) {
            Ok(Some(measured)) => measured,
            Ok(None) => break,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        say(Update::Note(&documents::sweep_trial(rate, &result, &generator_limits)));
        results.push(Some(result).filter(|_| generator_limits.is_empty()));
    }
    let result = Sweep {
        blocks: BLOCKS as u32,
        trial_s: trial.as_secs_f64(),
        confidence: CONFIDENCE,
        knee: knee_of(&rates, &measured),
        points: rates.iter().zip(&measured).map(|(rate, results)| point(*rate, results)).collect(),
    };
    Found { result, failure }
}

/// The order in which a block visits the rates: rows of a Williams design, so that no rate comes after the same rate in two
/// blocks. Every second block is the reverse of the one before, so a steady drift of the machine affects all rates alike
/// (E. J. Williams, "Experimental designs balanced for the estimation of residual effects of treatments", *Australian Journal of
/// Scientific Research* 2(2), 1949).
fn order(block: usize) -> impl Iterator<Item = usize> {
    let shift = block / 2 + block % 2 * (RATES / 2);
    (0..RATES).map(move |turn| {
        let step = turn.div_ceil(2);
        let place = if turn % 2 == 1 { step } else { RATES - step };
        (place + shift) % RATES
    })
}

fn point(rate: f64, results: &[Option<LoadResult>]) -> SweepPoint {
    let counted: Vec<&LoadResult> = results.iter().flatten().collect();
    let over_trials = |of: &dyn Fn(&LoadResult) -> Option<f64>| -> Option<Interval> {
        let values: Vec<f64> = counted.iter().map(|result| of(result)).collect::<Option<_>>()?;
        mean_over_rounds(&values, CONFIDENCE)
    };
    let response = |of: fn(&Latency) -> Option<f64>| over_trials(&|result| of(&result.latency.response));
    let account =
        |of: fn(&ProcessAccount) -> Option<f64>| over_trials(&|result| of(result.account.as_ref()?));
    SweepPoint {
        rate,
        trials: counted.len() as u32,
        excluded: (results.len() - counted.len()) as u32,
        answered_rate: over_trials(&|result| Some(answered_rate(result))),
        mean_us: response(|latency| latency.mean_us),
        p50_us: response(|latency| latency.p50_us),
        p90_us: response(|latency| latency.p90_us),
        p99_us: response(|latency| latency.p99_us),
        cpu_share: account(|account| account.cpu_share),
        cpu_us: account(|account| account.cpu_us),
        memory_bytes: account(|account| account.memory_bytes.map(|bytes| bytes as f64)),
    }
}

/// The knee, from the blocks in which the trials of all rates count.
fn knee_of(rates: &[f64], measured: &[Vec<Option<LoadResult>>]) -> Option<SweepKnee> {
    let mean_us =
        |number: usize, block: usize| measured.get(number)?.get(block)?.as_ref()?.latency.response.mean_us;
    let is_complete = |block: &usize| (0..rates.len()).all(|number| mean_us(number, *block).is_some());
    let blocks: Vec<usize> = (0..BLOCKS).filter(is_complete).collect();
    let mean_times = |number: usize| blocks.iter().filter_map(|block| mean_us(number, *block)).collect();
    let curve: Vec<TimesAtRate> = rates
        .iter()
        .enumerate()
        .map(|(number, rate)| TimesAtRate { rate: *rate, mean_times: mean_times(number) })
        .collect();
    let found = knee(&curve, CONFIDENCE)?;
    let rate = |number: usize| rates.get(number).copied();
    Some(SweepKnee { rate: rate(found.best)?, low_rate: rate(found.first)?, high_rate: rate(found.last)? })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hoptax_result::sample;

    use super::*;

    /// Results at three rates in two blocks, with mean response times.
    fn measured(means_us: [[f64; BLOCKS]; 3]) -> Vec<Vec<Option<LoadResult>>> {
        let of = |mean_us: f64| {
            let mut result = sample::load();
            result.latency.response.mean_us = Some(mean_us);
            Some(result)
        };
        means_us.iter().map(|blocks| blocks.iter().map(|mean_us| of(*mean_us)).collect()).collect()
    }

    #[test]
    fn each_block_visits_each_rate_once_and_never_twice_after_the_same_rate() {
        let orders: Vec<Vec<usize>> = (0..BLOCKS).map(|block| order(block).collect()).collect();
        for order in &orders {
            let mut visited = order.clone();
            visited.sort_unstable();
            assert!(visited.into_iter().eq(0..RATES), "{order:?}");
        }
        let pairs: Vec<[usize; 2]> =
            orders.iter().flat_map(|order| order.windows(2).map(|pair| [pair[0], pair[1]])).collect();
        let distinct: BTreeSet<[usize; 2]> = pairs.iter().copied().collect();
        assert_eq!(distinct.len(), pairs.len(), "{orders:?}");
    }

    #[test]
    fn each_rate_is_as_early_as_late() {
        for number in 0..RATES {
            let turn = |block| order(block).position(|visited| visited == number).unwrap();
            let turns: Vec<usize> = (0..BLOCKS).map(turn).collect();
            assert_eq!(2 * turns.iter().sum::<usize>(), BLOCKS * (RATES - 1), "rate {number}: {turns:?}");
        }
    }

    #[test]
    fn a_sweep_that_was_interrupted_in_its_second_block_has_numbers_and_no_knee() {
        let rates = [100.0, 200.0, 300.0];
        let mut results = measured([[100.0; BLOCKS], [110.0; BLOCKS], [400.0; BLOCKS]]);
        results[0].truncate(2);
        results[1].truncate(1);
        results[2].truncate(1);
        assert_eq!(knee_of(&rates, &results), None);
        assert_eq!(point(100.0, &results[0]).mean_us.map(|mean| mean.estimate), Some(100.0));
        let once = point(200.0, &results[1]);
        assert_eq!((once.trials, once.excluded, once.mean_us), (1, 0, None));
    }

    #[test]
    fn trials_that_do_not_count_are_in_no_number_and_their_block_not_in_the_knee() {
        let rates = [100.0, 200.0, 300.0];
        let level = |mean_us: f64| [1.0, 1.01, 0.99, 1.02, 0.98, 1.0].map(|factor| factor * mean_us);
        let mut results = measured([level(100.0), level(110.0), level(400.0)]);
        let found = SweepKnee { rate: 200.0, low_rate: 200.0, high_rate: 200.0 };
        assert_eq!(knee_of(&rates, &results), Some(found));
        results[0][3] = None;
        assert_eq!(knee_of(&rates, &results), Some(found));
        let first = point(100.0, &results[0]);
        assert_eq!((first.trials, first.excluded), (5, 1));
        assert!((first.mean_us.unwrap().estimate - 99.6).abs() < 1e-9);
        results[1][0].as_mut().unwrap().latency.response.p99_us = None;
        assert!(point(200.0, &results[1]).p99_us.is_none() && point(200.0, &results[1]).mean_us.is_some());
        results[2] = vec![None; BLOCKS];
        assert_eq!(knee_of(&rates, &results), None);
        assert_eq!(point(300.0, &results[2]).p50_us, None);
    }
}
