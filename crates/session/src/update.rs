//! Updates of a session while it runs. The program decides how to show them.

use hoptax_report::live::Search;
use hoptax_result::{FindTrial, StudyResult};
use hoptax_run::event::Event;

/// Something to show.
#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    /// A fact that the user may want to know.
    Note(&'a str),
    /// Something failed that does not end the study.
    Problem(&'a str),
    /// Measuring begins.
    Begins {
        /// The slices of a round.
        slices_per_round: u64,
        /// The complete rounds of earlier sessions.
        rounds_done: u32,
    },
    /// The expected total number of rounds, before each of them; none if it is not known.
    Rounds(Option<u32>),
    /// An event of the study.
    Event(&'a Event<'a>),
    /// The complete rounds of a study that still measures. They decide nothing.
    SoFar {
        /// Their result, judged.
        result: &'a StudyResult,
        /// True if it is worth a line. A view that is redrawn shows each.
        is_worth_a_line: bool,
    },
    /// Measuring ends.
    Ends,
    /// A search begins a trial, or another part.
    Search(&'a Search),
    /// A trial of a search on a server has ended.
    Trial(&'a FindTrial),
}

/// The callback that shows updates. It is `Sync`, because a study sends updates from a thread of its own.
pub type Say<'a> = &'a (dyn Fn(Update<'_>) + Sync);
