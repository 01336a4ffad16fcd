//! oha: a queue of planned requests, with one worker per connection.

use hoptax_result::{CountRange, Latency};

use super::command_line::{command_line, words};
use crate::document::{Document, with_fields};
use crate::reported::Reported;
use crate::text::{at, counts_at, sum};
use crate::tool::{Output, Tool};

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
    read,
    has_statistics: false,
    not_reported: &[
        "requests that were planned but not started at the end",
        "requests in flight at the end",
        "latency of requests without a response",
    ],
};

/// Reads the JSON. Each request has a status or an error, and the rate counts both
/// (<https://github.com/hatoo/oha/blob/master/src/result_data.rs>). `successRate` is the share of requests with any status, including 500.
fn read(output: &Output<'_>) -> Result<Reported, String> {
    let layout =
        "hoptax reads the JSON that oha prints with `--output-format json` (in earlier releases, `--json`)";
    let Document { value: result, notes, .. } =
        with_fields(output.result(), &["/summary/requestsPerSec"], layout)?;
    let us = |pointer: &str| at(&result, pointer).map(|seconds| seconds * 1e6);
    let statuses = counts_at(&result, "/statusCodeDistribution");
    let errors = counts_at(&result, "/errorDistribution");
    let is_answered = |status: &str| status.parse().is_ok_and(|status: u16| (100..400).contains(&status));
    let of = |counts: &Option<Vec<(&str, u64)>>, is_counted: &dyn Fn(&str) -> bool| {
        let counts = counts.as_ref()?.iter().filter(|(name, _)| is_counted(name));
        Some(sum(counts.map(|(_, count)| *count)))
    };
    // Requests in flight at the end are not failures, although the rate counts them.
    let without = of(&errors, &|error| error != IN_FLIGHT);
    let failed = of(&statuses, &|status| !is_answered(status)).zip(without);
    let responses = sum(statuses.iter().flatten().map(|(_, count)| *count));
    Ok(Reported {
        answered: of(&statuses, &is_answered).map(CountRange::exactly),
        failed: failed.map(|(refused, without)| CountRange::exactly(refused.saturating_add(without))),
        rate: at(&result, "/summary/requestsPerSec"),
        rated: statuses
            .as_ref()
            .and(of(&errors, &|_| true))
            .map(|errors| CountRange { at_least: responses, at_most: responses.saturating_add(errors) }),
        seconds: at(&result, "/summary/total"),
        latency: Latency {
            count: responses,
            min_us: us("/summary/fastest"),
            mean_us: us("/summary/average"),
            p50_us: us("/latencyPercentiles/p50"),
            p90_us: us("/latencyPercentiles/p90"),
            p99_us: us("/latencyPercentiles/p99"),
            p99_9_us: us("/latencyPercentiles/p99.9"),
            max_us: us("/summary/slowest"),
            ..Latency::default()
        },
        unread: notes,
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_as_failed() {
        let text = r#"{"summary": {"requestsPerSec": 1.0}, "statusCodeDistribution": {"200": 10, "503": 2},
            "errorDistribution": {"aborted due to deadline": 16, "connection error": 30, "timeout": 4}}"#;
        let reported = (TOOL.read)(&Output::new(text)).unwrap();
        let exactly = |count| Some(CountRange::exactly(count));
        assert_eq!((reported.answered, reported.failed), (exactly(10), exactly(36)));
        assert_eq!(reported.rated, Some(CountRange { at_least: 12, at_most: 62 }));
    }
}
