//! Release times, planned ahead from a seed.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp};

/// How release times are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Equal gaps.
    Uniform,
    /// Independent exponential gaps: what many independent users make.
    Poisson,
}

impl Arrivals {
    /// All of them, for help texts and error messages.
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Poisson];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Poisson => "poisson",
        }
    }

    /// The arrivals of that name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arrivals| arrivals.word() == word)
    }
}

/// An endless sequence of release times, nanoseconds after the start, never decreasing.
///
/// The workers of a load share its rate: each has a schedule of its own part. Uniform schedules are offset so
/// that together they release at equal gaps; Poisson schedules are seeded apart, so that no two workers draw
/// the same sequence (a fault that made clients of another tool fire in step).
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Time of the next release, kept as a float so that gaps of fractions of a nanosecond add up right.
    next_ns: f64,
    gap_ns: f64,
    draw: Option<(Exp<f64>, SmallRng)>,
}

impl Schedule {
    /// The schedule of worker `worker` of `workers`, which together release `rate` requests per second.
    /// A rate that is not positive and finite gives a schedule that never releases.
    pub fn new(arrivals: Arrivals, rate: f64, seed: u64, worker: u32, workers: u32) -> Self {
        let workers = workers.max(1);
        if !(rate.is_finite() && rate > 0.0) {
            return Self { next_ns: f64::INFINITY, gap_ns: f64::INFINITY, draw: None };
        }
        let gap_ns = 1e9 * f64::from(workers) / rate;
        match arrivals {
            Arrivals::Uniform => {
                Self { next_ns: gap_ns * f64::from(worker) / f64::from(workers), gap_ns, draw: None }
            }
            Arrivals::Poisson => {
                let mut schedule = Self { next_ns: 0.0, gap_ns, draw: None };
                if let Ok(exponential) = Exp::new(1.0) {
                    schedule.draw = Some((exponential, SmallRng::seed_from_u64(worker_seed(seed, worker))));
                }
                schedule.advance();
                schedule
            }
        }
    }

    /// The time of the next release.
    pub fn peek_ns(&self) -> u64 {
        // The cast saturates: "never" becomes the largest time.
        self.next_ns as u64
    }

    /// Takes the next release.
    pub fn advance(&mut self) {
        let factor = match &mut self.draw {
            Some((exponential, random)) => exponential.sample(random),
            None => 1.0,
        };
        self.next_ns += self.gap_ns * factor;
    }
}

/// A seed of its own for each worker: one step of the `SplitMix64` generator (Steele, Lea and Flood 2014).
fn worker_seed(seed: u64, worker: u32) -> u64 {
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
    fn poisson_gaps_are_exponential() {
        let mut times = first(20_000, Schedule::new(Arrivals::Poisson, 1000.0, 7, 0, 1));
        times.insert(0, 0);
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        gaps.sort_by(f64::total_cmp);
        // Kolmogorov-Smirnov distance to the exponential distribution of the plan; 1.95/sqrt(n) is its 0.1 % point.
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
    fn the_same_seed_gives_the_same_plan_and_no_two_workers_share_one() {
        let plan = |seed, worker| first(50, Schedule::new(Arrivals::Poisson, 1000.0, seed, worker, 2));
        assert_eq!(plan(1, 0), plan(1, 0));
        assert_ne!(plan(1, 0), plan(1, 1));
        assert_ne!(plan(1, 0), plan(2, 0));
    }

    proptest! {
        #[test]
        fn times_never_decrease(rate in 0.1_f64..1e7, seed: u64, poisson: bool) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
            let times = first(200, Schedule::new(arrivals, rate, seed, 0, 1));
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        }

        #[test]
        fn a_rate_that_is_none_never_releases(rate in prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY])) {
            prop_assert_eq!(Schedule::new(Arrivals::Poisson, rate, 1, 0, 1).peek_ns(), u64::MAX);
        }
    }
}
