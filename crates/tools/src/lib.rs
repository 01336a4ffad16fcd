//! Other load generators: how each is called, which of our terms it can express, and how its output is read.
//!
//! One small file for each in `adapters/`, and one list, [`ALL`]. Nothing here starts a process or reads a file.

mod adapters;
mod import;
mod text;

use std::path::Path;

pub use adapters::ALL;
use hoptax_result::Latency;
pub use import::import;

/// A load generator.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// That of its program.
    pub program: &'static str,
    /// The argument at which it prints its version.
    pub version: &'static str,
    /// The command line for a load; or why there is none for it.
    pub command: fn(&Offer<'_>) -> Result<Vec<String>, &'static str>,
    /// A file that it needs beside, by its contents.
    pub script: Option<fn(&Offer<'_>) -> String>,
    /// What its output says.
    pub read: fn(&Output<'_>) -> Result<Reported, String>,
    /// What it does not tell, and how it bends what it is asked for.
    pub unknown: &'static [&'static str],
}

/// A load, in the terms that most of them have.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Where it goes.
    pub url: &'a str,
    /// The path of the program.
    pub program: &'a Path,
    /// A folder of its own, for scripts and results.
    pub folder: &'a Path,
    /// Requests per second; none for as fast as possible.
    pub rate: Option<f64>,
    /// Connections.
    pub connections: u32,
    /// Seconds.
    pub seconds: u32,
}

impl Offer<'_> {
    /// Where a script is put, and where results go.
    pub fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The rate for tools that take whole numbers alone: rounded, a rate below a half would be 0, which they read as no limit.
    fn whole_rate(&self) -> Result<String, &'static str> {
        match self.rate {
            Some(rate) if rate >= 1.0 && rate.fract() == 0.0 => Ok(rate.to_string()),
            _ => Err("it takes whole numbers of requests per second alone"),
        }
    }

    /// Each connection's share of the rate, for tools that pace connections.
    fn rate_of_connection(&self) -> Option<f64> {
        self.rate.map(|rate| rate / f64::from(self.connections.max(1)))
    }
}

/// The script, as an [`Offer::file`].
pub const SCRIPT: &str = "script.js";
/// The result, as an [`Offer::file`].
pub const RESULT: &str = "result.json";

/// What a tool output: its output, and its result file if it wrote one.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Output and errors.
    pub text: &'a str,
    /// [`RESULT`].
    pub file: Option<&'a str>,
}

impl<'a> Output<'a> {
    /// The result, wherever it is.
    fn result(&self) -> &'a str {
        self.file.unwrap_or(self.text)
    }
}

/// What a tool reports; what it does not is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// Connections.
    pub connections: Option<u32>,
    /// Requests that it calls answered.
    pub answered: Option<u64>,
    /// Requests that it calls failed.
    pub failed: Option<u64>,
    /// Requests per second.
    pub rate: Option<f64>,
    /// Seconds.
    pub seconds: Option<f64>,
    /// Its latency; how it is counted, each tool says in [`Tool::unknown`].
    pub latency: Latency,
}

/// The version in what a tool prints of it: the first word that has a digit, a dot and a digit.
pub fn version(printed: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let parts: Vec<&str> = word.split('.').collect();
        parts.len() > 1
            && parts.iter().take(2).all(|part| part.bytes().next().is_some_and(|byte| byte.is_ascii_digit()))
    };
    let words = printed.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'));
    words.map(|word| word.trim_start_matches('v')).find(is_version).map(str::to_owned)
}

/// The tool of a name.
pub fn find(name: &str) -> Option<&'static Tool> {
    ALL.iter().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_panics_on_strange_output(text in ".{0,400}", words in prop::collection::vec("(Latency|50%|[0-9]{1,9}|ms|requests|in|:|Requests/sec|\\{\"results\":|[|]| |\n)", 0..60)) {
            for tool in ALL {
                let _ = (tool.read)(&Output { text: &text, file: None });
                let _ = (tool.read)(&Output { text: &words.concat(), file: Some(&words.concat()) });
            }
        }
    }

    #[test]
    fn versions_are_found() {
        let versions =
            ["wrk debian/4.1.0-3+b2 [epoll]", "k6 v1.8.1 (go1.26.8)", "h2load nghttp2/1.52.0", "Version: "];
        assert_eq!(
            versions.map(version),
            [Some("4.1.0-3".to_owned()), Some("1.8.1".to_owned()), Some("1.52.0".to_owned()), None]
        );
    }

    #[test]
    fn a_rate_below_one_is_kept_and_never_becomes_none() {
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
    fn every_tool_has_a_command_for_a_closed_or_an_open_loop() {
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
                Err(reason) => format!("{}: cannot: {reason}", tool.name),
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
        let mut names: Vec<_> = ALL.iter().map(|tool| tool.name).collect();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
