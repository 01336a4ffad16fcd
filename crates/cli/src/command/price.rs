//! `hoptax price`: takes an Envoy configuration apart, and tries it whole and without each of its parts.

mod text;

use std::env;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use hoptax_bill::{Answers, LabError, Stubs, Trial, TrialError, write_files};
use hoptax_bootstrap::parts::{Part, PartKind, parts};
use hoptax_bootstrap::request::{DerivedRequest, derive};
use hoptax_bootstrap::{Adapted, Lab, Listener, Problem, missing_extension};
use hoptax_nearest::hint;
use hoptax_subject::envoy::given::{FilesError, Given, GivenError};
use hoptax_subject::envoy::process::ProxyError;
use hoptax_subject::envoy::release::Envoy;

use crate::arguments::PriceArguments;
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::print;

/// How many extensions that Envoy lacks are removed before it is given up.
const MOST_MISSING: usize = 50;

/// A listener with its request and the parts that the request passes.
struct Passed {
    listener: Listener,
    request: Result<DerivedRequest, Problem>,
    parts: Vec<Part>,
}

/// What the requests through a variant got.
struct Tried {
    name: String,
    outcome: Result<Answers, TrialError>,
}

/// Runs the command.
pub(crate) fn run(arguments: &PriceArguments) -> Result<Code, Failure> {
    let given = Given::read(&arguments.config).map_err(|error| match error {
        GivenError::File { .. } | GivenError::Content(_) => Failure::bad_input(error),
    })?;
    let unknown = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    if arguments.dry_run {
        let adapted = adapt(&given, unknown, unknown, Path::new("FOLDER"))?;
        let passed = passed(&adapted, arguments.listener.as_deref())?;
        print::result(&text::outline(&passed, &adapted.replacements))?;
        return Ok(Code::Success);
    }
    let interrupt = Interrupt::listen()?;
    let envoy = Envoy::find(arguments.envoy.as_deref(), &mut print::note).map_err(Failure::environment)?;
    let temporary = tempfile::Builder::new().prefix("hoptax-price-").tempdir();
    let temporary =
        temporary.map_err(|error| Failure::environment(format!("cannot create a folder: {error}")))?;
    let folder = folder(arguments.out.as_deref(), temporary.path())?;
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    // The certificates of the origin depend on the configuration, and the configuration on the address of the origin.
    let names = adapt(&given, unknown, unknown, &folder)?;
    let certificates = write_files(&given, &names, &folder).map_err(|error| match error {
        LabError::Files(FilesError::Missing(_)) => Failure::bad_input(error),
        LabError::Files(_) | LabError::Certificates(_) => Failure::environment(error),
    })?;
    let stubs = Stubs::start(&program, &certificates, &folder).map_err(Failure::environment)?;
    let mut adapted = adapt(&given, stubs.origin.address, stubs.companion.address, &folder)?;
    let trial = |name: &str| Trial {
        envoy: &envoy,
        program: &program,
        folder: folder.join("variants").join(name),
        certificates: &certificates,
    };
    accept(&mut adapted, &trial("whole"), &interrupt)?;
    let all = passed(&adapted, arguments.listener.as_deref())?;
    print::result(&text::outline(&all, &adapted.replacements))?;
    let Some((passed, request)) = all.iter().find_map(|one| Some((one, one.request.as_ref().ok()?))) else {
        return Err(Failure::bad_input(
            "no request can be derived for any listener; the reasons are printed above",
        ));
    };
    let mut tried = Vec::new();
    for variant in variants(&passed.parts, request) {
        if interrupt.is_requested() {
            return Ok(Code::Interrupted);
        }
        let trial = trial(&file_name(&variant.name));
        let bootstrap = adapted.without(variant.removed);
        let outcome = trial.run(bootstrap, &passed.listener.name, &variant.request, interrupt.flag());
        tried.push(Tried { name: variant.name, outcome });
    }
    print::result(&text::trials(passed, &tried))?;
    Ok(if interrupt.is_requested() { Code::Interrupted } else { Code::Success })
}

fn adapt(
    given: &Given,
    origin: SocketAddr,
    companion: SocketAddr,
    folder: &Path,
) -> Result<Adapted, Failure> {
    let lab = Lab { admin_port: 0, listener_ports: Vec::new(), origin, companion, folder: folder.to_owned() };
    given.adapt(&lab).map_err(Failure::bad_input)
}

/// The listeners, or the one with this name.
fn passed(adapted: &Adapted, wanted: Option<&str>) -> Result<Vec<Passed>, Failure> {
    let names = || adapted.listeners.iter().map(|listener| listener.name.as_str());
    if let Some(wanted) = wanted.filter(|wanted| names().all(|name| name != *wanted)) {
        let hint = hint(wanted, names());
        let known = names().collect::<Vec<_>>().join("`, `");
        return Err(Failure::bad_input(format!("no listener `{wanted}`{hint}; listeners: `{known}`")));
    }
    let meant =
        adapted.listeners.iter().filter(|listener| wanted.is_none_or(|wanted| listener.name == wanted));
    let of = |listener: &Listener| {
        let request = derive(adapted, listener);
        let parts = request.as_ref().map(|request| parts(adapted, listener, request)).unwrap_or_default();
        Passed { listener: listener.clone(), request, parts }
    };
    Ok(meant.map(of).collect())
}

/// Has Envoy validate the whole, without the extensions that it lacks.
fn accept(adapted: &mut Adapted, trial: &Trial<'_>, interrupt: &Interrupt) -> Result<(), Failure> {
    for _ in 0..MOST_MISSING {
        let error = match trial.validate(adapted.bootstrap(), interrupt.flag()) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let is_removed = match &error {
            TrialError::Proxy(ProxyError::Refused { reason, .. }) => {
                missing_extension(reason).is_some_and(|name| adapted.remove_extension(name))
            }
            _ => return Err(Failure::environment(error)),
        };
        if !is_removed {
            return Err(Failure::bad_input(error));
        }
    }
    Err(Failure::bad_input(format!(
        "Envoy lacks more than {MOST_MISSING} extensions of this configuration; use the Envoy that it is for: --envoy PATH"
    )))
}

/// A variant that is to be tried.
struct Variant<'a> {
    name: String,
    /// The nodes that it lacks.
    removed: Vec<&'a String>,
    request: DerivedRequest,
}

/// The whole, the whole without each part, and everything off.
fn variants<'a>(parts: &'a [Part], request: &DerivedRequest) -> Vec<Variant<'a>> {
    let without = |name: String, off: &'a [Part]| {
        let mut request = request.clone();
        if off.iter().any(|part| part.kind == PartKind::DownstreamTls) {
            request.tls = None;
        }
        Variant { name, removed: off.iter().flat_map(|part| &part.pointers).collect(), request }
    };
    let mut variants = vec![without("whole".to_owned(), &[])];
    for part in parts {
        variants.push(without(format!("without {} {}", part.kind, part.name), std::slice::from_ref(part)));
    }
    if parts.len() > 1 {
        variants.push(without("everything off".to_owned(), parts));
    }
    variants
}

fn file_name(variant: &str) -> String {
    let usual = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    variant.chars().map(usual).collect()
}

/// The folder of the run, as an absolute path: Envoy reads its files from there.
fn folder(out: Option<&Path>, temporary: &Path) -> Result<PathBuf, Failure> {
    let folder = out.unwrap_or(temporary);
    let created = std::fs::create_dir_all(folder).and_then(|()| folder.canonicalize());
    created.map_err(|error| Failure::environment(format!("cannot create `{}`: {error}", folder.display())))
}
