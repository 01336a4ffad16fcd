//! Searches for the highest load at which a subject meets a goal, with trials whose results vary.
//!
//! A binary search believes each trial, so one lucky trial moves its result to the wrong half of the range. The responses of a trial are
//! not independent either: they wait in one queue, so late responses come in groups, and a trial that begins with an empty queue sees too
//! few of them. So trials are as long as the percentile and the memory of the queue require, their start is left out until the queue has
//! settled, and the search ends by the interval from all trials near the result, not after a fixed number of trials.
//!
//! If a subject fails sharply, like a server that drops all requests beyond its capacity, the bounds are loads that clearly hold and
//! clearly fail. If it fails gradually, like a queue, the result is where a line through the trials near it has the permitted share of late
//! requests.
//!
//! The module has no clock and no I/O. [`Search::next`] is a function of the recorded trials, and states the next trial or the end.
//! The caller runs the trial and records it; the test below is the shortest caller.

mod bounds;
mod choice;
mod evidence;
mod fit;
mod goal;
mod ladder;
mod repetition;
mod steps;

pub use evidence::{Sample, Share};
pub use fit::CONFIDENCE;
pub use goal::Criterion;
pub use repetition::{Repetition, WIDER};
pub use steps::{Ending, GoalResult, Limits, Measured, Planned, Search, SearchError, Step};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_runs_the_trials_that_a_search_plans_until_it_ends() {
        let few_lost = Criterion::Lost { permitted: 0.001 };
        let mut search = Search::new(&[few_lost], &[vec![0]], Limits::new(10.0, 10_000.0)).unwrap();
        while let Step::Trial(planned) = search.next() {
            // A subject that carries 1,234 requests per second.
            let requests = planned.load * planned.duration.as_secs_f64();
            let lost = requests * (1.0 - 1_234.0 / planned.load).max(0.0);
            let all = Share { lost, planned: requests };
            let samples = Some(vec![Sample::Share { all, windows: vec![] }]);
            search.record(&planned, Measured { took: planned.duration, samples });
        }
        let found = &search.results()[0];
        assert!(found.lower.unwrap() <= 1_236.0 && found.upper.unwrap() >= 1_234.0);
    }
}
