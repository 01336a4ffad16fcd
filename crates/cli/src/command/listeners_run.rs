//! `hoptax listeners run` and `hoptax listeners status`: keeps an Envoy running on a listeners file, and reports its state.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use clap::Args;
use hoptax_host::service::{OnLine, Stream};
use hoptax_subject::envoy::release::{Envoy, ReleaseError};
use hoptax_supervisor::{self as supervisor, Options, Request, status};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::arguments::shared::{EnvoyArguments, JsonArguments, ListenersFileArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

/// Where the status is served.
const STATUS: &str = "127.0.0.1:9902";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax listeners run listeners.yaml
  hoptax listeners run hiera.yaml --services catalog.yaml --envoy 1.40.0
  kill -HUP PID      restart Envoy even if the file is unchanged, such as after a new certificate

When the file changes, it is rendered, linted, and validated by Envoy; only then another Envoy takes
over by hot restart. If a file is refused, or an Envoy does not start, the previous Envoy keeps
serving, and the log, the status and the metrics report it. The times of a restart are
`restart: {drain: 60s, shutdown: 90s}` of the file; restarts are at least `shutdown` apart, because
Envoy would cut off requests otherwise. All output of Envoy is passed on.

http://127.0.0.1:9902/ is the status, /status.json the same as JSON, /metrics for Prometheus. As the
first process of a container, it reaps orphaned processes. systemd is told when it serves, reloads
and stops: docs/guide/hoptax-listeners.service. SIGTERM and Ctrl-C drain first, for `drain` at most,
or until no connection is left; a second one does not wait.

Exit codes:
  0  it was asked to end
  2  invalid input: the first file is refused
  3  a requirement is missing, such as Envoy, or Envoy does not start on the first file")]
pub(crate) struct RunListenersArguments {
    #[command(flatten)]
    listeners: ListenersFileArguments,
    #[command(flatten)]
    envoy: EnvoyArguments,
    /// Where the status is served; anyone who can reach it can read it
    #[arg(long, value_name = "ADDRESS", default_value = STATUS, value_parser = hoptax_host::scoped::socket_address)]
    status_address: SocketAddr,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax listeners status
  hoptax listeners status 127.0.0.1:9902 --json -

It names each slow upstream, and since when. An upstream is slow if the 90th percentile of its time
to the first byte is twice its usual value or, if it always was slow, five times that of the other
upstreams. Times are from Envoy itself, in microseconds, so neither the client nor the filters are
in them.

Exit codes:
  0  the file is served, and no upstream is slow
  1  attention is needed: no Envoy serves, the file is refused, or an upstream is slow
  3  nothing answers at the address")]
pub(crate) struct StatusArguments {
    /// The address of the status of `hoptax listeners run`
    #[arg(value_name = "ADDRESS", default_value = STATUS, value_parser = hoptax_host::scoped::socket_address)]
    address: SocketAddr,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs Envoy until a signal ends it.
pub(crate) fn run(arguments: &RunListenersArguments) -> Result<Code, Failure> {
    let requests = requests()?;
    // Envoy may have to be downloaded, and a stop must not wait for that.
    let stop = interrupt::requested_by(&[SIGINT, SIGTERM])?;
    let envoy = match Envoy::find(arguments.envoy.choice(), stop.flag(), &mut print::note) {
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
fn requests() -> Result<Receiver<Request>, Failure> {
    let (sender, requests) = mpsc::channel();
    interrupt::on_each(&[SIGHUP, SIGINT, SIGTERM], "signals", move |signal| {
        let request = if signal == SIGHUP { Request::Restart } else { Request::Stop };
        // At the end, nobody receives it.
        let _ = sender.send(request);
    })?;
    Ok(requests)
}

/// Prints the status.
pub(crate) fn status(arguments: &StatusArguments) -> Result<Code, Failure> {
    let status = status::ask(arguments.address).map_err(Failure::environment)?;
    let json = arguments.json.file();
    if json != Some(Path::new("-")) {
        print::result(&status.to_string())?;
    }
    print::write_json(json, &status)?;
    Ok(if status.needs_attention() { Code::ConditionFailed } else { Code::Success })
}
