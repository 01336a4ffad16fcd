//! Requests without a response time, which quantiles of response time do not contain.

use hoptax_result::{Finding, Loop, Measure, Measured, Severity, StudyResult, count, percent};

use super::arms::each_load;
use crate::check::Check;
use crate::thresholds;

/// Quantiles of response time with the share of requests above each, from the most to the least common.
const TAILS: [(Measure, f64); 4] = [
    (Measure::ResponseP50, 0.5),
    (Measure::ResponseP90, 0.1),
    (Measure::ResponseP99, 0.01),
    (Measure::ResponseQuietP99, 0.01),
];

/// Requests that were not sent before their slice ended, or not answered, are usually the slowest. A few of them are a large part of a
/// tail, long before they are a large part of the load ([`super::arms::OFFERED`]) or of its failures ([`super::arms::ERRORS`]). In a
/// closed loop, a request is sent when the response before it has arrived, so none waits unsent.
pub(super) const MISSING: Check<StudyResult> = Check {
    id: "missing-times",
    protects_from: "a tail quantile without the requests that waited longest",
    source: "right-censoring: requests without a response time must be less than half of those above a quantile, (1 - p) / 2",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::MISSING_OF_TAIL);
        let is_open =
            |name: &str| result.plan.loads.iter().any(|load| load.name == name && load.loop_ == Loop::Open);
        each_load(result, |load| {
            let planned = load.book.planned;
            // A failure has an answer, though no time of a response; studies that permit failures are about them.
            let missing = planned.saturating_sub(load.book.answered.saturating_add(load.book.failed));
            let share = missing as f64 / planned.max(1) as f64;
            // They may all belong to quiet slices.
            let share_of = |measure: Measure| match (measure, load.quiet_share) {
                (Measure::ResponseQuietP99, Some(quiet)) => share / quiet,
                _ => share,
            };
            let lost: Vec<(Measure, f64)> =
                TAILS.into_iter().filter(|(measure, tail)| share_of(*measure) > limit * tail).collect();
            let (_, smallest) = *lost.last().filter(|_| is_open(&load.load))?;
            let message = format!(
                "{} of {} planned requests ({}) have no response: they were unsent or unfinished when their slice \
                 ended, or timed out",
                count(missing),
                count(planned),
                percent(share, 2)
            );
            let measured = Measured::percent(share, limit * smallest);
            let advice = "they are usually the slowest, so quantiles of the others are too low: lower the rate, raise the number of \
                          connections, or use longer slices";
            Some(Finding {
                measures: lost.into_iter().map(|(measure, _)| measure).collect(),
                withholds: true,
                ..Finding::new("missing-times", Severity::Warn, measured, message, advice)
            })
        })
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, StudyResult, Verdict};

    use crate::study::tests::{fired, withheld};

    /// Leaves `count` of the 45,000 requests of an arm under a load without an answer. The study permits such failures.
    fn missing(arm: usize, load: usize, count: u64) -> impl Fn(&mut StudyResult) {
        move |result| {
            result.plan.max_error_share = 0.5;
            let book = &mut result.arms[arm].loads[load].book;
            (book.answered, book.unfinished) = (45_000 - count, count);
        }
    }

    #[test]
    fn missing_times_withhold_the_quantiles_whose_tails_they_may_fill() {
        // Half of 1 % are 225 requests, half of 10 % are 2,250.
        assert_eq!(fired("missing-times", missing(2, 1, 0)).0, None);
        // All of them may belong to quiet slices, which have 80 % of the responses.
        assert_eq!(fired("missing-times", missing(2, 1, 179)).0, None);
        assert!(withheld(missing(2, 1, 179)).is_empty());
        let quiet = ["+lua fixed-rate ResponseQuietP99", "lua fixed-rate ResponseQuietP99"];
        assert_eq!(withheld(missing(2, 1, 181)), quiet);
        assert_eq!(withheld(missing(2, 1, 224)), quiet);
        let (severity, result) = fired("missing-times", missing(2, 1, 226));
        assert_eq!((severity, result.verdict), (Some(Severity::Warn), Verdict::Caution));
        let p99 = [
            "+lua fixed-rate ResponseP99",
            "+lua fixed-rate ResponseQuietP99",
            "lua fixed-rate ResponseP99",
            "lua fixed-rate ResponseQuietP99",
        ];
        assert_eq!(withheld(missing(2, 1, 226)), p99);
        assert_eq!(withheld(missing(2, 1, 2_249)), p99);
        let [cost, quiet_cost, level, quiet_level] = p99;
        let [cost_p90, level_p90] = ["+lua fixed-rate ResponseP90", "lua fixed-rate ResponseP90"];
        let p90_and_p99 = [cost_p90, cost, quiet_cost, level_p90, level, quiet_level];
        assert_eq!(withheld(missing(2, 1, 2_251)), p90_and_p99);
    }

    #[test]
    fn unsent_requests_that_offered_accepts_are_missing_times() {
        let unsent = |result: &mut StudyResult| {
            let book = &mut result.arms[2].loads[1].book;
            (book.sent, book.answered, book.unsent) = (44_600, 44_600, 400);
        };
        let (severity, result) = fired("missing-times", unsent);
        assert_eq!(severity, Some(Severity::Warn));
        assert!(result.findings.iter().all(|finding| finding.id != "offered"), "{:?}", result.findings);
        let p99 = [
            "+lua fixed-rate ResponseP99",
            "+lua fixed-rate ResponseQuietP99",
            "lua fixed-rate ResponseP99",
            "lua fixed-rate ResponseQuietP99",
        ];
        assert_eq!(withheld(unsent), p99);
    }

    #[test]
    fn a_failed_request_is_not_missing() {
        let failed = |result: &mut StudyResult| {
            result.plan.max_error_share = 0.5;
            let book = &mut result.arms[2].loads[1].book;
            (book.answered, book.failed) = (44_000, 1_000);
        };
        assert_eq!(fired("missing-times", failed).0, None);
    }

    #[test]
    fn missing_times_of_a_baseline_withhold_the_costs_against_it() {
        let expected = [
            "+lua fixed-rate ResponseP99",
            "+lua fixed-rate ResponseQuietP99",
            "+same fixed-rate ResponseP99",
            "+same fixed-rate ResponseQuietP99",
            "baseline fixed-rate ResponseP99",
            "baseline fixed-rate ResponseQuietP99",
        ];
        assert_eq!(withheld(missing(0, 1, 300)), expected);
    }

    #[test]
    fn a_closed_loop_has_no_missing_times() {
        assert_eq!(fired("missing-times", missing(2, 0, 3_000)).0, None);
    }
}
