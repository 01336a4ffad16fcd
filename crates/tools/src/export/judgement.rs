//! The judgement of a load, as comments in files that hold more than the result supports.

use std::fmt::Write as _;

use hoptax_result::{Latency, LoadResult, Percentile, Severity, Verdict};

/// The judgement of a load.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Lines that begin with `#`: the verdict, the findings behind it, and the quantiles that the result withholds or bounds.
    pub comments: String,
}

impl Judgement {
    /// The judgement of a result.
    pub fn new(result: &LoadResult) -> Self {
        let mut comments = format!("# verdict: {}\n", result.verdict.as_str());
        for finding in result.findings.iter().filter(|finding| finding.severity > Severity::Info) {
            // A message is one line; a line break would end the comment.
            let message = finding.message.replace('\n', " ");
            let _ = writeln!(comments, "# {}: {}: {message}", finding.severity.as_str(), finding.id);
        }
        for (what, state) in [
            ("withheld in the result", Quantile::Withheld),
            ("lower bounds in the result", Quantile::Bounded),
        ] {
            let names: Vec<String> = quantiles(result)
                .into_iter()
                .filter(|(_, its)| *its == state)
                .map(|(percentile, _)| format!("p{percentile}"))
                .collect();
            if !names.is_empty() {
                let _ = writeln!(comments, "# {what}: {}", names.join(", "));
            }
        }
        Self { verdict: result.verdict, comments }
    }
}

/// Form of a quantile of response time in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantile {
    Known,
    Bounded,
    Withheld,
}

/// The percentiles of response time in the result, those of `--percentiles` and `--fail-on` included, ascending.
fn quantiles(result: &LoadResult) -> Vec<(f64, Quantile)> {
    let Latency { p50_us, p90_us, p99_us, p99_9_us, at_least, .. } = &result.latency.response;
    let state = |value: &Option<f64>, bound: &Option<f64>| match (value, bound) {
        (Some(_), _) => Quantile::Known,
        (None, Some(_)) => Quantile::Bounded,
        (None, None) => Quantile::Withheld,
    };
    let mut quantiles = vec![
        (50.0, state(p50_us, &at_least.p50_us)),
        (90.0, state(p90_us, &at_least.p90_us)),
        (99.0, state(p99_us, &at_least.p99_us)),
        (99.9, state(p99_9_us, &at_least.p99_9_us)),
    ];
    let requested = |one: &Percentile| (one.percentile, state(&one.response_us, &one.response_at_least_us));
    quantiles.extend(result.percentiles.iter().map(requested));
    quantiles.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    quantiles.dedup_by_key(|(percentile, _)| *percentile);
    quantiles
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_name_the_verdict_its_findings_and_quantiles_that_are_not_known() {
        let mut result = sample::load();
        assert_eq!(Judgement::new(&result).comments, "# verdict: sound\n");
        let finding = |severity: &str| {
            let finding = json!({"id": "errors", "severity": severity, "message": "two\nlines", "value": 1.0,
                "threshold": 1.0, "unit": "%", "advice": ""});
            serde_json::from_value(finding).unwrap()
        };
        (result.verdict, result.findings) = (Verdict::Caution, vec![finding("warn"), finding("info")]);
        let response = &mut result.latency.response;
        (response.p50_us, response.p99_us, response.p99_9_us) = (None, None, None);
        response.at_least.p99_us = Some(5e3);
        result.percentiles = vec![
            Percentile { percentile: 50.0, ..Percentile::default() },
            Percentile { percentile: 99.99, ..Percentile::default() },
        ];
        assert_eq!(
            Judgement::new(&result).comments,
            "# verdict: caution\n# warn: errors: two lines\n# withheld in the result: p50, p99.9, p99.99\n\
             # lower bounds in the result: p99\n"
        );
    }
}
