//! One run of one tool against one server.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::accounting::ended_children_cpu_ns;
use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::{command, processors};
use hoptax_origin::{Origin, OriginOptions};
use hoptax_result::{ToolNumbers, ToolRun, ToolRuns};

use super::control::{self, Exchange};
use super::error::CrosscheckError;
use super::options::{Installed, Options};
use super::relay::Relay;
use super::scenario::{Kind, Server};
use crate::adapters::withheld_by;
use crate::{Offer, Output, RESULT, Reported, SCRIPT, version};

/// Interval between checks for the exit of a tool.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Timeout of a tool beyond the length of the run.
const EXTRA_TIMEOUT: Duration = Duration::from_mins(1);
/// Timeout for a tool to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a tool to exit after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// An empty list of runs, with the version of the tool.
pub(crate) fn empty(tool: &Installed, stop: &AtomicBool) -> ToolRuns {
    let mut command = Command::new(&tool.program);
    command.arg(tool.tool.version);
    // A tool without a version can still be measured.
    let text = command::run(command, VERSION_TIMEOUT, stop).map(|output| output.text).unwrap_or_default();
    ToolRuns {
        tool: tool.tool.name.to_owned(),
        version: version(&text),
        runs: Vec::new(),
        failed: Vec::new(),
        withheld_by: Vec::new(),
    }
}

/// The load for a tool.
pub(crate) fn offer<'a>(options: &'a Options, tool: &'a Installed, url: &'a str) -> Offer<'a> {
    Offer {
        url,
        program: &tool.program,
        folder: &options.folder,
        rate: options.rate,
        connections: options.connections,
        seconds: options.seconds,
    }
}

/// Runs a tool once, and names the checks that left its p50 or p99 without a value. The inner error is the reason for the tool's failure.
pub(crate) fn once(
    options: &Options,
    server: &Server,
    tool: &Installed,
    stop: &AtomicBool,
) -> Result<Result<(ToolRun, Vec<String>), String>, CrosscheckError> {
    let (outcome, exchanges) = match &server.kind {
        Kind::Origin { query, .. } => {
            let of_origin = OriginOptions { default_query: query.clone(), ..OriginOptions::default() };
            let origin = Origin::bind(&of_origin)?;
            let url = format!("http://{}/", origin.local_address());
            beside(options, tool, &url, stop, |ended| {
                let (_, served) = origin.run_recorded(ended)?;
                Ok(served.into_iter().map(Exchange::from).collect())
            })?
        }
        Kind::Other { address, path } => {
            let relay = Relay::bind(*address)?;
            let url = format!("http://{}{path}", relay.local_address());
            beside(options, tool, &url, stop, |ended| Ok(relay.run(ended)?))?
        }
    };
    let ToolOutcome { reported, cpu_ns, withheld_by } = match outcome {
        Ok(output) => output,
        Err(reason) => return Ok(Err(reason)),
    };
    if exchanges.len() < 2 {
        return Ok(Err("the server received fewer than two requests".to_owned()));
    }
    let known = match (&server.kind, options.rate) {
        (Kind::Origin { freeze, .. }, Some(rate)) => control::known(&exchanges, rate, *freeze),
        _ => None,
    };
    let is_whole = reported.latency.p50_us.is_some() && reported.latency.p99_us.is_some();
    let withheld_by = if is_whole { Vec::new() } else { withheld_by };
    let run = ToolRun {
        reported: ToolNumbers {
            rate: reported.rate,
            p50_us: reported.latency.p50_us,
            p90_us: reported.latency.p90_us,
            p99_us: reported.latency.p99_us,
        },
        seen: control::seen(&exchanges),
        known,
        gaps: control::gaps(&exchanges, options.rate),
        connections: control::connections(&exchanges),
        cpu_us_per_request: cpu_ns as f64 / 1e3 / exchanges.len() as f64,
    };
    Ok(Ok((run, withheld_by)))
}

/// The report of a tool, and its CPU time.
struct ToolOutcome {
    reported: Reported,
    /// Its CPU time, nanoseconds.
    cpu_ns: u64,
    /// Checks of hoptax that left quantiles without a value; empty for other tools.
    withheld_by: Vec<String>,
}

/// The report of a tool, or the reason for its failure.
type Outcome = Result<ToolOutcome, String>;

/// Runs a tool while `serve` records the exchanges.
fn beside(
    options: &Options,
    tool: &Installed,
    url: &str,
    stop: &AtomicBool,
    serve: impl FnOnce(&AtomicBool) -> Result<Vec<Exchange>, CrosscheckError> + Send,
) -> Result<(Outcome, Vec<Exchange>), CrosscheckError> {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            processors::pin(&options.placement.proxy)?;
            serve(&ended)
        });
        let outcome = call(options, tool, url, stop);
        ended.store(true, Ordering::Relaxed);
        let exchanges = serving.join().map_err(|_| CrosscheckError::ServerLost)??;
        Ok((outcome?, exchanges))
    })
}

fn call(
    options: &Options,
    tool: &Installed,
    url: &str,
    stop: &AtomicBool,
) -> Result<Outcome, CrosscheckError> {
    let offer = offer(options, tool, url);
    let command = match (tool.tool.command)(&offer) {
        Ok(command) => command,
        Err(reason) => return Ok(Err(reason.to_owned())),
    };
    let Some((program, arguments)) = command.split_first() else {
        return Ok(Err("its command line is empty".to_owned()));
    };
    let result = offer.file(RESULT);
    let log = options.folder.join("output.txt");
    for stale in [Path::new(&result), &log] {
        if stale.exists() {
            fs::remove_file(stale)?;
        }
    }
    if let Some(script) = tool.tool.script {
        fs::write(offer.file(SCRIPT), script(&offer))?;
    }
    let before_ns = ended_children_cpu_ns()?;
    let mut child = Child::start(&ChildSpec {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        environment: Vec::new(),
        log: log.clone(),
        processors: options.placement.generator.clone(),
    })?;
    let deadline = Instant::now() + Duration::from_secs(options.seconds.into()) + EXTRA_TIMEOUT;
    let status = loop {
        if let Some(status) = child.ended()? {
            break status;
        }
        if stop.load(Ordering::Relaxed) {
            child.end(GRACE)?;
            return Err(CrosscheckError::Interrupted);
        }
        if Instant::now() > deadline {
            child.end(GRACE)?;
            return Ok(Err(format!("still running {} s after the planned end", EXTRA_TIMEOUT.as_secs())));
        }
        thread::sleep(POLL_INTERVAL);
    };
    let cpu_ns = ended_children_cpu_ns()? - before_ns;
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let file = fs::read_to_string(&result).ok();
    let output = Output { file: file.as_deref(), ..Output::new(&text) };
    // The exit code is not checked: some tools exit with an error if a request failed, and hoptax if the result is void.
    let is_own = tool.tool.name == "hoptax";
    Ok(match (tool.tool.read)(&output) {
        Ok(reported) => {
            let withheld_by = file.as_deref().filter(|_| is_own).map(withheld_by).unwrap_or_default();
            Ok(ToolOutcome { reported, cpu_ns, withheld_by })
        }
        Err(reason) => Err(format!("{reason} ({status}); its output ends with:\n{}", child.last_lines(4))),
    })
}
