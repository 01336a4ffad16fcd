//! k6: virtual users that execute a script.

use hoptax_result::{CountRange, Latency};
use serde_json::Value;

use super::command_line;
use crate::document::{Document, json};
use crate::text::{at, count_at};
use crate::{Output, RESULT, Reported, SCRIPT, Sum, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "k6",
    program: "k6",
    version: "version",
    command: |offer| {
        Ok(command_line(
            offer,
            &[
                "run",
                "--no-usage-report",
                "--quiet",
                "--summary-trend-stats",
                "avg,min,med,max,p(90),p(99),p(99.9)",
                "--summary-export",
                &offer.file(RESULT),
                &offer.file(SCRIPT),
            ],
        ))
    },
    script: Some(|offer| {
        let (users, seconds) = (offer.connections, offer.seconds);
        let scenario = match offer.rate {
            Some(rate) => {
                // It supports whole numbers of requests per arbitrary time unit.
                let (rate, unit) = match offer.whole_rate() {
                    Ok(rate) => (rate, "1s".to_owned()),
                    Err(_) => ("1".to_owned(), format!("{:.0}ns", 1e9 / rate)),
                };
                format!(
                    "executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '{unit}', duration: '{seconds}s', \
                     preAllocatedVUs: {users}, maxVUs: {users}"
                )
            }
            None => format!("executor: 'constant-vus', vus: {users}, duration: '{seconds}s'"),
        };
        // A JSON string is a valid JavaScript string.
        let url = Value::from(offer.url);
        format!(
            "import http from 'k6/http';\nexport const options = {{ discardResponseBodies: true, scenarios: {{ load: {{ {scenario} \
             }} }} }};\nexport default function () {{ http.get({url}); }}\n"
        )
    }),
    read,
    has_statistics: false,
    not_reported: &[
        "iterations without a free user: they are counted as dropped and are in no latency",
        "time between the intended start and the sending",
    ],
};

/// The layouts that are read.
const LAYOUTS: &str = "the summary is read that k6 writes with `--summary-export` (`metrics.http_reqs.count`), that `handleSummary()` \
                       gets (`metrics.http_reqs.values.count`), and that `--new-machine-readable-summary` writes (`results.metrics`)";

/// Its metrics, in one of its layouts: <https://github.com/grafana/k6/blob/master/internal/js/summary-wrapper.js> and, in later releases,
/// <https://github.com/grafana/k6/blob/master/internal/lib/summary/machine_readable.go>.
struct Metrics<'v> {
    result: &'v Value,
}

impl<'v> Metrics<'v> {
    /// The values of the metric with exactly this name: a sub-metric such as `http_reqs{status:200}` is another one.
    fn values(&self, name: &str) -> Option<&'v Value> {
        let metric = match self.result.pointer("/results/metrics").and_then(Value::as_array) {
            Some(all) => all.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(name))?,
            None => self.result.get("metrics")?.get(name)?,
        };
        Some(metric.get("values").unwrap_or(metric))
    }

    fn number(&self, name: &str, value: &str) -> Option<f64> {
        self.values(name)?.get(value).and_then(|value| at(value, ""))
    }

    fn count(&self, name: &str, value: &str) -> Option<u64> {
        self.values(name)?.get(value).and_then(|value| count_at(value, ""))
    }

    fn names(&self) -> Vec<&'v str> {
        if let Some(all) = self.result.pointer("/results/metrics").and_then(Value::as_array) {
            return all.iter().filter_map(|one| one.get("name").and_then(Value::as_str)).collect();
        }
        let all = self.result.get("metrics").and_then(Value::as_object);
        all.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    /// A percentile of the response times, us. Its name has the digits that the user asked for: `p(99.90)`.
    fn percentile(&self, percentile: f64) -> Option<f64> {
        let all = self.values("http_req_duration")?.as_object()?;
        let is_its = |name: &str| {
            let number =
                name.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'))?.parse::<f64>().ok()?;
            Some((number - percentile).abs() < 1e-9)
        };
        let (_, ms) = all.iter().find(|(name, _)| is_its(name) == Some(true))?;
        at(ms, "").map(|ms| ms * 1e3)
    }
}

