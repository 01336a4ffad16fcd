//! Finds the fastest mode of a server's response times, for `--goal fastest-mode`.
//!
//! Under full load, many servers respond in two modes: fast while few requests are in flight, slow beyond. The search keeps nearly all
//! requests in the fast mode, with an objective such as `p95<16ms`. It begins at the rate of fast responses under full load, which the
//! server has shown that it can carry.

use std::time::Duration;

use hoptax_checks::objective::Objective;
use hoptax_result::{FastestMode, LoadResult, Mode, ModesOfLoad};

use super::common::Near;
use super::trials::{Trials, answered_rate};
use crate::failure::Failure;

/// Length of the loads that show modes.
pub(super) const LENGTH: Duration = Duration::from_secs(5);
/// Percentage of the requests that must be in the fastest mode.
const WANTED_PERCENT: f64 = 95.0;
/// Maximum ratio of the peaks of two modes for them to count as different.
const FASTER: f64 = 0.7;
/// Rate at which to look for a faster mode if the closed loop shows only one, as a share of the rate of the closed loop.
const PROBE: f64 = 0.1;
/// The rate at which the search begins, as a multiple of a rate at which all responses were fast.
const ABOVE_PROBE: f64 = 2.0;

/// A fastest mode beside a slower one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fast {
    mode: Mode,
    /// Response times up to this limit belong to the mode, us.
    limit_us: f64,
    /// A rate at which nearly all requests may be in the mode, requests per second.
    start: f64,
}

/// Result of the loads before a search.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) mode: FastestMode,
    /// The objective that keeps requests in the fastest mode, and the range to search; None if the mode does not exist or is unknown.
    pub(super) aim: Option<(Objective, Near)>,
}

/// Looks for the fastest mode in a closed loop and, if that has only one mode, at a low rate of at most `max_rate`; None if it was
/// interrupted.
///
/// # Errors
/// When the load at the low rate cannot run.
pub(super) fn look(
    trials: &mut Trials<'_>,
    mut first: LoadResult,
    max_rate: Option<f64>,
) -> Result<Option<Shown>, Failure> {
    let reasons = trials.judge(&mut first);
    let in_flight = f64::from(first.plan.connections) * f64::from(first.plan.streams);
    let closed = modes_of(None, &first, reasons);
    let mut fast = between_modes(&closed);
    let mut loads = vec![];
    if closed.modes.len() == 1 {
        let rate = (closed.answered_rate * PROBE).max(1.0).min(max_rate.unwrap_or(f64::INFINITY));
        let Some((result, reasons)) = trials.judged_at_rate(rate, trials.spec.warmup, LENGTH)? else {
            return Ok(None);
        };
        let alone = modes_of(Some(rate), &result, reasons);
        fast = beside(&closed, &alone);
        loads.push(alone);
    }
    loads.insert(0, closed);
    let aim = match fast {
        Some(fast) => {
            // Little's law: the response rate if all requests in flight are in the fast mode.
            let most = in_flight / (fast.mode.peak_us / 1e6);
            Some((objective(fast.limit_us)?, Near { start: fast.start, most }))
        }
        None => None,
    };
    let mode =
        FastestMode { mode: fast.map(|fast| fast.mode), limit_us: fast.map(|fast| fast.limit_us), loads };
    Ok(Some(Shown { mode, aim }))
}

/// The objective that nearly all requests are answered within a limit.
fn objective(limit_us: f64) -> Result<Objective, Failure> {
    let text = format!("p{WANTED_PERCENT}<{}us", limit_us.ceil());
    text.parse().map_err(|error| Failure::environment(format!("`{text}` is no objective: {error}")))
}

/// The modes of a judged load at a rate. If there are none, checks that withheld the times, or left only bounds of them, count as reasons,
/// too.
fn modes_of(rate: Option<f64>, result: &LoadResult, mut reasons: Vec<String>) -> ModesOfLoad {
    if result.modes.is_empty() && reasons.is_empty() {
        let withheld = result.findings.iter().filter(|finding| finding.withholds || finding.bounds);
        reasons = withheld.map(|finding| format!("{}: {}", finding.id, finding.message)).collect();
    }
    let counts = reasons.is_empty();
    ModesOfLoad {
        rate,
        answered_rate: answered_rate(result),
        modes: result.modes.iter().copied().filter(|_| counts).collect(),
        does_not_count: reasons,
    }
}

