//! `hoptax listeners run` and `hoptax listeners status`: keeps an Envoy running on a listeners file, and tells how it is.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use hoptax_host::service::{OnLine, Stream};
use hoptax_subject::envoy::release::{Envoy, ReleaseError};
use hoptax_supervisor::{self as supervisor, Options, Request, status};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::arguments::{RunListenersArguments, StatusArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs Envoy until a signal ends it.
pub(crate) fn run(arguments: &RunListenersArguments) -> Result<Code, Failure> {
    let no_signals = |error: io::Error| Failure::environment(format!("cannot listen for signals: {error}"));
    let requests = requests().map_err(no_signals)?;
    // Envoy may have to be fetched, and a stop need not wait for that.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&stop)).map_err(no_signals)?;
    }
    let envoy = match Envoy::find(arguments.envoy.choice(), &stop, &mut print::note) {
        Err(ReleaseError::Interrupted) => return Ok(Code::Success),
        found => found.map_err(Failure::environment)?,
    };
    let options = Options {
        listeners: arguments.listeners.file.clone(),
        services: arguments.listeners.catalogue.file().map(Path::to_owned),
        envoy,
        status: arguments.status_address,
    };
    let on_line: OnLine = Arc::new(|stream, line: &[u8]| match stream {
        Stream::Output => print::passed(line),
        Stream::Error => print::passed_as_note(line),
    });
    match supervisor::run(&options, &requests, &print::error, &on_line) {
        Ok(()) => Ok(Code::Success),
        Err(failure @ supervisor::Failure::Refused(_)) => Err(Failure::bad_input(failure)),
        Err(failure @ supervisor::Failure::Environment(_)) => Err(Failure::environment(failure)),
    }
}

/// Returns the channel of requests that signals stand for: SIGHUP for a restart, SIGINT and SIGTERM for a stop.
fn requests() -> io::Result<Receiver<Request>> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let (sender, requests) = mpsc::channel();
    let pass_on = move || {
        for signal in signals.forever() {
            let request = if signal == SIGHUP { Request::Restart } else { Request::Stop };
            if sender.send(request).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(pass_on)?;
    Ok(requests)
}

/// Prints the status.
pub(crate) fn status(arguments: &StatusArguments) -> Result<Code, Failure> {
    let status = status::ask(arguments.address).map_err(|error| {
        Failure::environment(format!(
            "no status at {}: {error}; `hoptax listeners run` serves it, and its log says where",
            arguments.address
        ))
    })?;
    let json = arguments.json.file();
    if json != Some(Path::new("-")) {
        print::result(&status.to_string())?;
    }
    if let Some(path) = json {
        print::write_value(path, &status)?;
    }
    Ok(if status.needs_attention() { Code::ConditionFailed } else { Code::Success })
}
