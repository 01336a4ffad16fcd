//! The judgement of a load, in files of hoptax that contain more times than the load's result supports.
//!
//! Files of hoptax contain the times of answered requests and a verdict. The result behind them withholds quantiles, or has only lower
//! bounds of them because other requests had no response. An imported result must not state these quantiles either. In files of other
//! programs, nothing distinguishes the times of failed requests from others.

use hoptax_result::{CountRange, Finding, Latency, LoadResult, Measured, Severity, Verdict};

use crate::import::quantiles;
use crate::imported;
use crate::reported::Reported;

/// The verdict in a file on the result behind it, and the quantiles that the file names; empty if hoptax did not write the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Judgement {
    /// True if it has a verdict, as all files of hoptax do.
    is_of_hoptax: bool,
    is_void: bool,
    /// Names of percentiles, such as `p99.9`.
    withheld: Vec<String>,
    /// Names of percentiles that are lower bounds.
    bounded: Vec<String>,
}

impl Judgement {
    /// Parses a verdict and lists of percentiles, such as `p99, p99.9`.
    pub(super) fn new(verdict: Option<&str>, withheld: Option<&str>, bounded: Option<&str>) -> Self {
        Self {
            is_of_hoptax: verdict.is_some(),
            is_void: verdict.is_some_and(is_void),
            withheld: names(withheld.unwrap_or_default()),
            bounded: names(bounded.unwrap_or_default()),
        }
    }

    /// Returns the judgement of a study's table written by hoptax, whose times are sound and complete.
    pub(super) fn for_study() -> Self {
        Self { is_of_hoptax: true, ..Self::default() }
    }

    /// Parses the comments of `hoptax load` and `hoptax convert export`, which begin with `#`. A text with the files of several loads has
    /// several sets of comments, all of which apply.
    pub(super) fn from_comments(text: &str) -> Self {
        let mut judgement = Self::default();
        for (what, value) in text.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(':')) {
            match what {
                "verdict" => {
                    judgement.is_of_hoptax = true;
                    judgement.is_void |= is_void(value);
                }
                "withheld in the result" => judgement.withheld.extend(names(value)),
                "lower bounds in the result" => judgement.bounded.extend(names(value)),
                _ => {}
            }
        }
        judgement
    }

    /// Makes a load result from the report of a file, without the numbers that the result behind the file does not state.
    pub(super) fn import(&self, source: &str, mut reported: Reported, not_reported: &[&str]) -> LoadResult {
        let mut not_reported: Vec<String> = not_reported.iter().map(ToString::to_string).collect();
        if !self.is_of_hoptax {
            not_reported.extend(of_any_outcome(&mut reported));
        }
        if self.is_void {
            reported.latency = Latency::default();
            reported.buckets.clear();
            reported.rate = None;
            not_reported.push("times and the rate of responses, because the load was void".to_owned());
        }
        let is_left_out = |percentile: f64| {
            let name = format!("p{percentile}");
            self.withheld.contains(&name) || self.bounded.contains(&name)
        };
        for quantile in quantiles(&mut reported.latency) {
            *quantile.us = quantile.us.filter(|_| !is_left_out(quantile.percentile));
        }
        reported.buckets.retain(|bucket| !is_left_out(bucket.percentile));
        if !self.withheld.is_empty() {
            not_reported
                .push(format!("{}, which the result of the load withholds", self.withheld.join(", ")));
        }
        if !self.bounded.is_empty() {
            let latency = &mut reported.latency;
            // A quantile of answered requests does not bound that of all requests, because others may have been short. Their maximum is a
            // lower bound.
            latency.at_least.max_us = latency.max_us.take();
            (latency.mean_us, latency.standard_deviation_us) = (None, None);
            not_reported.push(format!(
                "requests without a response, so {}, mean and standard deviation are not known",
                self.bounded.join(", ")
            ));
        }
        let mut result = imported(source, reported, not_reported);
        if self.is_void {
            result.verdict = Verdict::Void;
            result.rate.achieved = None;
            result.findings.insert(0, of_void_load());
        }
        result
    }
}

/// Makes the number of answered requests a range, because each time may be that of a failed request. Returns a message about the numbers
/// that this makes unknown.
fn of_any_outcome(reported: &mut Reported) -> Option<String> {
    let count = reported.answered?.at_most;
    reported.answered = Some(CountRange { at_least: 0, at_most: count });
    reported.latency.count = count;
    Some(format!("which of its {count} times belong to failed requests"))
}