fn read(output: &Output<'_>) -> Result<Reported, String> {
    let is_result = |value: &Value| !Metrics { result: value }.names().is_empty();
    let Document { value: result, notes } =
        json(output.result(), is_result).map_err(|problem| format!("{problem}; {LAYOUTS}"))?;
    let metrics = Metrics { result: &result };
    let requests = metrics.count("http_reqs", "count").ok_or_else(|| lacking(&metrics))?;
    let Counts { answered, failed, sum } = Counts::of(&metrics, requests);
    let rate = metrics.number("http_reqs", "rate");
    let seconds = at(&result, "/state/testRunDurationMs")
        .map(|ms| ms / 1e3)
        .or_else(|| at(&result, "/config/duration"))
        .or_else(|| rate.filter(|rate| *rate > 0.0).map(|rate| requests as f64 / rate));
    let us = |name: &str| metrics.number("http_req_duration", name).map(|ms| ms * 1e3);
    let users = metrics.number("vus_max", "max").or_else(|| metrics.number("vus_max", "value"));
    Ok(Reported {
        connections: users.map(|count| count as u32),
        answered: Some(answered),
        failed: Some(failed),
        rate,
        rated: Some(CountRange::exactly(requests)),
        seconds,
        latency: Latency {
            count: requests,
            min_us: us("min"),
            mean_us: us("avg"),
            p50_us: us("med").or_else(|| metrics.percentile(50.0)),
            p90_us: metrics.percentile(90.0),
            p99_us: metrics.percentile(99.0),
            p99_9_us: metrics.percentile(99.9),
            max_us: us("max"),
            ..Latency::default()
        },
        sums: sum.into_iter().collect(),
        unread: notes,
        ..Reported::default()
    })
}

/// Requests by their outcome. `http_req_failed` counts as `passes` (`matches`) the requests that failed, and as `fails` the others. k6
/// before 0.31 does not have it, and `setResponseCallback` ends it: then the outcome of the requests beyond it is not known.
struct Counts {
    answered: CountRange,
    failed: CountRange,
    sum: Option<Sum>,
}

impl Counts {
    fn of(metrics: &Metrics<'_>, requests: u64) -> Self {
        let count = |value: &str| metrics.count("http_req_failed", value);
        let of_layout = || {
            let (matches, total) = (count("matches")?, count("total")?);
            Some((total.checked_sub(matches)?, matches))
        };
        // Some scripts keep only the share.
        let of_share = || {
            let share =
                ["rate", "value"].into_iter().find_map(|name| metrics.number("http_req_failed", name))?;
            let failed = (requests as f64 * share).round() as u64;
            Some((requests.checked_sub(failed)?, failed))
        };
        let by_count = count("fails").zip(count("passes"));
        let (answered, failed) = by_count.or_else(of_layout).or_else(of_share).unwrap_or_default();
        let known = answered.saturating_add(failed);
        let more = requests.saturating_sub(known);
        let range = |count: u64| CountRange { at_least: count, at_most: count.saturating_add(more) };
        let sum = Sum { what: "with an outcome", parts: known, whole: requests, is_all: false };
        Self { answered: range(answered), failed: range(failed), sum: Some(sum) }
    }
}

/// Why a document is no summary with requests.
fn lacking(metrics: &Metrics<'_>) -> String {
    let names = metrics.names();
    if names.is_empty() {
        return format!("it has no metrics; {LAYOUTS}");
    }
    let some = names.iter().take(10).copied().collect::<Vec<_>>().join("`, `");
    if metrics.values("http_reqs").is_some() {
        return format!("the metric `http_reqs` has no `count`; {LAYOUTS}");
    }
    format!(
        "the metric `http_reqs` is missing, so the test sent no HTTP request, or the layout is another; it has `{some}`; {LAYOUTS}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/k6.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }

    #[test]
    fn a_share_of_failures_is_their_number() {
        let text = r#"{"metrics": {"http_reqs": {"values": {"count": 1200}}, "http_req_failed": {"values": {"rate": 0.95}}}}"#;
        let reported = read(&Output::of(text)).unwrap();
        let exactly = |count| Some(CountRange::exactly(count));
        assert_eq!((reported.answered, reported.failed), (exactly(60), exactly(1_140)));
    }

    #[test]
    fn other_documents_are_refused_with_the_layouts_that_are_read() {
        let error = |text: &str| read(&Output::of(text)).unwrap_err();
        for text in [
            "{}",
            r#"{"metrics": {"ws_sessions": {"count": 1}}}"#,
            r#"{"metrics": {"http_reqs": {}}}"#,
            "checks: 1",
        ] {
            assert!(
                error(text).contains("`handleSummary()` gets") && error(text).contains("results.metrics"),
                "{text}"
            );
        }
        assert!(error(r#"{"metrics": {"ws_sessions": {"count": 1}}}"#).contains("it has `ws_sessions`"));
    }
}
