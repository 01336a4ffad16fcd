//! Short searches near a load that a search found, whose errors average out over repetitions.

use std::time::Duration;

use crate::search::goal::Goal;
use crate::search::steps::{Limits, Measured, Planned, Search, SearchError, State, Step};

/// Full trials that decide about a load in a repetition.
const TRIALS: u32 = 5;
/// The highest load of a repetition as a multiple of the load that was found; the lowest is as far below.
const REACH: f64 = 8.0;

/// A short search for the load at which a trial holds as often as it fails, near a load that a longer search found.
///
/// **Purpose.** The bounds of one search say nothing about how far those of the next would be from them: processes that are
/// started again have other levels, and the machine drifts. The ratio of two subjects, with an interval, needs several
/// searches of each, a repetition of one beside a repetition of the other.
///
/// **Method.** The rules of [`Search`] with the same trials and the same width, but fewer trials for each load. The result is
/// the geometric mean of the two bounds. They are as far apart as the width, so it is wrong by up to half of that, and a
/// search that always begins at the same load is always wrong by the same amount: repetitions would agree with each other and
/// not with the truth. Each repetition therefore moves its loads by its own random part of the width. The error is then
/// uniform, with mean zero, and independent between repetitions; an interval over repetitions contains it. This is the
/// subtractive dither of quantizers (R. M. Gray and T. G. Stockham, "Dithered quantizers", *IEEE Transactions on Information
/// Theory* 39(3), 1993).
///
/// The load that an overloaded subject carries does not guide it, unlike a longer search: bounds chosen by it have the truth
/// near the lower one instead of anywhere between them.
#[derive(Clone, Debug)]
pub struct Repetition {
    search: Search,
}

impl Repetition {
    /// A repetition of a search for `goal` that found about `near`, with loads up to `max`. `part` is drawn uniformly from 0
    /// to 1 for each repetition, independently of all others.
    ///
    /// # Errors
    /// As [`Search::new`].
    pub fn new(
        goal: &Goal,
        (near, max): (f64, f64),
        part: f64,
        (budget, overhead): (Duration, Duration),
    ) -> Result<Self, SearchError> {
        // From half a width below to half a width above.
        let start = near * (1.0 - goal.width).powf(0.5 - part);
        let limits = Limits { min: start / REACH, max: (start * REACH).min(max), start, budget, overhead };
        Ok(Self { search: Search::new(&[goal.of_repetition()], limits)? })
    }

    /// The next trial, or the end, as of [`Search::next`].
    pub fn next(&self) -> Step {
        self.search.next()
    }

    /// Records a trial, as [`Search::record`].
    ///
    /// # Panics
    /// When the number of outcomes is not one.
    pub fn record(&mut self, planned: &Planned, measured: Measured) {
        self.search.record(planned, Measured { carried: planned.load, ..measured });
    }

    /// How far it got.
    pub fn state(&self) -> State {
        self.search.results().first().map_or(State::Unfinished, |result| result.state)
    }

    /// The geometric mean of the bounds; None unless both are known and as close as the goal asks.
    pub fn load(&self) -> Option<f64> {
        let result = self.search.results().first().copied()?;
        let bounds = result.lower.zip(result.upper).filter(|_| result.state == State::Regular);
        bounds.map(|(lower, upper)| (lower * upper).sqrt())
    }

    /// How long it takes if trials at one load always agree.
    pub fn expected_duration(&self) -> Duration {
        self.search.expected_duration()
    }
}

impl Goal {
    /// The goal of a repetition: [`Repetition`].
    #[must_use]
    pub fn of_repetition(&self) -> Self {
        Self { duration_sum: self.duration_sum.min(self.final_trial * TRIALS), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::steps::Outcome;

    const NO_OVERHEAD: (Duration, Duration) = (Duration::from_hours(1), Duration::ZERO);

    /// A repetition on a subject that carries `capacity` and shows it.
    fn run(near: f64, part: f64, capacity: f64) -> Repetition {
        let mut repetition = Repetition::new(&Goal::QUICK, (near, 1e9), part, NO_OVERHEAD).unwrap();
        while let Step::Trial(planned) = repetition.next() {
            let holds = planned.load <= capacity;
            let outcomes = Some(vec![Outcome { holds, loss_ratio: if holds { 0.0 } else { 0.5 } }]);
            let carried = planned.load.min(capacity);
            repetition.record(&planned, Measured { took: planned.duration, carried, outcomes });
        }
        repetition
    }

    #[test]
    fn fewer_trials_decide_about_a_load_but_all_are_full() {
        let goal = Goal::CAREFUL.of_repetition();
        assert_eq!((goal.final_trial.as_secs(), goal.duration_sum.as_secs()), (8, 40));
        assert_eq!(Goal::RFC2544.of_repetition(), Goal::RFC2544, "one trial decides");
    }

    #[test]
    fn the_error_is_uniform_over_the_width_wherever_the_truth_is() {
        // Equidistant parts instead of random ones.
        let parts = 400;
        for capacity in [1_000.0, 1_003.0, 1_017.0, 940.0, 1_100.0, 700.0] {
            let errors: Vec<f64> = (0..parts)
                .map(|number| {
                    let part = f64::from(number) / f64::from(parts);
                    (run(1_000.0, part, capacity).load().unwrap() / capacity).ln()
                })
                .collect();
            let mean = errors.iter().sum::<f64>() / f64::from(parts);
            let half_width = -0.5 * (1.0 - Goal::QUICK.width).ln();
            assert!(mean.abs() < 0.03 * half_width, "{capacity}: {mean}");
            assert!(errors.iter().all(|error| error.abs() <= half_width * 1.001), "{capacity}");
            let near_ends = errors.iter().filter(|error| error.abs() > 0.8 * half_width).count();
            assert!((60..=100).contains(&near_ends), "{capacity}: {near_ends} of 400, expected 80");
        }
    }

    #[test]
    fn a_truth_out_of_reach_has_no_load() {
        let high = run(1_000.0, 0.5, 9_000.0);
        assert_eq!((high.state(), high.load()), (State::MaximumHeld, None));
        let low = run(1_000.0, 0.5, 10.0);
        assert_eq!((low.state(), low.load()), (State::MinimumFailed, None));
    }

    proptest! {
        #[test]
        fn every_repetition_ends_with_the_truth_between_its_bounds(
            near in 10.0_f64..1e6, part in 0.0_f64..1.0, factor in 0.6_f64..1.6,
        ) {
            let found = run(near, part, near * factor).load().unwrap();
            prop_assert!((found / (near * factor)).ln().abs() <= -0.5 * (1.0 - Goal::QUICK.width).ln() + 1e-9);
        }
    }
}
