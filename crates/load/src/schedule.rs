//! The schedule of an open loop: request times, generated from a seed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};

use crate::pace::Pace;
use crate::trace::Trace;

/// Maximum jitter, as a share of the gap. With more, requests could overtake each other.
const MAX_JITTER: f64 = 0.5;
/// Poisson arrivals are expected to take at most this many standard deviations longer than on average.
const POISSON_DEVIATIONS: f64 = 3.0;

/// The arrival process.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Equal gaps.
    Uniform,
    /// Independent exponential gaps, as from many independent users.
    Poisson,
    /// Equal gaps, with each request moved by up to this share of a gap in either direction.
    Jitter(f64),
    /// Bursts of this many requests, spaced to keep the rate.
    Burst(u32),
    /// Recorded times.
    Trace(Arc<Trace>),
}

/// Reason why an arrival process is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrivalsError {
    /// Unknown arrival process.
    #[error("must be `uniform`, `poisson`, `jitter=10%`, `burst=8` or `trace=FILE`")]
    Word,
    /// A trace where only a process can be, which takes any rate.
    #[error(
        "a trace has its own rate, and the arrivals must fit any: `uniform`, `poisson`, `jitter=10%` or `burst=8`"
    )]
    Trace,
    /// Jitter out of range.
    #[error("jitter must be above 0 % and at most 50 % of the gap, such as `jitter=10%`")]
    Jitter,
    /// Burst size out of range.
    #[error("a burst must have 1 to 1,000,000 requests, such as `burst=8`")]
    Burst,
}

impl FromStr for Arrivals {
    type Err = ArrivalsError;

    /// Parses every process except a trace, which is read from a file.
    fn from_str(text: &str) -> Result<Self, ArrivalsError> {
        match text.split_once('=') {
            None if text == "uniform" => Ok(Self::Uniform),
            None if text == "poisson" => Ok(Self::Poisson),
            Some(("jitter", value)) => {
                let share = value.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
                let share = share.map(|percent| percent / 100.0);
                share
                    .filter(|share| *share > 0.0 && *share <= MAX_JITTER)
                    .map(Self::Jitter)
                    .ok_or(ArrivalsError::Jitter)
            }
            Some(("burst", value)) => {
                let size = value.parse().ok().filter(|size| (1..=1_000_000).contains(size));
                size.map(Self::Burst).ok_or(ArrivalsError::Burst)
            }
            Some(("trace", file)) if !file.is_empty() => Err(ArrivalsError::Trace),
            _ => Err(ArrivalsError::Word),
        }
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Poisson => f.write_str("poisson"),
            Self::Jitter(share) => write!(f, "jitter={}%", share * 100.0),
            Self::Burst(size) => write!(f, "burst={size}"),
            Self::Trace(trace) => write!(f, "trace={}", trace.name()),
        }
    }
}

/// A sequence of request times in nanoseconds after the start, never decreasing. It is infinite, except for a trace or
/// stages.
///
/// The workers of a load share its requests: of `n` workers, worker `w` gets the requests `w`, `w + n`, `w + 2n`, so
/// that together they send the requests of a single worker. Each worker draws Poisson gaps with its own seed, because
/// workers with the same sequence would send in step (a bug of another tool).
///
/// Times are computed from request numbers: the pace gives the time at which that many requests are due. With Poisson
/// arrivals the number is fractional and grows by exponential steps, which gives the correct process also under a
/// changing rate (time rescaling; Daley and Vere-Jones, *An Introduction to the Theory of Point Processes*, 7.4).
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Time of the next request, as a float so that fractions of a nanosecond accumulate correctly.
    next_ns: f64,
    /// Number of the next request over all workers.
    number: u64,
    /// Fractional number of the next request, for Poisson arrivals.
    poisson_number: f64,
    workers: u64,
    /// Shared, so that cloning the schedule is cheap.
    plan: Arc<(Pace, Arrivals)>,
    random: SmallRng,
}

impl Schedule {
    /// The schedule of worker `worker` of `workers`, which together send at `pace`; a trace defines its own rate. Without a
    /// positive and finite rate, no request is ever due.
    pub fn new(arrivals: Arrivals, pace: impl Into<Pace>, seed: u64, worker: u32, workers: u32) -> Self {
        let mut schedule = Self {
            next_ns: 0.0,
            number: u64::from(worker),
            poisson_number: 0.0,
            workers: u64::from(workers.max(1)),
            plan: Arc::new((pace.into(), arrivals)),
            random: SmallRng::seed_from_u64(worker_seed(seed, worker)),
        };
        schedule.next_ns = schedule.intended_ns();
        schedule
    }

    /// Time of the next request.
    pub fn peek_ns(&self) -> u64 {
        // The cast saturates: infinity becomes the maximum.
        self.next_ns as u64
    }

