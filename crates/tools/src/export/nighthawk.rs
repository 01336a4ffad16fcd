//! A result as JSON of Nighthawk's client, with one statistic: the service time, from the send of a request to its response. Nighthawk has
//! no statistic from the intended start.

use hoptax_result::{Latency, LoadResult, Loop, ungrouped};
use serde_json::{Value, json};

/// The name of the statistic.
const SERVICE_TIME: &str = "benchmark_http_client.request_to_response";

/// The JSON of a result. An imported result has no statuses, and so no counters. Withheld quantiles are not listed; if the mean is
/// withheld, there are no times at all.
pub fn text(result: &LoadResult) -> String {
    let plan = &result.plan;
    let started = super::stated::started(result);
    let known = |length_s: f64| (length_s > 0.0).then(|| seconds(length_s * 1e6));
    let value = json!({
        "options": {
            "uri": plan.url,
            "connections": Some(plan.connections).filter(|count| *count > 0),
            "duration": known(plan.duration_s),
            "requests_per_second": result.rate.target,
            "open_loop": plan.loop_ == Loop::Open,
        },
        "results": [{
            "name": "global",
            "statistics": statistic(&result.latency.service).into_iter().collect::<Vec<_>>(),
            "counters": result.imported.is_none().then(|| counters(result)),
            "execution_duration": known(result.recorded_s),
            "execution_start": started,
        }],
    });
    format!("{value:#}\n")
}

/// Formats microseconds as a Protobuf duration in JSON.
fn seconds(us: f64) -> String {
    format!("{}s", ungrouped(us / 1e6, 9))
}

fn statistic(times: &Latency) -> Option<Value> {
    let mean_us = times.mean_us?;
    let count = times.count as f64;
    let percentiles: Vec<Value> =
        [(0.5, times.p50_us), (0.9, times.p90_us), (0.99, times.p99_us), (0.999, times.p99_9_us)]
            .into_iter()
            .map_while(|(quantile, us)| Some((quantile, us?)))
            .map(|(quantile, us)| {
                let below = (quantile * count).ceil() as u64;
                json!({"percentile": quantile, "count": below.to_string(), "duration": seconds(us)})
            })
            .collect();
    // Nighthawk states the population standard deviation, hoptax that of the sample.
    let deviation_us = times.standard_deviation_us.map(|us| us * ((count - 1.0).max(0.0) / count).sqrt());
    Some(json!({
        "count": times.count.to_string(),
        "id": SERVICE_TIME,
        "percentiles": percentiles,
        "mean": seconds(mean_us),
        "pstdev": deviation_us.map(seconds),
        "min": times.min_us.map(seconds),
        "max": times.max_us.map(seconds),
    }))
}

/// Responses by status class, and requests without a response.
fn counters(result: &LoadResult) -> Vec<Value> {
    let book = &result.book;
    let of_class = |class: u16| -> u64 {
        result.statuses.iter().filter(|(status, _)| *status / 100 == class).map(|(_, count)| count).sum()
    };
    let classes = [1, 2, 3, 4, 5].map(|class| (format!("benchmark.http_{class}xx"), of_class(class)));
    let with_status: u64 = result.statuses.values().sum();
    let without = (book.answered + book.failed + book.timed_out).saturating_sub(with_status);
    let all = classes.into_iter().chain([("benchmark.stream_resets".to_owned(), without)]);
    all.filter(|(_, count)| *count > 0)
        .map(|(name, count)| json!({"name": name, "value": count.to_string()}))
        .collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;
    use proptest::prelude::*;

    use super::*;
    use crate::export::tests::{load, service_times};
    use crate::{find, import};

    proptest! {
        #[test]
        fn an_exported_result_is_imported_with_the_same_numbers(
            counts in (2..1_000_000_u64, 0..1_000_u64),
            mut us in prop::collection::vec(0.001..60_000_000.0_f64, 8..9),
            known in 0..5_usize,
        ) {
            // A mean is between minimum and maximum, and quantiles ascend.
            us.sort_by(f64::total_cmp);
            us.rotate_left(1);
            us.swap(6, 7);
            let quantile = |place: usize| (place < known).then(|| us[place]);
            let service = Latency {
                p50_us: quantile(0),
                p90_us: quantile(1),
                p99_us: quantile(2),
                p99_9_us: quantile(3),
                mean_us: Some(us[4]),
                standard_deviation_us: Some(us[5]),
                min_us: Some(us[6]),
                max_us: Some(us[7]),
                ..Latency::default()
            };
            let result = load(counts.0, counts.1, service);
            let read = import(find("nighthawk").unwrap(), &text(&result), None).unwrap();
            prop_assert_eq!((read.book.answered, read.book.failed), counts);
            prop_assert_eq!((read.plan.url.clone(), read.plan.connections), (result.plan.url.clone(), result.plan.connections));
            prop_assert_eq!(read.rate.target, result.rate.target);
            for (one, other) in service_times(&read).into_iter().zip(service_times(&result)) {
                // Nanoseconds, in microseconds.
                let is_near = |(one, other): (f64, f64)| (one - other).abs() <= 0.000_6 + 1e-9 * other;
                prop_assert!(one.zip(other).map_or(one == other, is_near), "{:?} {:?}", one, other);
            }
        }
    }

    #[test]
    fn the_output_has_the_form_of_nighthawk() {
        insta::assert_snapshot!(text(&load(10, 2, sample::latency(100.0))));
    }
}
