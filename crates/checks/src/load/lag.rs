//! Send lag: requests must be sent at their intended start; if they are not, the cause must be known.

use hoptax_result::{Finding, LoadResult, Loop, Measured, Severity, counted, grouped, percent};

use super::limits::{Ends, Lengthened, lengthened, others_to_bounds, service_to_upper, to_bounds};
use crate::check::{Check, severity_above};
use crate::thresholds::{self, Limits};

/// Times that the generator itself may have lengthened, by sending late and by reading late.
pub(super) const SEND_LAG: Check<LoadResult> = Check {
    id: "send-lag",
    protects_from: "delays of the generator reported as latency of the subject",
    source: "Treadmill (ISCA 2016); wrk2, which documents a lag of one millisecond; own limits",
    judge: |result, limits| {
        let lengthened = lengthened(result, limits);
        let late = late(result, limits);
        let Some(severity) =
            late.map(|late| late.severity).or((!lengthened.is_empty()).then_some(Severity::Warn))
        else {
            return Vec::new();
        };
        let names: Vec<&str> = lengthened.iter().map(|one| one.name.as_str()).collect();
        let most = longest(&lengthened);
        let lag = late.map(|Late { lag_us, limit_us, .. }| {
            format!("send lag p99 was {} us, limit {} us", grouped(lag_us, 0), grouped(limit_us, 0))
        });
        let part = most.map(in_words);
        let message: Vec<String> = lag.into_iter().chain(part).collect();
        let measured = match (late, most) {
            (Some(late), _) => Measured::us(late.lag_us, late.limit_us),
            (None, Some(most)) => Measured::us(most.us, most.limit_us),
            (None, None) => return Vec::new(),
        };
        let finding = Finding::new("send-lag", severity, measured, message.join("; "), ADVICE);
        vec![if names.is_empty() { finding.about(&["times"]).keeping() } else { finding.bounding(&names) }]
    },
    withhold: Some(|result, finding, _| leave_bounds(result, finding)),
};

/// Times of several runs together that their generators lengthened. Findings about the lag of a run are about its times, which the result
/// does not have alone.
pub(super) const MERGED: Check<LoadResult> = Check {
    id: "merged-lag",
    protects_from: "delays of the generators of merged runs reported as latency of the subject",
    source: "as `send-lag`",
    judge: |result, limits| {
        if result.merged.is_none() {
            return Vec::new();
        }
        let lengthened = lengthened(result, limits);
        let Some(most) = longest(&lengthened) else { return Vec::new() };
        let names: Vec<&str> = lengthened.iter().map(|one| one.name.as_str()).collect();
        let message = format!("of all runs together, {}", in_words(most));
        let measured = Measured::us(most.us, most.limit_us);
        vec![Finding::new("merged-lag", Severity::Warn, measured, message, ADVICE).bounding(&names)]
    },
    withhold: Some(|result, finding, _| leave_bounds(result, finding)),
};

const ADVICE: &str = "give the generator its own core, use more `--workers`, or lower the rate";

fn longest(all: &[Lengthened]) -> Option<&Lengthened> {
    all.iter().max_by(|one, other| one.us.total_cmp(&other.us))
}

/// The quantile that was lengthened most.
fn in_words(most: &Lengthened) -> String {
    let Lengthened { name, us, .. } = most;
    // A difference of response times is no send lag: two numbers of lateness beside each other read as one.
    format!(
        "late sends and late reads may have lengthened the {name} of response time by up to {us} us",
        us = grouped(*us, 0)
    )
}

fn leave_bounds(result: &mut LoadResult, finding: &Finding) {
    to_bounds(result, &finding.numbers, Ends::Both);
    service_to_upper(result, &finding.numbers);
    if finding.numbers.iter().any(|name| name == "p50") {
        others_to_bounds(result);
    }
}