    /// Advances to the next request.
    pub fn advance(&mut self) {
        self.number += self.workers;
        self.next_ns = self.intended_ns();
    }

    /// Time from the start of a record until this number of its requests, and the gap after the last one, are over at a constant rate,
    /// nanoseconds. A record that nothing delays ends within one gap before it, so the records of several workers have equally many parts.
    /// Random gaps may add up to more than on average, so theirs is a time that is hardly ever exceeded. None at a rate that changes, and
    /// for a trace.
    pub(crate) fn expected_ns(&self, requests: u64) -> Option<u64> {
        let (Pace::Constant(_), arrivals) = (&self.plan.0, &self.plan.1) else { return None };
        let requests = requests as f64;
        let more = match arrivals {
            Arrivals::Uniform | Arrivals::Jitter(_) | Arrivals::Burst(_) => 0.0,
            // The sum of as many independent gaps has the root of their number as its standard deviation.
            Arrivals::Poisson => POISSON_DEVIATIONS * requests.sqrt(),
            Arrivals::Trace(_) => return None,
        };
        // A record may begin up to a gap before its first request.
        let length_ns = self.plan.0.time_of((requests + 1.0 + more) * self.workers as f64);
        length_ns.is_finite().then_some(length_ns as u64)
    }

    /// Time of the current request; draws random numbers if the process is random.
    fn intended_ns(&mut self) -> f64 {
        let number = self.number as f64;
        let (pace, arrivals) = &*self.plan;
        match arrivals {
            Arrivals::Uniform => pace.time_of(number),
            Arrivals::Poisson => {
                let step: f64 = Exp1.sample(&mut self.random);
                self.poisson_number += step * self.workers as f64;
                pace.time_of(self.poisson_number)
            }
            Arrivals::Jitter(share) => {
                let moved = self.random.random_range(-1.0..=1.0) * share;
                pace.time_of((number + moved).max(0.0))
            }
            Arrivals::Burst(size) => {
                let size = u64::from(*size);
                pace.time_of((self.number / size * size) as f64)
            }
            Arrivals::Trace(trace) => {
                trace.offset_ns(self.number).map_or(f64::INFINITY, |offset_ns| offset_ns as f64)
            }
        }
    }
}

