//! hoptax itself, called like the other tools.

use hoptax_result::Latency;

use super::{command_line, words};
use crate::text::{at, json};
use crate::{RESULT, Reported, Tool};

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
        let result = json(output.result())?;
        // Withheld quantiles are still available in the outcome `answered`, for every answered request.
        let us = |name: &str| {
            at(&result, &format!("/latency/response/{name}"))
                .or_else(|| at(&result, &format!("/outcomes/answered/{name}")))
        };
        Ok(Reported {
            connections: at(&result, "/plan/connections").map(|count| count as u32),
            answered: at(&result, "/book/answered").map(|count| count as u64),
            failed: at(&result, "/book/failed").map(|count| count as u64),
            rate: at(&result, "/rate/achieved"),
            seconds: at(&result, "/plan/duration_s"),
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
