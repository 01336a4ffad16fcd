//! A result as metrics of OpenTelemetry: a request of OTLP 1 in its JSON encoding, for `POST /v1/metrics` of a collector.
//!
//! Histograms are exponential: the bounds of buckets are powers of `2^(2^-scale)`, with the highest scale that needs at most 160
//! buckets, as in the SDKs. Encoding: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use hoptax_result::LoadResult;
use serde_json::{Value, json};

/// Temporality of counts since the start of the record. Prometheus takes no counts of intervals (delta temporality).
const CUMULATIVE: u32 = 2;
/// Highest scale of exponential histograms, and the most buckets of one.
const MAX_SCALE: i32 = 8;
const MAX_BUCKETS: i64 = 160;

/// Times of a bucket in nanoseconds, and their number.
type Bucket = (RangeInclusive<u64>, u64);

/// The request for a result with the response and service times of answered requests. Withheld numbers have no metric.
pub fn text(result: &LoadResult, response: &[Bucket], service: &[Bucket]) -> String {
    let (plan, book, rate) = (&result.plan, &result.book, &result.rate);
    let from_s = result.recorded_from_unix_s.unwrap_or_default().max(0.0);
    let nanoseconds = |unix_s: f64| format!("{:.0}", unix_s * 1e9);
    let times = Times { start: nanoseconds(from_s), end: nanoseconds(from_s + result.recorded_s) };
    let outcomes = [
        ("answered", book.answered),
        ("failed", book.failed),
        ("timed-out", book.timed_out),
        ("unfinished", book.unfinished),
        ("unsent", book.unsent),
    ];
    let rates = [("target", rate.target), ("offered", Some(rate.offered)), ("achieved", rate.achieved)];
    let statuses: Vec<(String, u64)> =
        result.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
    let mut metrics = vec![
        times.counts("hoptax.load.requests", "Requests by outcome.", "outcome", outcomes),
        times.counts("hoptax.load.failures", "Failed requests by kind.", "kind", &result.failures),
        times.counts(
            "hoptax.load.responses",
            "Complete responses by status.",
            "http.response.status_code",
            statuses,
        ),
        times.rates("hoptax.load.rate", "Requests per second.", rates),
        times.histogram("hoptax.load.response_time", "Intended start to last byte.", response),
        times.histogram("hoptax.load.service_time", "First byte written to last byte read.", service),
    ];
    metrics.retain(|metric| !metric.is_null());
    let attributes = [
        ("service.name", "hoptax"),
        ("service.version", result.environment.hoptax_version.as_str()),
        ("url.full", plan.url.as_str()),
        ("hoptax.protocol", plan.protocol.as_str()),
        ("hoptax.verdict", result.verdict.as_str()),
    ];
    let value = json!({"resourceMetrics": [{
        "resource": {"attributes": attributes.map(|(key, text)| attribute(key, text))},
        "scopeMetrics": [{"scope": {"name": "hoptax"}, "metrics": metrics}],
    }]});
    format!("{value:#}\n")
}

/// Start and end of the record, nanoseconds since 1970; in JSON, numbers of 64 bits are texts.
struct Times {
    start: String,
    end: String,
}

impl Times {
    /// Counts by the value of an attribute; null without any.
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

    /// Times in seconds; null without any.
    fn histogram(&self, name: &str, description: &str, buckets: &[Bucket]) -> Value {
        let Some(histogram) = Exponential::of(buckets) else { return Value::Null };
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
        json!({"name": name, "description": description, "unit": "s", "exponentialHistogram": all})
    }
}

fn attribute(key: &str, text: &str) -> Value {
    json!({"key": key, "value": {"stringValue": text}})
}

/// Times by powers of a base: the first of `counts` is above `base^offset` and at most `base^(offset + 1)`.
#[derive(Debug)]
struct Exponential {
    scale: i32,
    offset: i64,
    counts: Vec<u64>,
    zeros: u64,
    count: u64,
    sum_s: f64,
}