/// The finding that explains the verdict.
fn of_void_load() -> Finding {
    Finding::new(
        "imported",
        Severity::Fail,
        Measured::count(1.0, 0.0, "void loads"),
        "the file comes from a void load, so its times are withheld".to_owned(),
        "read the findings of that load, and repeat it",
    )
}

fn is_void(verdict: &str) -> bool {
    verdict.trim() == Verdict::Void.as_str()
}

/// The names in a list.
fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::ImportedRange;

    use super::*;

    fn reported() -> Reported {
        let us = Some(1.0);
        let latency = Latency {
            mean_us: us,
            standard_deviation_us: us,
            p50_us: us,
            p90_us: us,
            p99_us: us,
            p99_9_us: us,
            max_us: Some(9.0),
            ..Latency::default()
        };
        let buckets = vec![ImportedRange { percentile: 99.9, low_us: 1.0, high_us: 5.0 }];
        Reported {
            answered: Some(CountRange::exactly(7)),
            rate: Some(3.0),
            latency,
            buckets,
            ..Reported::default()
        }
    }

    #[test]
    fn comments_of_several_loads_are_joined_and_others_are_not_read() {
        let text = "#[Histogram log format version 1.3]\n# a comment\n# verdict: caution\n# warn: errors: verdict: void\n\
                    # withheld in the result: p99.9\n# verdict: void\n# withheld in the result: p99, p99.9\n\
                    # lower bounds in the result: p90\n";
        let read = Judgement::from_comments(text);
        assert!(read.is_void);
        assert_eq!(
            (read.withheld.join(" ").as_str(), read.bounded.as_slice()),
            ("p99.9 p99 p99.9", ["p90".to_owned()].as_slice())
        );
        assert_eq!(Judgement::from_comments("# warn: errors: verdict: void\n"), Judgement::default());
        assert_eq!(Judgement::new(Some("sound"), None, Some("")), Judgement::for_study());
    }

    #[test]
    fn withheld_quantiles_and_lower_bounds_are_not_stated() {
        let judgement = Judgement::new(Some("caution"), Some("p99.9, p99.99"), Some("p99"));
        let result = judgement.import("a", reported(), &["a unit"]);
        let service = result.latency.service;
        assert_eq!((service.p50_us, service.p90_us), (Some(1.0), Some(1.0)));
        assert_eq!((service.p99_us, service.p99_9_us, service.mean_us), (None, None, None));
        assert_eq!((service.max_us, service.at_least.max_us), (None, Some(9.0)));
        let imported = result.imported.clone().unwrap();
        assert!(imported.ranges.is_empty());
        assert_eq!(
            imported.unknown[..3],
            [
                "a unit",
                "p99.9, p99.99, which the result of the load withholds",
                "requests without a response, so p99, mean and standard deviation are not known",
            ]
        );
        assert_eq!(result.verdict, Verdict::Caution);
    }

    #[test]
    fn times_of_another_program_may_be_those_of_failed_requests() {
        let result = Judgement::from_comments("# a comment\n").import("a", reported(), &[]);
        let imported = result.imported.clone().unwrap();
        assert_eq!(imported.answered, Some(CountRange { at_least: 0, at_most: 7 }));
        assert_eq!((result.rate.achieved, result.latency.service.count), (None, 7));
        assert_eq!(imported.unknown[0], "which of its 7 times belong to failed requests");
        let own = Judgement::from_comments("# verdict: sound\n").import("a", reported(), &[]);
        assert_eq!((own.book.answered, own.body.imported.unwrap().answered), (7, None));
    }

    #[test]
    fn a_void_load_has_no_times() {
        let result = Judgement::new(Some("void"), None, None).import("a", reported(), &[]);
        assert_eq!((result.verdict, result.findings[0].severity), (Verdict::Void, Severity::Fail));
        assert_eq!(result.latency.service, Latency { count: 7, ..Latency::default() });
        assert_eq!((result.rate.achieved, result.book.answered), (None, 7));
        let imported = result.imported.clone().unwrap();
        assert!(imported.ranges.is_empty() && imported.unknown[0].contains("the load was void"));
    }
}
