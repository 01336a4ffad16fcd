//! The measurement itself: slices in rounds, the proxies that they went through, and the source of CPU times.

use std::collections::BTreeMap;

use hoptax_result::{CpuTimeSource, Environment, LoadResult};

use crate::used::Used;

/// The source of CPU times, and the slices that it needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Their reader.
    pub from: CpuTimeSource,
    /// The reason why they are from there; none if nothing is against the first choice.
    pub why: Option<String>,
    /// The longest time between two readings of a container before the first slice, seconds.
    pub gap_s: f64,
    /// True if the times of readings are those at which a Prometheus asked for them.
    pub has_times_of_scrapes: bool,
    /// The length of a slice, seconds.
    pub slice_s: f64,
    /// The shortest time between the two readings that a CPU time is from, seconds; none without any.
    pub shortest_s: Option<f64>,
    /// The share of a processor that shared proxies used without load, by their name, which is subtracted; the mean over rounds.
    pub idle: BTreeMap<String, f64>,
    /// The share of a processor that the proxies of the pods of an arm used before the first load, by the index of the arm. It is in the costs.
    pub idle_of_own: BTreeMap<usize, f64>,
}

/// A proxy on the way of a request, or one that several pods share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// Its position: `client`, `server`, or the name of what is shared.
    pub name: String,
    /// Its container.
    pub container: String,
    /// Its image; none if it is not known.
    pub image: Option<String>,
}

/// A slice of an arm.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The arm, by its index in the plan.
    pub arm: usize,
    /// Its start, seconds since that of the measurement.
    pub began_s: f64,
    /// The result of the caller.
    pub load: LoadResult,
    /// The use of each proxy, in the order of the proxies of the arm; none where it is not known.
    pub proxies: Vec<Option<Used>>,
    /// The use of the origin.
    pub origin: Option<Used>,
}

/// A complete round.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Start of its pods, RFC 3339 in UTC.
    pub began_at: String,
    /// End of its last slice.
    pub ended_at: String,
    /// Its slices.
    pub slices: Vec<Slice>,
}

/// All that was measured.
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
    /// Where it was measured.
    pub environment: Environment,
    /// Reason why it ended before its last round.
    pub ended_early: Option<String>,
}
