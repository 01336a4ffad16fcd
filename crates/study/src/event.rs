//! What a running study tells those who watch it. Watchers only listen: nothing they do changes the study.

use crate::record::{RoundRecord, SliceRecord};

/// Something that happened in a study.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The configurations are being checked.
    Checking,
    /// A round begins: all processes are started.
    RoundBegan {
        /// Its number, from 0.
        round: u32,
    },
    /// What each arm can take is being measured.
    Sizing,
    /// The host has the processors elsewhere, and the next slice waits.
    Waiting,
    /// A slice was measured.
    SliceEnded {
        /// What came of it.
        slice: &'a SliceRecord,
        /// Whether the host disturbed it, so that it is measured again.
        is_again: bool,
    },
    /// A round is complete.
    RoundEnded {
        /// Its number, from 0.
        round: u32,
        /// What was measured in it.
        record: &'a RoundRecord,
        /// How long the study has taken so far, seconds.
        elapsed_s: f64,
    },
}
