//! `hoptax listeners`: generates Envoy configurations from a short list of listeners.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use hoptax_listeners::{Form, Format};
use hoptax_report::documents;
use hoptax_result::{PromiseOutcome, Verdict};
use hoptax_session::listeners::check::{ListenersCheckSettings, check};
use hoptax_session::listeners::{self, Rendering};

use super::listeners_run::{self, RunListenersArguments, StatusArguments};
use crate::arguments::shared::{EnvoyArguments, JsonArguments, ListenersFileArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

#[derive(Debug, Subcommand)]
pub(crate) enum ListenersCommand {
    /// Print the Envoy configuration of a listeners file
    Render(RenderArguments),
    /// Run Envoy on a listeners file, and prove what the file promises
    Check(CheckListenersArguments),
    /// Run Envoy on a listeners file, and replace it by hot restart when the file changes
    Run(RunListenersArguments),
    /// Print whether Envoy serves the file of `run`, and which upstreams are slow, since when
    Status(StatusArguments),
    /// Print a listeners file for an Envoy configuration, and say what it does not express
    Import(ImportListenersArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax listeners render listeners.yaml > envoy.yaml
  hoptax listeners render listeners.yaml --as lds-cds --out /etc/envoy
  hoptax listeners render hiera.yaml --services catalog.yaml --as configmap

A file with one listener, through which an application reaches the search service at
http://localhost:6102:

  listeners:
    - name: search
      port: 6102
      timeout: 2s
      upstream: {address: search.example.org, port: 443, encryption: true}

`hoptax generate schema listeners` has all keys; the keys of Wikimedia's `services_proxy` are
accepted as they are, also in a file of hiera. Everything that the file leaves out has a safe
default: certificates and their names are verified; idle connections are closed before the server
closes them; every limit is stated.

Exit codes:
  0  success
  2  invalid input: all problems of the file, each with its line
  3  a file cannot be written")]
pub(crate) struct RenderArguments {
    #[command(flatten)]
    listeners: ListenersFileArguments,
    /// Which files to make; `lds-cds` leaves out `admin` and `connection_limit`, which belong to the bootstrap
    #[arg(long = "as", value_name = "FORM", value_enum, default_value = "bootstrap")]
    form: Form,
    /// How to write them
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "yaml")]
    format: Format,
    /// Write the files into this folder, instead of printing one
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax listeners check listeners.yaml
  hoptax listeners check hiera.yaml --services catalog.yaml --envoy 1.39.3 --json check.json

Envoy runs with the rendered file, with test servers as its upstreams, and with its own ports and
certificates: it needs no network, no secret and no free port. For each listener, requests prove
that they arrive with the Host header and the SNI of the file, that a request without a response
ends at `timeout`, that a failed request is retried exactly as often as `retry` says, that a server
with a certificate for another name gets no request, that a `split` has its share, that
`circuit_breakers`, `retry_budget` and rate limits admit as many requests as they say, that
connections end at `keepalive`, `connect_timeout` and `max_requests_per_connection`, and that
`outlier_detection` ejects a server that fails. Promises that cannot be tried, such as a timeout
above 90 s, are listed with the reason. Envoy has one worker.

Exit codes:
  0  every promise that could be tried is kept
  1  a promise is broken
  2  invalid input: all problems of the file, each with its line, or the reason why Envoy refuses it
  3  a requirement is missing, such as Envoy
  4  no promise could be tried")]
pub(crate) struct CheckListenersArguments {
    #[command(flatten)]
    listeners: ListenersFileArguments,
    #[command(flatten)]
    envoy: EnvoyArguments,
    #[command(flatten)]
    json: JsonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax listeners import envoy.yaml > listeners.yaml

Each field that a listeners file cannot express is a line on stderr, with its listener or cluster
and its line, and a comment in the file. Names that no request depends on are listed apart. Parts
that it has no place for, such as TCP listeners and redirects, are left out.

Exit codes:
  0  success, even if something cannot be expressed
  2  invalid input: the file cannot be read, or none of its listeners can be expressed")]
pub(crate) struct ImportListenersArguments {
    /// Envoy configuration, or the dump of a running proxy, YAML or JSON
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

/// Runs the command.
pub(crate) fn run(command: &ListenersCommand) -> Result<Code, Failure> {
    match command {
        ListenersCommand::Render(arguments) => rendered(arguments),
        ListenersCommand::Check(arguments) => checked(arguments),
        ListenersCommand::Run(arguments) => listeners_run::run(arguments),
        ListenersCommand::Status(arguments) => listeners_run::status(arguments),
        ListenersCommand::Import(arguments) => imported(arguments),
    }
}

fn rendered(arguments: &RenderArguments) -> Result<Code, Failure> {
    let rendering = Rendering {
        file: &arguments.listeners.file,
        services: arguments.listeners.catalogue.file(),
        form: arguments.form,
        format: arguments.format,
        folder: arguments.out.as_deref(),
    };
    if let Some(text) = listeners::rendered(rendering, &print::say)? {
        print::result(&text)?;
    }
    Ok(Code::Success)
}

fn checked(arguments: &CheckListenersArguments) -> Result<Code, Failure> {
    let settings = ListenersCheckSettings {
        file: &arguments.listeners.file,
        services: arguments.listeners.catalogue.file(),
        envoy: arguments.envoy.choice(),
    };
    let interrupt = interrupt::listen()?;
    let result = check(&settings, &interrupt, &print::say)?;
    print::document_or_json(arguments.json.file(), &result, || documents::listeners_check(&result))?;
    Ok(match result.verdict {
        Verdict::Void => Code::Void,
        _ if result.count(PromiseOutcome::Broken) > 0 => Code::ConditionFailed,
        _ => Code::Success,
    })
}

fn imported(arguments: &ImportListenersArguments) -> Result<Code, Failure> {
    let imported = listeners::import(&arguments.file)?;
    print::result(&imported.text)?;
    for note in imported.notes() {
        print::note(&note);
    }
    Ok(Code::Success)
}
