//! oha: a queue of planned requests, served by one worker per connection.

use hoptax_result::Latency;

use super::{command_line, words};
use crate::text::{at, json};
use crate::{Reported, Tool};

/// Its error text for requests that it aborted at the end of the run.
const IN_FLIGHT: &str = "aborted due to deadline";

pub(super) const TOOL: Tool = Tool {
    name: "oha",
    program: "oha",
    version: "--version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line =
            command_line(offer, &["-c", &connections, "-z", &seconds, "--no-tui", "--output-format", "json"]);
        if let Some(rate) = offer.rate {
            line.extend(words(&["-q", &rate.to_string(), "--latency-correction"]));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read: |output| {
        let result = json(output.result())?;
        let us = |pointer: &str| at(&result, pointer).map(|seconds| seconds * 1e6);
        let statuses = result.get("statusCodeDistribution").and_then(|all| all.as_object());
        let of = |wanted: fn(&str) -> bool| {
            statuses.map(|all| {
                let counts =
                    all.iter().filter(|(status, _)| wanted(status)).filter_map(|(_, count)| count.as_u64());
                counts.sum::<u64>()
            })
        };
        // Requests in flight at the end are not failures.
        let errors = result.get("errorDistribution").and_then(|all| all.as_object());
        let errors = errors.into_iter().flatten().filter(|(error, _)| *error != IN_FLIGHT);
        let errors: u64 = errors.filter_map(|(_, count)| count.as_u64()).sum();
        Ok(Reported {
            connections: None,
            answered: of(|status| status < "4"),
            failed: of(|status| status >= "4").map(|refused| refused + errors),
            rate: at(&result, "/summary/requestsPerSec"),
            seconds: at(&result, "/summary/total"),
            latency: Latency {
                min_us: us("/summary/fastest"),
                mean_us: us("/summary/average"),
                p50_us: us("/latencyPercentiles/p50"),
                p90_us: us("/latencyPercentiles/p90"),
                p99_us: us("/latencyPercentiles/p99"),
                p99_9_us: us("/latencyPercentiles/p99.9"),
                max_us: us("/summary/slowest"),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &[
        "requests that were planned but not started at the end",
        "requests in flight at the end",
        "latency of failed requests",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/oha.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }

    #[test]
    fn errors_count_as_failed() {
        let text = r#"{"statusCodeDistribution": {"200": 10, "503": 2},
            "errorDistribution": {"aborted due to deadline": 16, "connection error": 30, "timeout": 4}}"#;
        let reported = (TOOL.read)(&Output::of(text)).unwrap();
        assert_eq!((reported.answered, reported.failed), (Some(10), Some(36)));
    }
}
