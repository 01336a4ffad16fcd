//! Reads an OpenTelemetry exponential histogram in an OTLP request as JSON, as written by `hoptax convert export --to otlp` and SDKs.

use std::time::Duration;

use hoptax_result::LoadResult;
use serde_json::Value;

use super::judgement::Judgement;
use crate::document::{Document, json};
use crate::exponential::{Exponential, MOST_BUCKETS, NOT_REPORTED};
use crate::export::otlp::{LOWER_BOUNDS, VERDICT, WITHHELD};
use crate::import::named_or_only;
use crate::reported::Reported;
use crate::text::date;

/// Reads the histogram of this metric, or the only one in the request. Times are in seconds.
///
/// # Errors
/// The reason, when there is no histogram, or when the selection is ambiguous.
pub(super) fn import_otlp(text: &str, metric: Option<&str>) -> Result<LoadResult, String> {
    let Document { value: request, notes, .. } = json(text, |value| value.get("resourceMetrics").is_some())?;
    let mut all: Vec<(&str, [&Value; 3])> = Vec::new();
    for resource in items(&request, "resourceMetrics") {
        for scope in items(resource, "scopeMetrics") {
            for one in items(scope, "metrics") {
                let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
                let points =
                    one.get("exponentialHistogram").map(|all| items(all, "dataPoints")).unwrap_or_default();
                all.extend(points.iter().map(|point| (name, [resource, one, point])));
            }
        }
    }
    let (name, [resource, metric, point]) = named_or_only(&all, metric, "exponential histogram")?;
    let times = histogram(point).ok_or_else(|| format!("the histogram of `{name}` cannot be read"))?;
    let ns = |field: &str| whole(point.get(field)?);
    let (start_ns, end_ns) = (ns("startTimeUnixNano"), ns("timeUnixNano"));
    let length_ns = start_ns.zip(end_ns).and_then(|(start, end)| end.checked_sub(start));
    let seconds = length_ns.map(|ns| ns as f64 / 1e9).filter(|seconds| *seconds > 0.0);
    let started_at = start_ns.filter(|ns| *ns > 0).and_then(|ns| date(Duration::from_nanos(ns)));
    let reported = Reported { started_at, unread: notes, ..times.reported(seconds) };
    Ok(judgement(resource, metric).import("otlp", reported, &NOT_REPORTED))
}

fn items<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Reads the judgement of hoptax on a histogram: the verdict of its resource, and the names of quantiles in its metadata.
fn judgement(resource: &Value, metric: &Value) -> Judgement {
    let of_resource = resource.get("resource").map(|one| items(one, "attributes")).unwrap_or_default();
    let of_metric = items(metric, "metadata");
    Judgement::new(
        attribute(of_resource, VERDICT),
        attribute(of_metric, WITHHELD),
        attribute(of_metric, LOWER_BOUNDS),
    )
}

/// The text of the attribute with this key.
fn attribute<'v>(attributes: &'v [Value], key: &str) -> Option<&'v str> {
    let one = attributes.iter().find(|one| one.get("key").and_then(Value::as_str) == Some(key))?;
    one.pointer("/value/stringValue")?.as_str()
}

/// A whole number. 64-bit numbers are strings in JSON.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn histogram(point: &Value) -> Option<Exponential> {
    let positive = point.get("positive");
    let listed = positive.map(|positive| items(positive, "bucketCounts")).unwrap_or_default();
    let counts: Vec<u64> = listed.iter().take(MOST_BUCKETS).map(whole).collect::<Option<_>>()?;
    let scale = point
        .get("scale")
        .and_then(Value::as_i64)
        .and_then(|scale| i32::try_from(scale).ok())
        .unwrap_or_default();
    let offset =
        positive.and_then(|positive| positive.get("offset")).and_then(Value::as_i64).unwrap_or_default();
    let zeros = point.get("zeroCount").and_then(whole).unwrap_or_default();
    let count = point.get("count").and_then(whole)?;
    let known = counts.iter().try_fold(zeros, |sum: u64, count| sum.checked_add(*count))?;
    let is_valid = known == count && (-10..=20).contains(&scale) && (-(1 << 31)..1 << 31).contains(&offset);
    let sum_s = point.get("sum").and_then(Value::as_f64).unwrap_or(f64::NAN);
    is_valid.then_some(Exponential { scale, offset, counts, zeros, count, sum_s })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{CountRange, sample};
    use proptest::prelude::*;

    use super::*;
    use crate::exponential::tests::{buckets, holds, keeps_unstated};
    use crate::export::otlp::text;

    proptest! {
        // A case has two hundred times and all numbers of them; a fuzz target has the reader.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn an_exported_result_is_imported_with_the_ranges_of_its_quantiles(
            times_ns in prop::collection::vec(1_000..60_000_000_000_u64, 1..200),
        ) {
            let result = sample::load();
            let read = import_otlp(&text(&result, &buckets(&times_ns), &[]), None).unwrap();
            prop_assert!((read.recorded_s - result.recorded_s).abs() < 1e-5);
            holds(&read, times_ns)?;
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(scale in any::<i64>(), offset in any::<i64>(), counts in prop::collection::vec(any::<u64>(), 0..4), count in any::<u64>()) {
            let point = serde_json::json!({"scale": scale, "count": count.to_string(), "positive": {"offset": offset, "bucketCounts": counts}});
            let metric = serde_json::json!({"name": "a", "exponentialHistogram": {"dataPoints": [point]}});
            let _ = import_otlp(&serde_json::json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).to_string(), None);
        }
    }

    #[test]
    fn what_the_result_does_not_state_is_not_imported() {
        keeps_unstated(["hoptax.load.response_time", "hoptax.load.service_time"], text, import_otlp);
    }

    #[test]
    fn a_quantile_in_a_bucket_without_end_is_a_lower_bound() {
        // The bucket from 1 to 2^1024 s.
        let counts = serde_json::json!({"offset": 0, "bucketCounts": ["1"]});
        let point = serde_json::json!({"scale": -10, "count": "1", "sum": 2.0, "positive": counts});
        let metric = serde_json::json!({"name": "a", "exponentialHistogram": {"dataPoints": [point]}});
        let request = serde_json::json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]});
        let read = import_otlp(&request.to_string(), None).unwrap();
        let service = read.latency.service;
        // It is no file of hoptax, so its times may be those of failed requests.
        let any_outcome = CountRange { at_least: 0, at_most: 1 };
        assert_eq!((read.imported.as_ref().unwrap().answered, service.count), (Some(any_outcome), 1));
        assert_eq!((service.p50_us, service.at_least.p50_us), (None, Some(1e6)));
        assert!(read.body.imported.unwrap().ranges.is_empty());
    }

    #[test]
    fn one_of_several_is_named_and_other_texts_are_refused() {
        let both = text(&sample::load(), &buckets(&[1_000]), &buckets(&[1_000, 2_000]));
        let error = import_otlp(&both, None).unwrap_err();
        assert_eq!(
            error,
            "`--statistic` must name one of its 2 statistics, `hoptax.load.response_time` and `hoptax.load.service_time`"
        );
        let read = import_otlp(&both, Some("hoptax.load.service_time")).unwrap();
        assert_eq!(read.book.answered, 2);
        assert!(
            import_otlp(&both, Some("a")).unwrap_err().starts_with("it has no exponential histogram `a`")
        );
        assert_eq!(import_otlp("{}", None).unwrap_err(), "it has no exponential histogram");
    }
}
