//! Runs the same load with several load generators in turn and compares their reports with server-side measurements.
//!
//! The origin records the arrival of each request and the departure of each response; for another server, a relay in
//! front of it does. The origin also plans each departure. From these plans follow the response times of an open loop at
//! the offered rate, independent of the behaviour of the generator.

mod control;
mod error;
mod options;
mod relay;
mod run;
mod scenario;

use std::sync::atomic::AtomicBool;

use hoptax_result::{CrosscheckBody, CrosscheckResult, Environment, LeftOut, Scenario, ToolRuns};

pub use error::CrosscheckError;
pub use options::{Installed, Options};
pub use scenario::{Kind, SCENARIOS, Server, scenario};

/// Runs every tool against every server, in turn within each round, and reports progress to `on_step`. Call it on the main
/// thread: the tools are children of the calling thread and die with it.
///
/// # Errors
/// If a server fails. Failures of tools are part of the result.
pub fn run(
    options: &Options,
    environment: Environment,
    stop: &AtomicBool,
    on_step: &mut dyn FnMut(&str),
) -> Result<CrosscheckResult, CrosscheckError> {
    let (tools, left_out) = by_support(options);
    let mut scenarios = Vec::new();
    for server in &options.servers {
        let mut all: Vec<ToolRuns> = tools.iter().map(|tool| run::empty(tool, stop)).collect();
        for round in 1..=options.rounds {
            for (tool, runs) in tools.iter().zip(&mut all) {
                on_step(&format!("{}: {} ({round} of {})", server.name, tool.tool.name, options.rounds));
                match run::once(options, server, tool, stop)? {
                    Ok((run, withheld_by)) => {
                        runs.runs.push(run);
                        let of_earlier = runs.withheld_by.clone();
                        let new = withheld_by.into_iter().filter(|check| !of_earlier.contains(check));
                        runs.withheld_by.extend(new);
                    }
                    Err(reason) => runs.failed.push(reason),
                }
            }
        }
        scenarios.push(Scenario { name: server.name.clone(), summary: server.summary.clone(), tools: all });
    }
    let body = CrosscheckBody {
        rate: options.rate,
        connections: options.connections,
        seconds: options.seconds,
        rounds: options.rounds,
        never_halted: options.never_halted,
        scenarios,
        left_out,
    };
    Ok(CrosscheckResult::new(environment, body))
}

/// The tools that support the load, and the others with the reason.
fn by_support(options: &Options) -> (Vec<&Installed>, Vec<LeftOut>) {
    let (mut supported, mut unsupported) = (Vec::new(), Vec::new());
    for tool in &options.tools {
        match (tool.tool.command)(&run::offer(options, tool, "http://127.0.0.1/")) {
            Ok(_) => supported.push(tool),
            Err(reason) => {
                unsupported.push(LeftOut { tool: tool.tool.name.to_owned(), reason: reason.to_owned() });
            }
        }
    }
    (supported, unsupported)
}
