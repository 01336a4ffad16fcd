//! hoptax itself, called like the other tools.

use hoptax_result::{CountRange, Latency};

use super::command_line::{command_line, words};
use crate::document::{Document, with_fields};
use crate::reported::Reported;
use crate::text::{at, count_at};
use crate::tool::{RESULT, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "hoptax",
    program: "hoptax",
    version: "--version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line = command_line(
            offer,
            &["load", "-c", &connections, "-d", &seconds, "--warmup", "0s", "--timeout", "30s"],
        );
        if let Some(rate) = offer.rate {
            line.extend(words(&["-q", &rate.to_string()]));
        }
        line.extend(words(&["--json", &offer.file(RESULT), offer.url]));
        Ok(line)
    },
    script: None,
    read: |output| {
        let layout = "the result of `hoptax load --json` is read";
        let Document { value: result, notes, .. } =
            with_fields(output.result(), &["/book", "/latency"], layout)?;
        // Withheld quantiles are still available in the outcome `answered`, for every answered request.
        let us = |name: &str| {
            at(&result, &format!("/latency/response/{name}"))
                .or_else(|| at(&result, &format!("/outcomes/answered/{name}")))
        };
        let count = |name: &str| count_at(&result, &format!("/book/{name}"));
        // A request that timed out failed, too; requests in flight at the end did not.
        let failed =
            count("failed").map(|failed| failed.saturating_add(count("timed_out").unwrap_or_default()));
        Ok(Reported {
            connections: at(&result, "/plan/connections").map(|count| count as u32),
            answered: count("answered").map(CountRange::exactly),
            failed: failed.map(CountRange::exactly),
            rate: at(&result, "/rate/achieved"),
            rated: count("answered").map(CountRange::exactly),
            seconds: at(&result, "/recorded_s"),
            unread: notes,
            latency: Latency {
                min_us: us("min_us"),
                mean_us: us("mean_us"),
                standard_deviation_us: us("standard_deviation_us"),
                p50_us: us("p50_us"),
                p90_us: us("p90_us"),
                p99_us: us("p99_us"),
                p99_9_us: us("p99_9_us"),
                max_us: us("max_us"),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &[],
};
