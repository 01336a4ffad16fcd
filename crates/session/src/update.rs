//! Updates of a session while it runs. The program decides how to show them.

use hoptax_report::live::Search;
use hoptax_result::{FindTrial, StudyResult};
use hoptax_run::event::Event;

/// Something to show.
#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    /// A fact that the user may want to know.
    Note(&'a str),
    /// A failure that does not end the study.
    Problem(&'a str),
    /// Measuring starts.
    Begins {
        /// The slices of a round.
        slices_per_round: u64,
        /// The complete rounds of earlier sessions.
        rounds_done: u32,
    },
    /// The expected total number of rounds, sent before each round; none if it is unknown.
    Rounds(Option<u32>),
    /// An event of the study.
    Event(&'a Event<'a>),
    /// The complete rounds of a study that is still running. No decision depends on them.
    SoFar {
        /// Their result, judged.
        result: &'a StudyResult,
        /// True if it deserves a printed line. A live view shows every update.
        is_worth_a_line: bool,
    },
    /// Measuring ends.
    Ends,
    /// A search starts a trial or another step.
    Search(&'a Search),
    /// A trial of a search on a server has ended.
    Trial(&'a FindTrial),
}

/// The callback that shows updates. It is `Sync` because a study sends updates from its own thread.
pub type Say<'a> = &'a (dyn Fn(Update<'_>) + Sync);

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;

    use super::{Say, Update};

    /// What a call returns, and the notes that it shows.
    pub(crate) fn noted<T>(call: impl FnOnce(Say<'_>) -> T) -> (T, Vec<String>) {
        let notes = Mutex::new(Vec::new());
        let returned = call(&|update| {
            if let Update::Note(text) = update {
                notes.lock().unwrap().push(text.to_owned());
            }
        });
        (returned, notes.into_inner().unwrap())
    }
}
