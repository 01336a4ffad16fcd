//! `hoptax trust crosscheck`: compares the reports of load generators with the server's record.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_report::documents;
use hoptax_session::crosscheck::{CrosscheckSettings, crosscheck};
use hoptax_session::load::GivenUrl;

use crate::arguments::shared::{AwakeArguments, JsonArguments, RateArguments};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Runs the same load with every load generator found in --tools-dir, in .tools/bin or on PATH, and
compares their reports with the server's record. The server is hoptax's origin, or a relay in
front of your server.

Examples:
  hoptax trust crosscheck                              all tools, origins with known response times
  hoptax trust crosscheck --tools hoptax,wrk --closed  two tools, as fast as possible
  hoptax trust crosscheck http://127.0.0.1:8080/       against your server, through a relay")]
pub(crate) struct CrosscheckArguments {
    /// Your server, `http://HOST:PORT/PATH` [default: origins with known response times]
    ///
    /// Requests pass through a relay, so the tools send the relay's address as `Host`.
    #[arg(value_hint = ValueHint::Url)]
    url: Option<GivenUrl>,
    #[command(flatten)]
    rate: RateArguments,
    /// Send as fast as possible (closed loop)
    #[arg(long, conflicts_with = "rate")]
    closed: bool,
    /// Number of connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 32, value_parser = values::whole::<u32>(1..=10_000))]
    connections: u32,
    /// Length of each run in seconds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 5, value_parser = values::whole::<u32>(2..=3_600))]
    seconds: u32,
    /// Runs of each tool; the tools alternate
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = values::whole::<u32>(1..=100))]
    rounds: u32,
    /// Origins: `delay` (known delays), `freeze` (the server pauses for a tenth of the time), `plain`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values_t = ["delay".to_owned(), "freeze".to_owned()], conflicts_with = "url")]
    scenarios: Vec<String>,
    /// Names of the tools [default: all that are found]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<String>,
    #[command(flatten)]
    awake: AwakeArguments,
    /// Folder to search for the tools first
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    tools_dir: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &CrosscheckArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let settings = CrosscheckSettings {
        url: arguments.url.as_deref(),
        scenarios: &arguments.scenarios,
        tools: &arguments.tools,
        tools_folder: arguments.tools_dir.as_deref(),
        rate: (!arguments.closed).then_some(arguments.rate.per_second),
        connections: arguments.connections,
        seconds: arguments.seconds,
        rounds: arguments.rounds,
        never_halt: arguments.awake.never_halt,
    };
    let result = progress::stepwise(|on_step, say| crosscheck(&settings, on_step, &interrupt, say))?;
    print::document_or_json(arguments.json.file(), &result, || documents::crosscheck(&result))?;
    Ok(Code::Success)
}
