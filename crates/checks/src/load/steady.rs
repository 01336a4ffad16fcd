//! The trial must have been in one steady state to be described by one number.

use hoptax_result::{Finding, LoadResult, Measured, Severity, Window, grouped, signed};
use hoptax_stats::{median, truncation};

use super::limits::{Ends, bound_by};
use super::samples::is_too_few;
use crate::check::{Check, severity_above};
use crate::thresholds;

/// Change of the median from the first to the last third.
pub(super) const DRIFT: Check<LoadResult> = Check {
    id: "drift",
    protects_from: "one number for a subject that was still changing (warming up, filling, throttled)",
    source: "own; a coarse form of the steady-state tests of Barrett and others (OOPSLA 2017)",
    judge: |result, limits| {
        let Some(drift) = result.drift.filter(|drift| drift.first_third_p50_us > 0.0) else {
            return Vec::new();
        };
        // Each of the two medians needs as many responses as that of the whole.
        if is_too_few(answered_in_a_third(&result.windows), 0.5, limits) {
            return Vec::new();
        }
        let change = drift.last_third_p50_us / drift.first_third_p50_us - 1.0;
        let max = limits.value(&thresholds::DRIFT_SHARE);
        if change.abs() <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "drift",
            Severity::Warn,
            Measured::percent(change, max),
            format!(
                "response time p50 changed by {} %, from {} us in the first third to {} us in the last",
                signed(change * 100.0, 1),
                grouped(drift.first_third_p50_us, 0),
                grouped(drift.last_third_p50_us, 0)
            ),
            "use a longer `--warmup`; if the drift remains, the subject has no steady state at this load",
        )]
    },
    withhold: None,
};

/// The responses in the first or the last third of the record, whichever has fewer.
fn answered_in_a_third(windows: &[Window]) -> u64 {
    let third = windows.len() / 3;
    let answered = |windows: &[Window]| windows.iter().map(|window| window.answered).sum::<u64>();
    answered(&windows[..third]).min(answered(&windows[windows.len() - third..]))
}

/// A trial whose best truncation point is in its second half showed no steady state.
pub(super) const STEADY_STATE: Check<LoadResult> = Check {
    id: "steady-state",
    protects_from: "quantiles that mix two states of the subject",
    source: "MSER (White 1997) on the medians of hundredths of the trial: the steady state must begin in the first half",
    judge: |result, limits| {
        let count = result.windows.len();
        let windows = result.windows.iter().enumerate();
        // A window without responses has no median, and says nothing about the others.
        let (numbers, medians): (Vec<usize>, Vec<f64>) =
            windows.filter_map(|(number, window)| Some((number, window.median_response_us?))).unzip();
        let Some(first) = truncation(&medians) else { return Vec::new() };
        let Some(begins) = numbers.get(first).copied().filter(|begins| *begins > count / 2) else {
            return Vec::new();
        };
        let (before, after) = medians.split_at(first);
        // Medians, since a stall, however long its queue, is no change of the subject's state.
        let (Some(before_us), Some(after_us)) = (median(before), median(after)) else { return Vec::new() };
        let change = after_us / before_us - 1.0;
        // A record that took longer than its warm-up told has no window of its end.
        let share = result.window_s.filter(|_| result.recorded_s > 0.0);
        let share = share
            .map_or(begins as f64 / count as f64, |window_s| begins as f64 * window_s / result.recorded_s);
        severity_above(
            change.abs(),
            limits.value(&thresholds::STEADY_CHANGE),
            limits.value(&thresholds::STEADY_CHANGE_FAIL),
        )
        .map(|(severity, threshold)| {
            let finding = Finding::new(
                "steady-state",
                severity,
                Measured::percent(change.abs(), threshold),
                format!(
                    "no steady state: response time p50 changed by {} % after {} % of the trial",
                    signed(change * 100.0, 0),
                    grouped(share * 100.0, 0)
                ),
                "run longer, with a longer `--warmup`; `windows` in the JSON result shows the course",
            );
            if severity == Severity::Fail { finding.bounding(&["times"]) } else { finding }
        })
        .into_iter()
        .collect()
    },
    // Batches of two states differ, so their interval reaches into both.
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Both)),
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Drift, LoadResult, Severity};

    use crate::load::tests::fired;

    #[test]
    fn drift_fires_both_ways() {
        for last_third_p50_us in [94.0, 106.0] {
            let (severity, _) = fired("drift", |result| {
                result.drift = Some(Drift { first_third_p50_us: 100.0, last_third_p50_us });
            });
            assert_eq!(severity, Some(Severity::Warn));
        }
    }

    #[test]
    fn thirds_without_the_responses_of_a_median_show_no_drift() {
        let drift = |first: u64, last: u64| {
            let (severity, _) = fired("drift", |result| {
                result.drift = Some(Drift { first_third_p50_us: 207.0, last_third_p50_us: 338.0 });
                for (number, window) in result.windows.iter_mut().enumerate() {
                    window.answered = if number < 50 { first } else { last };
                }
            });
            severity
        };
        // A third has 33 windows.
        assert_eq!(drift(7, 7), Some(Severity::Warn));
        assert_eq!((drift(6, 7), drift(7, 6)), (None, None), "198 of 200");
    }

    #[test]
    fn a_change_in_the_second_half_fires_and_a_warm_up_does_not() {
        let change = |from: usize, us: f64| {
            let invalidate = |result: &mut LoadResult| {
                for window in &mut result.windows[from..] {
                    window.median_response_us = window.median_response_us.map(|median_us| median_us + us);
                }
            };
            fired("steady-state", invalidate).0
        };
        assert_eq!(change(70, 10.0), Some(Severity::Warn));
        assert_eq!(change(70, 50.0), Some(Severity::Fail));
        assert_eq!(change(20, 50.0), None);
        assert_eq!(change(0, 50.0), None);
    }

    #[test]
    fn windows_without_a_median_are_left_out() {
        let change = |is_kept: fn(usize) -> bool| {
            let invalidate = |result: &mut LoadResult| {
                for (number, window) in result.windows.iter_mut().enumerate() {
                    let us = if number < 70 { 0.0 } else { 50.0 };
                    let changed = window.median_response_us.map(|median_us| median_us + us);
                    window.median_response_us = changed.filter(|_| is_kept(number));
                }
            };
            fired("steady-state", invalidate).0
        };
        assert_eq!(change(|number| number != 10), Some(Severity::Fail));
        assert_eq!(change(|number| !(20..40).contains(&number)), Some(Severity::Fail));
        assert_eq!(change(|number| (55..85).contains(&number)), Some(Severity::Fail));
        // Too few are left.
        assert_eq!(change(|number| (61..80).contains(&number)), None);
    }

    #[test]
    fn a_stall_is_not_a_change_of_state() {
        let stall = |result: &mut LoadResult| {
            for (number, window) in result.windows.iter_mut().enumerate() {
                let us = if (33..48).contains(&number) {
                    100_000.0
                } else {
                    0.1 * f64::from(u8::from(number > 88))
                };
                window.median_response_us = window.median_response_us.map(|median_us| median_us + us);
            }
        };
        assert_eq!(fired("steady-state", stall).0, None);
    }
}
