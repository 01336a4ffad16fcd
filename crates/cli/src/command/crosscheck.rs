//! `hoptax trust crosscheck`: compares the reports of load generators with the server's record.

use std::env;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hoptax_host::processors::{self, Placement};
use hoptax_load::{Protocol, Target};
use hoptax_report::documents;
use hoptax_session::{awake, environment};
use hoptax_tools::{ALL, Tool};
use hoptax_trust::crosscheck::{CrosscheckError, Installed, Options, SCENARIOS, Server, scenario};

use crate::arguments::CrosscheckArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::{print, progress};

/// Install folder of `make crosscheck-tools`.
const TOOLS: &str = ".tools/bin";

/// Runs the command.
pub(crate) fn run(arguments: &CrosscheckArguments) -> Result<Code, Failure> {
    let tools = tools(arguments)?;
    let servers = servers(arguments)?;
    let allowed = processors::allowed().map_err(Failure::environment)?;
    let placement = Placement::split(&allowed, 1);
    let awake = awake::on(&placement, arguments.never_halt.into(), &print::say)?;
    let interrupt = interrupt::listen()?;
    // For scripts and output of the tools; results keep the relevant parts. Private, with an unpredictable name.
    let folder = tempfile::Builder::new()
        .prefix("hoptax-crosscheck-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| Failure::environment(format!("cannot create a temporary folder: {error}")))?;
    interrupt.remove_on_exit(folder.path());
    let options = Options {
        tools,
        servers,
        rate: (!arguments.closed).then_some(arguments.rate),
        connections: arguments.connections,
        seconds: arguments.seconds,
        rounds: arguments.rounds,
        never_halted: awake.is_some(),
        placement,
        folder: folder.path().to_owned(),
    };
    let spinner = progress::spinner();
    let environment = environment::here(awake.is_some());
    let found = hoptax_trust::crosscheck::run(&options, environment, interrupt.flag(), &mut |step| {
        spinner.set_message(step.to_owned());
    });
    spinner.finish_and_clear();
    drop(folder);
    let result = match found {
        Err(CrosscheckError::Interrupted) => return Ok(Code::Interrupted),
        found => found.map_err(Failure::environment)?,
    };
    print::document_or_json(arguments.json.file(), &result, || documents::crosscheck(&result))?;
    Ok(Code::Success)
}

/// The requested tools that are installed; all installed tools if none is requested.
fn tools(arguments: &CrosscheckArguments) -> Result<Vec<Installed>, Failure> {
    let names: Vec<&str> = ALL.iter().map(|tool| tool.name).collect();
    let unknown: Vec<String> = arguments
        .tools
        .iter()
        .filter(|name| !names.contains(&name.as_str()))
        .map(|name| format!("unknown tool `{name}`; supported are {}", names.join(", ")))
        .collect();
    if !unknown.is_empty() {
        return Err(Failure::bad_input(unknown.join("\n")));
    }
    let is_requested =
        |tool: &&Tool| arguments.tools.is_empty() || arguments.tools.iter().any(|name| name == tool.name);
    let mut found = Vec::new();
    for tool in ALL.iter().filter(is_requested) {
        match program(tool, arguments.tools_dir.as_deref()) {
            Some(program) => found.push(Installed { tool, program }),
            None if arguments.tools.is_empty() => {}
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

fn servers(arguments: &CrosscheckArguments) -> Result<Vec<Server>, Failure> {
    if let Some(url) = &arguments.url {
        let target = http1_target(url)?;
        return Ok(vec![Server::other(&target.url, target.address, target.path())]);
    }
    let unknown = |name: &String| {
        Failure::bad_input(format!("unknown scenario `{name}`; available are {}", SCENARIOS.join(", ")))
    };
    arguments
        .scenarios
        .iter()
        .map(|name| scenario(name, arguments.seconds).ok_or_else(|| unknown(name)))
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
