//! Arguments of `hoptax trust crosscheck`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_session::load::GivenUrl;

use super::shared::{AwakeArguments, JsonArguments};
use super::values;

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
    pub(crate) url: Option<GivenUrl>,
    /// Requests per second
    #[arg(short = 'q', long, value_name = "RATE", default_value_t = 1_000.0, value_parser = values::rate)]
    pub(crate) rate: f64,
    /// Send as fast as possible (closed loop)
    #[arg(long, conflicts_with = "rate")]
    pub(crate) closed: bool,
    /// Number of connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 32, value_parser = values::whole::<u32>(1..=10_000))]
    pub(crate) connections: u32,
    /// Length of each run in seconds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 5, value_parser = values::whole::<u32>(2..=3_600))]
    pub(crate) seconds: u32,
    /// Runs of each tool; the tools alternate
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = values::whole::<u32>(1..=100))]
    pub(crate) rounds: u32,
    /// Origins: `delay` (known delays), `freeze` (the server pauses for a tenth of the time), `plain`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values_t = ["delay".to_owned(), "freeze".to_owned()], conflicts_with = "url")]
    pub(crate) scenarios: Vec<String>,
    /// Names of the tools [default: all that are found]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    #[command(flatten)]
    pub(crate) awake: AwakeArguments,
    /// Folder to search for the tools first
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) tools_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
