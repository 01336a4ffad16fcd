//! Fortio: each thread has one connection and a share of the rate, and sends the next request after the response.

use hoptax_result::{ImportedRange, Latency};

use serde_json::Value;

use super::command_line;
use crate::text::{at, json, text_at};
use crate::{RESULT, Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "fortio",
    program: "fortio",
    version: "version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let rate = offer.rate.unwrap_or(0.0).to_string();
        // The default histogram resolution of 1 ms is too coarse; this is 10 us.
        Ok(command_line(
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
        let reported = read(&result)?;
        let buckets = PERCENTILES.iter().filter_map(|p| bucket(&result["DurationHistogram"], *p)).collect();
        Ok(Reported { buckets, ..reported })
    },
    has_statistics: false,
    not_reported: &[
        "intended starts: latency begins with the call, so time spent waiting behind a slow response is in no latency",
        "values within a histogram bucket, which are interpolated",
        "latency of failed requests separately: its histogram contains both",
    ],
};

/// Reads a result in the JSON of Fortio, with quantiles as they are listed.
pub(super) fn read(result: &Value) -> Result<Reported, String> {
    let histogram = result.get("DurationHistogram").ok_or("`DurationHistogram` is missing")?;
    let us = |name: &str| at(histogram, &format!("/{name}")).map(|seconds| seconds * 1e6);
    let count = at(histogram, "/Count").map(|count| count as u64);
    let failed = at(result, "/ErrorsDurationHistogram/Count").map(|count| count as u64);
    let threads = at(result, "/NumThreads");
    let connections = threads.map(|threads| threads * at(result, "/NumConnections").unwrap_or(1.0));
    Ok(Reported {
        url: text_at(result, "/URL").or_else(|| text_at(result, "/Destination")),
        started_at: text_at(result, "/StartTime"),
        // `max` without a rate.
        target: at(result, "/RequestedQPS").filter(|rate| *rate > 0.0),
        workers: threads.map(|count| count as u32),
        connections: connections.map(|count| count as u32),
        answered: count.map(|count| count.saturating_sub(failed.unwrap_or(0))),
        failed,
        rate: at(result, "/ActualQPS"),
        seconds: at(result, "/ActualDuration").map(|ns| ns / 1e9),
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
        ..Reported::default()
    })
}

/// The reported percentiles.
pub(super) const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// The bucket that a percentile lies in.
pub(super) fn bucket(histogram: &Value, percentile: f64) -> Option<ImportedRange> {
    let buckets = histogram.get("Data")?.as_array()?;
    let reaches = |bucket: &&Value| at(bucket, "/Percent").is_some_and(|share| share >= percentile - 1e-9);
    let one = buckets.iter().find(reaches)?;
    let us = |bound: &str| at(one, bound).map(|seconds| seconds * 1e6);
    Some(ImportedRange { percentile, low_us: us("/Start")?, high_us: us("/End")? })
}

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
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }
}
