//! The checks of a single load.

mod agents;
mod beside;
mod book;
mod bounded;
mod by_request;
mod calibrated;
mod ended;
mod errors;
mod generator;
mod host;
mod lag;
mod limits;
mod merged;
mod multiplexed;
mod offered;
mod releases;
mod samples;
mod steady;
mod subject;

use hoptax_result::{Finding, LoadResult, Severity};

use crate::check::Check;
use crate::remedy::{Remedies, Remedy};

pub(crate) use bounded::state_bounds;
pub(crate) use by_request::bound_rows;
pub(crate) use limits::{order_bounds, withhold_all};

/// The checks of parts of a load that are missing, lost agents and runs, whose findings are about all numbers.
pub(crate) const PART_MISSING: [&str; 2] = [agents::LOST.id, merged::LEFT_OUT.id];
/// The check of the send lag of one generator.
pub(crate) const SEND_LAG: &str = lag::SEND_LAG.id;

/// All checks.
pub const ALL: &[Check<LoadResult>] = &[
    book::BALANCES,
    agents::LOST,
    ended::BACKLOG,
    ended::INTERRUPTED,
    offered::OFFERED,
    // A cause of a load that is not constant, so a screen that has no room for both shows it.
    lag::CONNECTIONS_BUSY,
    offered::LOAD_CONSTANT,
    offered::CONNECTIONS_LOST,
    lag::SEND_LAG,
    releases::ARRIVALS,
    releases::LITTLE,
    errors::ERRORS,
    errors::MISMATCHES,
    multiplexed::SENT_AGAIN,
    multiplexed::STREAM_LIMIT,
    errors::DEVIATIONS,
    generator::SATURATED,
    generator::EXHAUSTED,
    generator::RUN_DELAY,
    calibrated::CEILING,
    calibrated::FLOOR,
    host::STEAL,
    host::PRESSURE,
    host::THROTTLED,
    host::CLOCK,
    host::UNSEEN,
    steady::STEADY_STATE,
    steady::DRIFT,
    samples::UNFINISHED,
    samples::TOO_FEW,
    samples::VAGUE,
    samples::CORRELATED,
    subject::APART,
    subject::DELAYED,
    beside::OTHER_LOADS,
    agents::START,
    lag::MERGED,
    merged::LEFT_OUT,
    merged::COMMON_WINDOW,
    merged::SAME_SEED,
    merged::MACHINES,
];

/// The checks of a merged result. All others judge evidence that a run records about itself, or shares that are within their
/// limits for all runs together if they are for each.
pub(crate) const OF_MERGED: &[Check<LoadResult>] = &[
    book::BALANCES,
    agents::LOST,
    agents::START,
    lag::MERGED,
    merged::LEFT_OUT,
    merged::COMMON_WINDOW,
    merged::SAME_SEED,
    merged::MACHINES,
    samples::UNFINISHED,
    samples::TOO_FEW,
    samples::VAGUE,
];

/// What helps against the findings of these checks.
pub const REMEDIES: &Remedies = &[
    (
        Remedy::QuietMachine,
        &[generator::RUN_DELAY.id, host::STEAL.id, host::THROTTLED.id, beside::OTHER_LOADS.id],
    ),
    (
        Remedy::Calibration,
        &[
            lag::SEND_LAG.id,
            lag::MERGED.id,
            releases::ARRIVALS.id,
            generator::SATURATED.id,
            calibrated::CEILING.id,
        ],
    ),
    (Remedy::MoreConnections, &[offered::OFFERED.id, ended::BACKLOG.id, lag::CONNECTIONS_BUSY.id]),
    (Remedy::Longer, &[samples::TOO_FEW.id, samples::VAGUE.id]),
];

