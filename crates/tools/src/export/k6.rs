//! A result as the summary of k6 (`--summary-export`).
//!
//! In k6, `http_req_duration` begins when a request is sent, so it has the service time. Times are in milliseconds.

use hoptax_result::{Latency, LoadResult, Stated};
use serde_json::{Map, Value, json};

/// The JSON of a result, without withheld times and numbers that an imported result does not state.
pub fn text(result: &LoadResult) -> String {
    let book = &result.book;
    let failed = book.failed + book.timed_out;
    let (all, connections) = (book.answered + failed, result.plan.connections);
    let per_second = (result.recorded_s > 0.0).then(|| all as f64 / result.recorded_s);
    let share = if all > 0 { failed as f64 / all as f64 } else { 0.0 };
    let mut metrics = Map::new();
    let mut insert = |name: &str, is_known: bool, values: Value| {
        if is_known {
            metrics.insert(name.to_owned(), values);
        }
    };
    let is_counted = match book.stated {
        Stated::All => true,
        Stated::Imported { answered, failed } => answered && failed,
    };
    insert("http_req_duration", true, times(&result.latency.service).into());
    for name in ["http_reqs", "iterations"] {
        insert(name, is_counted, json!({"count": all, "rate": per_second}));
    }
    insert("http_req_failed", is_counted, json!({"passes": failed, "fails": book.answered, "value": share}));
    let users = json!({"value": connections, "min": connections, "max": connections});
    insert("vus_max", connections > 0, users);
    format!("{:#}\n", json!({"metrics": metrics}))
}

fn times(service: &Latency) -> Map<String, Value> {
    [
        ("avg", service.mean_us),
        ("min", service.min_us),
        ("med", service.p50_us),
        ("max", service.max_us),
        ("p(90)", service.p90_us),
        ("p(99)", service.p99_us),
        ("p(99.9)", service.p99_9_us),
    ]
    .into_iter()
    .filter_map(|(name, us)| Some((name.to_owned(), json!(us? / 1e3))))
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
            counts in (1..1_000_000_u64, 0..1_000_u64),
            times in prop::collection::vec((0.001..60_000_000.0_f64, any::<bool>()), 7..8),
        ) {
            // A mean is between minimum and maximum, and quantiles ascend.
            let mut sorted: Vec<f64> = times.iter().map(|(us, _)| *us).collect();
            sorted.sort_by(f64::total_cmp);
            let us: Vec<Option<f64>> =
                sorted.into_iter().zip(&times).map(|(us, (_, is_known))| is_known.then_some(us)).collect();
            let service = Latency {
                min_us: us[0],
                mean_us: us[1],
                p50_us: us[2],
                p90_us: us[3],
                p99_us: us[4],
                p99_9_us: us[5],
                max_us: us[6],
                ..Latency::default()
            };
            let result = load(counts.0, counts.1, service);
            let read = import(find("k6").unwrap(), &text(&result), None).unwrap();
            prop_assert_eq!((read.book.answered, read.book.failed), counts);
            prop_assert_eq!(read.plan.connections, result.plan.connections);
            prop_assert!((read.recorded_s / result.recorded_s - 1.0).abs() < 1e-9);
            for (one, other) in service_times(&read).into_iter().zip(service_times(&result)) {
                let is_near = |(one, other): (f64, f64)| (one / other - 1.0).abs() < 1e-12;
                prop_assert!(one.zip(other).map_or(one == other, is_near), "{:?} {:?}", one, other);
            }
        }
    }

    #[test]
    fn the_summary_has_the_form_of_k6() {
        insta::assert_snapshot!(text(&load(10, 2, sample::latency(100.0))));
    }
}