/// A send lag that is too large.
#[derive(Clone, Copy)]
struct Late {
    severity: Severity,
    /// Its p99, us.
    lag_us: f64,
    /// The limit of that, us.
    limit_us: f64,
}

/// The send lag of an open loop if it is too large.
fn late(result: &LoadResult, limits: &Limits) -> Option<Late> {
    let lag_us = result.latency.own_lag.p99_us.filter(|_| result.plan.loop_ == Loop::Open)?;
    let median_us = result.latency.response.p50_us.unwrap_or_default();
    let warn_us =
        limits.value(&thresholds::OWN_LAG_US).max(limits.value(&thresholds::OWN_LAG_SHARE) * median_us);
    let fail_us = limits
        .value(&thresholds::OWN_LAG_FAIL_US)
        .max(limits.value(&thresholds::OWN_LAG_FAIL_SHARE) * median_us);
    severity_above(lag_us, warn_us, fail_us).map(|(severity, limit_us)| Late { severity, lag_us, limit_us })
}

/// Response time includes the wait for a free connection, which depends on the size of the pool.
pub(super) const CONNECTIONS_BUSY: Check<LoadResult> = Check {
    id: "connections-busy",
    protects_from: "a pool that is too small reported as a slow subject",
    source: "van der Schaaf, ServiceMeshCon EU 2021: results with significant blocking are invalid",
    judge: |result, limits| {
        let book = &result.book;
        let share = if book.sent == 0 { 0.0 } else { book.blocked as f64 / book.sent as f64 };
        let max = limits.value(&thresholds::BLOCKED_SHARE);
        if share <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "connections-busy",
            Severity::Warn,
            Measured::percent(share, max),
            format!(
                "{} of the requests waited for {}",
                percent(share, 1),
                match result.plan.connections {
                    1 => "the only connection".to_owned(),
                    several => format!("one of the {}", counted(several.into(), "connection")),
                }
            ),
            "response time includes that wait, service time does not; raise `--connections` if clients do not share connections \
             in production",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Known, LatencySet, Loop, Severity, TimeBounds, TimeOf, Verdict};

    use crate::judge_merged;
    use crate::load::tests::{fired, fired_with, sound};

    const P99: TimeOf = TimeOf::Percentile(99.0);

    #[test]
    fn a_late_generator_fires() {
        let late = |lag_us: f64| fired("send-lag", |result| result.latency.own_lag.p99_us = Some(lag_us)).0;
        assert_eq!(late(49.0), None);
        assert_eq!(late(51.0), Some(Severity::Warn));
        assert_eq!(late(501.0), Some(Severity::Fail));
        let (_, result) = fired("send-lag", |result| result.latency.own_lag.p99_us = Some(51.0));
        assert_eq!(result.findings[0].message, "send lag p99 was 51 us, limit 50 us");
    }

    #[test]
    fn the_limit_of_send_lag_scales_with_response_time() {
        let late = |lag_us: f64| {
            let invalidate = |result: &mut hoptax_result::LoadResult| {
                result.latency.response.p50_us = Some(10_000.0);
                result.without_generator.as_mut().unwrap().p50_us = Some(9_900.0);
                result.latency.own_lag.p99_us = Some(lag_us);
            };
            fired("send-lag", invalidate).0
        };
        assert_eq!(
            (late(499.0), late(501.0), late(5_001.0)),
            (None, Some(Severity::Warn), Some(Severity::Fail))
        );
    }

    #[test]
    fn a_tightened_limit_holds() {
        let invalidate = |result: &mut hoptax_result::LoadResult| result.latency.own_lag.p99_us = Some(30.0);
        assert_eq!(fired_with("send-lag", &[("own-lag-us", 20.0)], invalidate).0, Some(Severity::Warn));
    }

    #[test]
    fn a_late_generator_bounds_the_times_that_it_lengthened_and_nothing_else() {
        // p50 is 100 us, and p99 200 us.
        let (severity, result) = fired("send-lag", |result| {
            result.latency.own_lag.p99_us = Some(3_000.0);
            let without = result.without_generator.as_mut().unwrap();
            (without.p99_us, without.p99_9_us) = (Some(120.0), Some(130.0));
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        assert_eq!(result.rate.achieved, Some(20_000.0));
        assert_eq!(result.usable(), "counts, rates, p50 and p90 are sound; p99 and p99.9 are only bounded");
        assert_eq!(result.response(TimeOf::Percentile(99.0)).ends(), (Some(192.0), Some(204.0)));
        // Service time counts until the generator read the response.
        assert_eq!(result.service(TimeOf::Percentile(99.0)).ends(), (None, Some(194.0)));
        let message = &result.findings[0].message;
        let expected = "send lag p99 was 3,000 us, limit 500 us; late sends and late reads may have lengthened the p99.9 of response \
                        time by up to 170 us: p99, p99.9 are only bounded";
        assert_eq!(message, expected);
        assert_eq!((result.findings[0].bounds, result.findings[0].withholds), (true, false));
    }

    #[test]
    fn a_late_generator_leaves_no_lower_bound_of_a_service_time_that_pending_responses_leave_open() {
        let service = |low_us: f64| {
            let (_, result) = fired("send-lag", |result| {
                let LatencySet { response, service, .. } = &mut result.latency;
                for latency in [response, service] {
                    (latency.p99_us, latency.at_least.p99_us) = (None, Some(low_us));
                }
                result.bounds.response.p99_us = Some(TimeBounds::at_least(190.0));
                result.bounds.service.p99_us = Some(TimeBounds::at_least(low_us));
            });
            let [response, service] = [result.response(P99), result.service(P99)].map(|known| known.ends().0);
            (response, service, result.findings.iter().any(|finding| finding.id == "send-lag"))
        };
        // Response time without the delays of the generator is at least 190 us, and the limit of a delay 50 us.
        assert_eq!(service(3_000.0), (Some(190.0), None, true));
        assert_eq!(service(230.0), (Some(230.0), Some(230.0), false));
    }

    #[test]
    fn a_generator_that_reads_late_leaves_bounds_in_a_closed_loop_too() {
        let (severity, result) = fired("send-lag", |result| {
            result.plan.loop_ = Loop::Closed;
            result.without_generator.as_mut().unwrap().p50_us = Some(20.0);
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Warn), Verdict::Caution));
        assert!(matches!(result.response(TimeOf::Mean), Known::Bounded(_)), "the mean is no better than p50");
        assert_eq!(result.usable(), "counts, rates, p90, p99 and p99.9 are sound; p50 is only bounded");
    }

    #[test]
    fn a_closed_loop_has_no_plan_to_be_late_for() {
        let (severity, _) = fired("send-lag", |result| {
            result.plan.loop_ = Loop::Closed;
            result.latency.own_lag.p99_us = Some(5_000.0);
        });
        assert_eq!(severity, None);
    }

    #[test]
    fn times_of_merged_runs_are_bounds_where_their_generators_lengthened_them() {
        let judged = |is_merged: bool, without_us: f64| {
            let mut result = sound();
            result.merged = is_merged.then(hoptax_result::Merged::default);
            result.without_generator.as_mut().unwrap().p99_us = Some(without_us);
            judge_merged(&mut result);
            let is_found = result.findings.iter().any(|finding| finding.id == "merged-lag");
            (is_found, result.latency.response.p99_us.is_some())
        };
        // p99 is 200 us, and the limit 50 us.
        assert_eq!(judged(true, 149.0), (true, false));
        assert_eq!(judged(true, 151.0), (false, true));
        assert_eq!(judged(false, 149.0), (false, true), "a run alone is judged by `send-lag`");
    }

    #[test]
    fn a_pool_that_is_too_small_fires() {
        let (severity, _) = fired("connections-busy", |result| result.book.blocked = 2_500);
        assert_eq!(severity, Some(Severity::Warn));
    }
}
