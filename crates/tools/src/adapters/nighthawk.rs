//! Nighthawk: an open loop over a connection pool of Envoy.

use hoptax_result::Latency;

use serde_json::Value;

use super::command_line;
use crate::text::{at, json};
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
            .and_then(|all| all.iter().find(|one| one.get("id").and_then(Value::as_str) == Some(LATENCY)))
            .ok_or_else(|| format!("the statistic `{LATENCY}` is missing"))?;
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
        Ok(Reported {
            connections: at(&result, "/options/connections").map(|count| count as u32),
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
        })
    },
    not_reported: &[
        "requests without a free connection: they are counted as overflow and are in no latency",
        "latency of requests in flight at the end",
        "time between the intended start and the encoding of a request",
    ],
};

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
}
