//! Options of a crosscheck: generators, load, processors.

use std::path::PathBuf;

use hoptax_host::processors::Placement;

use super::scenario::Server;
use crate::Tool;

/// An installed load generator.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Its adapter.
    pub tool: &'static Tool,
    /// The path of its program.
    pub program: PathBuf,
}

/// The configuration of a crosscheck.
#[derive(Clone, Debug)]
pub struct Options {
    /// The load generators to compare.
    pub tools: Vec<Installed>,
    /// The servers to run them against.
    pub servers: Vec<Server>,
    /// Requests per second; none for a closed loop without a rate.
    pub rate: Option<f64>,
    /// Number of connections.
    pub connections: u32,
    /// Length of each run, seconds.
    pub seconds: u32,
    /// Runs of each tool against each server.
    pub rounds: u32,
    /// True if the caller keeps the processors from halting.
    pub never_halted: bool,
    /// Processors of the server (those of the proxy) and of the tools.
    pub placement: Placement,
    /// A folder for scripts and output, for the exclusive use of the crosscheck.
    pub folder: PathBuf,
}
