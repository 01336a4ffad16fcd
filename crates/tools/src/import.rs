//! Converts results of other tools to load results, with a finding that lists the numbers that they do not report.

mod consistency;

use hoptax_result::{
    Book, CountRange, Environment, Finding, Imported, ImportedRange, Latency, LatencySet, LoadBody, LoadPlan,
    LoadRate, LoadResult, Measured, Range, Severity, Stated, Verdict,
};
use hoptax_text::list::listed;

use crate::reported::Reported;
use crate::text::utc;
use crate::tool::{Output, Tool};
use consistency::withhold_impossible;

/// Relative width of a bucket, as a share of its upper bound, above which a quantile in it is stated as a range.
const WIDE: f64 = 0.1;

/// Converts the output of a tool to a load result; `statistic` selects one of several.
///
/// # Errors
/// If the output cannot be parsed; the error is the reason.
pub fn import(tool: &Tool, text: &str, statistic: Option<&str>) -> Result<LoadResult, String> {
    // Editors may put a byte order mark in front of a text.
    let text = text.trim_start_matches('\u{feff}');
    let reported = (tool.read)(&Output { text, file: Some(text), statistic })?;
    let not_reported = tool.not_reported.iter().map(ToString::to_string).collect();
    Ok(imported(tool.name, reported, not_reported))
}

/// The load result of a report from `source`, with a finding that lists missing and impossible numbers.
pub fn imported(source: &str, mut reported: Reported, mut not_reported: Vec<String>) -> LoadResult {
    not_reported.append(&mut reported.unread);
    not_reported.extend(withhold_impossible(&mut reported));
    let started_at = reported.started_at.as_deref().and_then(utc);
    if started_at.is_none() && reported.started_at.is_some() {
        not_reported.push("when it began: its start is not a time as in RFC 3339".to_owned());
    }
    let plan = plan(&reported);
    let rate = LoadRate { target: reported.target, offered: 0.0, achieved: answered_per_s(&reported) };
    let answered_per_s = range_per_s(&reported);
    let Reported { answered, failed, .. } = reported;
    // Use the number of answered requests if the latency has no count of its own.
    let known = answered.and_then(CountRange::exact).unwrap_or_default();
    let count = if reported.latency.count > 0 { reported.latency.count } else { known };
    let mut latency = Latency { count, ..reported.latency };
    let ranges = withhold_wide(&mut latency, &reported.buckets);
    not_reported.push(without_value(&reported, &mut latency.clone(), &ranges));
    let finding = Finding::new(
        "imported",
        Severity::Warn,
        Measured::count(not_reported.len() as f64, 0.0, "items"),
        format!("{source} does not report: {}", not_reported.join("; ")),
        "the data for checks is missing, so no check was applied to this result",
    );
    let environment = Environment { started_at: started_at.unwrap_or_default(), ..Environment::default() };
    let wide = |count: Option<CountRange>| count.filter(|count| count.exact().is_none());
    let body = LoadBody {
        plan,
        recorded_s: reported.seconds.unwrap_or_default(),
        book: book(answered, failed),
        rate,
        latency: if reported.is_from_intended_start {
            LatencySet { response: latency, ..LatencySet::default() }
        } else {
            LatencySet { service: latency, ..LatencySet::default() }
        },
        imported: Some(Imported {
            tool: source.to_owned(),
            unknown: not_reported,
            ranges,
            answered: wide(answered),
            failed: wide(failed),
            answered_per_s,
        }),
        ..LoadBody::default()
    };
    LoadResult::new(environment, body).judged(Verdict::Caution, vec![finding])
}

/// The known counts. No tool states all of them, for example not the planned requests.
fn book(answered: Option<CountRange>, failed: Option<CountRange>) -> Book {
    let exact = |count: Option<CountRange>| count.and_then(CountRange::exact);
    let (answered, failed) = (exact(answered), exact(failed));
    Book {
        answered: answered.unwrap_or_default(),
        failed: failed.unwrap_or_default(),
        stated: Stated::Imported { answered: answered.is_some(), failed: failed.is_some() },
        ..Book::default()
    }
}

/// The rate of answered requests, if their number is known: a share of the stated rate, which is less rounded than the duration.
fn answered_per_s(reported: &Reported) -> Option<f64> {
    let answered = reported.answered?.exact()? as f64;
    let rated = reported.rated.and_then(CountRange::exact).filter(|rated| *rated > 0);
    match (reported.rate, rated) {
        (Some(rate), Some(rated)) => Some(rate * answered / rated as f64),
        _ => reported.seconds.map(|seconds| answered / seconds),
    }
}

