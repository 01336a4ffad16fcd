//! Load generators: adapters of other tools (the command line for a load, unsupported loads, and a parser of the output), results in the
//! formats of other tools ([`export`]), and tests of the numbers. [`calibrate`] compares the load generator of hoptax with known truths,
//! and [`crosscheck`] compares it and others with server-side records of the same load.
//!
//! Each adapter is a file in `adapters/` and an entry of [`ALL`]. Only these two modules start processes and read files.

mod adapters;
pub mod calibrate;
pub mod crosscheck;
mod document;
mod exponential;
pub mod export;
pub mod flags;
mod formats;
mod import;
mod importer;
mod reported;
mod run;
pub mod smp;
mod text;
mod tool;

// Tests of the public API run in the program of the unit tests, because each additional program links all libraries again.
#[cfg(test)]
extern crate self as hoptax_tools;
#[cfg(test)]
#[path = "../tests/reports/mod.rs"]
mod reports;

pub use adapters::ALL;
pub use formats::{Content, FORMATS, Format, csv_of_parquet, import_hgrm, import_hlog};
pub use import::{import, imported};
pub use importer::Importer;
pub use reported::Reported;
pub use tool::{Offer, Output, RESULT, SCRIPT, Tool};

/// The version in the output of a tool: the first word that contains a digit, a dot and a digit.
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
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        // A fuzz target has all readers; its kept inputs are tried with each change.
        #![proptest_config(ProptestConfig::with_cases(64))]

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
        for (tool, text) in [
            (
                "ab",
                "Complete requests: LARGE\nNon-2xx responses: LARGE\nFailed requests: LARGE\n(Connect: LARGE, Receive: LARGE, Exceptions: LARGE)\n",
            ),
            (
                "wrk",
                "LARGE requests in 2s\nSocket errors: connect LARGE, read LARGE, write LARGE, timeout LARGE\nNon-2xx or 3xx responses: LARGE\n",
            ),
            (
                "hey",
                "Total: 1 secs\nRequests/sec: LARGE\n\nStatus code distribution:\n[200] LARGE\n[503] LARGE\n\nError distribution:\n[LARGE] x\n",
            ),
            (
                "h2load",
                "finished in 1s, LARGE req/s\nrequests: LARGE total, LARGE done, LARGE succeeded, LARGE failed, LARGE errored\n",
            ),
            (
                "oha",
                r#"{"summary":{"requestsPerSec":1},"statusCodeDistribution":{"200":LARGE,"503":LARGE},"errorDistribution":{"a":LARGE,"b":LARGE}}"#,
            ),
            ("vegeta", r#"{"latencies":{},"requests":LARGE,"status_codes":{"200":LARGE,"0":LARGE}}"#),
            (
                "k6",
                r#"{"metrics":{"http_reqs":{"count":LARGE},"http_req_failed":{"passes":LARGE,"fails":LARGE}}}"#,
            ),
            ("fortio", r#"{"DurationHistogram":{"Count":LARGE},"RetCodes":{"200":LARGE,"-1":LARGE}}"#),
            (
                "bombardier",
                r#"{"result":{"timeTakenSeconds":1,"req1xx":LARGE,"req2xx":LARGE,"req3xx":LARGE,"req4xx":LARGE,"req5xx":LARGE,"others":LARGE,"errors":[{"count":LARGE},{"count":LARGE}]}}"#,
            ),
        ] {
            let text = text.replace("LARGE", &u64::MAX.to_string());
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

    fn offer(rate: Option<f64>) -> Offer<'static> {
        Offer {
            url: "http://127.0.0.1:1/a?b=c",
            program: Path::new("TOOL"),
            folder: Path::new("FOLDER"),
            rate,
            connections: 16,
            seconds: 5,
        }
    }

    #[test]
    fn a_rate_below_one_is_exact_or_unsupported() {
        let vegeta = |rate| (find("vegeta").unwrap().command)(&offer(Some(rate))).unwrap().join(" ");
        assert!(vegeta(0.4).contains("-rate 1/2500000000ns "), "{}", vegeta(0.4));
        assert!(vegeta(2.5).contains("-rate 1/400000000ns "), "{}", vegeta(2.5));
        let k6 = (find("k6").unwrap().script.unwrap())(&offer(Some(0.4)));
        assert!(k6.contains("rate: 1, timeUnit: '2500000000ns'"), "{k6}");
        for name in ["wrk2", "nighthawk", "bombardier"] {
            assert!((find(name).unwrap().command)(&offer(Some(0.4))).is_err(), "{name}");
        }
    }

    #[test]
    fn every_tool_supports_a_closed_or_an_open_loop() {
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
