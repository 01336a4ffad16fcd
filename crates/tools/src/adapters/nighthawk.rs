//! Nighthawk: an open loop over a connection pool of Envoy.

use hoptax_result::Latency;

use serde_json::Value;

use super::command_line;
use crate::text::{at, json, text_at};
use crate::{Reported, Tool};

/// Its latency statistic.
const LATENCY: &str = "benchmark_http_client.request_to_response";

pub(super) const TOOL: Tool = Tool {
    name: "nighthawk",
    program: "nighthawk_client",
    version: "--version",
    command: |offer| {
        if offer.rate.is_none() {
            return Err("requires a rate");
        }
        let (connections, seconds) = (offer.connections.to_string(), offer.seconds.to_string());
        let rate = offer.whole_rate()?;
        Ok(command_line(
            offer,
            &[
                "--rps",
                &rate,
                "--connections",
                &connections,
                "--concurrency",
                "1",
                "--open-loop",
                "--duration",
                &seconds,
                "--no-default-failure-predicates",
                "--output-format",
                "json",
                offer.url,
            ],
        ))
    },
    script: None,
    read: |output| {
        let result = json(output.result())?;
        let results = result.get("results").and_then(Value::as_array).ok_or("`results` is missing")?;
        let named =
            |name: &str| results.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(name));
        let global = named("global").or(results.last()).ok_or("`results` is empty")?;
        let statistics = global.get("statistics").and_then(Value::as_array);
        let latency = statistics
            .and_then(|all| named_or_only(all))
            .ok_or_else(|| missing(statistics.map_or(&[], Vec::as_slice)))?;
        let counter = |name: &str| {
            let all = global.get("counters")?.as_array()?;
            all.iter()
                .find(|one| one.get("name").and_then(Value::as_str) == Some(name))
                .and_then(|one| at(one, "/value"))
        };
        let seconds = global.get("execution_duration").and_then(seconds);
        let answered = counter("benchmark.http_2xx").or_else(|| at(latency, "/count"));
        let failed: f64 = ["http_4xx", "http_5xx", "stream_resets", "pool_connection_failure"]
            .iter()
            .filter_map(|name| counter(&format!("benchmark.{name}")))
            .sum();
        let us = |name: &str| latency.get(name).and_then(self::seconds).map(|seconds| seconds * 1e6);
        // Rate and connections are those of each worker.
        let is_worker = |one: &&Value| {
            one.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with("worker_"))
        };
        let workers = results.iter().filter(is_worker).count().max(1) as f64;
        let of_workers = |pointer: &str| at(&result, pointer).map(|one| one * workers);
        Ok(Reported {
            url: text_at(&result, "/options/uri"),
            started_at: text_at(global, "/execution_start"),
            target: of_workers("/options/requests_per_second"),
            workers: Some(workers as u32),
            connections: of_workers("/options/connections").map(|count| count as u32),
            answered: answered.map(|count| count as u64),
            failed: Some(failed as u64),
            rate: answered.zip(seconds).map(|(count, seconds)| count / seconds),
            seconds,
            latency: Latency {
                min_us: us("min"),
                mean_us: us("mean"),
                standard_deviation_us: us("pstdev"),
                p50_us: percentile(latency, 0.5),
                p90_us: percentile(latency, 0.9),
                p99_us: percentile(latency, 0.99),
                p99_9_us: percentile(latency, 0.999),
                max_us: us("max"),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    not_reported: &[
        "requests without a free connection: they are counted as overflow and are in no latency",
        "latency of requests in flight at the end",
        "time between the intended start and the encoding of a request",
    ],
};

/// The latency of requests, or the only statistic with times.
fn named_or_only(statistics: &[Value]) -> Option<&Value> {
    let is_named = |one: &&Value| one.get("id").and_then(Value::as_str) == Some(LATENCY);
    statistics.iter().find(is_named).or_else(|| {
        let mut with_times = statistics.iter().filter(|one| has_times(one));
        with_times.next().filter(|_| with_times.next().is_none())
    })
}

fn has_times(statistic: &Value) -> bool {
    let has_mean = statistic.get("mean").and_then(seconds).is_some();
    has_mean && at(statistic, "/count").is_some_and(|count| count > 0.0)
}

/// Why there is no latency.
fn missing(statistics: &[Value]) -> String {
    let others: Vec<&str> = statistics
        .iter()
        .filter(|one| has_times(one))
        .filter_map(|one| one.get("id").and_then(Value::as_str))
        .collect();
    let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
    format!("the statistic `{LATENCY}` is missing; statistics with times: {others}")
}

/// Parses a Protobuf duration in JSON, `1.5s`; seconds.
fn seconds(value: &Value) -> Option<f64> {
    value.as_str()?.strip_suffix('s')?.parse().ok()
}

/// The first listed percentile at or above `p`, microseconds. The list depends on the data and may not contain `p` itself.
fn percentile(latency: &Value, p: f64) -> Option<f64> {
    let all = latency.get("percentiles")?.as_array()?;
    let one = all.iter().find(|one| at(one, "/percentile").is_some_and(|value| value >= p - 1e-9))?;
    one.get("duration").and_then(seconds).map(|seconds| seconds * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/nighthawk.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output { text, file: None }));
    }

    #[test]
    fn rate_and_connections_are_those_of_all_workers() {
        let statistic = |count: &str| format!(r#"{{"id": "x", "count": "{count}", "mean": "0.002s"}}"#);
        let output = |statistics: &str| {
            format!(
                r#"{{"options": {{"uri": "http://a/", "connections": 5, "requests_per_second": 100}}, "results": [
                {{"name": "worker_0"}}, {{"name": "worker_1"}}, {{"name": "global", "statistics": [{statistics}]}}]}}"#
            )
        };
        let read = |statistics: &str| (TOOL.read)(&Output { text: &output(statistics), file: None });
        let reported = read(&[statistic("3"), statistic("0")].join(", ")).unwrap();
        assert_eq!(
            (reported.workers, reported.connections, reported.target),
            (Some(2), Some(10), Some(200.0))
        );
        assert_eq!((reported.url.as_deref(), reported.latency.mean_us), (Some("http://a/"), Some(2_000.0)));
        // With several, the one that is meant is not known.
        let error = read(&[statistic("3"), statistic("4")].join(", ")).unwrap_err();
        assert!(error.ends_with("is missing; statistics with times: x, x"), "{error}");
        assert!(read(&statistic("0")).unwrap_err().ends_with("statistics with times: none"));
    }
}
