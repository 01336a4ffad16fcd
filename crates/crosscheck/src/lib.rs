//! The same load from every generator on the machine, alternating, and what the server saw of it.
//!
//! A generator's report is its own view. The control is taken at the server: the origin stamps when each request arrives
//! and when its answer leaves, or, before a server of the user's, a relay does. On the origin the answer is also known:
//! it plans each departure, so what users would have waited who come at the offered rate can be computed, whatever the
//! generator did.

mod control;
mod relay;
mod run;
mod scenario;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use hoptax_host::processors::Placement;
use hoptax_result::{CrosscheckResult, Environment, LeftOut, Scenario, ToolRuns};
use hoptax_tools::Tool;

pub use scenario::{Kind, SCENARIOS, Server, scenario};

/// A generator that was found, and where.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Which it is.
    pub tool: &'static Tool,
    /// Its program.
    pub program: PathBuf,
}

/// What a crosscheck is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The generators.
    pub tools: Vec<Installed>,
    /// The servers.
    pub servers: Vec<Server>,
    /// Requests per second; none for as fast as possible.
    pub rate: Option<f64>,
    /// Connections.
    pub connections: u32,
    /// Length of each run, seconds.
    pub seconds: u32,
    /// Runs of each tool at each server.
    pub rounds: u32,
    /// Whether the caller keeps the processors from being halted.
    pub never_halted: bool,
    /// Who runs where.
    pub placement: Placement,
    /// A folder for scripts and output, which is the crosscheck's own.
    pub folder: PathBuf,
}

/// Why there is no crosscheck.
#[derive(Debug, thiserror::Error)]
pub enum CrosscheckError {
    /// The origin.
    #[error(transparent)]
    Origin(#[from] hoptax_origin::OriginError),
    /// Something of the system.
    #[error("the crosscheck cannot go on: {0}")]
    System(#[from] std::io::Error),
    /// A server ended without its account, which is a fault of hoptax.
    #[error("the server ended without its account; this is a fault of hoptax")]
    ServerLost,
    /// It was interrupted.
    #[error("it was interrupted")]
    Interrupted,
}

/// Runs every tool at every server, one after the other within each round; `on_step` hears what is going on. To be called
/// on the main thread, which starts the tools.
///
/// # Errors
/// When a server cannot be run. A tool that fails stands in the result.
pub fn run(
    options: &Options,
    environment: Environment,
    stop: &AtomicBool,
    on_step: &mut dyn FnMut(&str),
) -> Result<CrosscheckResult, CrosscheckError> {
    let (tools, left_out) = expressible(options);
    let mut scenarios = Vec::new();
    for server in &options.servers {
        let mut all: Vec<ToolRuns> = tools.iter().map(|tool| run::empty(tool, stop)).collect();
        for round in 1..=options.rounds {
            for (tool, runs) in tools.iter().zip(&mut all) {
                on_step(&format!("{}: {} ({round} of {})", server.name, tool.tool.name, options.rounds));
                match run::once(options, server, tool, stop)? {
                    Ok(run) => runs.runs.push(run),
                    Err(words) => runs.failed.push(words),
                }
            }
        }
        scenarios.push(Scenario { name: server.name.clone(), summary: server.summary.clone(), tools: all });
    }
    Ok(CrosscheckResult {
        format: "hoptax.crosscheck/1".to_owned(),
        rate: options.rate,
        connections: options.connections,
        seconds: options.seconds,
        rounds: options.rounds,
        never_halted: options.never_halted,
        scenarios,
        left_out,
        environment,
    })
}

/// The tools that can express the load, and the others.
fn expressible(options: &Options) -> (Vec<&Installed>, Vec<LeftOut>) {
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    for tool in &options.tools {
        match (tool.tool.command)(&run::offer(options, tool, "http://127.0.0.1/")) {
            Ok(_) => can.push(tool),
            Err(reason) => {
                cannot.push(LeftOut { tool: tool.tool.name.to_owned(), reason: reason.to_owned() });
            }
        }
    }
    (can, cannot)
}