/// The rate of answered requests, if their number is a range.
fn range_per_s(reported: &Reported) -> Option<Range> {
    let answered = reported.answered.filter(|answered| answered.exact().is_none())?;
    let seconds = reported.seconds?;
    Some(Range { low: answered.at_least as f64 / seconds, high: answered.at_most as f64 / seconds })
}

/// Fields of a result that the report does not state.
fn without_value(reported: &Reported, latency: &mut Latency, ranges: &[ImportedRange]) -> String {
    let fields = [
        ("URL", reported.url.is_none()),
        ("connections", reported.connections.is_none()),
        ("workers", reported.workers.is_none()),
        ("duration", reported.seconds.is_none()),
        ("rate", reported.rate.is_none() && reported.seconds.is_none()),
        ("answered requests", reported.answered.is_none()),
        ("failed requests", reported.failed.is_none()),
    ];
    let has_range = |name: &str| ranges.iter().any(|range| name == format!("p{}", range.percentile));
    let bounds = latency.at_least;
    let is_bounded = |name: &str| match name {
        "p50" => bounds.p50_us.is_some(),
        "p90" => bounds.p90_us.is_some(),
        "p99" => bounds.p99_us.is_some(),
        "p99.9" => bounds.p99_9_us.is_some(),
        "maximum" => bounds.max_us.is_some(),
        _ => false,
    };
    let absent_times = consistency::times(latency)
        .map(|(name, time)| (name, time.is_none() && !has_range(name) && !is_bounded(name)));
    let absent = fields.into_iter().chain(absent_times).filter(|(_, is_absent)| *is_absent);
    let names: Vec<&str> =
        absent.map(|(name, _)| name).chain(["method, protocol and kind of loop"]).collect();
    format!("{}, which are unknown", names.join(", "))
}

/// The value with this name, or the only one; `what` describes the values in errors.
///
/// # Errors
/// The reason, when the selection is ambiguous.
pub(crate) fn named_or_only<'n, T: Copy>(
    all: &[(&'n str, T)],
    name: Option<&str>,
    what: &str,
) -> Result<(&'n str, T), String> {
    let quoted: Vec<String> = all.iter().map(|(name, _)| format!("`{name}`")).collect();
    let names = if quoted.is_empty() { format!("no {what}") } else { listed(&quoted) };
    let mut meant = all.iter().filter(|(other, _)| name.is_none_or(|name| *other == name));
    match (meant.next(), meant.next(), name) {
        (Some(one), None, _) => Ok(*one),
        (None, _, None) => Err(format!("it has {names}")),
        (None, _, Some(name)) => Err(format!("it has no {what} `{name}`; it has {names}")),
        (Some(_), Some(_), None) => Err(several(&quoted)),
        (Some(_), Some(_), Some(name)) => Err(format!("it has several of `{name}`; keep one")),
    }
}

/// The reason why a file with these statistics is not read unless one of them is named. It follows that the file cannot be read, so it says
/// what is missing from the command: the file is sound.
pub(crate) fn several(quoted: &[String]) -> String {
    format!("`--statistic` must name one of its {} statistics, {}", quoted.len(), listed(quoted))
}

/// A quantile of a result.
pub(crate) struct Quantile<'a> {
    /// 99 for the p99.
    pub(crate) percentile: f64,
    /// Its time, us.
    pub(crate) us: &'a mut Option<f64>,
    /// Its lower bound, us.
    pub(crate) at_least_us: &'a mut Option<f64>,
}

/// The quantiles of results.
pub(crate) fn quantiles(latency: &mut Latency) -> [Quantile<'_>; 4] {
    let Latency { p50_us, p90_us, p99_us, p99_9_us, at_least, .. } = latency;
    [
        Quantile { percentile: 50.0, us: p50_us, at_least_us: &mut at_least.p50_us },
        Quantile { percentile: 90.0, us: p90_us, at_least_us: &mut at_least.p90_us },
        Quantile { percentile: 99.0, us: p99_us, at_least_us: &mut at_least.p99_us },
        Quantile { percentile: 99.9, us: p99_9_us, at_least_us: &mut at_least.p99_9_us },
    ]
}

/// Withholds quantiles in wide buckets, and returns these buckets. An interpolated value may be anywhere in its bucket. In a bucket without
/// an upper end, the quantile has a lower bound.
fn withhold_wide(latency: &mut Latency, buckets: &[ImportedRange]) -> Vec<ImportedRange> {
    // The share is NaN for an infinite width.
    let is_wide = |bucket: &&ImportedRange| {
        !is_finite(bucket) || bucket.high_us - bucket.low_us > WIDE * bucket.high_us
    };
    let mut wide: Vec<ImportedRange> = buckets.iter().filter(is_wide).copied().collect();
    for quantile in quantiles(latency) {
        let is_its = |bucket: &&ImportedRange| (bucket.percentile - quantile.percentile).abs() < 1e-9;
        let Some(bucket) = wide.iter().find(is_its) else { continue };
        *quantile.us = None;
        if !is_finite(bucket) {
            *quantile.at_least_us = Some(bucket.low_us).filter(|us| us.is_finite());
        }
    }
    wide.retain(is_finite);
    wide
}

