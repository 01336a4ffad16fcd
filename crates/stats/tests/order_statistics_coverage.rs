//! Coverage of the intervals of a quantile of one run: of independent responses, of responses that queue, and of a machine that stalls.

use hoptax_stats::{Batch, quantile_ranks};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, Exp1};

/// Simulated runs of a scenario.
const RUNS: usize = 400;

/// Response times that are exponentially distributed with mean 1, whatever their dependence.
#[derive(Clone, Copy, Debug)]
enum Responses {
    Independent,
    /// Requests to one server with exponential service times (M/M/1), at this utilisation, in steady state.
    Queue(f64),
    /// Each response is like the one before with this probability, as those during a stall are.
    Runs(f64),
}

fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    Exp1.sample(random)
}

impl Responses {
    fn times(self, count: usize, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let mut last = exponential(random);
        let next = |random: &mut Xoshiro256PlusPlus| match self {
            Self::Independent => exponential(random),
            // Response times of M/M/1 are exponential; in units of their mean, by Lindley's recursion.
            Self::Queue(utilisation) => {
                let mean = 1.0 / (1.0 - utilisation);
                let wait = (last * mean - exponential(random) / utilisation).max(0.0);
                last = (wait + exponential(random)) / mean;
                last
            }
            Self::Runs(stays) => {
                let is_new = 1.0 - (-exponential(random)).exp() > stays;
                if is_new {
                    last = exponential(random);
                }
                last
            }
        };
        let mut next = next;
        (0..count).map(|_| next(random)).collect()
    }
}

/// Shares of intervals of `p` that hold the true quantile, that have both ends, and that have the true quantile beyond each end.
struct Coverage {
    held: f64,
    two_sided: f64,
    below: f64,
    above: f64,
}

fn coverage(responses: Responses, count: usize, p: f64) -> Coverage {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(36);
    let truth = -(1.0 - p).ln();
    let (mut held, mut two_sided, mut below, mut above) = (0, 0, 0, 0);
    for _ in 0..RUNS {
        let times = responses.times(count, &mut random);
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        // As a histogram does: the lowest value with at least this share at or below it.
        let at = |rank: f64| sorted[((rank * count as f64).ceil() as usize).clamp(1, count) - 1];
        let batches = |p: f64| -> Vec<Batch> {
            let quantile = at(p);
            let batch = |batch: &[f64]| Batch {
                values: batch.len() as u64,
                at_or_below: batch.iter().filter(|time| **time <= quantile).count() as u64,
            };
            times.chunks(count.div_ceil(20)).map(batch).collect()
        };
        let ranks = quantile_ranks(p, batches).expect("there are twenty batches");
        let is_below = ranks.low.is_some_and(|low| at(low) > truth);
        let is_above = ranks.high.is_some_and(|high| at(high) < truth);
        held += usize::from(!is_below && !is_above);
        two_sided += usize::from(ranks.low.is_some() && ranks.high.is_some());
        below += usize::from(is_below);
        above += usize::from(is_above);
    }
    let percent = |count: usize| 100.0 * count as f64 / RUNS as f64;
    Coverage {
        held: percent(held),
        two_sided: percent(two_sided),
        below: percent(below),
        above: percent(above),
    }
}

/// Asserts that intervals hold the true quantile at least this often, percent.
fn covers(responses: Responses, cases: &[(usize, f64)], least: f64) {
    for &(count, p) in cases {
        let found = coverage(responses, count, p);
        let Coverage { held, two_sided, below, above } = found;
        let text = format!(
            "{responses:?}, {count} responses, p{}: {held} % hold the quantile ({below} % are above it, {above} % below), {two_sided} % have both \
             ends",
            p * 100.0
        );
        eprintln!("{text}");
        assert!(held >= least, "{text}");
    }
}

#[test]
fn intervals_hold_the_quantiles_of_independent_responses() {
    let cases = [(200, 0.5), (200, 0.9), (1_000, 0.99), (5_000, 0.99), (5_000, 0.999), (20_000, 0.999)];
    covers(Responses::Independent, &cases, 94.0);
}

#[test]
fn intervals_hold_the_quantiles_of_responses_that_queue() {
    let cases = [(2_000, 0.5), (5_000, 0.5), (5_000, 0.9), (5_000, 0.99), (20_000, 0.99), (20_000, 0.999)];
    covers(Responses::Queue(0.5), &cases, 93.0);
    covers(Responses::Queue(0.7), &cases, 91.0);
}

#[test]
fn intervals_hold_the_quantiles_of_responses_in_runs() {
    let cases = [(1_000, 0.5), (5_000, 0.9), (5_000, 0.99), (20_000, 0.999)];
    covers(Responses::Runs(0.8), &cases, 92.0);
    // A thousand of these are 26 independent responses.
    covers(Responses::Runs(0.95), &cases, 87.0);
}
