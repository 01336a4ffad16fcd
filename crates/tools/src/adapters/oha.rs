//! oha: a queue of planned requests that as many workers as connections take from.

use hoptax_result::Latency;

use super::{called, words};
use crate::text::{at, json};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "oha",
    program: "oha",
    version: "--version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line =
            called(offer, &["-c", &connections, "-z", &seconds, "--no-tui", "--output-format", "json"]);
        if let Some(rate) = offer.rate {
            line.extend(words(&["-q", &format!("{rate:.0}"), "--latency-correction"]));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read: |said| {
        let result = json(said.result())?;
        let us = |pointer: &str| at(&result, pointer).map(|seconds| seconds * 1e6);
        let statuses = result.get("statusCodeDistribution").and_then(|all| all.as_object());
        let of = |wanted: fn(&str) -> bool| {
            statuses.map(|all| {
                let counts =
                    all.iter().filter(|(status, _)| wanted(status)).filter_map(|(_, count)| count.as_u64());
                counts.sum::<u64>()
            })
        };
        Ok(Reported {
            answered: of(|status| status < "4"),
            failed: of(|status| status >= "4"),
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
        })
    },
    unknown: &["requests that were planned and not begun at the end", "latency of failed requests"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Said;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/oha.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Said { text, file: None }));
    }
}
