//! The result of a load in the `OpenMetrics` text format, which Prometheus also reads, for a push gateway or the node
//! exporter's textfile collector.
//!
//! Format: `OpenMetrics` 1.0, <https://prometheus.io/docs/specs/om/open_metrics_spec/>. Withheld values have no sample.

use std::collections::BTreeMap;
use std::fmt::Write;

use hoptax_result::{FailOnOutcome, Latency, LoadResult, Percentile};

/// A load result as text. Times are in seconds, shares from 0 to 1.
pub fn load(result: &LoadResult) -> String {
    let mut text = Text(String::new());
    let (plan, book) = (&result.plan, &result.book);
    text.family("hoptax_load_info", "gauge", "The load, and the verdict on its result.");
    let info = [
        ("url", plan.url.as_str()),
        ("protocol", plan.protocol.as_str()),
        ("verdict", result.verdict.as_str()),
    ];
    text.sample("hoptax_load_info", &info, Some(1.0));
    text.family("hoptax_load_recorded_seconds", "gauge", "Recorded time.");
    text.sample("hoptax_load_recorded_seconds", &[], Some(result.recorded_s));
    text.family("hoptax_load_requests", "gauge", "Requests by outcome.");
    for (state, count) in [
        ("planned", book.planned),
        ("sent", book.sent),
        ("unsent", book.unsent),
        ("answered", book.answered),
        ("failed", book.failed),
        ("timed-out", book.timed_out),
        ("unfinished", book.unfinished),
    ] {
        text.sample("hoptax_load_requests", &[("state", state)], Some(count as f64));
    }
    text.family(
        "hoptax_load_sent_again",
        "gauge",
        "How often requests were sent again: the server handed them back unprocessed.",
    );
    text.sample("hoptax_load_sent_again", &[], Some(book.sent_again as f64));
    text.counts("hoptax_load_failures", "Failed requests by kind.", "kind", &result.failures);
    let statuses = result.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
    text.counts("hoptax_load_responses", "Complete responses by status.", "status", &statuses);
    text.family("hoptax_load_rate", "gauge", "Requests per second.");
    let rate = &result.rate;
    for (of, rate) in [("target", rate.target), ("offered", Some(rate.offered)), ("achieved", rate.achieved)]
    {
        text.sample("hoptax_load_rate", &[("of", of)], rate);
    }
    let latency = &result.latency;
    let requested = |us: fn(&Percentile) -> Option<f64>| -> Vec<TimeAt> {
        result.percentiles.iter().map(|one| (one.percentile, us(one))).collect()
    };
    for (name, help, one, more) in [
        ("response", "Intended start to last byte.", &latency.response, requested(|one| one.response_us)),
        (
            "service",
            "First byte written to last byte read.",
            &latency.service,
            requested(|one| one.service_us),
        ),
        ("send_lag", "Intended start to first byte written.", &latency.send_lag, Vec::new()),
        ("own_lag", "Send lag caused by the generator itself.", &latency.own_lag, Vec::new()),
    ] {
        text.summary(&format!("hoptax_load_{name}_seconds"), help, one, more);
    }
    text.family(
        "hoptax_load_generator_cpu_seconds",
        "gauge",
        "CPU time of the generator over the recorded time.",
    );
    text.sample("hoptax_load_generator_cpu_seconds", &[], Some(result.generator.cpu_seconds));
    let mut findings: BTreeMap<String, u64> = BTreeMap::new();
    for finding in &result.findings {
        *findings.entry(finding.severity.as_str().to_owned()).or_default() += 1;
    }
    text.counts("hoptax_load_findings", "Findings of validity checks.", "severity", &findings);
    if !result.fail_on.is_empty() {
        text.family("hoptax_load_passed", "gauge", "Whether a condition of --fail-on passed.");
        for one in &result.fail_on {
            let passed = f64::from(u8::from(one.outcome == FailOnOutcome::Passed));
            text.sample("hoptax_load_passed", &[("condition", &one.condition)], Some(passed));
        }
    }
    text.0 + "# EOF\n"
}

