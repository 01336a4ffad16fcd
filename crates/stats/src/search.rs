//! Searches the highest load at which a subject meets a goal, from trials that may disagree with each other.
//!
//! A binary search believes each trial, so one stall of the machine moves its result to half of the truth. This search follows
//! the rules of MLRsearch (RFC 9971): a load is a lower bound
//! or an upper bound only when trials of a given total duration agree by a given majority, and the result is a pair of such
//! bounds. Short trials come first and find the region; only loads near the result are measured for the whole duration.
//!
//! The module has no clock and no I/O. [`Search::next`] is a function of the recorded trials, whatever their order, and states
//! the next trial or the end. The caller runs the trial and records it:
//!
//! ```
//! use hoptax_stats::search::{Goal, Limits, Measured, Outcome, Search, Step};
//!
//! let mut search = Search::new(&[Goal::QUICK], Limits::new(10.0, 10_000.0)).unwrap();
//! while let Step::Trial(planned) = search.next() {
//!     // A subject that carries 1,234 requests per second.
//!     let loss_ratio = 1.0 - (1_234.0 / planned.load).min(1.0);
//!     let outcomes = Some(vec![Outcome::of_loss(loss_ratio, 0.001)]);
//!     let carried = planned.load.min(1_234.0);
//!     search.record(&planned, Measured { took: planned.duration, carried, outcomes });
//! }
//! let found = &search.results()[0];
//! assert!(found.lower.unwrap() <= 1_236.0 && found.upper.unwrap() >= 1_234.0);
//! ```

mod bounds;
mod choice;
mod classify;
mod goal;
mod ladder;
mod repetition;
mod steps;

pub use goal::Goal;
pub use repetition::Repetition;
pub use steps::{Ending, GoalResult, Limits, Measured, Outcome, Planned, Search, SearchError, State, Step};
