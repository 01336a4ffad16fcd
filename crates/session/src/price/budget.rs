//! Splits the time budget of a bill, which covers the tries, both studies, and the time between them.

use std::time::{Duration, Instant};

use hoptax_plan::plan::copies_for;
use hoptax_result::{StudyResult, StudyRound};

use super::study_file::{FEWEST_BLOCKS, MOST_BLOCKS, SLICE};
use crate::estimate::{PROXY_S, SLICE_OVERHEAD_S};

/// Share of the remaining time that the first study gets if a second one may follow. The second study has more arms, for pairs of parts,
/// but does not measure capacities. With about as many rounds, its decisions are about as precise.
const FIRST_SHARE: f64 = 0.55;

/// Number of rounds that a budget should have time for. The variation between restarts is estimated from rounds: with the same total number
/// of slices, an interval over two rounds is four times as wide as one over four (Student's t: 12.7 and 3.2). With moderated variances,
/// which narrow the former to 0.6 and the latter to 0.9 of that, it is nearly three times as wide (`stats::moderated`).
const ROUNDS: f64 = 4.0;
/// Share of the budget for rounds; the rest is for the capacities, which the first study also measures.
const OF_ROUNDS: f64 = 0.8;
/// Minimum number of rounds of a second study. If there is time for fewer, more rounds of the first study are worth more, because they
/// narrow every line of the bill.
const FEWEST_OF_SECOND: u32 = 3;
/// Share of the budget by which the last round may overrun it. Without this tolerance, a bill would end half a round early on average,
/// because rounds are not divided.
const TOLERANCE: f64 = 0.05;

/// The time limit of a bill.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    began: Instant,
    length: Duration,
}

/// Next step after the first study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Measure a second study.
    Second,
    /// Measure more rounds of the first study.
    More,
    /// The bill is complete.
    Nothing,
}

/// Times of the first study, from which the remaining time is forecast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// One round, without the measurement of capacities.
    round: Duration,
    /// Time of the study before its first round and after its last one.
    around: Duration,
    /// Copies of arms that a round starts and measures.
    subjects: usize,
    /// Time to try one arm.
    of_try: Duration,
}

/// Size of a second study.
#[derive(Clone, Copy, Debug)]
pub(super) struct Second {
    /// Arms that are compared with the whole.
    pub(super) compared: usize,
    /// Pairs of parts, which are tried before the study.
    pub(super) pairs: usize,
}

/// Number of copies of arms in a study that compares `compared` arms with the whole: the arms, the copies of the whole, and the
/// plain proxy.
pub(super) fn subjects(compared: usize) -> usize {
    compared + copies_for(compared) as usize + 1
}

/// Slices per round for each of `subjects` copies of arms, chosen so that a study of this length has enough rounds.
pub(super) fn blocks(length: Duration, subjects: usize) -> u32 {
    let round_s = length.as_secs_f64() * OF_ROUNDS / ROUNDS;
    let slices_s = round_s / subjects as f64 - PROXY_S;
    let blocks = slices_s / (SLICE.as_secs_f64() + SLICE_OVERHEAD_S);
    (blocks as u32).clamp(FEWEST_BLOCKS, MOST_BLOCKS)
}

impl Budget {
    /// Starts the budget of a bill with this length.
    pub fn begin(length: Duration) -> Self {
        Self { began: Instant::now(), length }
    }

    fn left(self, now: Instant) -> Duration {
        self.length.saturating_sub(now.saturating_duration_since(self.began))
    }

    /// The time for rounds of the first study.
    pub(super) fn of_first(self, now: Instant, may_have_second: bool) -> Duration {
        let share = if may_have_second { FIRST_SHARE } else { 1.0 };
        self.left(now).mul_f64(share)
    }

    /// The time for rounds of the last study, if it runs at the pace of the first.
    pub(super) fn of_last(self, now: Instant, pace: &Pace) -> Duration {
        (self.left(now) + self.length.mul_f64(TOLERANCE)).saturating_sub(pace.around)
    }

