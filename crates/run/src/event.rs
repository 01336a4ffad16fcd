//! Events of a running study, for progress displays. Listeners cannot influence the study.

use hoptax_plan::record::{RoundRecord, SliceRecord};

/// An event of a study.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The processes of the first round are being started.
    Starting,
    /// A round begins.
    RoundBegan {
        /// Its number, from 0.
        round: u32,
    },
    /// The capacity of each arm is being measured.
    Sizing,
    /// The next slice waits, because the host has moved the processors apart.
    Waiting,
    /// A slice was measured.
    SliceEnded {
        /// The slice.
        slice: &'a SliceRecord,
        /// True if it completes no further planned slice: the host disturbed it and it is measured again, or it repeats a slice that was
        /// lost earlier in the round.
        is_again: bool,
    },
    /// The arms are being profiled.
    Profiling,
    /// The course of an arm under a load was observed.
    CourseEnded,
    /// A round is complete.
    RoundEnded {
        /// Its number, from 0.
        round: u32,
        /// The measurements of the round.
        record: &'a RoundRecord,
        /// Time that the study has taken so far, seconds.
        elapsed_s: f64,
    },
}
