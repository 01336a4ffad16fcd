//! A running copy of an arm, with its plan and the last reading of its counters.

use hoptax_plan::plan;

use super::reading::Reading;
use super::subject::Subject;

/// A running copy of an arm. It holds its own plan, so that no index can lead to the wrong one.
pub(super) struct Running<'p> {
    /// The copy as planned.
    pub(super) planned: plan::Subject<'p>,
    /// Its processes and connections.
    pub(super) subject: Subject,
    /// Readings of the proofs of the functions of each proxy before the first request.
    pub(super) proofs: Vec<Vec<u64>>,
    /// The reading after its last work; none before the warm-up, and none after work that belongs to no slice and was not read.
    pub(super) last: Option<Last>,
}

/// The reading of a subject after its last work.
pub(super) struct Last {
    pub(super) reading: Reading,
    /// The index in the record of the slice that it ended; none after work that belongs to no slice.
    pub(super) slice: Option<usize>,
}

impl<'p> Running<'p> {
    /// A subject that has not worked yet.
    pub(super) fn new(planned: plan::Subject<'p>, subject: Subject) -> Self {
        Self { planned, subject, proofs: Vec::new(), last: None }
    }
}