fn is_finite(bucket: &ImportedRange) -> bool {
    bucket.low_us.is_finite() && bucket.high_us.is_finite()
}

fn plan(reported: &Reported) -> LoadPlan {
    let unknown = || "unknown".to_owned();
    LoadPlan {
        url: reported.url.clone().unwrap_or_else(unknown),
        protocol: unknown(),
        method: unknown(),
        requests: 1,
        connections: reported.connections.unwrap_or_default(),
        streams: 1,
        pool: unknown(),
        when_busy: unknown(),
        when_late: unknown(),
        connect: unknown(),
        workers: reported.workers.unwrap_or_default(),
        duration_s: reported.seconds.unwrap_or_default(),
        max_error_share: 1.0,
        ..LoadPlan::default()
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::LowerBounds;

    use super::*;
    use crate::find;

    #[test]
    fn connections_are_read_from_the_output() {
        let of = |name: &str, text: &str| import(find(name).unwrap(), text, None).unwrap().plan.connections;
        assert_eq!(of("wrk", include_str!("../recorded/wrk.txt")), 16);
        assert_eq!(of("wrk2", include_str!("../recorded/wrk2.txt")), 16);
        assert_eq!(of("bombardier", include_str!("../recorded/bombardier.json")), 16);
        assert_eq!(of("h2load", include_str!("../recorded/h2load.txt")), 16);
        assert_eq!(of("k6", include_str!("../recorded/k6.json")), 16);
        assert_eq!(of("nighthawk", include_str!("../recorded/nighthawk.json")), 16);
        assert_eq!(of("fortio", include_str!("../recorded/fortio.json")), 8);
        // hey does not print the number of connections.
        assert_eq!(of("hey", include_str!("../recorded/hey.txt")), 0);
    }

    #[test]
    fn latency_from_the_intended_start_is_response_time() {
        let wrk2 = include_str!("../recorded/wrk2.txt");
        for (tool, text, is_response) in [
            ("wrk2", wrk2, true),
            ("wrk2", include_str!("../recorded/wrk2-short.txt"), true),
            ("wrk", wrk2, true),
            ("wrk", include_str!("../recorded/wrk.txt"), false),
        ] {
            let result = import(find(tool).unwrap(), text, None).unwrap();
            let LatencySet { response, service, .. } = result.latency.clone();
            let (its, other) = if is_response { (response, service) } else { (service, response) };
            assert!(its.p50_us.is_some() && other == Latency::default(), "{tool}: {:?}", result.latency);
        }
    }

    #[test]
    fn a_quantile_in_a_wide_bucket_is_its_range() {
        let text = r#"{"RequestedQPS": "1000", "NumThreads": 8, "URL": "http://a/", "StartTime": "2026-01-02T03:04:05Z",
            "DurationHistogram": {"Count": 100, "Avg": 0.000115, "Data": [
                {"Start": 0.000013, "End": 0.001, "Percent": 96, "Count": 96},
                {"Start": 0.002, "End": 0.0021, "Percent": 100, "Count": 4}],
            "Percentiles": [{"Percentile": 50, "Value": 0.000514}, {"Percentile": 99, "Value": 0.00208}]}}"#;
        let result = import(find("fortio").unwrap(), text, None).unwrap();
        let service = result.latency.service;
        assert_eq!((service.p50_us, service.p99_us.map(f64::round)), (None, Some(2_080.0)));
        let ranges = result.imported.clone().unwrap().ranges;
        let bounds: Vec<_> =
            ranges.iter().map(|one| (one.percentile, one.low_us.round(), one.high_us.round())).collect();
        assert_eq!(bounds, [(50.0, 13.0, 1_000.0), (90.0, 13.0, 1_000.0)]);
        assert_eq!(
            (result.plan.url.as_str(), result.plan.workers, result.rate.target),
            ("http://a/", 8, Some(1_000.0))
        );
        assert_eq!(result.environment.started_at, "2026-01-02T03:04:05Z");
    }

    #[test]
    fn the_start_is_in_utc_or_not_stated() {
        let started = |start: &str| {
            let text = format!(r#"{{"StartTime": "{start}", "DurationHistogram": {{"Count": 1}}}}"#);
            let result = import(find("fortio").unwrap(), &text, None).unwrap();
            let unknown = result.imported.clone().unwrap().unknown.join("; ");
            (result.environment.started_at, unknown)
        };
        let (started_at, unknown) = started("2026-01-02T05:04:05.25+02:00");
        assert_eq!(started_at, "2026-01-02T03:04:05.250000000Z");
        assert!(!unknown.contains("when it began"), "{unknown}");
        let (started_at, unknown) = started("Fri Jan  2 03:04:05 2026");
        assert!(started_at.is_empty() && unknown.contains("when it began"), "{started_at} {unknown}");
    }

    #[test]
    fn a_number_of_requests_that_is_a_range_stays_one() {
        let reported = Reported {
            answered: Some(CountRange { at_least: 19_700, at_most: 19_850 }),
            failed: Some(CountRange { at_least: 150, at_most: 300 }),
            rate: Some(8_000.0),
            rated: Some(CountRange::exactly(20_000)),
            seconds: Some(2.5),
            ..Reported::default()
        };
        let result = imported("ab", reported, Vec::new());
        assert_eq!(result.book.stated, Stated::Imported { answered: false, failed: false });
        let imported = result.imported.clone().unwrap();
        assert_eq!(imported.answered, Some(CountRange { at_least: 19_700, at_most: 19_850 }));
        assert_eq!(imported.failed, Some(CountRange { at_least: 150, at_most: 300 }));
        assert_eq!(imported.answered_per_s, Some(Range { low: 7_880.0, high: 7_940.0 }));
        assert_eq!(result.rate.achieved, None);
    }

    #[test]
    fn the_rate_is_that_of_answered_requests() {
        let of = |rated: Option<u64>, seconds: Option<f64>| {
            let reported = Reported {
                answered: Some(CountRange::exactly(100)),
                failed: Some(CountRange::exactly(4_900)),
                rate: Some(500.0),
                rated: rated.map(CountRange::exactly),
                seconds,
                ..Reported::default()
            };
            imported("a", reported, Vec::new()).rate.achieved
        };
        assert_eq!(of(Some(5_000), None), Some(10.0));
        assert_eq!((of(None, Some(20.0)), of(None, None)), (Some(5.0), None));
    }

    #[test]
    fn what_is_not_known_is_null() {
        let result = imported("a", Reported::default(), Vec::new());
        let value = serde_json::to_value(&result).unwrap();
        for pointer in [
            "/book/planned",
            "/book/answered",
            "/book/failed",
            "/recorded_s",
            "/rate/offered",
            "/rate/achieved",
            "/plan/connections",
            "/plan/workers",
            "/plan/duration_s",
            "/plan/timeout_s",
        ] {
            assert_eq!(value.pointer(pointer), Some(&serde_json::Value::Null), "{pointer}");
        }
        assert_eq!(serde_json::from_str::<LoadResult>(&value.to_string()).unwrap(), result);
        let unknown = result.imported.clone().unwrap().unknown.join("; ");
        for name in ["duration", "answered requests", "failed requests", "p99.9", "maximum"] {
            assert!(unknown.contains(name), "{unknown}");
        }
    }

    #[test]
    fn no_infinite_number_is_stated() {
        let us = Some(f64::INFINITY);
        let latency =
            Latency { mean_us: us, p50_us: us, p99_us: us, max_us: Some(f64::NAN), ..Latency::default() };
        let bucket = |percentile, low_us| ImportedRange { percentile, low_us, high_us: f64::INFINITY };
        let buckets = vec![bucket(50.0, 2.0), bucket(90.0, f64::INFINITY)];
        let reported =
            Reported { rate: us, seconds: us, target: us, latency, buckets, ..Reported::default() };
        let result = imported("a", reported, Vec::new());
        let at_least = LowerBounds { p50_us: Some(2.0), ..LowerBounds::default() };
        assert_eq!(result.latency.service, Latency { at_least, ..Latency::default() });
        assert_eq!((result.rate.target, result.rate.achieved, result.recorded_s), (None, None, 0.0));
        assert!(result.imported.clone().unwrap().ranges.is_empty());
    }

    #[test]
    fn an_imported_result_lists_what_is_not_reported() {
        let result = import(find("fortio").unwrap(), include_str!("../recorded/fortio.json"), None).unwrap();
        assert!(result.latency.service.max_us.is_some());
        assert!(result.latency.response.p99_us.is_none(), "Fortio does not measure response time");
        assert!(result.findings[0].message.contains("intended starts"));
        assert!(import(find("fortio").unwrap(), "{}", None).is_err());
    }
}
