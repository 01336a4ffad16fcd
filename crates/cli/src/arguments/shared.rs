//! Options that several commands share, defined once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use hoptax_cluster::job::Pull;
use hoptax_result::StudyResult;
use hoptax_session::awake::NeverHalt;
use hoptax_session::load::GivenHeaders;
use hoptax_session::results::read_run;
use hoptax_session::thresholds;
use hoptax_session::token::Token;
use hoptax_session::{EnvoyChoice, Failure, Options, store};
use hoptax_text::command_line::{option, path_option, word};

use super::values;
use crate::print;

/// The words for when nodes pull an image.
pub(crate) const PULLS: [(&str, Pull); 3] =
    [("always", Pull::Always), ("if-not-present", Pull::IfNotPresent), ("never", Pull::Never)];

/// Options of every command that starts proxies and measures them.
#[derive(Debug, Args)]
pub(crate) struct MeasureArguments {
    #[command(flatten)]
    pub(crate) envoy: EnvoyArguments,
    #[command(flatten)]
    pub(crate) awake: AwakeArguments,
    #[command(flatten)]
    pub(crate) checks: ThresholdArguments,
}

impl MeasureArguments {
    /// Returns the options of a study that the arguments state.
    pub(crate) fn options(&self) -> Options<'_> {
        Options {
            envoy: self.envoy.choice(),
            never_halt: self.awake.never_halt,
            thresholds: &self.checks.thresholds,
            ..Options::default()
        }
    }

    /// Those that were given, for a command that measures the same: each with a space before it.
    pub(crate) fn again(&self) -> String {
        self.envoy.again() + &self.awake.again() + &self.checks.again()
    }
}

/// The Envoy that runs.
#[derive(Debug, Args)]
pub(crate) struct EnvoyArguments {
    /// Envoy: version, path to a binary (with a `/`), or name of a program on PATH [default: the pinned version]
    ///
    /// A version in a study file or in a subject takes precedence.
    #[arg(long, value_name = "VERSION|PATH")]
    envoy: Option<String>,
    #[command(flatten)]
    offline: OfflineArguments,
}

impl EnvoyArguments {
    /// The choice.
    pub(crate) fn choice(&self) -> EnvoyChoice<'_> {
        EnvoyChoice { named: self.envoy.as_deref(), is_offline: self.offline.is_set }
    }

    /// Those that were given, each with a space before it.
    pub(crate) fn again(&self) -> String {
        path_option("--envoy", self.envoy.as_ref()) + if self.offline.is_set { " --offline" } else { "" }
    }
}

/// Fetching of releases of Envoy that are missing.
#[derive(Debug, Args)]
pub(crate) struct OfflineArguments {
    /// Fetch nothing: if a release of Envoy is not installed, the error explains how to install it without a network
    ///
    /// The variable `HOPTAX_OFFLINE` has the same effect.
    #[arg(id = "offline", long = "offline")]
    pub(crate) is_set: bool,
}

/// Options of commands that make a study and measure it.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Number of rounds [default: 12, or that of a study file]
    #[arg(long, value_name = "NUMBER", value_parser = values::rounds)]
    pub(crate) rounds: Option<u32>,
    #[command(flatten)]
    pub(crate) out: OutArguments,
    #[command(flatten)]
    pub(crate) measure: MeasureArguments,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

/// Where a study is kept.
#[derive(Debug, Args)]
pub(crate) struct OutArguments {
    /// Run folder [default: a new one in `runs`]
    #[arg(id = "out", short = 'o', long = "out", value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

impl OutArguments {
    /// The folder; none if it was not given.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

/// The store that gets a study.
#[derive(Debug, Args)]
pub(crate) struct StoredArguments {
    /// Put the study into the store
    ///
    /// Without FILE, the store is that of `hoptax runs`. If the variable `HOPTAX_STORE` names a store, every study is put there.
    #[allow(clippy::option_option, reason = "the value of the option is optional, too")]
    #[arg(id = "store", long = "store", value_name = "FILE", num_args = 0..=1, require_equals = true, value_hint = ValueHint::FilePath)]
    given: Option<Option<PathBuf>>,
}

impl StoredArguments {
    /// The store that the option names, else that of the environment; none without either.
    ///
    /// # Errors
    /// When the option names no file, and there is no home directory.
    pub(crate) fn path(&self) -> Result<Option<PathBuf>, Failure> {
        match &self.given {
            Some(given) => store::path(given.as_deref()).map(Some),
            None => Ok(store::of_environment()),
        }
    }

