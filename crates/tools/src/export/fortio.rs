//! A result as JSON of Fortio 1.66, which Fortio's report page can draw.
//!
//! Fortio counts failed requests among the durations and again among the durations of errors, and so does this export. Fortio's own
//! durations begin with the call; these begin with the intended start, which the label states.

use std::collections::BTreeMap;

use hoptax_load::hdr::Bucket;
use hoptax_result::{Book, Latency, LoadResult};
use serde_json::{Value, json};

/// Percentiles that Fortio's page draws.
const PERCENTILES: [f64; 5] = [50.0, 75.0, 90.0, 99.0, 99.9];
/// Fortio's code for requests without a status.
const NO_STATUS: &str = "-1";

/// The JSON of a result, with the response times of answered requests and the times until failed ones failed. Withheld quantiles are not
/// listed.
pub fn text(result: &LoadResult, answered: &[Bucket], failed: &[Bucket]) -> String {
    let (plan, rate) = (&result.plan, &result.rate);
    let of_failed = result.outcomes.iter().filter(|(name, _)| *name != "answered").map(|(_, one)| one);
    let arrivals = plan.arrivals.as_deref().unwrap_or_default();
    let started = super::stated::started(result);
    let all = [answered, failed].concat();
    let mut durations = histogram(&all, &result.outcomes.values().collect::<Vec<_>>());
    durations["Percentiles"] = percentiles(&all, &result.latency.response);
    let value = json!({
        "RunType": "HTTP",
        "Labels": format!(
            "hoptax: response time from the intended start, verdict {}", result.verdict.as_str()
        ),
        "StartTime": started,
        "RequestedQPS": rate.target.map_or_else(|| "max".to_owned(), |rate| rate.to_string()),
        "RequestedDuration": format!("{}s", plan.duration_s),
        // Fortio counts failed calls as well.
        "ActualQPS": rate.achieved.map(|_| calls_per_s(result)),
        "ActualDuration": (result.recorded_s * 1e9).round() as u64,
        "NumThreads": plan.connections,
        "Version": format!("hoptax {}", result.program.version),
        "DurationHistogram": durations,
        "ErrorsDurationHistogram": histogram(failed, &of_failed.collect::<Vec<_>>()),
        "Exactly": plan.request_limit.unwrap_or(0),
        "Jitter": arrivals.starts_with("jitter"),
        "Uniform": arrivals == "uniform",
        "NoCatchUp": plan.when_late == "skip",
        "RetCodes": codes(result),
        "URL": plan.url,
        "NumConnections": 1,
        "H2": plan.protocol == "http2",
        "HTTPReqTimeOut": (plan.timeout_s * 1e9).round() as u64,
        "Resolution": 1e-9,
    });
    format!("{value:#}\n")
}

/// Requests that ended, per second of the recorded time.
fn calls_per_s(result: &LoadResult) -> f64 {
    let Book { answered, failed, timed_out, .. } = result.book;
    (answered + failed + timed_out) as f64 / result.recorded_s.max(f64::MIN_POSITIVE)
}