/// A distinct seed per worker: one step of the `SplitMix64` generator (Steele, Lea and Flood 2014).
pub(crate) fn worker_seed(seed: u64, worker: u32) -> u64 {
    let mut mixed = seed.wrapping_add((u64::from(worker) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(count: usize, mut schedule: Schedule) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let next = schedule.peek_ns();
                schedule.advance();
                next
            })
            .collect()
    }

    #[test]
    fn uniform_workers_interleave_evenly() {
        let mut all: Vec<u64> = (0..4)
            .flat_map(|worker| first(3, Schedule::new(Arrivals::Uniform, 1000.0, 1, worker, 4)))
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..12).map(|number| number * 1_000_000).collect::<Vec<_>>());
    }

    #[test]
    fn workers_together_send_the_schedule_of_a_single_worker() {
        let trace = Trace::parse("t", "0ms\n1ms\n1ms\n5ms\n9ms\n").unwrap();
        for arrivals in [Arrivals::Uniform, Arrivals::Burst(3), Arrivals::Trace(Arc::new(trace))] {
            let plan = |worker, workers, count| {
                first(count, Schedule::new(arrivals.clone(), 1000.0, 1, worker, workers))
            };
            let mut shared: Vec<u64> = (0..3).flat_map(|worker| plan(worker, 3, 4)).collect();
            shared.sort_unstable();
            assert_eq!(shared, plan(0, 1, 12), "{arrivals}");
        }
    }

    #[test]
    fn bursts_are_spaced_to_keep_the_rate() {
        let times = first(9, Schedule::new(Arrivals::Burst(4), 1000.0, 1, 0, 1));
        assert_eq!(times, [0, 0, 0, 0, 4_000_000, 4_000_000, 4_000_000, 4_000_000, 8_000_000]);
    }

    #[test]
    fn jitter_is_bounded_and_does_not_accumulate() {
        let times = first(10_000, Schedule::new(Arrivals::Jitter(0.1), 1000.0, 3, 0, 1));
        let moved = |(number, time): (usize, &u64)| *time as f64 - number as f64 * 1e6;
        let moves: Vec<f64> = times.iter().enumerate().skip(1).map(moved).collect();
        assert!(moves.iter().all(|moved| moved.abs() <= 100_001.0));
        assert!(moves.iter().any(|moved| *moved > 90_000.0) && moves.iter().any(|moved| *moved < -90_000.0));
    }

    #[test]
    fn a_constant_rate_tells_how_long_requests_take() {
        let expected_s = |arrivals: Arrivals, pace: Pace, workers: u32| {
            let length_ns = Schedule::new(arrivals, pace, 1, 0, workers).expected_ns(300)?;
            Some(length_ns as f64 / 1e9)
        };
        let constant = |arrivals: Arrivals, workers: u32| expected_s(arrivals, Pace::Constant(15.0), workers);
        for arrivals in [Arrivals::Uniform, Arrivals::Jitter(0.5), Arrivals::Burst(8)] {
            assert_eq!(constant(arrivals.clone(), 1).map(f64::round), Some(20.0), "{arrivals}");
            assert_eq!(constant(arrivals.clone(), 4).map(f64::round), Some(80.0), "{arrivals} of four");
        }
        let trace = Trace::parse("a", "0s\n1s\n").unwrap();
        assert_eq!(constant(Arrivals::Trace(Arc::new(trace)), 1), None);
        assert_eq!(expected_s(Arrivals::Uniform, "15@10m".parse().unwrap(), 1), None, "stages");
        assert_eq!(expected_s(Arrivals::Uniform, Pace::Constant(0.0), 1), None, "never");
        // Of random arrivals, nearly none take longer.
        let expected_ns = (constant(Arrivals::Poisson, 1).unwrap() * 1e9) as u64;
        let takes_longer = |seed: &u64| {
            let times = first(301, Schedule::new(Arrivals::Poisson, 15.0, *seed, 0, 1));
            times[300] - times[0] > expected_ns
        };
        let longer = (0..1_000).filter(takes_longer).count();
        assert!(longer <= 10 && expected_ns < 25_000_000_000, "{longer} of 1,000, {expected_ns}");
    }

    #[test]
    fn a_trace_ends() {
        let trace = Arc::new(Trace::parse("t", "1ms\n2ms\n").unwrap());
        assert_eq!(
            first(3, Schedule::new(Arrivals::Trace(trace), 1.0, 1, 0, 1)),
            [1_000_000, 2_000_000, u64::MAX]
        );
    }

    #[test]
    fn names_parse_to_the_values_that_print_them() {
        for word in ["uniform", "poisson", "jitter=10%", "burst=8"] {
            assert_eq!(word.parse::<Arrivals>().unwrap().to_string(), word);
        }
        assert_eq!("jitter=60%".parse::<Arrivals>(), Err(ArrivalsError::Jitter));
        assert_eq!("jitter=0.1".parse::<Arrivals>(), Err(ArrivalsError::Jitter));
        assert_eq!("burst=0".parse::<Arrivals>(), Err(ArrivalsError::Burst));
        assert_eq!("posson".parse::<Arrivals>(), Err(ArrivalsError::Word));
        assert_eq!("trace=".parse::<Arrivals>(), Err(ArrivalsError::Word), "it names no file");
        assert_eq!("trace=a".parse::<Arrivals>(), Err(ArrivalsError::Trace));
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let mut times = first(20_000, Schedule::new(Arrivals::Poisson, 1000.0, 7, 0, 1));
        times.insert(0, 0);
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        gaps.sort_by(f64::total_cmp);
        // Kolmogorov-Smirnov distance to the exponential distribution; 1.95/sqrt(n) is its 0.1 % point.
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(index, gap)| {
                let expected = 1.0 - (-gap / 1e6).exp();
                let below = index as f64 / gaps.len() as f64;
                (expected - below).abs().max((expected - below - 1.0 / gaps.len() as f64).abs())
            })
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / (gaps.len() as f64).sqrt(), "distance {distance}");
    }

    #[test]
    fn a_seed_fixes_the_schedule_and_workers_differ() {
        let plan = |seed, worker| first(50, Schedule::new(Arrivals::Poisson, 1000.0, seed, worker, 2));
        assert_eq!(plan(1, 0), plan(1, 0));
        assert_ne!(plan(1, 0), plan(1, 1));
        assert_ne!(plan(1, 0), plan(2, 0));
    }

    proptest! {
        #[test]
        fn times_never_decrease(rate in 0.1_f64..1e7, seed: u64, kind in 0..4) {
            let arrivals = match kind {
                0 => Arrivals::Uniform,
                1 => Arrivals::Poisson,
                2 => Arrivals::Jitter(MAX_JITTER),
                _ => Arrivals::Burst(7),
            };
            let times = first(200, Schedule::new(arrivals, rate, seed, 0, 1));
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        }

        #[test]
        fn an_invalid_rate_never_sends(rate in prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY])) {
            prop_assert_eq!(Schedule::new(Arrivals::Poisson, rate, 1, 0, 1).peek_ns(), u64::MAX);
        }
    }
}