    /// Chooses the next step after the first study. `second` is the size of the second study that an inconclusive bill needs; None if the
    /// bill is conclusive.
    pub(super) fn next(self, now: Instant, pace: &Pace, second: Option<Second>) -> Next {
        let left = self.of_last(now, pace);
        if second.is_some_and(|second| pace.second(second) <= left) {
            Next::Second
        } else if pace.round <= left {
            Next::More
        } else {
            Next::Nothing
        }
    }
}

impl Pace {
    /// Returns the pace of a study that took `took`, after tries that took `of_try` each.
    pub(super) fn measured(result: &StudyResult, took: Duration, of_try: Duration) -> Self {
        let rounds_s = result.plan.wall_seconds;
        let round_s = longest_round_s(result)
            .unwrap_or_else(|| rounds_s / f64::from(result.plan.rounds_completed.max(1)));
        let with_proxy = result.arms.iter().filter(|arm| !arm.hops.is_empty());
        Self {
            round: seconds(round_s),
            around: took.saturating_sub(seconds(rounds_s)),
            subjects: with_proxy.map(|arm| arm.copies as usize).sum::<usize>().max(1),
            of_try,
        }
    }

    /// The minimum time of a second study and of the tries of its pairs, without the overhead before the first round and after the last.
    fn second(&self, second: Second) -> Duration {
        let round = self.round.mul_f64(subjects(second.compared) as f64 / self.subjects as f64);
        // The servers for the tries must be started once more.
        let tries = if second.pairs > 0 { second.pairs as u32 + 1 } else { 0 };
        self.of_try * tries + round * FEWEST_OF_SECOND
    }
}