/// Returns true if no number that the load was to measure is left: a check withholds everything, or one failed and no request was answered.
pub(crate) fn is_void(result: &LoadResult, findings: &[Finding]) -> bool {
    let nothing = result.imported.is_none() && result.book.answered == 0;
    findings.iter().any(|finding| {
        (finding.withholds && finding.numbers.is_empty()) || (nothing && finding.severity == Severity::Fail)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use hoptax_result::{Latency, LoadHistograms, LoadResult, Severity, Verdict};

    use crate::judge_load;
    use crate::thresholds::Limits;

    /// A result without findings; each test invalidates one aspect of it.
    pub(crate) fn sound() -> LoadResult {
        hoptax_result::sample::load()
    }

    /// As [`fired`], with some thresholds set.
    pub(crate) fn fired_with(
        id: &str,
        set: &[(&str, f64)],
        invalidate: impl FnOnce(&mut LoadResult),
    ) -> (Option<Severity>, LoadResult) {
        let mut limits = Limits::default();
        for (name, value) in set {
            limits.set(name, *value).unwrap();
        }
        let mut result = sound();
        invalidate(&mut result);
        judge_load(&mut result, &limits);
        let severity =
            result.findings.iter().filter(|finding| finding.id == id).map(|found| found.severity).max();
        (severity, result)
    }

    /// Judges an invalidated result. Returns the worst severity of the findings with this `id`, if
    /// any.
    pub(crate) fn fired(
        id: &str,
        invalidate: impl FnOnce(&mut LoadResult),
    ) -> (Option<Severity>, LoadResult) {
        fired_with(id, &[], invalidate)
    }

    /// Lets so many answered requests fail in this way.
    pub(crate) fn failing(kind: &str, count: u64) -> impl FnOnce(&mut LoadResult) {
        move |result| {
            result.book.answered -= count;
            result.book.failed += count;
            result.failures.insert(kind.to_owned(), count);
        }
    }

    #[test]
    fn a_clean_trial_is_sound() {
        let mut result = sound();
        judge_load(&mut result, &Limits::default());
        assert_eq!(result, sound());
    }

    #[test]
    fn a_void_trial_keeps_its_evidence_and_withholds_its_numbers() {
        let messages = Latency { count: 7, p50_us: Some(1.0), ..Latency::default() };
        let (_, result) = fired("book", |result| {
            result.book.answered -= 1;
            result.messages = Some(messages);
            result.histograms = Some(LoadHistograms::default());
        });
        assert_eq!(result.verdict, Verdict::Void);
        assert_eq!((result.rate.achieved, result.latency.response.p50_us), (None, None));
        assert_eq!(result.latency.response.count, 200_000);
        assert_eq!(result.messages, Some(Latency { count: 7, ..Latency::default() }));
        assert!(result.latency.send_lag.p50_us.is_some() && result.histograms.is_none());
    }

    #[test]
    fn a_failure_that_leaves_bounds_is_a_caution_unless_nothing_was_answered() {
        let (_, result) = fired("steal", |result| result.generator.steal_share = 0.5);
        assert_eq!(result.verdict, Verdict::Caution);
        let (_, result) = fired("steal", |result| {
            result.generator.steal_share = 0.5;
            (result.book.answered, result.book.timed_out) = (0, result.book.answered);
        });
        assert_eq!((result.verdict, result.rate.achieved), (Verdict::Void, None));
    }

    #[test]
    fn a_loosened_threshold_is_part_of_the_result() {
        let (_, result) = fired_with("book", &[("steal", 0.5), ("drift-share", 0.01)], |_| {});
        assert_eq!(result.loosened.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["steal"]);
    }

    #[test]
    fn a_finding_of_a_load_names_the_threshold_that_was_set_for_it() {
        let message = |set: &[(&str, f64)]| {
            let (_, result) = fired_with("steal", set, |result| result.generator.steal_share = 0.01);
            let finding = result.findings.into_iter().find(|finding| finding.id == "steal").unwrap();
            finding.message
        };
        assert!(!message(&[]).contains("is set to"));
        assert!(message(&[("steal", 0.001)]).ends_with("; `steal` is set to 0.001, not 0.005"));
        assert!(!message(&[("drift-share", 0.001)]).contains("is set to"));
    }

    #[test]
    fn every_check_has_a_unique_id() {
        let mut ids: Vec<_> = super::ALL.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), super::ALL.len());
    }
}
