//! Adapters of load generators: the command line for a load, which loads are unsupported, and a parser of the output; and
//! results in the formats of others ([`export`]).
//!
//! Each adapter is a file in `adapters/` and an entry of [`ALL`]. Nothing here starts a process or reads a file.

mod adapters;
mod document;
mod exponential;
pub mod export;
mod formats;
mod import;
mod run;
pub mod smp;
mod text;

use std::path::Path;

pub use adapters::ALL;
pub use formats::{Content, FORMATS, Format, csv_of_parquet, import_hgrm, import_hlog};
use hoptax_result::{CountRange, ImportedRange, Latency};
pub use import::{import, imported};

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
    /// Whether an output may have several statistics, of which one is meant.
    pub has_statistics: bool,
    /// What it does not report, and where it deviates from the load.
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
    fn whole_rate(&self) -> Result<String, &'static str> {
        match self.rate {
            Some(rate) if rate >= 1.0 && rate.fract() == 0.0 => Ok(rate.to_string()),
            _ => Err("supports only whole numbers of requests per second"),
        }
    }

    /// The rate per connection, for tools that pace each connection.
    fn rate_per_connection(&self) -> Option<f64> {
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
    fn result(&self) -> &'a str {
        self.file.unwrap_or(self.text)
    }
}

/// The report of a tool. Values that it does not report are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// The target.
    pub url: Option<String>,
    /// When it began, RFC 3339.
    pub started_at: Option<String>,
    /// Requested rate, requests per second.
    pub target: Option<f64>,
    /// Number of threads.
    pub workers: Option<u32>,
    /// Number of connections.
    pub connections: Option<u32>,
    /// Requests that were answered. A range where its counters overlap or do not tell.
    pub answered: Option<CountRange>,
    /// Requests that failed.
    pub failed: Option<CountRange>,
    /// Requests per second, as it states them.
    pub rate: Option<f64>,
    /// The requests that this rate counts.
    pub rated: Option<CountRange>,
    /// Length of the run, seconds.
    pub seconds: Option<f64>,
    /// Its latency; [`Tool::not_reported`] states what it does not include.
    pub latency: Latency,
    /// Whether its latency begins at the intended start of each request, and not at the send.
    pub is_from_intended_start: bool,
    /// The buckets of quantiles that it interpolated.
    pub buckets: Vec<ImportedRange>,
    /// What its counts must add up to.
    pub sums: Vec<Sum>,
    /// What this output does not state, or not so that it can be read; [`Tool::not_reported`] is about all outputs.
    pub unread: Vec<String>,
}

/// Counts of a report that are part of another one of its counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// What the parts are of the whole, for example `requests of its status codes`.
    pub what: &'static str,
    /// The sum of the parts.
    pub parts: u64,
    /// What the report says of the whole: `parts` are in this range, or contradict it.
    pub whole: CountRange,
}

impl Sum {
    /// Parts that are at most the whole.
    pub fn some(what: &'static str, parts: u64, whole: u64) -> Self {
        Self { what, parts, whole: CountRange { at_least: 0, at_most: whole } }
    }

    /// Parts that are all of the whole.
    pub fn all(what: &'static str, parts: u64, whole: u64) -> Self {
        Self { what, parts, whole: CountRange::exactly(whole) }
    }
}

/// The version in the output of a tool: the first word with a digit, a dot and a digit.
pub fn version(printed: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let parts: Vec<&str> = word.split('.').collect();
        parts.len() > 1
            && parts.iter().take(2).all(|part| part.bytes().next().is_some_and(|byte| byte.is_ascii_digit()))
    };
    let words = printed.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'));
    words.map(|word| word.trim_start_matches('v')).find(is_version).map(str::to_owned)
}