impl Exponential {
    /// None without times. A time counts as the middle of its bucket, which is at most 0.05 % from it.
    fn of(buckets: &[Bucket]) -> Option<Self> {
        let middle_s =
            |times: &RangeInclusive<u64>| f64::midpoint(*times.start() as f64, *times.end() as f64) / 1e9;
        let count: u64 = buckets.iter().map(|(_, count)| count).sum();
        let sum_s: f64 = buckets.iter().map(|(times, count)| middle_s(times) * *count as f64).sum();
        let positive =
            || buckets.iter().map(|(times, count)| (middle_s(times), *count)).filter(|(s, _)| *s > 0.0);
        let at = |scale: i32| {
            let mut by_index: BTreeMap<i64, u64> = BTreeMap::new();
            for (seconds, count) in positive() {
                // The upper bound of a bucket belongs to it.
                let index = (seconds.log2() * 2_f64.powi(scale)).ceil() as i64 - 1;
                *by_index.entry(index).or_default() += count;
            }
            by_index
        };
        let span = |by_index: &BTreeMap<i64, u64>| {
            let first = by_index.first_key_value().map_or(0, |(index, _)| *index);
            (first, by_index.last_key_value().map_or(0, |(index, _)| index - first + 1))
        };
        let (scale, by_index) = (-MAX_SCALE..=MAX_SCALE)
            .rev()
            .map(|scale| (scale, at(scale)))
            .find(|(_, by_index)| span(by_index).1 <= MAX_BUCKETS)?;
        let (offset, length) = span(&by_index);
        let counts = (offset..offset + length)
            .map(|index| by_index.get(&index).copied().unwrap_or_default())
            .collect();
        let zeros = count - positive().map(|(_, count)| count).sum::<u64>();
        (count > 0).then_some(Self { scale, offset, counts, zeros, count, sum_s })
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Verdict, sample};
    use proptest::prelude::*;

    use super::*;

    /// Buckets of one nanosecond.
    fn buckets(times_ns: &[u64]) -> Vec<Bucket> {
        times_ns.iter().map(|ns| (*ns..=*ns, 1)).collect()
    }

    proptest! {
        #[test]
        fn every_time_is_in_its_exponential_bucket(mut times_ns in prop::collection::vec(0..3_600_000_000_000_u64, 1..200)) {
            let histogram = Exponential::of(&buckets(&times_ns)).unwrap();
            times_ns.sort_unstable();
            prop_assert!(histogram.counts.len() <= MAX_BUCKETS as usize);
            prop_assert_eq!(histogram.zeros + histogram.counts.iter().sum::<u64>(), times_ns.len() as u64);
            let sum_s: f64 = times_ns.iter().map(|ns| *ns as f64 / 1e9).sum();
            prop_assert!((histogram.sum_s - sum_s).abs() <= 1e-9 * sum_s);
            let bound = |index: i64| (index as f64 / 2_f64.powi(histogram.scale)).exp2();
            let mut rest = times_ns.iter().skip(histogram.zeros as usize);
            for (index, count) in (histogram.offset..).zip(&histogram.counts) {
                for ns in rest.by_ref().take(*count as usize) {
                    let seconds = *ns as f64 / 1e9;
                    let is_in = bound(index) * (1.0 - 1e-9) <= seconds && seconds <= bound(index + 1) * (1.0 + 1e-9);
                    prop_assert!(is_in, "{} {}", index, seconds);
                }
            }
            prop_assert!(rest.next().is_none());
        }
    }

    #[test]
    fn bounds_belong_to_the_bucket_below_and_the_scale_is_the_finest_that_fits() {
        let second = Exponential::of(&buckets(&[1_000_000_000])).unwrap();
        assert_eq!((second.scale, second.offset, second.counts.as_slice()), (MAX_SCALE, -1, [1].as_slice()));
        let wide = Exponential::of(&buckets(&[1_000, 1_000_000_000])).unwrap();
        // 20 octaves of 8 buckets are 160, and of 16 are twice as many.
        assert_eq!((wide.scale, wide.counts.len()), (3, 160));
        assert!(Exponential::of(&[]).is_none());
        assert_eq!(Exponential::of(&buckets(&[0])).unwrap().zeros, 1);
    }

    #[test]
    fn a_result_becomes_a_request_for_a_collector() {
        let mut result = sample::load();
        (result.verdict, result.environment.hoptax_version) = (Verdict::Caution, "0.1.0".to_owned());
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