    /// The option with a space before it; empty if it was not given.
    pub(crate) fn again(&self) -> String {
        match &self.given {
            Some(Some(file)) => format!(" {}", word(format!("--store={}", file.display()))),
            Some(None) => " --store".to_owned(),
            None => String::new(),
        }
    }
}

/// The time of a measurement, instead of a number of rounds.
#[derive(Debug, Args)]
pub(crate) struct BudgetArguments {
    /// Time to measure: as many complete rounds as fit, at least two
    ///
    /// With --resume, the additional time.
    #[arg(id = "budget", long = "budget", value_name = "DURATION", value_parser = values::duration)]
    pub(crate) time: Option<Duration>,
}

/// The time of a measurement that ends when it decides.
#[derive(Debug, Args)]
pub(crate) struct DecisionArguments {
    /// Measure until the intervals of CPU time are narrow enough to decide, for at most this time
    ///
    /// An interval is narrow enough if each side of it is at most a fifth of the change, half of the equivalence margin, or a third of the
    /// smallest limit. Other measures do not prolong the measurement.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, conflicts_with = "rounds")]
    pub(crate) until_decided: Option<Duration>,
}

/// The seed of what is random.
#[derive(Debug, Args)]
pub(crate) struct SeedArguments {
    /// Seed of all random choices: orders, arrivals, delays [default: that of a study file, or 1]
    #[arg(id = "seed", long = "seed", value_name = "NUMBER", value_parser = values::seed)]
    pub(crate) given: Option<u64>,
}

impl SeedArguments {
    /// The seed, of a command without a study file.
    pub(crate) fn number(&self) -> u64 {
        self.given.unwrap_or(1)
    }

    /// The option with a space before it; empty if it was not given.
    pub(crate) fn again(&self) -> String {
        option("--seed", self.given)
    }
}

/// The threads of a generator, and those of a server.
#[derive(Debug, Args)]
pub(crate) struct WorkersArguments {
    /// Number of worker threads
    #[arg(id = "workers", short = 'w', long = "workers", value_name = "NUMBER", default_value_t = 1, value_parser = values::whole::<u32>(1..=1024))]
    pub(crate) number: u32,
}

/// The rate of a measurement that has a usual one.
#[derive(Debug, Args)]
pub(crate) struct RateArguments {
    /// Requests per second
    #[arg(id = "rate", short = 'q', long = "rate", value_name = "RATE", default_value_t = 1_000.0, value_parser = values::rate)]
    pub(crate) per_second: f64,
}

/// Headers of requests.
#[derive(Debug, Args)]
pub(crate) struct HeaderArguments {
    /// Request header `Name: value`, or `@FILE` with one header per line; repeatable
    ///
    /// `@FILE` keeps credentials out of the process list.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<GivenHeaders>,
}

impl HeaderArguments {
    /// All headers, names and values.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        self.headers.iter().flat_map(|given| given.0.clone()).collect()
    }
}

/// The price of processors.
#[derive(Debug, Args)]
pub(crate) struct CorePriceArguments {
    /// Price of a processor core for an hour, in any currency
    #[arg(id = "price_per_core_hour", long = "price-per-core-hour", value_name = "PRICE", value_parser = values::price, requires = "rate")]
    pub(crate) per_hour: Option<f64>,
}

/// Results of studies, from which something is predicted.
#[derive(Debug, Args)]
pub(crate) struct FromArguments {
    /// Run folder of a study, or its `result.json`, to predict from; repeatable; each number comes from the first one that has it
    #[arg(id = "from", long = "from", value_name = "RESULT", value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
}

impl FromArguments {
    /// The results.
    pub(crate) fn read(&self) -> Result<Vec<StudyResult>, Failure> {
        self.paths.iter().map(|path| read_run(path)).collect()
    }

