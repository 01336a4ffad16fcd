//! A result as OpenTelemetry metrics: an OTLP 1 request in JSON encoding, for `POST /v1/metrics` of a collector.
//!
//! Histograms are exponential. Encoding: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.

use std::borrow::Borrow;

use hoptax_load::hdr::Bucket;
use hoptax_result::{Latency, LoadResult, ungrouped};
use serde_json::{Value, json};

use super::stated::{outcomes, unstated};
use crate::exponential::Exponential;

/// Cumulative temporality: counts since the start of the record. Prometheus does not accept delta temporality.
const CUMULATIVE: u32 = 2;

/// The resource attribute with the verdict.
pub(crate) const VERDICT: &str = "hoptax.verdict";
/// The metadata of a histogram with the names of withheld quantiles, and of quantiles that are lower bounds. Unlike attributes, metadata
/// does not identify a series.
pub(crate) const WITHHELD: &str = "hoptax.withheld";
pub(crate) const LOWER_BOUNDS: &str = "hoptax.lower_bounds";

/// The request for a result with the response and service times of answered requests. Withheld numbers have no metric.
pub fn text(result: &LoadResult, response: &[Bucket], service: &[Bucket]) -> String {
    let (plan, book, rate) = (&result.plan, &result.book, &result.rate);
    let from_s = result.recorded_from_unix_s.unwrap_or_default().max(0.0);
    let nanoseconds = |unix_s: f64| ungrouped(unix_s * 1e9, 0);
    let times = Times { start: nanoseconds(from_s), end: nanoseconds(from_s + result.recorded_s) };
    let rates = [("target", rate.target), ("offered", Some(rate.offered)), ("achieved", rate.achieved)];
    let statuses: Vec<(String, u64)> =
        result.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
    let latency = &result.latency;
    let mut metrics = vec![
        times.counts("hoptax.load.requests", "Requests by outcome.", "outcome", outcomes(book)),
        times.counts("hoptax.load.failures", "Failed requests by kind.", "kind", &result.failures),
        times.counts(
            "hoptax.load.responses",
            "Complete responses by status.",
            "http.response.status_code",
            statuses,
        ),
        times.rates("hoptax.load.rate", "Requests per second.", rates),
        times.histogram(
            "hoptax.load.response_time",
            "Intended start to last byte.",
            response,
            &latency.response,
        ),
        times.histogram(
            "hoptax.load.service_time",
            "First byte written to last byte read.",
            service,
            &latency.service,
        ),
    ];
    metrics.retain(|metric| !metric.is_null());
    let attributes = [
        ("service.name", "hoptax"),
        ("service.version", result.program.version.as_str()),
        ("url.full", plan.url.as_str()),
        ("hoptax.protocol", plan.protocol.as_str()),
        (VERDICT, result.verdict.as_str()),
    ];
    let value = json!({"resourceMetrics": [{
        "resource": {"attributes": attributes.map(|(key, text)| attribute(key, text))},
        "scopeMetrics": [{"scope": {"name": "hoptax"}, "metrics": metrics}],
    }]});
    format!("{value:#}\n")
}

/// Start and end of the record, nanoseconds since 1970. 64-bit numbers are strings in this encoding.
struct Times {
    start: String,
    end: String,
}

impl Times {
    /// Counts by the value of an attribute; null if there are none.
    fn counts(
        &self,
        name: &str,
        description: &str,
        key: &str,
        counts: impl IntoIterator<Item = (impl AsRef<str>, impl Borrow<u64>)>,
    ) -> Value {
        let points: Vec<Value> = counts
            .into_iter()
            .map(|(value, count)| {
                let count: &u64 = count.borrow();
                json!({
                    "attributes": [attribute(key, value.as_ref())],
                    "startTimeUnixNano": self.start,
                    "timeUnixNano": self.end,
                    "asInt": count.to_string(),
                })
            })
            .collect();
        if points.is_empty() {
            return Value::Null;
        }
        let sum = json!({"aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points});
        json!({"name": name, "description": description, "unit": "{request}", "sum": sum})
    }

    fn rates<const N: usize>(&self, name: &str, description: &str, rates: [(&str, Option<f64>); N]) -> Value {
        let points: Vec<Value> = rates
            .into_iter()
            .filter_map(|(of, rate)| {
                let rate = rate.filter(|rate| rate.is_finite())?;
                Some(json!({"attributes": [attribute("of", of)], "timeUnixNano": self.end, "asDouble": rate}))
            })
            .collect();
        json!({"name": name, "description": description, "unit": "{request}/s", "gauge": {"dataPoints": points}})
    }

    /// Times in seconds, with the statistics that the result states; null if there are none.
    fn histogram(&self, name: &str, description: &str, buckets: &[Bucket], latency: &Latency) -> Value {
        let Some(histogram) = Exponential::new(buckets) else { return Value::Null };
        let counts: Vec<String> = histogram.counts.iter().map(ToString::to_string).collect();
        let point = json!({
            "startTimeUnixNano": self.start,
            "timeUnixNano": self.end,
            "count": histogram.count.to_string(),
            "sum": histogram.sum_s,
            "scale": histogram.scale,
            "zeroCount": histogram.zeros.to_string(),
            "positive": {"offset": histogram.offset, "bucketCounts": counts},
        });
        let all = json!({"aggregationTemporality": CUMULATIVE, "dataPoints": [point]});
        let mut metric =
            json!({"name": name, "description": description, "unit": "s", "exponentialHistogram": all});
        let (withheld, bounded) = unstated(latency, &[]);
        let unstated: Vec<Value> = [(WITHHELD, withheld), (LOWER_BOUNDS, bounded)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(key, names)| attribute(key, &names))
            .collect();
        if !unstated.is_empty() {
            metric["metadata"] = Value::Array(unstated);
        }
        metric
    }
}

fn attribute(key: &str, text: &str) -> Value {
    json!({"key": key, "value": {"stringValue": text}})
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Verdict, sample};

    use super::*;
    use crate::exponential::tests::buckets;

    #[test]
    fn a_result_becomes_a_request_for_a_collector() {
        let mut result = sample::load();
        (result.verdict, result.program.version) = (Verdict::Caution, "0.1.0".to_owned());
        result.failures = [("reset".to_owned(), 2)].into();
        insta::assert_snapshot!(text(&result, &buckets(&[1_000_000, 1_001_000, 2_000_000]), &[]));
    }

    #[test]
    fn what_is_withheld_has_no_metric() {
        let mut result = sample::load();
        result.rate.achieved = None;
        let text = text(&result, &[], &[]);
        assert!(
            !text.contains("achieved") && !text.contains("response_time") && !text.contains("failures"),
            "{text}"
        );
        assert!(text.contains("\"offered\""));
    }
}
