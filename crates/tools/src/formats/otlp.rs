//! Reads an exponential histogram of OpenTelemetry in a request of OTLP as JSON, as `hoptax export --to otlp` and SDKs write it.

use std::time::Duration;

use hoptax_result::LoadResult;
use serde_json::Value;

use crate::exponential::Exponential;
use crate::import::named_or_only;
use crate::text::{date, json};
use crate::{Reported, imported};

/// What such a request does not hold.
const NOT_REPORTED: [&str; 3] = [
    "values within a bucket: a quantile is the end of its bucket",
    "what its times begin with",
    "the requested rate",
];
/// The most buckets that are read.
const MOST_BUCKETS: usize = 100_000;

/// Reads the histogram of this metric, or the only one of the request. Times are in seconds.
///
/// # Errors
/// When there is none, or it is not clear which one is meant: the reason.
pub(super) fn import_otlp(text: &str, metric: Option<&str>) -> Result<LoadResult, String> {
    let request = json(text)?;
    let mut all: Vec<(&str, &Value)> = Vec::new();
    for resource in items(&request, "resourceMetrics") {
        for scope in items(resource, "scopeMetrics") {
            for one in items(scope, "metrics") {
                let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
                let points =
                    one.get("exponentialHistogram").map(|all| items(all, "dataPoints")).unwrap_or_default();
                all.extend(points.iter().map(|point| (name, point)));
            }
        }
    }
    let (name, point) = named_or_only(&all, metric, "exponential histogram")?;
    let times = histogram(point).ok_or_else(|| format!("the histogram of `{name}` cannot be read"))?;
    let ns = |field: &str| whole(point.get(field)?);
    let (start_ns, end_ns) = (ns("startTimeUnixNano"), ns("timeUnixNano"));
    let length_ns = start_ns.zip(end_ns).and_then(|(start, end)| end.checked_sub(start));
    let seconds = length_ns.map(|ns| ns as f64 / 1e9).filter(|seconds| *seconds > 0.0);
    let started_at = start_ns.filter(|ns| *ns > 0).and_then(|ns| date(Duration::from_nanos(ns)));
    let reported = Reported { started_at, ..times.reported(seconds) };
    Ok(imported("otlp", reported, NOT_REPORTED.map(str::to_owned).to_vec()))
}

fn items<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A whole number; those of 64 bits are texts in JSON.
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
    use hoptax_result::sample;
    use proptest::prelude::*;

    use super::*;
    use crate::exponential::tests::{buckets, holds};
    use crate::export::otlp::text;

    proptest! {
        #[test]
        fn an_exported_result_is_imported_with_the_ranges_of_its_quantiles(
            times_ns in prop::collection::vec(1_000..60_000_000_000_u64, 1..200),
        ) {
            let result = sample::load();
            let read = import_otlp(&text(&result, &buckets(&times_ns), &[]), None).unwrap();
            prop_assert!((read.recorded_s - result.recorded_s).abs() < 1e-5);
            holds(&read, times_ns)?;
        }

        #[test]
        fn no_text_panics(scale in any::<i64>(), offset in any::<i64>(), counts in prop::collection::vec(any::<u64>(), 0..4), count in any::<u64>()) {
            let point = serde_json::json!({"scale": scale, "count": count.to_string(), "positive": {"offset": offset, "bucketCounts": counts}});
            let metric = serde_json::json!({"name": "a", "exponentialHistogram": {"dataPoints": [point]}});
            let _ = import_otlp(&serde_json::json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).to_string(), None);
        }
    }

    #[test]
    fn one_of_several_is_named_and_other_texts_are_refused() {
        let both = text(&sample::load(), &buckets(&[1_000]), &buckets(&[1_000, 2_000]));
        let error = import_otlp(&both, None).unwrap_err();
        assert_eq!(
            error,
            "it has `hoptax.load.response_time` and `hoptax.load.service_time`: name one with `--statistic`"
        );
        let read = import_otlp(&both, Some("hoptax.load.service_time")).unwrap();
        assert_eq!(read.book.answered, 2);
        assert!(
            import_otlp(&both, Some("a")).unwrap_err().starts_with("it has no exponential histogram `a`")
        );
        assert_eq!(import_otlp("{}", None).unwrap_err(), "it has no exponential histogram");
    }
}
