//! Short searches near a load that a search found, whose errors average out over repetitions.

use std::time::Duration;

use hoptax_result::FindState;

use crate::search::choice::FIRST_STEP;
use crate::search::goal::Criterion;
use crate::search::steps::{Limits, Measured, Planned, Search, SearchError, Step};

/// The width of a repetition, as a multiple of that of the search.
pub const WIDER: f64 = 2.0;
/// The highest load of a repetition as a multiple of the load that was found; the lowest is that load divided by the same factor.
const REACH: f64 = 8.0;

/// A short search near a load that a longer search found.
///
/// **Purpose.** The bounds of one search do not show how much another search would differ: restarted processes have other levels, and the
/// machine drifts. The ratio of two subjects, with an interval, needs several searches of each, so that each repetition of one has a
/// repetition of the other beside it.
///
/// **Method.** A [`Search`] with twice the width. If the subject fails gradually, the result is where the line through its trials has the
/// permitted value, and the noise of the trials differs between repetitions. If it fails sharply, the result is the geometric mean of two
/// bounds. That is wrong by up to half of the width. Searches that always begin at the same load are all wrong by the same amount, so
/// repetitions would agree with each other and not with the truth. Each repetition therefore shifts its loads by its own random part of a
/// step. The error is then uniform, with mean zero, and independent between repetitions; an interval over repetitions contains it. This is
/// the subtractive dither of quantizers (R. M. Gray and T. G. Stockham, "Dithered quantizers", *IEEE Transactions on Information Theory*
/// 39(3), 1993).
#[derive(Clone, Debug)]
pub struct Repetition {
    search: Search,
}

impl Repetition {
    /// A repetition of a search that found about `near` for these criteria, with loads up to `max`. `part` is drawn uniformly from 0 to 1
    /// for each repetition, independently of all others. `search` has the width of the longer search, the budget and the warm-up.
    ///
    /// # Errors
    /// As [`Search::new`].
    pub fn new(
        criteria: &[Criterion],
        near: f64,
        max: f64,
        part: f64,
        search: Limits,
    ) -> Result<Self, SearchError> {
        let width = (search.width * WIDER).min(0.5);
        // From half a step below to half a step above: the distance of the bounds is the step, halved until it is within the width.
        let start = near * (1.0 - FIRST_STEP).powf(0.5 - part);
        let limits = Limits { min: start / REACH, max: (start * REACH).min(max), start, width, ..search };
        Ok(Self { search: Search::new(criteria, &[(0..criteria.len()).collect()], limits)? })
    }

    /// The next trial, or the end, as [`Search::next`].
    pub fn next(&self) -> Step {
        self.search.next()
    }

    /// Records a trial, as [`Search::record`].
    ///
    /// # Panics
    /// When the number of samples is not that of the criteria.
    pub fn record(&mut self, planned: &Planned, measured: Measured) {
        self.search.record(planned, measured);
    }

    /// Returns the state that it reached.
    pub fn state(&self) -> FindState {
        self.search.results().first().map_or(FindState::Unfinished, |result| result.state)
    }

    /// The load that it found; None unless both of its ends are known.
    pub fn load(&self) -> Option<f64> {
        let result = self.search.results().into_iter().next()?;
        result.estimate
    }

    /// Returns its expected duration, as [`Search::expected_duration`].
    pub fn expected_duration(&self) -> Duration {
        self.search.expected_duration()
    }
}
