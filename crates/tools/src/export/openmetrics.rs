//! A result as `OpenMetrics` 2.0 text, with native histograms of response and service times.
//!
//! Format: <https://prometheus.io/docs/specs/om/open_metrics_spec_2_0/>, a release candidate. The text of version 1.0, which has no
//! native histograms, is `--openmetrics` of `hoptax load`.

use std::fmt::Write;

use hoptax_load::hdr::Bucket;
use hoptax_result::{LoadResult, ungrouped};

use super::stated;
use crate::exponential::Exponential;

/// The name of the histogram of response times.
pub const RESPONSE: &str = "hoptax_load_response_seconds";
/// The name of the histogram of service times.
pub const SERVICE: &str = "hoptax_load_service_seconds";

/// The name of the sample that lists quantiles of a histogram which the result withholds or bounds from below. They are not labels of the
/// histogram, because a new label value would begin another series.
pub(crate) const UNSTATED: &str = "hoptax_load_unstated_info";

/// The text for a result with the response and service times of answered requests. Without times, the histogram is left out.
pub fn text(result: &LoadResult, response: &[Bucket], service: &[Bucket]) -> String {
    let (plan, book) = (&result.plan, &result.book);
    let labels = [
        ("url", plan.url.as_str()),
        ("protocol", plan.protocol.as_str()),
        ("verdict", result.verdict.as_str()),
    ]
    .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
    .join(",");
    // Counts cover the time from the start of the record to its end.
    let from_s = result.recorded_from_unix_s;
    let end =
        from_s.map(|from_s| format!(" {}", ungrouped(from_s + result.recorded_s, 3))).unwrap_or_default();
    let when =
        from_s.map(|from_s| format!("{end} st@{from_s}", from_s = ungrouped(from_s, 3))).unwrap_or_default();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "# TYPE hoptax_load_requests_total counter\n# HELP hoptax_load_requests_total Requests by outcome."
    );
    for (outcome, count) in stated::outcomes(book) {
        let _ = writeln!(text, "hoptax_load_requests_total{{{labels},outcome=\"{outcome}\"}} {count}{when}");
    }
    let mut unstated = String::new();
    for (name, help, buckets, latency) in [
        (RESPONSE, "Intended start to last byte.", response, &result.latency.response),
        (SERVICE, "First byte written to last byte read.", service, &result.latency.service),
    ] {
        let Some(times) = Exponential::new(buckets) else { continue };
        let _ = writeln!(text, "# TYPE {name} histogram\n# UNIT {name} seconds\n# HELP {name} {help}");
        let _ = writeln!(text, "{name}{{{labels}}} {}{when}", value(&times));
        let (withheld, bounded) = stated::unstated(latency, &[]);
        if !(withheld.is_empty() && bounded.is_empty()) {
            let names = format!("of=\"{name}\",withheld=\"{withheld}\",lower_bounds=\"{bounded}\"");
            let _ = writeln!(unstated, "{UNSTATED}{{{labels},{names}}} 1{end}");
        }
    }
    if !unstated.is_empty() {
        let _ = writeln!(
            text,
            "# TYPE {UNSTATED} info\n# HELP {UNSTATED} Quantiles that the result withholds, and lower bounds."
        );
    }
    text + &unstated + "# EOF\n"
}

/// A native histogram. Its bucket `i` is above `base^(i - 1)`, so its indices are one higher than in OpenTelemetry.
fn value(times: &Exponential) -> String {
    let Exponential { scale, offset, counts, zeros, count, sum_s } = times;
    let mut value =
        format!("{{count:{count},sum:{sum_s},schema:{scale},zero_threshold:0.0,zero_count:{zeros}");
    if !counts.is_empty() {
        let listed: Vec<String> = counts.iter().map(ToString::to_string).collect();
        let (first, length) = (offset + 1, counts.len());
        let _ = write!(value, ",positive_spans:[{first}:{length}],positive_buckets:[{}]", listed.join(","));
    }
    value + "}"
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Verdict, sample};

    use super::*;
    use crate::exponential::tests::buckets;

    #[test]
    fn a_result_has_native_histograms() {
        let mut result = sample::load();
        result.verdict = Verdict::Caution;
        result.plan.url = "http://h/\"a\\b".to_owned();
        insta::assert_snapshot!(text(&result, &buckets(&[1_000_000, 1_001_000, 2_000_000]), &[]));
    }

    #[test]
    fn quantiles_that_the_result_does_not_state_are_named() {
        let mut result = sample::load();
        result.latency.response.p99_9_us = None;
        let text = text(&result, &buckets(&[1_000]), &buckets(&[1_000]));
        let named: Vec<&str> = text.lines().filter(|line| line.starts_with(UNSTATED)).collect();
        let [named] = named.as_slice() else { panic!("{text}") };
        assert!(
            named.ends_with(
                ",of=\"hoptax_load_response_seconds\",withheld=\"p99.9\",lower_bounds=\"\"} 1 1767323055.000"
            ),
            "{named}"
        );
        assert!(text.contains("# TYPE hoptax_load_unstated_info info\n"), "{text}");
    }
}