/// The fastest of several modes; None if there is only one.
fn between_modes(closed: &ModesOfLoad) -> Option<Fast> {
    match closed.modes.as_slice() {
        [fastest, _, ..] => Some(Fast {
            mode: *fastest,
            limit_us: fastest.high_us,
            start: (closed.answered_rate * fastest.share).max(1.0),
        }),
        _ => None,
    }
}

/// The mode at a low rate, if it is faster than that of the closed loop. Under full load, a server may never be in its fast mode.
fn beside(closed: &ModesOfLoad, alone: &ModesOfLoad) -> Option<Fast> {
    let (slow, fast) = (closed.modes.first()?, alone.modes.first()?);
    // The geometric mean: a response time between the peaks belongs to the mode whose peak is nearer by ratio.
    let limit_us = (fast.peak_us * slow.peak_us).sqrt();
    (fast.peak_us < FASTER * slow.peak_us).then(|| Fast {
        mode: *fast,
        limit_us,
        start: alone.rate.unwrap_or(alone.answered_rate) * ABOVE_PROBE,
    })
}

#[cfg(test)]
mod tests {
    use hoptax_checks::judge_load;
    use hoptax_checks::objective::generator_limits;
    use hoptax_checks::thresholds::Limits;
    use hoptax_result::sample;

    use super::*;

    fn mode(peak_us: f64, share: f64) -> Mode {
        Mode { low_us: peak_us * 0.8, peak_us, high_us: peak_us * 1.3, share }
    }

    fn load(rate: Option<f64>, answered_rate: f64, modes: Vec<Mode>) -> ModesOfLoad {
        ModesOfLoad { rate, answered_rate, modes, does_not_count: Vec::new() }
    }

    #[test]
    fn a_search_begins_at_the_fast_responses_per_second() {
        let fast = between_modes(&load(None, 300.0, vec![mode(15_000.0, 0.2), mode(55_000.0, 0.8)])).unwrap();
        assert_eq!((fast.mode.peak_us, fast.limit_us, fast.start), (15_000.0, 19_500.0, 60.0));
        assert_eq!(between_modes(&load(None, 300.0, vec![mode(15_000.0, 1.0)])), None);
        assert_eq!(objective(19_500.0).unwrap().to_string(), "p95<19500us");
    }

    #[test]
    fn a_fast_mode_that_only_shows_at_a_low_rate_is_found() {
        let closed = load(None, 600.0, vec![mode(50_000.0, 1.0)]);
        let fast = beside(&closed, &load(Some(60.0), 60.0, vec![mode(5_000.0, 1.0)])).unwrap();
        assert!((fast.limit_us - 15_811.4).abs() < 0.1, "{fast:?}");
        assert_eq!((fast.mode.peak_us, fast.start), (5_000.0, 120.0));
        // One mode at every rate leaves nothing to stay in.
        assert_eq!(beside(&closed, &load(Some(60.0), 60.0, vec![mode(40_000.0, 1.0)])), None);
    }

    #[test]
    fn a_load_whose_generator_was_late_shows_no_mode_and_says_why() {
        let mut result = sample::load();
        result.modes = vec![mode(15_000.0, 0.5), mode(55_000.0, 0.5)];
        judge_load(&mut result, &Limits::default());
        assert_eq!(modes_of(None, &result, Vec::new()).modes.len(), 2);
        result.latency.own_lag.p99_us = Some(50_000.0);
        judge_load(&mut result, &Limits::default());
        let late = modes_of(None, &result, generator_limits(&result));
        assert!(late.modes.is_empty() && late.does_not_count[0].starts_with("send-lag: "), "{late:?}");
    }

    #[test]
    fn rates_divide_by_the_recorded_time() {
        let mut result = sample::load();
        (result.book.answered, result.plan.duration_s, result.recorded_s) = (1_000, 10.0, 4.0);
        assert!((modes_of(None, &result, Vec::new()).answered_rate - 250.0).abs() < 1e-9);
    }
}
