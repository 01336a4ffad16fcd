//! The measurement: slices in rounds, the proxies in their path, and the source of CPU times.

use std::collections::BTreeMap;

use hoptax_result::{CpuTimeSource, Environment, LoadResult};

use crate::used::Used;

/// The source of CPU times, and the slices that it requires.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Who reads them.
    pub from: CpuTimeSource,
    /// Why this source is used; none if the first choice was possible.
    pub why: Option<String>,
    /// The longest time between two readings of a container before the first slice, seconds.
    pub gap_s: f64,
    /// True if the times of readings are those of Prometheus' scrapes.
    pub has_times_of_scrapes: bool,
    /// The length of a slice, seconds.
    pub slice_s: f64,
    /// The shortest time between the two readings behind a CPU time, seconds; none if there is none.
    pub shortest_s: Option<f64>,
    /// The share of a processor that shared proxies used without load, by name, as the mean over rounds. It is subtracted from the costs.
    pub idle: BTreeMap<String, f64>,
    /// The share of a processor that the proxies in an arm's pods used before the first load, by the index of the arm. It is part of the
    /// costs.
    pub idle_of_own: BTreeMap<usize, f64>,
}

/// A proxy in the path of a request, including proxies that several pods share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// Its position: `client`, `server`, or the name of the shared proxy.
    pub name: String,
    /// Its container.
    pub container: String,
    /// Its image; none if it is unknown.
    pub image: Option<String>,
}

/// A slice of an arm.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The arm, by its index in the plan.
    pub arm: usize,
    /// Its start, seconds since the start of the measurement.
    pub began_s: f64,
    /// The result of the caller.
    pub load: LoadResult,
    /// The use of each proxy, in the order of the arm's proxies; none if unknown. Empty at saturation, where nothing is read.
    pub proxies: Vec<Option<Used>>,
    /// The use of the origin; none if unknown, and at saturation.
    pub origin: Option<Used>,
}

/// A complete round.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Start of its pods, RFC 3339 in UTC.
    pub began_at: String,
    /// End of its last slice.
    pub ended_at: String,
    /// Its slices at the planned rate.
    pub slices: Vec<Slice>,
    /// Its slices at saturation, which follow all others; empty if maximum rates are not measured.
    pub at_saturation: Vec<Slice>,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The complete rounds.
    pub rounds: Vec<Round>,
    /// The proxies of each arm, by its index.
    pub proxies: BTreeMap<usize, Vec<Proxy>>,
    /// The source of CPU times.
    pub source: Source,
    /// Duration, seconds.
    pub wall_s: f64,
    /// The machine and cluster of the measurement.
    pub environment: Environment,
    /// Reason why it ended before its last round.
    pub ended_early: Option<String>,
}
