//! Options that several commands share, each written once.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::values::{self, NeverHalt};

/// Options of every command that starts proxies and measures them.
#[derive(Debug, Args)]
pub(crate) struct MeasureArguments {
    /// Envoy, unless one is named beside it: version, path to an Envoy binary (with a `/`), or name of a program on PATH
    #[arg(long, value_name = "VERSION|PATH")]
    pub(crate) envoy: Option<String>,
    /// Keep idle processors from halting, so that wake-ups are fast
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
    /// Set the threshold of a check, `NAME=VALUE`; repeatable
    ///
    /// `hoptax trust checks --thresholds` lists names and defaults. A loosened threshold is printed, and a finding that depends on a
    /// threshold names it. --resume keeps the thresholds of the study, unless it sets them.
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = values::threshold)]
    pub(crate) thresholds: Vec<(String, f64)>,
}

/// Where the result goes as JSON.
#[derive(Debug, Default, Args)]
pub(crate) struct JsonArguments {
    /// Write the result as JSON to a file; `-` is stdout
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

impl JsonArguments {
    /// The file; none if it was not asked for.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.json.as_deref()
    }
}
