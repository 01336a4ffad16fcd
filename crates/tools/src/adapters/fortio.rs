//! Fortio: each thread has one connection and a share of the rate, and sends the next request after the response.

use hoptax_result::{CountRange, ImportedRange, Latency};
use serde_json::Value;

use super::command_line::command_line;
use crate::document::{Document, json};
use crate::reported::{PERCENTILES, Reported, Sum};
use crate::text::{at, count_at, counts_at, rest, sum, text_at};
use crate::tool::{RESULT, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "fortio",
    program: "fortio",
    version: "version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let rate = offer.rate.unwrap_or(0.0).to_string();
        // The default histogram resolution of 1 ms is too coarse. This sets 10 us.
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
        let Document { value: result, notes, .. } =
            json(output.result(), is_result).map_err(|problem| format!("{problem}; {LAYOUT}"))?;
        let reported = read(&result)?;
        let buckets = PERCENTILES.iter().filter_map(|p| bucket(&result["DurationHistogram"], *p)).collect();
        Ok(Reported { buckets, unread: notes, ..reported })
    },
    has_statistics: false,
    not_reported: &[
        "intended starts: latency begins with the call, so no latency contains the time spent waiting behind a slow response",
        "values within a histogram bucket, which are interpolated",
        "latency of failed requests separately: its histogram contains both",
    ],
};

/// The supported layout.
const LAYOUT: &str = "hoptax reads the JSON that Fortio writes with `-json` or keeps for a run of `load`";

/// Returns true if a document is a result. The messages in Fortio's log are JSON as well.
fn is_result(value: &Value) -> bool {
    value.get("DurationHistogram").is_some()
}

