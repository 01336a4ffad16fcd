//! Converts results of other tools to load results, with a finding that lists what they do not report.

use hoptax_result::{
    Book, Environment, Finding, Imported, ImportedRange, Latency, LatencySet, LoadPlan, LoadRate, LoadResult,
    Loop, Measured, NetworkPlan, Severity, Verdict,
};

use crate::text::utc;
use crate::{Output, Reported, Tool};

/// Width of a bucket as a share of its upper bound, above which a quantile in it is given as its range.
const WIDE: f64 = 0.1;

/// Converts the output of a tool to a load result; `statistic` names the one that is meant if there are several.
///
/// # Errors
/// If the output cannot be parsed; the error is the reason.
pub fn import(tool: &Tool, text: &str, statistic: Option<&str>) -> Result<LoadResult, String> {
    let reported = (tool.read)(&Output { text, file: Some(text), statistic })?;
    let not_reported = tool.not_reported.iter().map(ToString::to_string).collect();
    Ok(imported(tool.name, reported, not_reported))
}

/// The load result that holds what `source` reported, with a finding that lists what it did not.
pub fn imported(source: &str, mut reported: Reported, mut not_reported: Vec<String>) -> LoadResult {
    leave_out_infinite(&mut reported);
    let started_at = reported.started_at.as_deref().and_then(utc);
    if started_at.is_none() && reported.started_at.is_some() {
        not_reported.push("when it began: its start is no time of RFC 3339".to_owned());
    }
    not_reported.push(without_value(&reported));
    let answered = reported.answered.unwrap_or_default();
    // A sum that is too large for a counter is cut, and the accounts still add up.
    let sent = answered.saturating_add(reported.failed.unwrap_or_default());
    let failed = sent - answered;
    let plan = plan(&reported);
    let mut latency = Latency { count: answered, ..reported.latency };
    let ranges = withhold_wide(&mut latency, &reported.buckets);
    let finding = Finding::new(
        "imported",
        Severity::Warn,
        Measured::count(not_reported.len() as f64, 0.0, "items"),
        format!("{source} does not report: {}", not_reported.join("; ")),
        "the data for checks is missing, so no check was applied to this result",
    );
    let environment = Environment { started_at: started_at.unwrap_or_default(), ..Environment::default() };
    LoadResult {
        verdict: Verdict::Caution,
        findings: vec![finding],
        recorded_s: reported.seconds.unwrap_or_default(),
        book: Book { planned: sent, sent, answered, failed, ..Book::default() },
        rate: LoadRate {
            target: reported.target,
            offered: reported.rate.unwrap_or_default(),
            achieved: reported.rate,
        },
        // No tool measures from the intended start, so its latency is service time.
        latency: LatencySet { service: latency, ..LatencySet::default() },
        imported: Some(Imported { tool: source.to_owned(), unknown: not_reported, ranges }),
        ..LoadResult::empty(plan, environment)
    }
}

/// Leaves out what is infinite or no number. JSON has neither, so a result with one could not be read back.
fn leave_out_infinite(reported: &mut Reported) {
    let Reported { target, rate, seconds, latency, .. } = reported;
    let numbers = [
        target,
        rate,
        seconds,
        &mut latency.min_us,
        &mut latency.mean_us,
        &mut latency.standard_deviation_us,
        &mut latency.p50_us,
        &mut latency.p90_us,
        &mut latency.p99_us,
        &mut latency.p99_9_us,
        &mut latency.max_us,
        &mut latency.at_least.max_us,
    ];
    for number in numbers {
        *number = number.filter(|number| number.is_finite());
    }
}

/// Fields of a result that the report does not state. Those that are numbers are 0 in the result.
fn without_value(reported: &Reported) -> String {
    let absent: Vec<&str> = [
        ("URL", reported.url.is_none()),
        ("connections", reported.connections.is_none()),
        ("workers", reported.workers.is_none()),
        ("duration", reported.seconds.is_none()),
        ("rate", reported.rate.is_none()),
        ("failed requests", reported.failed.is_none()),
        ("method, protocol and kind of loop", true),
    ]
    .into_iter()
    .filter_map(|(name, is_absent)| is_absent.then_some(name))
    .collect();
    format!("{}, which are unknown or 0 in this result", absent.join(", "))
}