struct Text(String);

/// A percentile and its time, us; None if it is unknown.
type TimeAt = (f64, Option<f64>);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}");
    }

    /// Writes one sample, unless the value is unknown.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn counts(&mut self, name: &str, help: &str, label: &str, counts: &BTreeMap<String, u64>) {
        if counts.is_empty() {
            return;
        }
        self.family(name, "gauge", help);
        for (value, count) in counts {
            self.sample(name, &[(label, value)], Some(*count as f64));
        }
    }

    fn summary(&mut self, name: &str, help: &str, latency: &Latency, more: Vec<TimeAt>) {
        let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
        self.family(name, "summary", help);
        let mut quantiles = vec![
            (50.0, latency.p50_us),
            (90.0, latency.p90_us),
            (99.0, latency.p99_us),
            (99.9, latency.p99_9_us),
        ];
        quantiles.extend(more);
        quantiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        // Drop duplicates: a requested percentile may also be a standard one.
        quantiles.dedup_by(|(a, _), (b, _)| (*a - *b).abs() < 1e-9);
        for (percentile, us) in quantiles {
            // Rounded to decimal digits: 99.9 becomes 0.999, not 0.9990000000000001.
            let quantile = (percentile * 1e7).round() / 1e9;
            self.sample(name, &[("quantile", &quantile.to_string())], seconds(us));
        }
        if latency.count > 0 {
            self.sample(&format!("{name}_count"), &[], Some(latency.count as f64));
            let sum = latency.mean_us.map(|us| us * latency.count as f64);
            self.sample(&format!("{name}_sum"), &[], seconds(sum));
        }
    }
}

/// Escapes a label value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hoptax_result::FailOn;

    use super::*;
    use crate::fixture;

    fn full() -> LoadResult {
        let mut result = fixture::load();
        result.plan.url = "http://h/\"a\\b".to_owned();
        result.percentiles = vec![95.0, 99.9]
            .into_iter()
            .map(|percentile| Percentile {
                percentile,
                response_us: Some(170.0),
                service_at_least_us: Some(1.0),
                ..Percentile::default()
            })
            .collect();
        result.fail_on = vec![FailOn {
            condition: "p99>5ms".to_owned(),
            outcome: FailOnOutcome::Unknown,
            value: None,
            at_least: None,
            at_most: None,
            unit: "us".to_owned(),
        }];
        result
    }

    #[test]
    fn every_line_is_valid_and_every_sample_follows_its_type_once() {
        let text = load(&full());
        let mut seen = BTreeSet::new();
        let mut family = String::new();
        for line in text.strip_suffix("# EOF\n").unwrap().lines() {
            if let Some(declared) = line.strip_prefix("# TYPE ") {
                family = declared.split(' ').next().unwrap().to_owned();
                assert!(seen.insert(format!("# {family}")), "{line}");
                continue;
            }
            if line.starts_with("# HELP ") {
                continue;
            }
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert!(sample.starts_with(&family) && value.parse::<f64>().is_ok(), "{line}");
            assert!(seen.insert(sample.to_owned()), "twice: {line}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_result_and_withheld_ones_are_absent() {
        let text = load(&full());
        for expected in [
            "hoptax_load_info{url=\"http://h/\\\"a\\\\b\",protocol=\"http1\",verdict=\"caution\"} 1\n",
            "hoptax_load_requests{state=\"unsent\"} 100\n",
            "hoptax_load_failures{kind=\"reset\"} 8\n",
            "hoptax_load_responses{status=\"503\"} 40\n",
            "hoptax_load_response_seconds{quantile=\"0.95\"} 0.00017\n",
            "hoptax_load_response_seconds_count 200000\n",
            "hoptax_load_passed{condition=\"p99>5ms\"} 0\n",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("hoptax_load_response_seconds_sum"), "its mean is not known: {text}");
        assert!(!text.contains("hoptax_load_service_seconds{quantile=\"0.95\"}"), "{text}");
    }
}