    /// Their paths, as they were given.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.display().to_string()).collect()
    }
}

/// The token of a server or an agent.
#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    /// File with the token that clients must send, at least 16 characters; only you should be able to read it
    #[arg(id = "token_file", long = "token-file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
}

impl TokenArguments {
    /// The token; none if no file was given.
    pub(crate) fn read(&self) -> Result<Option<Token>, Failure> {
        self.file.as_deref().map(|file| Token::of_file(file, &print::say)).transpose()
    }
}

/// The cluster that a command speaks with.
#[derive(Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", value_parser = values::name_in_cluster)]
    pub(crate) kube_context: Option<String>,
}

/// Handling of idle processors.
#[derive(Debug, Args)]
pub(crate) struct AwakeArguments {
    /// Keep idle processors from halting, so that wake-ups are fast
    ///
    /// `auto` does so where wake-ups are slow; `load` and `find` do so only if the server is on another machine.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
}

impl AwakeArguments {
    /// The option with a space before it; empty if it is the usual one.
    pub(crate) fn again(&self) -> String {
        let given = Some(&self.never_halt).filter(|when| **when != NeverHalt::Auto);
        values::chosen_option("--never-halt", given)
    }
}

/// Thresholds of checks.
#[derive(Debug, Args)]
pub(crate) struct ThresholdArguments {
    /// Set the threshold of a check, `NAME=VALUE`; repeatable
    ///
    /// `hoptax trust checks --details` lists names and defaults. A loosened threshold is printed, and a finding that depends on a
    /// threshold names it. A study that is continued keeps its thresholds, unless they are set again.
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = thresholds::parse)]
    pub(crate) thresholds: Vec<(String, f64)>,
}

impl ThresholdArguments {
    /// Those that were given, each with a space before it.
    pub(crate) fn again(&self) -> String {
        let one = |(name, value): &(String, f64)| option("--threshold", Some(format!("{name}={value}")));
        self.thresholds.iter().map(one).collect()
    }
}

/// A file of listeners, and what it names.
#[derive(Debug, Args)]
pub(crate) struct ListenersFileArguments {
    /// Listeners file, YAML or JSON
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) catalogue: ServicesArguments,
}

/// The services that a listeners file names.
#[derive(Debug, Args)]
pub(crate) struct ServicesArguments {
    /// A file of services that listeners name, such as Wikimedia's `service::catalog`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    services: Option<PathBuf>,
}

impl ServicesArguments {
    /// The file; none if it was not given.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.services.as_deref()
    }
}

/// The form of a list.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Print JSON
    #[arg(id = "json", long = "json")]
    pub(crate) is_json: bool,
}

impl ListArguments {
    /// Standard output, as a file, if JSON was asked for.
    pub(crate) fn file(&self) -> Option<&'static Path> {
        self.is_json.then(|| Path::new("-"))
    }
}

/// Where the result goes as JSON.
#[derive(Debug, Default, Args)]
pub(crate) struct JsonArguments {
    /// Write the result as JSON to a file, of which `hoptax convert export --to html` makes a page; `-` is stdout
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

impl JsonArguments {
    /// The file; none if it was not asked for.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.json.as_deref()
    }

    /// The option with a space before it; empty if it was not given.
    pub(crate) fn again(&self) -> String {
        match self.file() {
            // As a path, it would be a file of that name.
            Some(file) if file == Path::new("-") => " --json -".to_owned(),
            file => path_option("--json", file),
        }
    }
}

/// The store of a command.
#[derive(Debug, Args)]
pub(crate) struct StoreChoice {
    /// Store to use
    #[arg(long = "store", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}
