//! The share of one load that each of several generators sends, such as those on several machines.

/// Maximum number of generators of one load. Each has at most 2^16 workers, so numbers of workers are below 2^32.
const MOST: u32 = 1 << 16;

/// A generator's share of a load: it is generator `index` of `of`.
///
/// Generators deal out the requests of a load as the workers of one generator do. All have the same seed, the same number of workers `w`,
/// and the pace of the whole load. Worker `j` of generator `i` is worker `i + j * of` of `w * of`. So generator `i` sends every request `k`
/// with `k mod of == i`, and all generators together send the schedule of one generator with `w * of` workers, instant by instant.
///
/// Each worker draws its random gaps from its own seed. A sum of independent Poisson processes is Poisson however they are shifted, so
/// clocks that disagree do not change random arrivals. Parts of one drawn sequence would need clocks that agree within its gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    index: u32,
    of: u32,
}

impl Share {
    /// The whole load.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// The share of generator `index` of `of`, counted from 0; None if `index` is not below `of`, or `of` is too large.
    pub fn new(index: u32, of: u32) -> Option<Self> {
        (index < of && of <= MOST).then_some(Self { index, of })
    }

    /// The index of the generator, from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// The number of generators.
    pub fn generators(self) -> u32 {
        self.of
    }

    /// True for the only generator of a load.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// This generator's part of a number of requests or connections of the load, which are dealt out in turn.
    pub fn of_number(self, number: u64) -> u64 {
        dealt(number, self.index.into(), self.of.into())
    }

    /// This generator's part of a rate of the load.
    pub fn of_rate(self, rate: f64) -> f64 {
        rate / f64::from(self.of)
    }

    /// The number of this generator's worker `own` within the load.
    pub(crate) fn worker(self, own: u32) -> u32 {
        self.index + own * self.of
    }

    /// The number of workers of the load, if each generator has `own`.
    pub(crate) fn workers(self, own: u32) -> u32 {
        own * self.of
    }
}

