//! The judgement of a load, as comments in files that contain more than the result supports.

use std::fmt::Write as _;

use hoptax_result::{LoadResult, Severity, Verdict};

use super::stated::unstated;

/// The judgement of a load.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Lines that begin with `#`: the verdict, its findings, and the quantiles that the result withholds or bounds.
    pub comments: String,
}

impl Judgement {
    /// The judgement of a result.
    pub fn new(result: &LoadResult) -> Self {
        let mut comments = format!("# verdict: {}\n", result.verdict.as_str());
        for finding in result.findings.iter().filter(|finding| finding.severity > Severity::Info) {
            // A line break in a message would end the comment.
            let message = finding.message.replace('\n', " ");
            let _ = writeln!(comments, "# {}: {}: {message}", finding.severity.as_str(), finding.id);
        }
        let (withheld, bounded) = unstated(&result.latency.response, &result.percentiles);
        for (what, names) in [("withheld in the result", withheld), ("lower bounds in the result", bounded)] {
            if !names.is_empty() {
                let _ = writeln!(comments, "# {what}: {names}");
            }
        }
        Self { verdict: result.verdict, comments }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Percentile, sample};
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
