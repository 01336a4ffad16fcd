//! Arguments of `hoptax trust`: what the machine can measure, the checks of results, the errors of the load generator, and other load generators.

use clap::{Args, Subcommand};

use super::crosscheck::CrosscheckArguments;
use super::shared::{AwakeArguments, JsonArguments};

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Say what this machine can and cannot measure, why, and what to change
    Doctor(DoctorArguments),
    /// List and explain the validity checks
    Checks(ChecksArguments),
    /// Measure the errors of the load generator on this machine
    Calibrate(CalibrateArguments),
    /// Compare load generators with each other and with the server's own record
    Crosscheck(CrosscheckArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Looks at processors, wake-ups, other work, limits, privileges and programs for about a second.
It installs nothing and changes nothing.

Examples:
  hoptax trust doctor
  hoptax trust doctor --json -

Exit codes:
  0  loads can be sent and CPU costs measured, perhaps with limits
  3  a requirement of these is missing, such as Envoy")]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  hoptax trust checks                     list all checks and what they protect from
  hoptax trust checks explain send-lag    explain one check, with its source"
)]
pub(crate) struct ChecksArguments {
    #[command(subcommand)]
    pub(crate) action: Option<ChecksAction>,
    /// List thresholds instead of checks
    #[arg(long)]
    pub(crate) thresholds: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChecksAction {
    /// Explain one check
    Explain {
        /// Check id, as in findings
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Runs experiments with known answers for about two minutes. An origin schedules when each
response leaves; the measured response times are compared with that schedule, request by
request. The result is stored, and later results of this machine refer to it.

Examples:
  hoptax trust calibrate
  hoptax trust calibrate --full --json calibration.json")]
pub(crate) struct CalibrateArguments {
    /// Run six times as long, for higher quantiles
    #[arg(long)]
    pub(crate) full: bool,
    /// Seed of arrivals and delays
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) awake: AwakeArguments,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