/// A histogram without percentiles, with the moments of the distributions that make it up.
fn histogram(buckets: &[Bucket], distributions: &[&Latency]) -> Value {
    let all = joined(buckets);
    let total: u64 = all.values().map(|(_, count)| count).sum();
    let mut below = 0_u64;
    let data: Vec<Value> = all
        .iter()
        .map(|(from_ns, (to_ns, count))| {
            below += count;
            // Fortio draws a gap between buckets without a common bound.
            json!({
                "Start": *from_ns as f64 / 1e9,
                "End": (to_ns + 1) as f64 / 1e9,
                "Percent": below as f64 / total as f64 * 100.0,
                "Count": count,
            })
        })
        .collect();
    let known = distributions.iter().filter(|one| one.count > 0);
    let of = |us: fn(&Latency) -> Option<f64>| known.clone().filter_map(move |one| us(one));
    let count: f64 = known.clone().map(|one| one.count as f64).sum();
    // The sum of an empty sequence is -0.
    let sum_us = known.clone().filter_map(|one| Some(one.mean_us? * one.count as f64)).sum::<f64>() + 0.0;
    let mean_us = if count > 0.0 { sum_us / count } else { 0.0 };
    let squares = known.clone().filter_map(|one| {
        let its = one.count as f64;
        let within = one.standard_deviation_us.unwrap_or_default().powi(2) * (its - 1.0);
        Some(within + its * (one.mean_us? - mean_us).powi(2))
    });
    let deviation_us = if count > 1.0 { (squares.sum::<f64>() / (count - 1.0)).sqrt() } else { 0.0 };
    json!({
        "Count": total,
        "Min": of(|one| one.min_us).reduce(f64::min).unwrap_or_default() / 1e6,
        "Max": of(|one| one.max_us).reduce(f64::max).unwrap_or_default() / 1e6,
        "Sum": sum_us / 1e6,
        "Avg": mean_us / 1e6,
        "StdDev": deviation_us / 1e6,
        "Data": if data.is_empty() { Value::Null } else { data.into() },
    })
}

/// Merged buckets by their first nanosecond, ascending.
fn joined(buckets: &[Bucket]) -> BTreeMap<u64, (u64, u64)> {
    let mut all: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (times_ns, count) in buckets {
        all.entry(*times_ns.start()).or_insert((*times_ns.end(), 0)).1 += count;
    }
    all
}

/// The percentiles that the result supports, each as the upper end of its bucket.
fn percentiles(buckets: &[Bucket], response: &Latency) -> Value {
    let all = joined(buckets);
    let total: u64 = all.values().map(|(_, count)| count).sum();
    let is_known = |percentile: f64| match percentile {
        ..=50.0 => response.p50_us.is_some(),
        ..=90.0 => response.p90_us.is_some(),
        ..=99.0 => response.p99_us.is_some(),
        _ => response.p99_9_us.is_some(),
    };
    let value = |percentile: f64| {
        let rank = (percentile / 100.0 * total as f64).ceil() as u64;
        let mut below = 0_u64;
        let (to_ns, _) = all.values().find(|(_, count)| {
            below += count;
            below >= rank
        })?;
        Some(json!({"Percentile": percentile, "Value": *to_ns as f64 / 1e9}))
    };
    PERCENTILES.into_iter().filter(|one| is_known(*one)).filter_map(value).collect::<Vec<_>>().into()
}

