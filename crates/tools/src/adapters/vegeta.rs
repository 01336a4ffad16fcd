//! vegeta: a constant rate with as many workers as it takes.

use hoptax_result::Latency;

use super::words;
use crate::text::{at, json};
use crate::{RESULT, Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "vegeta",
    program: "vegeta",
    version: "-version",
    command: |offer| {
        // It takes whole numbers of requests, for a second or for a time of one's own; 0 is no limit.
        let rate = match offer.rate {
            None => "0".to_owned(),
            Some(rate) => offer.whole_rate().unwrap_or_else(|_| format!("1/{:.0}ns", 1e9 / rate)),
        };
        // It has no limit on connections, only one on idle ones; at rate 0, one on workers is needed.
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
        let requests = at(&result, "/requests").ok_or("it says nothing of its requests")?;
        let share = at(&result, "/success").unwrap_or(1.0);
        Ok(Reported {
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
        })
    },
    unknown: &[
        "time between the planned release and when a worker took it up",
        "the number of connections, which it opens as it likes",
        "p99.9; quantiles are a t-digest's",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/vegeta.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output { text, file: None }));
    }
}