/// Reads a result in Fortio's JSON, with the listed quantiles.
pub(super) fn read(result: &Value) -> Result<Reported, String> {
    let histogram =
        result.get("DurationHistogram").ok_or_else(|| format!("`DurationHistogram` is missing; {LAYOUT}"))?;
    // A failed start leaves a histogram with two durations that were not measured.
    if result.get("error").and_then(Value::as_bool) == Some(true) {
        let reason = text_at(result, "/message").unwrap_or_else(|| "without a reason".to_owned());
        return Err(format!("Fortio did not run the load: {reason}"));
    }
    let us = |name: &str| at(histogram, &format!("/{name}")).map(|seconds| seconds * 1e6);
    let count = count_at(histogram, "/Count");
    let Counts { answered, failed, sums } = count.map(|count| Counts::new(result, count)).unwrap_or_default();
    let threads = at(result, "/NumThreads").filter(|threads| *threads > 0.0);
    // With gRPC, each stream of a connection is a thread.
    let connections = threads.map(|threads| {
        threads * at(result, "/NumConnections").unwrap_or(1.0)
            / at(result, "/Streams").unwrap_or(1.0).max(1.0)
    });
    Ok(Reported {
        url: text_at(result, "/URL").or_else(|| text_at(result, "/Destination")),
        started_at: text_at(result, "/StartTime"),
        // `max` if there was no rate.
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

/// Calls by outcome. `DurationHistogram` has all calls, `RetCodes` their outcomes, and `ErrorsDurationHistogram`, since 1.21, all calls
/// that were not OK: <https://github.com/fortio/fortio/blob/master/fhttp/httprunner.go> and the runners of gRPC, TCP and UDP. With gRPC,
/// failed calls of a user-defined method are in `RetCodes` twice, so failed calls are computed as those that are not OK. Before 1.3, the
/// gRPC codes are the numbers of `HealthCheckResponse.ServingStatus`, with -1 for an error.
#[derive(Default)]
struct Counts {
    answered: Option<CountRange>,
    failed: Option<CountRange>,
    sums: Vec<Sum>,
}

impl Counts {
    fn new(result: &Value, count: u64) -> Self {
        let codes = counts_at(result, "/RetCodes").filter(|codes| !codes.is_empty());
        let is_grpc =
            text_at(result, "/RunType").is_some_and(|kind| kind.to_ascii_uppercase().starts_with("GRPC"));
        let of = |is_counted: &dyn Fn(&str) -> bool| {
            let codes = codes.as_ref()?.iter().filter(|(code, _)| is_counted(code));
            Some(sum(codes.map(|(_, count)| *count)))
        };
        let errors = count_at(result, "/ErrorsDurationHistogram/Count");
        let (succeeded, all) = (of(&|code| is_ok(code, is_grpc) == Some(true)), of(&|_| true));
        let unnamed = of(&|code| is_ok(code, is_grpc).is_none()).unwrap_or_default();
        let mut sums = Vec::new();
        if let Some(parts) = succeeded {
            sums.push(Sum::some("OK by return code", parts, count));
        }
        if let Some(all) = all {
            // Non-numeric codes may count a call twice.
            let is_once = codes.iter().flatten().all(|(code, _)| code.parse::<i32>().is_ok());
            let whole = CountRange { at_least: count, at_most: if is_once { count } else { u64::MAX } };
            sums.push(Sum { name: "with a return code", parts: all, whole });
        }
        let by_errors = errors.map(|errors| count.saturating_sub(errors));
        if let (Some(parts), Some(ok)) = (by_errors, succeeded) {
            let whole = CountRange { at_least: ok, at_most: ok.saturating_add(unnamed) };
            sums.push(Sum { name: "OK by the histogram of errors, by return code", parts, whole });
        }
        // A call without an outcome may have had any. The oldest releases report no outcomes at all.
        let by_code =
            succeeded.map(|ok| CountRange { at_least: ok, at_most: ok.saturating_add(unnamed).min(count) });
        let by_errors = by_errors.map(CountRange::exactly);
        let answered = by_code.filter(|_| unnamed == 0).or(by_errors).or(by_code);
        let answered = answered.unwrap_or(CountRange { at_least: 0, at_most: count });
        Self { answered: Some(answered), failed: Some(rest(count, answered)), sums }
    }
}

/// Returns true if Fortio counts a code as a success: 2xx and 418 for HTTP, `SERVING` or its number for gRPC, and `OK` for TCP and UDP.
/// None for an unknown kind of code.
fn is_ok(code: &str, is_grpc: bool) -> Option<bool> {
    const SERVING: i32 = 1;
    match code.parse::<i32>() {
        Ok(status) if is_grpc => Some(status == SERVING),
        // Codes below 1 are errors of Fortio's own clients.
        Ok(1..100 | 1_000..) => None,
        Ok(status) => Some((200..300).contains(&status) || status == 418),
        Err(_) => Some(code == "SERVING" || code == "OK"),
    }
}

/// The bucket that contains a percentile.
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
    use crate::tool::Output;

    #[test]
    fn codes_of_an_unknown_kind_have_any_outcome() {
        let of = |kind: &str, more: &str| {
            let text = format!(
                r#"{{"RunType": "{kind}", "DurationHistogram": {{"Count": 1000}}, "RetCodes": {{"1": 900, "200": 90, "-1": 10}}{more}}}"#
            );
            (TOOL.read)(&Output::new(&text)).unwrap()
        };
        let range = |at_least, at_most| Some(CountRange { at_least, at_most });
        let reported = of("HTTP", "");
        assert_eq!((reported.answered, reported.failed), (range(90, 990), range(10, 910)));
        let reported = of("", r#", "ErrorsDurationHistogram": {"Count": 100}"#);
        assert_eq!((reported.answered, reported.failed), (range(900, 900), range(100, 100)));
        let reported = of("GRPC Ping", "");
        assert_eq!((reported.answered, reported.failed), (range(900, 900), range(100, 100)));
    }

    #[test]
    fn calls_without_a_code_contradict_the_others() {
        let text = r#"{"DurationHistogram": {"Count": 1000}, "RetCodes": {"SERVING": 90, "ERROR": 20}}"#;
        let sums = (TOOL.read)(&Output::new(text)).unwrap().sums;
        assert!(sums.iter().any(|sum| sum.parts < sum.whole.at_least), "{sums:?}");
    }
}
