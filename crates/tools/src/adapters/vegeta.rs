//! vegeta: a constant rate with as many workers as needed.

use hoptax_result::Latency;

use super::words;
use crate::text::{at, json, text_at};
use crate::{RESULT, Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "vegeta",
    program: "vegeta",
    version: "-version",
    command: |offer| {
        // It supports whole numbers of requests per arbitrary time unit; 0 means no limit.
        let rate = match offer.rate {
            None => "0".to_owned(),
            Some(rate) => offer.whole_rate().unwrap_or_else(|_| format!("1/{:.0}ns", 1e9 / rate)),
        };
        // `-connections` limits only idle connections; without a rate, the number of workers must be limited.
        let limit =
            if offer.rate.is_none() { format!(" -max-workers {}", offer.connections) } else { String::new() };
        let program = offer.program.display();
        let script = format!(
            "echo \"GET $1\" | '{program}' attack -rate {rate} -duration {}s -timeout 30s -connections {}{limit} > \
             \"$2.gob\" && '{program}' report -type json \"$2.gob\" > \"$2\"",
            offer.seconds, offer.connections
        );
        Ok(words(&["sh", "-c", &script, "sh", offer.url, &offer.file(RESULT)]))
    },
    script: None,
    read: |output| {
        let result = json(output.result())?;
        let us = |name: &str| at(&result, &format!("/latencies/{name}")).map(|ns| ns / 1e3);
        let requests = at(&result, "/requests").ok_or("`requests` is missing")?;
        let share = at(&result, "/success").unwrap_or(1.0);
        Ok(Reported {
            started_at: text_at(&result, "/earliest"),
            connections: None,
            answered: Some((requests * share).round() as u64),
            failed: Some((requests * (1.0 - share)).round() as u64),
            rate: at(&result, "/throughput"),
            seconds: at(&result, "/duration").map(|ns| ns / 1e9),
            latency: Latency {
                min_us: us("min"),
                mean_us: us("mean"),
                p50_us: us("50th"),
                p90_us: us("90th"),
                p99_us: us("99th"),
                max_us: us("max"),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &[
        "time between the intended start and the start by a worker",
        "the number of connections, which is unlimited",
        "p99.9; other quantiles are estimated by a t-digest",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/vegeta.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }
}