/// The one of these values with this name, or the only one; `what` they are, for errors.
///
/// # Errors
/// When it is not clear which one is meant: the reason.
pub(crate) fn named_or_only<'n, T: Copy>(
    all: &[(&'n str, T)],
    name: Option<&str>,
    what: &str,
) -> Result<(&'n str, T), String> {
    let names: Vec<String> = all.iter().map(|(name, _)| format!("`{name}`")).collect();
    let names = if names.is_empty() { format!("no {what}") } else { names.join(" and ") };
    let mut meant = all.iter().filter(|(other, _)| name.is_none_or(|name| *other == name));
    match (meant.next(), meant.next(), name) {
        (Some(one), None, _) => Ok(*one),
        (None, _, None) => Err(format!("it has {names}")),
        (None, _, Some(name)) => Err(format!("it has no {what} `{name}`; it has {names}")),
        (Some(_), Some(_), None) => Err(format!("it has {names}: name one with `--statistic`")),
        (Some(_), Some(_), Some(name)) => Err(format!("it has several of `{name}`; keep one")),
    }
}

/// The percentiles of results, each with its quantile and the lower bound of the quantile.
pub(crate) fn quantiles(latency: &mut Latency) -> [(f64, &mut Option<f64>, &mut Option<f64>); 4] {
    let Latency { p50_us, p90_us, p99_us, p99_9_us, at_least, .. } = latency;
    [
        (50.0, p50_us, &mut at_least.p50_us),
        (90.0, p90_us, &mut at_least.p90_us),
        (99.0, p99_us, &mut at_least.p99_us),
        (99.9, p99_9_us, &mut at_least.p99_9_us),
    ]
}

/// Withholds the quantiles whose bucket is wide, and returns these buckets. An interpolated value is anywhere in its bucket. Of a
/// bucket without an end, the quantile has a lower bound.
fn withhold_wide(latency: &mut Latency, buckets: &[ImportedRange]) -> Vec<ImportedRange> {
    // The share of an infinite width is no number.
    let is_wide = |bucket: &&ImportedRange| {
        !is_finite(bucket) || bucket.high_us - bucket.low_us > WIDE * bucket.high_us
    };
    let mut wide: Vec<ImportedRange> = buckets.iter().filter(is_wide).copied().collect();
    for (percentile, quantile, bound) in quantiles(latency) {
        let is_its = |bucket: &&ImportedRange| (bucket.percentile - percentile).abs() < 1e-9;
        let Some(bucket) = wide.iter().find(is_its) else { continue };
        *quantile = None;
        if !is_finite(bucket) {
            *bound = Some(bucket.low_us).filter(|us| us.is_finite());
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
        data: None,
        cookies: false,
        grpc_stream: None,
        loop_: Loop::Closed,
        arrivals: None,
        connections: reported.connections.unwrap_or_default(),
        streams: 1,
        network: NetworkPlan::default(),
        http2: None,
        pool: unknown(),
        when_busy: unknown(),
        when_late: unknown(),
        connect: unknown(),
        requests_per_connection: None,
        connection_age_s: None,
        think: None,
        stages: None,
        expect: String::new(),
        workers: reported.workers.unwrap_or_default(),
        duration_s: reported.seconds.unwrap_or_default(),
        request_limit: None,
        warmup_s: 0.0,
        timeout_s: 0.0,
        seed: 0,
        never_halted: false,
        max_error_share: 1.0,
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
    fn a_quantile_in_a_wide_bucket_is_its_range() {
        let text = r#"{"RequestedQPS": "1000", "NumThreads": 8, "URL": "http://a/", "StartTime": "2026-01-02T03:04:05Z",
            "DurationHistogram": {"Count": 100, "Avg": 0.000115, "Data": [
                {"Start": 0.000013, "End": 0.001, "Percent": 96, "Count": 96},
                {"Start": 0.002, "End": 0.0021, "Percent": 100, "Count": 4}],
            "Percentiles": [{"Percentile": 50, "Value": 0.000514}, {"Percentile": 99, "Value": 0.00208}]}}"#;
        let result = import(find("fortio").unwrap(), text, None).unwrap();
        let service = result.latency.service;
        assert_eq!((service.p50_us, service.p99_us.map(f64::round)), (None, Some(2_080.0)));
        let ranges = result.imported.unwrap().ranges;
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
            (result.environment.started_at, result.imported.unwrap().unknown.join("; "))
        };
        let (started_at, unknown) = started("2026-01-02T05:04:05.25+02:00");
        assert_eq!(started_at, "2026-01-02T03:04:05.250000000Z");
        assert!(!unknown.contains("when it began"), "{unknown}");
        let (started_at, unknown) = started("Fri Jan  2 03:04:05 2026");
        assert!(started_at.is_empty() && unknown.contains("when it began"), "{started_at} {unknown}");
    }

    #[test]
    fn counters_without_a_sum_still_add_up() {
        let reported =
            Reported { answered: Some(u64::MAX - 1), failed: Some(u64::MAX), ..Reported::default() };
        let book = imported("a", reported, Vec::new()).book;
        assert!(book.balances());
        assert_eq!((book.sent, book.answered, book.failed), (u64::MAX, u64::MAX - 1, 1));
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
        assert!(result.imported.unwrap().ranges.is_empty());
    }

    #[test]
    fn an_imported_result_lists_what_is_not_reported() {
        let result = import(find("fortio").unwrap(), include_str!("../recorded/fortio.json"), None).unwrap();
        assert!(result.book.balances() && result.latency.service.max_us.is_some());
        assert!(result.latency.response.p99_us.is_none(), "Fortio does not measure response time");
        assert!(result.findings[0].message.contains("intended starts"));
        assert!(import(find("fortio").unwrap(), "{}", None).is_err());
    }
}
