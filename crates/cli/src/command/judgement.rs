//! The judgement of a load, as comments in files that hold more than the result supports.

use std::fmt::Write as _;

use hoptax_result::{Known, LoadResult, Severity, TimeBounds, TimeOf, Verdict};

/// The judgement of a load.
#[derive(Clone, Debug)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    /// Lines that begin with `#`: the verdict, the findings behind it, and the quantiles that the result withholds or bounds.
    pub(super) comments: String,
}

impl Judgement {
    pub(super) fn of(result: &LoadResult) -> Self {
        let mut comments = format!("# verdict: {}\n", result.verdict.as_str());
        for finding in result.findings.iter().filter(|finding| finding.severity > Severity::Info) {
            // A message is one line; a line break would end the comment.
            let message = finding.message.replace('\n', " ");
            let _ = writeln!(comments, "# {}: {}: {message}", finding.severity.as_str(), finding.id);
        }
        for (what, state) in [
            ("withheld in the result", Quantile::Withheld),
            ("lower bounds in the result", Quantile::AtLeast),
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

/// How the result gives a quantile of response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantile {
    Known,
    AtLeast,
    /// Not at all, or by an upper bound, which the times in these files are not.
    Withheld,
}

/// The percentiles of response time in the result, those of `--percentiles` and `--fail-on` included, ascending.
fn quantiles(result: &LoadResult) -> Vec<(f64, Quantile)> {
    let mut percentiles = vec![50.0, 90.0, 99.0, 99.9];
    percentiles.extend(result.percentiles.iter().map(|one| one.percentile));
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    let state = |percentile: f64| match result.response(TimeOf::Percentile(percentile)) {
        Known::Measured(_) => Quantile::Known,
        Known::Bounded(TimeBounds { high_us: None, .. }) => Quantile::AtLeast,
        Known::Bounded(_) | Known::Unknown => Quantile::Withheld,
    };
    percentiles.into_iter().map(|percentile| (percentile, state(percentile))).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Percentile, sample};
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_name_the_verdict_its_findings_and_quantiles_that_are_not_known() {
        let mut result = sample::load();
        assert_eq!(Judgement::of(&result).comments, "# verdict: sound\n");
        let finding = |severity: &str| {
            let finding = json!({"id": "errors", "severity": severity, "message": "two\nlines", "value": 1.0,
                "threshold": 1.0, "unit": "%", "advice": ""});
            serde_json::from_value(finding).unwrap()
        };
        (result.verdict, result.findings) = (Verdict::Caution, vec![finding("warn"), finding("info")]);
        let response = &mut result.latency.response;
        (response.p50_us, response.p99_us, response.p99_9_us) = (None, None, None);
        response.at_least.p99_us = Some(5e3);
        result.bounds.response.p99_us = None;
        result.percentiles = vec![
            Percentile { percentile: 50.0, ..Percentile::default() },
            Percentile { percentile: 99.99, ..Percentile::default() },
        ];
        assert_eq!(
            Judgement::of(&result).comments,
            "# verdict: caution\n# warn: errors: two lines\n# withheld in the result: p50, p99.9, p99.99\n\
             # lower bounds in the result: p99\n"
        );
    }
}
