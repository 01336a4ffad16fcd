//! The generator must have spare CPU time.

use hoptax_result::{Finding, LoadResult, Loop, Measured, Severity, counted, grouped, percent};

use super::limits::{Ends, bound_by};
use crate::check::{Check, severity_above};
use crate::thresholds;

/// Returns true if requests were sent as fast as responses arrived, without a schedule that the generator could miss.
fn has_no_plan(result: &LoadResult) -> bool {
    result.plan.loop_ == Loop::Closed && result.plan.think.is_none()
}

/// A finding of a generator that was too slow.
///
/// Each response time contains the time that the response waited for the generator. `send-lag` leaves bounds of it where it matters. With
/// a planned rate, the rate is that of the requests that were sent. At full speed, it is the rate of generator and subject together: a
/// lower bound for the subject.
fn weighed(result: &LoadResult, severity: Severity, finding: impl Fn(Severity, &str) -> Finding) -> Finding {
    if severity == Severity::Fail && has_no_plan(result) {
        return finding(Severity::Warn, "the server may sustain more; ").bounding(&["rates"]);
    }
    finding(severity, "").about(&["times"]).keeping()
}

/// A worker that was always busy limited the rate itself.
pub(super) const SATURATED: Check<LoadResult> = Check {
    id: "generator-saturated",
    protects_from: "the client's limit reported as the server's",
    source: "RFC 9411 (headroom of the test equipment); Lancet (ATC 2019)",
    judge: |result, limits| {
        let generator = &result.generator;
        if generator.wall_seconds <= 0.0 {
            return Vec::new();
        }
        let busiest = generator
            .workers
            .iter()
            .map(|worker| worker.cpu_seconds / generator.wall_seconds)
            .fold(0.0, f64::max);
        severity_above(
            busiest,
            limits.value(&thresholds::GENERATOR_BUSY),
            limits.value(&thresholds::GENERATOR_BUSY_FAIL),
        )
        .map(|(severity, threshold)| {
            let limited = if severity == Severity::Fail { "limited" } else { "may have limited" };
            weighed(result, severity, |severity, then| {
                Finding::new(
                    "generator-saturated",
                    severity,
                    Measured::percent(busiest, threshold),
                    format!(
                        "a worker used {} of its core: the generator {limited} the rate",
                        percent(busiest, 0)
                    ),
                    &format!(
                        "{then}use more `--workers` on more cores, or a `--rate` below the measured one"
                    ),
                )
            })
        })
        .into_iter()
        .collect()
    },
    withhold: None,
};

/// Connections that the generator's machine could not open.
pub(super) const EXHAUSTED: Check<LoadResult> = Check {
    id: "generator-exhausted",
    protects_from: "exhausted ports, files or memory of the client reported as failures of the server",
    source: "own; connect(2) and socket(2) define which errors are local",
    judge: |result, limits| {
        let count = result.failures.get("generator").copied().unwrap_or(0);
        let share = count as f64 / result.book.sent.max(1) as f64;
        // Such a request never left, so it is held to the limit of those that were not sent.
        severity_above(share, 0.0, 1.0 - limits.value(&thresholds::OFFERED_SHARE))
            .map(|(severity, threshold)| {
                let finding = Finding::new(
                    "generator-exhausted",
                    severity,
                    Measured::percent(share, threshold),
                    format!(
                        "{} ({}) failed because the generator could not open a connection: ports, open files \
                         or memory are exhausted",
                        counted(count, "request"),
                        percent(share, 3)
                    ),
                    "raise the limit on open files (`ulimit -n` shows it) or net.ipv4.ip_local_port_range, send more requests per connection, or use fewer connections",
                );
                if severity == Severity::Fail { finding.bounding(&["times"]) } else { finding }
            })
            .into_iter()
            .collect()
    },
    // The failed ones may have taken any time.
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Both)),
};

