//! k6: virtual users that execute a script.

use hoptax_result::{CountRange, Latency, ungrouped};
use serde_json::Value;

use super::command_line::command_line;
use crate::document::{Document, json};
use crate::reported::{Reported, Sum};
use crate::text::{at, count_at, needed_count, part, rest};
use crate::tool::{Output, RESULT, SCRIPT, Tool};

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
                    Err(_) => ("1".to_owned(), format!("{}ns", ungrouped(1e9 / rate, 0))),
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
        "iterations without a free user: they count as dropped, and no latency contains them",
        "time between the intended start and the sending",
    ],
};

/// The supported layouts.
const LAYOUTS: &str = "hoptax reads the summary that k6 writes with `--summary-export` (`metrics.http_reqs.count`), that \
                       `handleSummary()` gets (`metrics.http_reqs.values.count`), and that `--new-machine-readable-summary` writes \
                       (`results.metrics`)";

/// Its metrics, in either layout: <https://github.com/grafana/k6/blob/master/internal/js/summary-wrapper.js> and, in later releases,
/// <https://github.com/grafana/k6/blob/master/internal/lib/summary/machine_readable.go>.
struct Metrics<'v> {
    result: &'v Value,
}

impl<'v> Metrics<'v> {
    /// The values of the metric with exactly this name. Sub-metrics such as `http_reqs{status:200}` are different metrics.
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

    /// A percentile of the response times, us. Its name has the digits that the user requested: `p(99.90)`.
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
    let Document { value: result, notes, .. } =
        json(output.result(), is_result).map_err(|problem| format!("{problem}; {LAYOUTS}"))?;
    let metrics = Metrics { result: &result };
    let requests = match metrics.values("http_reqs").filter(|values| values.get("count").is_some()) {
        Some(values) => {
            needed_count(values, "/count").map_err(|problem| format!("of `http_reqs`, {problem}"))?
        }
        None => return Err(lacking(&metrics)),
    };
    let Counts { answered, failed, sums } = Counts::new(&metrics, requests);
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
        sums,
        unread: notes,
        ..Reported::default()
    })
}

/// Requests by outcome. In `http_req_failed`, `passes` (`matches`) counts the failed requests and `fails` the others. It does not exist in
/// k6 before 0.31, and `setResponseCallback` can stop it; then the outcome of all further requests is unknown. Its share is that of failed
/// requests, whatever the names of the counts.
struct Counts {
    pub(super) answered: CountRange,
    pub(super) failed: CountRange,
    pub(super) sums: Vec<Sum>,
}

impl Counts {
    fn new(metrics: &Metrics<'_>, requests: u64) -> Self {
        let count = |value: &str| metrics.count("http_req_failed", value);
        let of_layout = || {
            let (matches, total) = (count("matches")?, count("total")?);
            Some((total.checked_sub(matches)?, matches))
        };
        let share = ["rate", "value"].into_iter().find_map(|name| metrics.number("http_req_failed", name));
        let Some((answered, failed)) = count("fails").zip(count("passes")).or_else(of_layout) else {
            // Some scripts keep only the share.
            let failed = share.and_then(|share| part(requests, share));
            let failed = failed.unwrap_or(CountRange { at_least: 0, at_most: requests });
            return Self { answered: rest(requests, failed), failed, sums: Vec::new() };
        };
        let known = answered.saturating_add(failed);
        let more = requests.saturating_sub(known);
        let range = |count: u64| CountRange { at_least: count, at_most: count.saturating_add(more) };
        let by_share = share.filter(|_| known > 0).and_then(|share| part(known, share));
        let by_share = by_share.map(|whole| Sum {
            name: "failed by count, by the share of failures",
            parts: failed,
            whole,
        });
        let sums = [Some(Sum::some("with an outcome", known, requests)), by_share];
        Self { answered: range(answered), failed: range(failed), sums: sums.into_iter().flatten().collect() }
    }
}

/// Returns the reason why a document is not a summary with requests.
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
    fn a_share_of_failures_is_their_number() {
        let text = r#"{"metrics": {"http_reqs": {"values": {"count": 1200}}, "http_req_failed": {"values": {"rate": 0.95}}}}"#;
        let of = |share: &str| {
            let reported = read(&Output::new(&text.replace("0.95", share))).unwrap();
            [reported.answered, reported.failed]
                .map(|range| range.map(|range| (range.at_least, range.at_most)))
        };
        // As many as its digits tell.
        assert_eq!(of("0.95"), [Some((54, 66)), Some((1_134, 1_146))]);
        assert_eq!(of("0.9508333333333333"), [Some((59, 59)), Some((1_141, 1_141))]);
        assert_eq!(of("1.5"), [Some((0, 1_200)), Some((0, 1_200))]);
    }

    #[test]
    fn a_share_of_failures_that_is_that_of_the_others_contradicts_their_number() {
        let is_broken = |share: &str| {
            let text = format!(
                r#"{{"metrics": {{"http_reqs": {{"count": 1200}}, "http_req_failed": {{"value": {share}, "passes": 60, "fails": 1140}}}}}}"#
            );
            let sums = read(&Output::new(&text)).unwrap().sums;
            sums.iter().any(|sum| sum.parts < sum.whole.at_least || sum.whole.at_most < sum.parts)
        };
        assert_eq!((is_broken("0.05"), is_broken("0.95"), is_broken("0.1")), (false, true, false));
    }

    #[test]
    fn a_negative_number_of_requests_is_named() {
        let problem = read(&Output::new(r#"{"metrics": {"http_reqs": {"count": -5}}}"#)).unwrap_err();
        assert_eq!(problem, "of `http_reqs`, `count` is -5, which is not a number of requests");
    }

    #[test]
    fn other_documents_are_refused_with_the_layouts_that_are_read() {
        let error = |text: &str| read(&Output::new(text)).unwrap_err();
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
