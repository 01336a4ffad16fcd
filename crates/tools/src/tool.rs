//! A load generator: the load that it is offered, its command line, and its output.

use std::path::Path;

use crate::reported::Reported;

/// The adapter of a load generator.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The name of the tool.
    pub name: &'static str,
    /// The name of its program.
    pub program: &'static str,
    /// The argument that prints its version.
    pub version: &'static str,
    /// The command line for a load, or the reason why the load is unsupported.
    pub command: fn(&Offer<'_>) -> Result<Vec<String>, &'static str>,
    /// The content of the script that it needs, if any; see [`SCRIPT`].
    pub script: Option<fn(&Offer<'_>) -> String>,
    /// Parses its output.
    pub read: fn(&Output<'_>) -> Result<Reported, String>,
    /// True if an output may have several statistics, of which the user names one.
    pub has_statistics: bool,
    /// Numbers that it does not report, and its deviations from the load.
    pub not_reported: &'static [&'static str],
}

/// A load, in terms that most load generators support.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The URL to request.
    pub url: &'a str,
    /// The path of the program.
    pub program: &'a Path,
    /// A folder for scripts and results, for the exclusive use of the run.
    pub folder: &'a Path,
    /// Requests per second; none for a closed loop without a rate.
    pub rate: Option<f64>,
    /// Number of connections.
    pub connections: u32,
    /// Length of the run, seconds.
    pub seconds: u32,
}

impl Offer<'_> {
    /// The path of a file in the folder: [`SCRIPT`] or [`RESULT`].
    pub fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The rate for tools that support only whole numbers. It is never rounded: a rate below 0.5 would become 0, which means no limit.
    pub(super) fn whole_rate(&self) -> Result<String, &'static str> {
        match self.rate {
            Some(rate) if rate >= 1.0 && rate.fract() == 0.0 => Ok(rate.to_string()),
            _ => Err("supports only whole numbers of requests per second"),
        }
    }

    /// The rate per connection, for tools that pace each connection.
    pub(super) fn rate_per_connection(&self) -> Option<f64> {
        self.rate.map(|rate| rate / f64::from(self.connections.max(1)))
    }
}

/// The file name of the script.
pub const SCRIPT: &str = "script.js";

/// The file name of the result.
pub const RESULT: &str = "result.json";

/// The output of a tool, and its result file if it wrote one.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Its stdout and stderr.
    pub text: &'a str,
    /// The content of [`RESULT`].
    pub file: Option<&'a str>,
    /// The statistic that is meant, if the output has several.
    pub statistic: Option<&'a str>,
}

impl<'a> Output<'a> {
    /// An output without a result file.
    pub fn new(text: &'a str) -> Self {
        Self { text, file: None, statistic: None }
    }

    /// The result file, or else the output.
    pub(super) fn result(&self) -> &'a str {
        self.file.unwrap_or(self.text)
    }
}