/// A worker that waited for a processor measured the scheduler.
pub(super) const RUN_DELAY: Check<LoadResult> = Check {
    id: "run-delay",
    protects_from: "the generator's wait for its processor reported as the subject's latency",
    source: "kernel documentation, scheduler/sched-stats: time waiting on a run queue",
    judge: |result, limits| {
        let generator = &result.generator;
        if generator.wall_seconds <= 0.0 {
            return Vec::new();
        }
        let worst = generator
            .workers
            .iter()
            .map(|worker| worker.run_delay_us / 1e6 / generator.wall_seconds)
            .fold(0.0, f64::max);
        severity_above(worst, limits.value(&thresholds::RUN_DELAY), limits.value(&thresholds::RUN_DELAY_FAIL))
            .map(|(severity, threshold)| {
                let waited_ms = worst * generator.wall_seconds * 1e3;
                // Of a load of a few requests, the wait is less than a millisecond.
                let decimals = if waited_ms < 10.0 { 2 } else { 0 };
                weighed(result, severity, |severity, then| {
                    Finding::new(
                        "run-delay",
                        severity,
                        Measured::percent(worst, threshold),
                        format!(
                            "a worker waited {} ms for a processor, {} of the time",
                            grouped(waited_ms, decimals),
                            percent(worst, 1)
                        ),
                        &format!(
                            "{then}move other processes off the generator's core, or pin them with taskset"
                        ),
                    )
                })
            })
            .into_iter()
            .collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Loop, Severity, Verdict};

    use crate::load::tests::{failing, fired};

    #[test]
    fn a_busy_worker_fires() {
        let busy = |cpu_seconds: f64| {
            fired("generator-saturated", |result| result.generator.workers[0].cpu_seconds = cpu_seconds).0
        };
        assert_eq!(busy(6.9), None);
        assert_eq!(busy(8.0), Some(Severity::Warn));
        assert_eq!(busy(9.6), Some(Severity::Fail));
    }

    #[test]
    fn an_exhausted_machine_fires() {
        let exhausted = |count: u64| fired("generator-exhausted", failing("generator", count)).0;
        assert_eq!(exhausted(0), None);
        assert_eq!(exhausted(1), Some(Severity::Warn));
        assert_eq!(exhausted(3_000), Some(Severity::Fail));
    }

    #[test]
    fn a_starved_worker_fires() {
        let starved = |run_delay_us: f64| {
            fired("run-delay", |result| result.generator.workers[0].run_delay_us = run_delay_us).0
        };
        assert_eq!(starved(90_000.0), None);
        assert_eq!(starved(200_000.0), Some(Severity::Warn));
        assert_eq!(starved(2_000_000.0), Some(Severity::Fail));
    }

    #[test]
    fn a_short_wait_is_not_said_to_be_none() {
        let (_, result) = fired("run-delay", |result| {
            result.generator.wall_seconds = 0.01;
            result.generator.workers[0].run_delay_us = 200.0;
        });
        let found = result.findings.iter().find(|finding| finding.id == "run-delay").unwrap();
        assert_eq!(found.message, "a worker waited 0.20 ms for a processor, 2.0 % of the time");
    }

    #[test]
    fn a_busy_generator_bounds_the_rate_only_without_a_schedule() {
        let closed = |id: &str, think: Option<&str>| {
            fired(id, |result| {
                result.plan.loop_ = Loop::Closed;
                result.plan.think = think.map(str::to_owned);
                let generator = &mut result.generator;
                match id {
                    "run-delay" => generator.workers[0].run_delay_us = 2_000_000.0,
                    _ => generator.workers[0].cpu_seconds = 0.99 * generator.wall_seconds,
                }
            })
        };
        for id in ["generator-saturated", "run-delay"] {
            let (severity, result) = closed(id, None);
            assert_eq!((severity, result.verdict), (Some(Severity::Warn), Verdict::Caution), "{id}");
            assert_eq!(result.usable(), "counts and times are sound; rates are only bounded", "{id}");
            let (severity, result) = closed(id, Some("10ms"));
            assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution), "{id}");
            assert_eq!(result.usable(), "counts, rates and times are sound", "{id}");
        }
    }
}