/// The tool with this name.
pub fn find(name: &str) -> Option<&'static Tool> {
    ALL.iter().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_output_panics(text in ".{0,400}", words in prop::collection::vec("(Latency|50%|[0-9]{1,9}|ms|requests|in|:|Requests/sec|\\{\"results\":|[|]| |\n)", 0..60)) {
            for tool in ALL {
                let _ = (tool.read)(&Output::new(&text));
                let _ = (tool.read)(&Output { file: Some(&words.concat()), ..Output::new(&words.concat()) });
            }
        }
    }

    #[test]
    fn counters_of_any_size_do_not_panic() {
        let large = u64::MAX.to_string();
        for (tool, text) in [
            (
                "ab",
                format!(
                    "Complete requests: {large}\nNon-2xx responses: {large}\nFailed requests: {large}\n(Connect: {large}, Receive: {large}, Exceptions: {large})\n"
                ),
            ),
            (
                "wrk",
                format!(
                    "{large} requests in 2s\nSocket errors: connect {large}, read {large}, write {large}, timeout {large}\nNon-2xx or 3xx responses: {large}\n"
                ),
            ),
            (
                "hey",
                format!(
                    "Total: 1 secs\nRequests/sec: {large}\n\nStatus code distribution:\n[200] {large}\n[503] {large}\n\nError distribution:\n[{large}] x\n"
                ),
            ),
            (
                "h2load",
                format!(
                    "finished in 1s, {large} req/s\nrequests: {large} total, {large} done, {large} succeeded, {large} failed, {large} errored\n"
                ),
            ),
            (
                "oha",
                format!(
                    "{{\"summary\":{{\"requestsPerSec\":1}},\"statusCodeDistribution\":{{\"200\":{large},\"503\":{large}}},\"errorDistribution\":{{\"a\":{large},\"b\":{large}}}}}"
                ),
            ),
            (
                "vegeta",
                format!(
                    "{{\"latencies\":{{}},\"requests\":{large},\"status_codes\":{{\"200\":{large},\"0\":{large}}}}}"
                ),
            ),
            (
                "k6",
                format!(
                    "{{\"metrics\":{{\"http_reqs\":{{\"count\":{large}}},\"http_req_failed\":{{\"passes\":{large},\"fails\":{large}}}}}}}"
                ),
            ),
            (
                "fortio",
                format!(
                    "{{\"DurationHistogram\":{{\"Count\":{large}}},\"RetCodes\":{{\"200\":{large},\"-1\":{large}}}}}"
                ),
            ),
            (
                "bombardier",
                format!(
                    "{{\"result\":{{\"timeTakenSeconds\":1,\"req1xx\":{large},\"req2xx\":{large},\"req3xx\":{large},\"req4xx\":{large},\"req5xx\":{large},\"others\":{large},\"errors\":[{{\"count\":{large}}},{{\"count\":{large}}}]}}}}"
                ),
            ),
        ] {
            let result = import(find(tool).unwrap(), &text, None)
                .unwrap_or_else(|problem| panic!("{tool}: {problem}"));
            assert!(result.imported.is_some(), "{tool}");
        }
    }

    #[test]
    fn versions_are_parsed() {
        let versions =
            ["wrk debian/4.1.0-3+b2 [epoll]", "k6 v1.8.1 (go1.26.8)", "h2load nghttp2/1.52.0", "Version: "];
        assert_eq!(
            versions.map(version),
            [Some("4.1.0-3".to_owned()), Some("1.8.1".to_owned()), Some("1.52.0".to_owned()), None]
        );
    }

    #[test]
    fn a_rate_below_one_is_exact_or_unsupported() {
        let offer = |rate| Offer {
            url: "http://127.0.0.1:1/",
            program: Path::new("TOOL"),
            folder: Path::new("FOLDER"),
            rate: Some(rate),
            connections: 1,
            seconds: 5,
        };
        let vegeta = |rate| (find("vegeta").unwrap().command)(&offer(rate)).unwrap().join(" ");
        assert!(vegeta(0.4).contains("-rate 1/2500000000ns "), "{}", vegeta(0.4));
        assert!(vegeta(2.5).contains("-rate 1/400000000ns "), "{}", vegeta(2.5));
        let k6 = (find("k6").unwrap().script.unwrap())(&offer(0.4));
        assert!(k6.contains("rate: 1, timeUnit: '2500000000ns'"), "{k6}");
        for name in ["wrk2", "nighthawk", "bombardier"] {
            assert!((find(name).unwrap().command)(&offer(0.4)).is_err(), "{name}");
        }
    }

    #[test]
    fn every_tool_supports_a_closed_or_an_open_loop() {
        let offer = |rate| Offer {
            url: "http://127.0.0.1:1/a?b=c",
            program: Path::new("TOOL"),
            folder: Path::new("FOLDER"),
            rate,
            connections: 16,
            seconds: 5,
        };
        let lines: Vec<String> = ALL
            .iter()
            .flat_map(|tool| [None, Some(1_000.0), Some(0.3)].map(|rate| (tool, offer(rate))))
            .map(|(tool, offer)| (tool, (tool.command)(&offer)))
            .map(|(tool, command)| match command {
                Ok(command) => format!("{}: {}", tool.name, command.join(" ")),
                Err(reason) => format!("{}: unsupported: {reason}", tool.name),
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
        let names: BTreeSet<&str> = ALL.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
