//! Fortio: each thread has a connection and a share of the rate, and sends again when it is answered.

use hoptax_result::Latency;

use serde_json::Value;

use super::called;
use crate::text::{at, json};
use crate::{RESULT, Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "fortio",
    program: "fortio",
    version: "version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let rate = offer.rate.unwrap_or(0.0).to_string();
        // Its steps of a millisecond hide everything below that; these are of 10 us.
        Ok(called(
            offer,
            &[
                "load",
                "-quiet",
                "-c",
                &connections,
                "-qps",
                &rate,
                "-t",
                &seconds,
                "-r",
                "0.00001",
                "-p",
                "50,90,99,99.9",
                "-timeout",
                "30s",
                "-json",
                &offer.file(RESULT),
                offer.url,
            ],
        ))
    },
    script: None,
    read: |output| {
        let result = json(output.result())?;
        let histogram = result.get("DurationHistogram").ok_or("it holds no DurationHistogram")?;
        let us = |name: &str| at(histogram, &format!("/{name}")).map(|seconds| seconds * 1e6);
        let count = at(histogram, "/Count").map(|count| count as u64);
        let failed = at(&result, "/ErrorsDurationHistogram/Count").map(|count| count as u64);
        Ok(Reported {
            connections: at(&result, "/NumThreads").map(|count| count as u32),
            answered: count.map(|count| count.saturating_sub(failed.unwrap_or(0))),
            failed,
            rate: at(&result, "/ActualQPS"),
            seconds: at(&result, "/ActualDuration").map(|ns| ns / 1e9),
            latency: Latency {
                min_us: us("Min"),
                mean_us: us("Avg"),
                standard_deviation_us: us("StdDev"),
                p50_us: percentile(histogram, 50.0),
                p90_us: percentile(histogram, 90.0),
                p99_us: percentile(histogram, 99.0),
                p99_9_us: percentile(histogram, 99.9),
                max_us: us("Max"),
                ..Latency::default()
            },
        })
    },
    unknown: &[
        "planned releases: latency counts from the call, so what a slow answer holds up is in none",
        "values within its histogram's steps, which are interpolated",
        "latency of errors apart from that of answers: its histogram holds both",
    ],
};

fn percentile(histogram: &Value, p: f64) -> Option<f64> {
    let all = histogram.get("Percentiles")?.as_array()?;
    let one = all.iter().find(|one| at(one, "/Percentile").is_some_and(|value| (value - p).abs() < 1e-9))?;
    at(one, "/Value").map(|seconds| seconds * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/fortio.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output { text, file: None }));
    }
}
