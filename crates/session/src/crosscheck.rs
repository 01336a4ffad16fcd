//! Compares the reports of load generators with the server's record.

use std::env;
use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hoptax_load::{Protocol, Target};
use hoptax_result::CrosscheckResult;
use hoptax_tools::crosscheck::{CrosscheckError, Installed, Options, SCENARIOS, Server, run, scenario};
use hoptax_tools::{ALL, Tool};

use crate::awake::NeverHalt;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::placement::placement;
use crate::update::Say;
use crate::{awake, environment};

/// The longest wait for a connection to the user's server before anything runs.
const REACHED_WITHIN: Duration = Duration::from_secs(5);
/// Install folder of `make crosscheck-tools`.
const TOOLS: &str = ".tools/bin";

/// Settings of a comparison of load generators.
#[derive(Clone, Copy, Debug)]
pub struct CrosscheckSettings<'a> {
    /// The user's server; none for origins with known response times.
    pub url: Option<&'a str>,
    /// The names of these origins, if no URL is given.
    pub scenarios: &'a [String],
    /// The names of the load generators; none for all that are installed.
    pub tools: &'a [String],
    /// The folder that is searched first for load generators.
    pub tools_folder: Option<&'a Path>,
    /// Requests per second; none for a closed loop without a rate.
    pub rate: Option<f64>,
    /// Number of connections.
    pub connections: u32,
    /// Length of each run, seconds.
    pub seconds: u32,
    /// Runs of each load generator against each server.
    pub rounds: u32,
    /// When idle processors are kept from halting.
    pub never_halt: NeverHalt,
}

/// Runs the load generators. `on_step` gets a description of each run.
///
/// # Errors
/// When a load generator or a server is not known, when a requirement is missing, when a run fails, and after an interrupt.
pub fn crosscheck(
    settings: &CrosscheckSettings<'_>,
    on_step: &mut dyn FnMut(&str),
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<CrosscheckResult, Failure> {
    let (tools, servers) = (tools(settings)?, servers(settings)?);
    let placement = placement()?;
    let awake = awake::on(&placement, settings.never_halt, say)?;
    // The folder holds scripts and output of the tools; results keep the relevant parts. It is private, with an unpredictable name.
    let folder = tempfile::Builder::new()
        .prefix("hoptax-crosscheck-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| Failure::environment(format!("cannot create a temporary folder: {error}")))?;
    interrupt.remove_on_exit(folder.path());
    let options = Options {
        tools,
        servers,
        rate: settings.rate,
        connections: settings.connections,
        seconds: settings.seconds,
        rounds: settings.rounds,
        never_halted: awake.is_some(),
        placement,
        folder: folder.path().to_owned(),
    };
    match run(&options, environment::current(awake.is_some()), interrupt.flag(), on_step) {
        Err(CrosscheckError::Interrupted) => Err(Failure::interrupted()),
        found => found.map_err(Failure::environment),
    }
}

/// The requested tools that are installed; all installed tools if none is requested.
fn tools(settings: &CrosscheckSettings<'_>) -> Result<Vec<Installed>, Failure> {
    let names: Vec<&str> = ALL.iter().map(|tool| tool.name).collect();
    let unknown: Vec<String> = settings
        .tools
        .iter()
        .filter(|name| !names.contains(&name.as_str()))
        .map(|name| format!("unknown tool `{name}`; supported are {}", names.join(", ")))
        .collect();
    if !unknown.is_empty() {
        return Err(Failure::bad_input(unknown.join("\n")));
    }
    let is_requested =
        |tool: &&Tool| settings.tools.is_empty() || settings.tools.iter().any(|name| name == tool.name);
    let mut found = Vec::new();
    for tool in ALL.iter().filter(is_requested) {
        match program(tool, settings.tools_folder) {
            Some(program) => found.push(Installed { tool, program }),
            None if settings.tools.is_empty() => {}
            None => {
                return Err(Failure::environment(format!(
                    "cannot find `{}`; install it with `make crosscheck-tools`, or name its folder with --tools-dir",
                    tool.program
                )));
            }
        }
    }
    Ok(found)
}

fn program(tool: &Tool, folder: Option<&Path>) -> Option<PathBuf> {
    if tool.name == "hoptax" {
        return env::current_exe().ok();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders =
        folder.map(Path::to_owned).into_iter().chain([PathBuf::from(TOOLS)]).chain(env::split_paths(&path));
    folders
        .map(|folder| folder.join(tool.program))
        .find(|program| program.is_file())
        .and_then(|program| program.canonicalize().ok())
}

fn servers(settings: &CrosscheckSettings<'_>) -> Result<Vec<Server>, Failure> {
    if let Some(url) = settings.url {
        let target = http1_target(url)?;
        // Check that the server listens. The relay in front of it accepts connections in any case, and the tools would only report
        // failures.
        TcpStream::connect_timeout(&target.address, REACHED_WITHIN).map_err(|error| {
            Failure::environment(format!(
                "cannot connect to {}: {error}; is the server running, and is the port right?",
                target.address
            ))
        })?;
        return Ok(vec![Server::other(&target.url, target.address, target.path())]);
    }
    let unknown = |name: &String| {
        Failure::bad_input(format!("unknown scenario `{name}`; available are {}", SCENARIOS.join(", ")))
    };
    settings
        .scenarios
        .iter()
        .map(|name| scenario(name, settings.seconds).ok_or_else(|| unknown(name)))
        .collect()
}

/// A GET request over HTTP/1.1 without TLS.
fn http1_target(url: &str) -> Result<Target, Failure> {
    let target = Target::new(url, "GET", Vec::new(), Vec::new()).map_err(Failure::bad_input)?;
    if target.protocol == Protocol::Http1 && target.server_name.is_none() {
        return Ok(target);
    }
    Err(Failure::bad_input(format!(
        "`{}`: this command supports only `http://` URLs; `hoptax load` supports other protocols",
        target.url
    )))
}
