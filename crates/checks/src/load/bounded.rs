//! States in each finding that leaves only bounds of quantiles which of them have any. A check cannot tell: a load without intervals has no
//! bounds to leave, and two findings that leave one end each leave none together.

use hoptax_result::{Finding, Known, LoadResult, TimeOf};

/// Completes the messages of such findings of the checks with these ids, in the words of [`LoadResult::usable`].
pub(crate) fn state_bounds(result: &mut LoadResult, is_judged: impl Fn(&str) -> bool) {
    let judged: &LoadResult = result;
    let state = |finding: &Finding| {
        let is_to_complete = finding.bounds && is_judged(&finding.id);
        if is_to_complete { state_of(judged, &finding.numbers) } else { None }
    };
    let states: Vec<Option<String>> = judged.findings.iter().map(state).collect();
    for (finding, state) in result.findings.iter_mut().zip(states) {
        finding.message.extend(state.map(|state| format!(": {state}")));
    }
}

/// What is left of these quantiles: `p50 is only bounded; p90, p99 are not known`. None if none of the numbers is a quantile.
fn state_of(result: &LoadResult, numbers: &[String]) -> Option<String> {
    let percentile = |name: &str| name.strip_prefix('p')?.parse::<f64>().ok();
    let quantiles = numbers.iter().filter_map(|name| Some((name.as_str(), percentile(name)?)));
    let (unknown, bounded): (Vec<_>, Vec<_>) =
        quantiles.partition(|(_, of)| result.response(TimeOf::Percentile(*of)) == Known::Unknown);
    let part = |quantiles: &[(&str, f64)], one: &str, several: &str| {
        let names: Vec<&str> = quantiles.iter().map(|(name, _)| *name).collect();
        let words = if names.len() == 1 { one } else { several };
        (!names.is_empty()).then(|| format!("{} {words}", names.join(", ")))
    };
    let parts = [
        part(&bounded, "is only bounded", "are only bounded"),
        part(&unknown, "is not known", "are not known"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{EndedBy, LoadBounds, LoadResult, Merged, QuantileIntervals};

    use crate::judge_merged;
    use crate::load::tests::{fired, sound};

    /// The message of the finding of a check.
    fn message<'a>(result: &'a LoadResult, id: &str) -> &'a str {
        &result.findings.iter().find(|finding| finding.id == id).unwrap().message
    }

    /// A load whose parts tell nothing of the dependence of its times.
    fn without_batches(result: &mut LoadResult) {
        (result.response_intervals, result.bounds) = (QuantileIntervals::default(), LoadBounds::default());
    }

    #[test]
    fn a_finding_speaks_of_bounds_only_where_there_are_any() {
        let few = |change: fn(&mut LoadResult)| {
            let (_, result) = fired("too-few-samples", |result| {
                result.latency.response.count = 150;
                change(result);
            });
            (message(&result, "too-few-samples").to_owned(), result.usable())
        };
        let (message, usable) = few(|_| ());
        assert_eq!(message, "150 responses are too few: p50, p90, p99, p99.9 are only bounded");
        assert!(usable.ends_with("times are only bounded"), "{usable}");
        let (message, usable) = few(without_batches);
        assert_eq!(message, "150 responses are too few: p50, p90, p99, p99.9 are not known");
        assert!(usable.ends_with("times are not known"), "{usable}");
        let (message, usable) = few(|result| result.bounds.response.p99_us = None);
        assert!(message.ends_with(": p50, p90, p99.9 are only bounded; p99 is not known"), "{message}");
        assert!(usable.ends_with("p50, p90 and p99.9 are only bounded; p99 is not known"), "{usable}");
    }

    #[test]
    fn two_findings_that_leave_one_end_each_leave_nothing_together() {
        let (_, result) = fired("too-few-samples", |result| {
            result.latency.response.count = 150;
            result.generator.steal_share = 0.5;
            (result.ended_by, result.recorded_s, result.waiting.most) = (EndedBy::Backlog, 0.5, 3_000_000);
        });
        assert!(message(&result, "too-few-samples").ends_with(" are not known"), "{:?}", result.findings);
        assert!(result.usable().ends_with("times are not known"), "{}", result.usable());
        // A finding about all times leaves it to the verdict.
        assert!(!message(&result, "steal").contains("known"), "{:?}", result.findings);
    }

    #[test]
    fn a_load_whose_times_are_withheld_has_no_bounds() {
        let (_, result) = fired("too-few-samples", |result| {
            result.latency.response.count = 150;
            result.generator.clock_step_back_ns = 1;
        });
        assert!(message(&result, "too-few-samples").ends_with(" are not known"), "{:?}", result.findings);
    }

    #[test]
    fn findings_of_merged_runs_are_completed_and_those_of_a_run_stay() {
        let mut result = sound();
        result.merged = Some(Merged::default());
        result.latency.response.count = 150;
        without_batches(&mut result);
        let (_, run) = fired("send-lag", |run| run.without_generator.as_mut().unwrap().p99_us = Some(120.0));
        let of_run = run.findings.into_iter().find(|finding| finding.id == "send-lag").unwrap();
        result.findings = vec![of_run.clone()];
        judge_merged(&mut result);
        assert!(message(&result, "too-few-samples").ends_with(" are not known"), "{:?}", result.findings);
        assert_eq!(message(&result, "send-lag"), of_run.message);
    }
}