/// Requests by status. Requests that failed without a status have Fortio's code for that.
fn codes(result: &LoadResult) -> BTreeMap<String, u64> {
    let mut codes: BTreeMap<String, u64> =
        result.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
    let book = &result.book;
    let ended = book.answered + book.failed + book.timed_out;
    let without = ended.saturating_sub(codes.values().sum());
    if without > 0 {
        codes.insert(NO_STATUS.to_owned(), without);
    }
    codes
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Verdict, sample};
    use proptest::prelude::*;

    use super::*;
    use crate::{find, import};

    /// Buckets of three significant digits.
    fn buckets(times_ns: &[u64]) -> Vec<Bucket> {
        let bucket = |ns: u64| {
            let width = 1_u64 << (u64::BITS - ns.leading_zeros()).saturating_sub(11);
            let from_ns = ns / width * width;
            (from_ns..=from_ns + width - 1, 1)
        };
        times_ns.iter().map(|ns| bucket(*ns)).collect()
    }

    fn latency(times_ns: &[u64]) -> Latency {
        let us = |ns: u64| ns as f64 / 1e3;
        let mean_us = times_ns.iter().map(|ns| us(*ns)).sum::<f64>() / times_ns.len() as f64;
        let squares: f64 = times_ns.iter().map(|ns| (us(*ns) - mean_us).powi(2)).sum();
        Latency {
            count: times_ns.len() as u64,
            min_us: times_ns.iter().min().copied().map(us),
            mean_us: Some(mean_us),
            standard_deviation_us: Some((squares / (times_ns.len() - 1) as f64).sqrt()),
            max_us: times_ns.iter().max().copied().map(us),
            ..sample::latency(100.0)
        }
    }

    /// A result with these response times, and these times until failures.
    fn load(answered: &[u64], failed: &[u64]) -> LoadResult {
        let mut result = sample::load();
        let (answers, failures) = (answered.len() as u64, failed.len() as u64);
        let sent = answers + failures;
        result.book = Book { planned: sent, sent, answered: answers, failed: failures, ..Book::default() };
        result.statuses = [(200, answers)].into();
        result.outcomes =
            [("answered".to_owned(), latency(answered)), ("reset".to_owned(), latency(failed))].into();
        result
    }

    proptest! {
        // A case has two hundred times and all numbers of them.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn an_exported_result_is_imported_with_the_same_numbers(
            answered in prop::collection::vec(1_000..60_000_000_000_u64, 2..200),
            failed in prop::collection::vec(1_000..60_000_000_000_u64, 2..20),
        ) {
            let result = load(&answered, &failed);
            let text = text(&result, &buckets(&answered), &buckets(&failed));
            let read = import(find("fortio").unwrap(), &text, None).unwrap();
            prop_assert_eq!((read.book.answered, read.book.failed), (result.book.answered, result.book.failed));
            prop_assert_eq!(read.plan.connections, result.plan.connections);
            prop_assert!((read.recorded_s - result.recorded_s).abs() < 1e-9);
            let answered_per_s = result.book.answered as f64 / result.recorded_s;
            prop_assert!((read.rate.achieved.unwrap() / answered_per_s - 1.0).abs() < 1e-9);
            let mut all = [answered, failed].concat();
            all.sort_unstable();
            let expected = latency(&all);
            let is_near = |one: Option<f64>, other: Option<f64>, error: f64| {
                (one.unwrap() / other.unwrap() - 1.0).abs() <= error
            };
            let service = read.latency.service;
            for (one, other) in [
                (service.min_us, expected.min_us),
                (service.mean_us, expected.mean_us),
                (service.standard_deviation_us, expected.standard_deviation_us),
                (service.max_us, expected.max_us),
            ] {
                prop_assert!(is_near(one, other, 1e-6), "{one:?} {other:?}");
            }
            for (read, p) in [(service.p50_us, 0.5), (service.p90_us, 0.9), (service.p99_us, 0.99)] {
                let rank = (p * all.len() as f64).ceil() as usize;
                let ns = all[rank - 1] as f64;
                prop_assert!(is_near(read, Some(ns / 1e3), 1.0 / 1_024.0), "{read:?} {ns}");
            }
        }
    }

    #[test]
    fn the_page_of_fortio_gets_what_it_reads() {
        let mut result = load(&[1_500, 1_500, 1_048_576, 1_048_577, 2_000_000], &[3_000_000, 4_000_000]);
        (result.verdict, result.program.version) = (Verdict::Caution, "0.1.0".to_owned());
        result.latency.response.p99_9_us = None;
        let answered = buckets(&[1_500, 1_500, 1_048_576, 1_048_577, 2_000_000]);
        insta::assert_snapshot!(text(&result, &answered, &buckets(&[3_000_000, 4_000_000])));
    }

    #[test]
    fn neighbouring_buckets_share_a_bound() {
        let text = text(&load(&[4_096, 4_098], &[1, 2]), &[(4_096..=4_097, 1), (4_098..=4_099, 1)], &[]);
        let value: Value = serde_json::from_str(&text).unwrap();
        let data = &value["DurationHistogram"]["Data"];
        assert_eq!(data[0]["End"], data[1]["Start"]);
        assert_eq!(data[1]["Percent"], 100.0);
        let of_errors = histogram(&[], &[]).to_string();
        assert!(of_errors.contains(r#""Data":null"#) && of_errors.contains(r#""Sum":0.0"#), "{of_errors}");
    }
}