/// The part of `number` that participant `index` of `of` gets when it is dealt out in turn.
pub(crate) fn dealt(number: u64, index: u64, of: u64) -> u64 {
    number / of + u64::from(index < number % of)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::pace::{Pace, StagePlan};
    use crate::schedule::{Arrivals, Schedule};
    use crate::trace::Trace;

    /// A load as all its generators know it.
    #[derive(Clone, Debug)]
    struct Plan {
        arrivals: Arrivals,
        pace: Pace,
        seed: u64,
        /// No request is due from here on.
        end_ns: u64,
        /// Number of requests after which it ends; None without a limit.
        count: Option<u64>,
    }

    impl Plan {
        /// The instants of one worker's requests.
        fn of_worker(&self, worker: u32, workers: u32, count: Option<u64>) -> Vec<u64> {
            let mut schedule =
                Schedule::new(self.arrivals.clone(), self.pace.clone(), self.seed, worker, workers);
            let mut instants = Vec::new();
            while schedule.peek_ns() < self.end_ns
                && count.is_none_or(|count| (instants.len() as u64) < count)
            {
                instants.push(schedule.peek_ns());
                schedule.advance();
            }
            instants
        }

        /// The instants of one generator, as a trial divides them among its workers.
        fn of_generator(&self, share: Share, own: u32) -> Vec<u64> {
            let count = self.count.map(|count| share.of_number(count));
            let of_own = |worker: u32| {
                let of_workers = Share::new(worker, own).unwrap();
                let count = count.map(|count| of_workers.of_number(count));
                self.of_worker(share.worker(worker), share.workers(own), count)
            };
            let mut all: Vec<u64> = (0..own).flat_map(of_own).collect();
            all.sort_unstable();
            all
        }

        fn of_all(&self, generators: u32, own: u32) -> Vec<u64> {
            let of = |index| self.of_generator(Share::new(index, generators).unwrap(), own);
            let mut all: Vec<u64> = (0..generators).flat_map(of).collect();
            all.sort_unstable();
            all
        }
    }

    fn arrivals() -> impl Strategy<Value = Arrivals> {
        let trace = Trace::parse("t", "0ms\n1ms\n1ms\n5ms\n9ms\n40ms\n").unwrap();
        prop_oneof![
            Just(Arrivals::Uniform),
            Just(Arrivals::Poisson),
            (0.01..0.5).prop_map(Arrivals::Jitter),
            (1..50_u32).prop_map(Arrivals::Burst),
            Just(Arrivals::Trace(Arc::new(trace))),
        ]
    }

    fn paces() -> impl Strategy<Value = Pace> {
        let stages = |(from_rate, to_rate): (f64, f64)| {
            let length = std::time::Duration::from_millis(20);
            Pace::Stages(vec![StagePlan { from_rate, to_rate, length }; 2])
        };
        prop_oneof![(100.0..50_000.0).prop_map(Pace::Constant), (0.0..9e3, 1e3..9e3).prop_map(stages)]
    }

    fn plans() -> impl Strategy<Value = Plan> {
        let count = prop_oneof![Just(None), (0..2_000_u64).prop_map(Some)];
        (arrivals(), paces(), any::<u64>(), 1_000_000..100_000_000_u64, count)
            .prop_map(|(arrivals, pace, seed, end_ns, count)| Plan { arrivals, pace, seed, end_ns, count })
    }

    proptest! {
        // A case has up to 3,000 schedules, twice.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn generators_together_have_the_schedule_of_one(
            plan in plans(), generators in 1..=1_000_u32, own in 1..4_u32,
        ) {
            let whole = plan.of_generator(Share::WHOLE, generators * own);
            prop_assert_eq!(plan.of_all(generators, own), whole);
        }

        #[test]
        fn a_schedule_without_random_gaps_is_that_of_a_single_worker(
            plan in plans(), generators in 1..=1_000_u32, own in 1..4_u32,
        ) {
            let is_random = matches!(plan.arrivals, Arrivals::Poisson | Arrivals::Jitter(_));
            prop_assume!(!is_random);
            prop_assert_eq!(plan.of_all(generators, own), plan.of_generator(Share::WHOLE, 1));
        }

        #[test]
        fn a_generator_has_every_request_of_its_index(
            pace in paces(), generators in 1..=1_000_u32, own in 1..4_u32, index in 0..1_000_u32,
        ) {
            let plan = Plan { arrivals: Arrivals::Uniform, pace, seed: 1, end_ns: 50_000_000, count: None };
            let share = Share::new(index % generators, generators).unwrap();
            let whole = plan.of_generator(Share::WHOLE, 1);
            let of_index = whole.into_iter().skip(share.index() as usize).step_by(generators as usize);
            prop_assert_eq!(plan.of_generator(share, own), of_index.collect::<Vec<u64>>());
        }

        #[test]
        fn numbers_are_dealt_out_completely(number in 0..1_000_000_u64, generators in 1..=1_000_u32) {
            let of = |index| Share::new(index, generators).unwrap().of_number(number);
            let all: Vec<u64> = (0..generators).map(of).collect();
            prop_assert_eq!(all.iter().sum::<u64>(), number);
            prop_assert!(all.first().unwrap() - all.last().unwrap() <= 1);
        }
    }

    #[test]
    fn random_arrivals_of_generators_are_no_copies_of_each_other() {
        let plan = Plan {
            arrivals: Arrivals::Poisson,
            pace: Pace::Constant(1_000.0),
            seed: 1,
            end_ns: 1_000_000_000,
            count: None,
        };
        let [one, other] = [0, 1].map(|index| plan.of_generator(Share::new(index, 2).unwrap(), 1));
        assert!(!one.is_empty() && one.iter().all(|instant| !other.contains(instant)));
    }

    #[test]
    fn a_share_is_one_of_its_number() {
        assert_eq!(Share::new(0, 1), Some(Share::WHOLE));
        assert!(Share::new(2, 3).is_some_and(|share| !share.is_whole()));
        for (index, of) in [(0, 0), (3, 3), (0, MOST + 1)] {
            assert_eq!(Share::new(index, of), None);
        }
    }
}