/// The longest time from the first slice of one round to that of the next. It includes the end of one round and the start of the next, but
/// not the capacities, which are measured before. None with a single round, and if the study was resumed after a reboot.
fn longest_round_s(result: &StudyResult) -> Option<f64> {
    let first = |round: &StudyRound| {
        round.samples.iter().flat_map(|sample| &sample.began_s).copied().reduce(f64::min)
    };
    let starts: Vec<f64> = result.rounds.iter().filter_map(first).collect();
    let rounds = starts.iter().zip(starts.iter().skip(1)).map(|(one, next)| next - one);
    rounds.reduce(f64::max).filter(|longest| *longest > 0.0)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hoptax_judge::length::{Course, Length};
    use hoptax_result::{Sample, sample};
    use proptest::prelude::*;

    use super::*;

    /// A machine on which everything takes its time, without measuring anything.
    #[derive(Clone, Copy, Debug)]
    struct World {
        /// The try of an arm, seconds.
        try_s: f64,
        /// Time of a study besides its rounds, seconds.
        around_s: f64,
        /// Factor by which slices and starts take longer than estimates say.
        slowness: f64,
        /// Factor by which every other round takes longer.
        unevenness: f64,
    }

    #[derive(Clone, Copy, Debug)]
    struct Study {
        subjects: usize,
        blocks: u32,
        has_capacities: bool,
    }

    /// A bill whose clock stands at `now_s`.
    struct Bill {
        now_s: f64,
        next: Next,
        first_rounds: usize,
        second_rounds: usize,
        /// The longest round of the last study, seconds.
        round_s: f64,
    }

    impl World {
        fn round_s(&self, study: Study, round: u32) -> f64 {
            let of_subject = PROXY_S + f64::from(study.blocks) * (SLICE.as_secs_f64() + SLICE_OVERHEAD_S);
            let uneven = if round % 2 == 1 { 1.0 + self.unevenness } else { 1.0 };
            study.subjects as f64 * of_subject * self.slowness * uneven
        }

        /// Returns the ends of the rounds of a study, seconds: those in `ended_s`, and those of the rounds that still have time. The
        /// first round of a bill also measures capacities.
        fn measure(&self, budget_s: f64, mut ended_s: Vec<f64>, study: Study) -> Vec<f64> {
            let length = Length { rounds: 1000, budget_s: Some(budget_s), until: None };
            let mut course = Course::new(length, ended_s.clone(), &[]);
            let mut elapsed_s = ended_s.last().copied().unwrap_or_default();
            while course.should_continue(elapsed_s, |_| unreachable!("it has no target")) {
                elapsed_s += self.round_s(study, course.rounds());
                if study.has_capacities && course.rounds() == 0 {
                    elapsed_s += 0.5 * study.subjects as f64 * self.slowness;
                }
                course.round_ended(elapsed_s);
                ended_s.push(elapsed_s);
            }
            ended_s
        }

        /// A bill of so many parts, as [`super::super::Configuration::measure`] goes through it.
        fn bill(&self, length_s: f64, parts: usize, is_in_doubt: bool) -> Bill {
            let budget = Budget::begin(seconds(length_s));
            let at = |now_s: f64| budget.began + seconds(now_s);
            let mut now_s = self.try_s * (parts + 2) as f64;
            let compared = parts + 2;
            let of_first = budget.of_first(at(now_s), true);
            let count = subjects(compared);
            let first = Study { subjects: count, blocks: blocks(of_first, count), has_capacities: true };
            let ended_s = self.measure(of_first.as_secs_f64(), Vec::new(), first);
            let first_s = ended_s.last().copied().unwrap_or_default();
            now_s += first_s + self.around_s;
            let longest_s =
                (0..ended_s.len() as u32).map(|round| self.round_s(first, round)).fold(0.0, f64::max);
            let pace = Pace {
                round: seconds(longest_s),
                around: seconds(self.around_s),
                subjects: count,
                of_try: seconds(self.try_s),
            };
            let suspects = if parts < 3 { 0 } else { parts.min(4) };
            let pairs = suspects * suspects.saturating_sub(1) / 2;
            let second = Second { compared: compared + pairs, pairs };
            let next = budget.next(at(now_s), &pace, is_in_doubt.then_some(second));
            let first_rounds = ended_s.len();
            let mut bill = Bill { now_s, next, first_rounds, second_rounds: 0, round_s: longest_s };
            match next {
                Next::Second => {
                    bill.now_s += if pairs > 0 { self.try_s * (pairs + 1) as f64 } else { 0.0 };
                    let left = budget.of_last(at(bill.now_s), &pace);
                    let study = Study { subjects: subjects(second.compared), has_capacities: false, ..first };
                    let ended_s = self.measure(left.as_secs_f64(), Vec::new(), study);
                    bill.now_s += ended_s.last().copied().unwrap_or_default() + self.around_s;
                    (bill.second_rounds, bill.round_s) = (ended_s.len(), self.round_s(study, 1));
                }
                Next::More => {
                    let left = budget.of_last(at(now_s), &pace);
                    let ended_s = self.measure(first_s + left.as_secs_f64(), ended_s, first);
                    bill.now_s += ended_s.last().copied().unwrap_or_default() - first_s + self.around_s;
                    bill.first_rounds = ended_s.len();
                }
                Next::Nothing => {}
            }
            bill
        }
    }

    const USUAL: World = World { try_s: 0.4, around_s: 1.0, slowness: 1.0, unevenness: 0.0 };

    #[test]
    fn ten_parts_in_a_minute_use_it_also_if_a_second_study_does_not_fit() {
        let bill = USUAL.bill(60.0, 10, true);
        assert_eq!(bill.next, Next::More);
        assert!((54.0..=63.0).contains(&bill.now_s) && bill.first_rounds >= 6, "{} s", bill.now_s);
    }

    #[test]
    fn a_second_study_of_three_rounds_or_more_is_within_the_budget() {
        for (length_s, parts) in [(60.0, 3), (90.0, 10), (120.0, 10), (300.0, 20)] {
            let bill = USUAL.bill(length_s, parts, true);
            assert_eq!(bill.next, Next::Second, "{length_s} s, {parts} parts");
            assert!(bill.second_rounds >= FEWEST_OF_SECOND as usize, "{} rounds", bill.second_rounds);
            assert!((0.9..=1.05).contains(&(bill.now_s / length_s)), "{} of {length_s} s", bill.now_s);
        }
    }

    #[test]
    fn parts_that_add_up_leave_the_first_study_all_the_time() {
        let bill = USUAL.bill(60.0, 7, false);
        assert_eq!((bill.next, bill.second_rounds), (Next::More, 0));
        assert!((54.0..=63.0).contains(&bill.now_s), "{} s", bill.now_s);
    }

    #[test]
    fn both_studies_share_the_time_and_one_alone_has_all() {
        let budget = Budget::begin(Duration::from_mins(1));
        assert_eq!(budget.of_first(budget.began, false), Duration::from_mins(1));
        assert_eq!(budget.of_first(budget.began, true), Duration::from_secs(33));
        assert_eq!(budget.of_first(budget.began + Duration::from_mins(2), true), Duration::ZERO);
    }

    #[test]
    fn a_short_budget_has_shorter_rounds() {
        let of = |seconds, subjects| blocks(Duration::from_secs(seconds), subjects);
        // 14 copies of arms: 2.9 s to start, and 0.83 s for each slice of all.
        assert_eq!(of(33, 14), FEWEST_BLOCKS);
        assert_eq!(of(45, 14), 7);
        assert_eq!(of(120, 14), MOST_BLOCKS);
        assert_eq!(of(33, 5), MOST_BLOCKS);
        assert_eq!(of(0, 100), FEWEST_BLOCKS);
    }

    #[test]
    fn a_round_is_as_long_as_the_longest_between_first_slices_without_capacities() {
        let mut study = sample::study("price", "2026-01-01T00:00:00Z", 10.0);
        let mut rounds = Vec::new();
        // Capacities take 8 s before the first slice.
        for began_s in [8.0, 14.0, 21.0] {
            let samples = [began_s + 1.0, began_s]
                .map(|first| Sample { began_s: vec![first, first + 2.0], ..Sample::default() });
            rounds.push(StudyRound { samples: samples.to_vec(), ..StudyRound::default() });
        }
        (study.rounds, study.plan.wall_seconds, study.plan.rounds_completed) = (rounds, 27.0, 3);
        let pace = Pace::measured(&study, Duration::from_secs(30), Duration::from_millis(500));
        assert_eq!((pace.round, pace.around), (Duration::from_secs(7), Duration::from_secs(3)));
        study.rounds.truncate(1);
        assert_eq!(
            Pace::measured(&study, Duration::from_secs(30), Duration::ZERO).round,
            Duration::from_secs(9)
        );
    }

    proptest! {
        #[test]
        fn a_bill_ends_within_a_tenth_of_its_budget(
            length_s in 40.0..900.0_f64, parts in 1_usize..30, is_in_doubt: bool, try_s in 0.1..0.8_f64,
            around_s in 0.2..3.0_f64, slowness in 0.7..2.0_f64, unevenness in 0.0..0.1_f64,
        ) {
            let world = World { try_s, around_s, slowness, unevenness };
            let bill = world.bill(length_s, parts, is_in_doubt);
            // Two rounds are the least.
            if bill.first_rounds > 2 || bill.second_rounds > 0 {
                prop_assert!(bill.now_s <= 1.1 * length_s, "{} of {length_s} s", bill.now_s);
            }
            if bill.round_s <= 0.12 * length_s {
                prop_assert!(bill.now_s >= 0.9 * length_s, "{} of {length_s} s", bill.now_s);
            }
        }
    }
}
