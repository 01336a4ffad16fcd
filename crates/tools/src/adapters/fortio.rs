//! Fortio: each thread has one connection and a share of the rate, and sends the next request after the response.

use hoptax_result::{CountRange, ImportedRange, Latency};
use serde_json::Value;

use super::command_line;
use crate::document::{Document, json};
use crate::text::{at, count_at, counts_at, sum, text_at};
use crate::{RESULT, Reported, Sum, Tool};

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
        let Document { value: result, notes } =
            json(output.result(), is_result).map_err(|problem| format!("{problem}; {LAYOUT}"))?;
        let reported = read(&result)?;
        let buckets = PERCENTILES.iter().filter_map(|p| bucket(&result["DurationHistogram"], *p)).collect();
        Ok(Reported { buckets, unread: notes, ..reported })
    },
    has_statistics: false,
    not_reported: &[
        "intended starts: latency begins with the call, so time spent waiting behind a slow response is in no latency",
        "values within a histogram bucket, which are interpolated",
        "latency of failed requests separately: its histogram contains both",
    ],
};

/// The layout that is read.
const LAYOUT: &str = "the JSON is read that Fortio writes with `-json` or keeps of a run of `load`";

/// Whether a document is a result. The messages of Fortio's log are JSON, too.
fn is_result(value: &Value) -> bool {
    value.get("DurationHistogram").is_some()
}

/// Reads a result in the JSON of Fortio, with quantiles as they are listed.
pub(super) fn read(result: &Value) -> Result<Reported, String> {
    let histogram =
        result.get("DurationHistogram").ok_or_else(|| format!("`DurationHistogram` is missing; {LAYOUT}"))?;
    // A run that did not begin has a histogram of two durations that were not measured.
    if result.get("error").and_then(Value::as_bool) == Some(true) {
        let reason = text_at(result, "/message").unwrap_or_else(|| "without a reason".to_owned());
        return Err(format!("Fortio did not run the load: {reason}"));
    }
    let us = |name: &str| at(histogram, &format!("/{name}")).map(|seconds| seconds * 1e6);
    let count = count_at(histogram, "/Count");
    let Counts { answered, failed, sums } = count.map(|count| Counts::of(result, count)).unwrap_or_default();
    let threads = at(result, "/NumThreads").filter(|threads| *threads > 0.0);
    // With gRPC, each of the streams of a connection is a thread.
    let connections = threads.map(|threads| {
        threads * at(result, "/NumConnections").unwrap_or(1.0)
            / at(result, "/Streams").unwrap_or(1.0).max(1.0)
    });
    Ok(Reported {
        url: text_at(result, "/URL").or_else(|| text_at(result, "/Destination")),
        started_at: text_at(result, "/StartTime"),
        // `max` without a rate.
        target: at(result, "/RequestedQPS").filter(|rate| *rate > 0.0),
        workers: threads.map(|count| count as u32),
        connections: connections.map(|count| count as u32),
        answered,
        failed,
        rate: at(result, "/ActualQPS"),
        rated: count.map(CountRange::exactly),
        seconds: at(result, "/ActualDuration").map(|ns| ns / 1e9),
        latency: Latency {
            count: count.unwrap_or_default(),
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
        sums,
        ..Reported::default()
    })
}

/// Calls by their outcome. `DurationHistogram` has all calls, `RetCodes` their outcomes, and `ErrorsDurationHistogram`, since 1.21, those
/// of all that were not OK: <https://github.com/fortio/fortio/blob/master/fhttp/httprunner.go> and the runners of gRPC, TCP and UDP.
/// With gRPC, calls of a given method that fail are in `RetCodes` twice, so failed calls are those that are not OK.
#[derive(Default)]
struct Counts {
    answered: Option<CountRange>,
    failed: Option<CountRange>,
    sums: Vec<Sum>,
}

impl Counts {
    fn of(result: &Value, count: u64) -> Self {
        let codes = counts_at(result, "/RetCodes").filter(|codes| !codes.is_empty());
        let of = |is_counted: fn(&str) -> bool| {
            let codes = codes.as_ref()?.iter().filter(|(code, _)| is_counted(code));
            Some(sum(codes.map(|(_, count)| *count)))
        };
        let errors = count_at(result, "/ErrorsDurationHistogram/Count");
        let (succeeded, all) = (of(is_ok), of(|_| true));
        let mut sums = Vec::new();
        if let Some(parts) = succeeded {
            sums.push(Sum { what: "OK by return code", parts, whole: count, is_all: false });
        }
        if let Some(parts) = all.filter(|_| codes.iter().flatten().all(|(code, _)| is_status(code))) {
            sums.push(Sum { what: "with a return code", parts, whole: count, is_all: true });
        }
        let by_errors = errors.map(|errors| count.saturating_sub(errors));
        if let (Some(parts), Some(whole)) = (by_errors, succeeded) {
            let what = "OK by the histogram of errors, by return code";
            sums.push(Sum { what, parts, whole, is_all: true });
        }
        let range = |at_least, at_most| Some(CountRange { at_least, at_most });
        match succeeded.or(by_errors) {
            Some(answered) => {
                let failed = count.saturating_sub(answered);
                Self { answered: range(answered, answered), failed: range(failed, failed), sums }
            }
            // The oldest releases count without outcomes.
            None => Self { answered: range(0, count), failed: range(0, count), sums },
        }
    }
}

/// What Fortio takes for a success: 2xx and 418 of HTTP, `SERVING` of gRPC, `OK` of TCP and UDP.
fn is_ok(code: &str) -> bool {
    match code.parse::<i32>() {
        Ok(status) => (200..300).contains(&status) || status == 418,
        Err(_) => code == "SERVING" || code == "OK",
    }
}

/// Whether a code is a status of HTTP, or -1 for none.
fn is_status(code: &str) -> bool {
    code.parse::<i32>().is_ok()
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
