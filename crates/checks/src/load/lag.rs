//! Send lag: requests must be sent at their intended start; if they are not, the cause must be known.

use hoptax_result::{Finding, LoadResult, Loop, Measured, Severity};

use crate::thresholds;
use crate::{Check, severity_above};

/// Send lag caused by the generator itself.
pub(super) const SEND_LAG: Check<LoadResult> = Check {
    id: "send-lag",
    protects_from: "send lag of the generator reported as latency of the subject",
    source: "Treadmill (ISCA 2016); wrk2, which documents a lag of one millisecond; own limits",
    judge: |result, limits| {
        let (Loop::Open, Some(lag_us)) = (result.plan.loop_, result.latency.own_lag.p99_us) else {
            return Vec::new();
        };
        let median_us = result.latency.response.p50_us.unwrap_or_default();
        let warn_us =
            limits.of(&thresholds::OWN_LAG_US).max(limits.of(&thresholds::OWN_LAG_SHARE) * median_us);
        let fail_us = limits
            .of(&thresholds::OWN_LAG_FAIL_US)
            .max(limits.of(&thresholds::OWN_LAG_FAIL_SHARE) * median_us);
        severity_above(lag_us, warn_us, fail_us)
            .map(|(severity, threshold)| {
                Finding::new(
                    "send-lag",
                    severity,
                    Measured::us(lag_us, threshold),
                    format!("send lag p99 was {lag_us:.0} us"),
                    "give the generator its own core, use more --workers, or lower the rate",
                )
            })
            .into_iter()
            .collect()
    },
    withhold: None,
};

/// Send lag that affects the reported tail.
pub(super) const LATE_TAIL: Check<LoadResult> = Check {
    id: "late-tail",
    protects_from: "stalls of the generator reported as the subject's tail",
    source: "own: if more than 1 request in 1,000 is later than the reported p99, the generator causes a tenth of the requests above p99",
    judge: |result, _| {
        let latency = &result.latency;
        let (Loop::Open, Some(lag_us), Some(p99_us)) =
            (result.plan.loop_, latency.own_lag.p99_9_us, latency.response.p99_us)
        else {
            return Vec::new();
        };
        if lag_us <= p99_us {
            return Vec::new();
        }
        vec![Finding::new(
            "late-tail",
            Severity::Warn,
            Measured::us(lag_us, p99_us),
            format!(
                "send lag p99.9 was {lag_us:.0} us, above the response time p99 of {p99_us:.0} us: the generator \
                 caused part of the tail"
            ),
            "give the generator its own core; use the median, not the tail",
        )]
    },
    withhold: None,
};

/// Response time includes the wait for a free connection, which depends on the size of the pool.
pub(super) const CONNECTIONS_BUSY: Check<LoadResult> = Check {
    id: "connections-busy",
    protects_from: "a pool that is too small reported as a slow subject",
    source: "van der Schaaf, ServiceMeshCon EU 2021: results with significant blocking are invalid",
    judge: |result, limits| {
        let book = &result.book;
        let share = if book.sent == 0 { 0.0 } else { book.blocked as f64 / book.sent as f64 };
        let max = limits.of(&thresholds::BLOCKED_SHARE);
        if share <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "connections-busy",
            Severity::Warn,
            Measured::percent(share, max),
            format!(
                "{:.1} % of the requests waited for {}",
                share * 100.0,
                match result.plan.connections {
                    1 => "the only connection".to_owned(),
                    several => format!("one of the {several} connections"),
                }
            ),
            "response time includes that wait, service time does not; raise --connections if clients do not share connections \
             in production",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Loop, Severity};

    use crate::load::tests::{fired, fired_with};

    #[test]
    fn a_late_generator_fires() {
        let late = |lag_us: f64| fired("send-lag", |result| result.latency.own_lag.p99_us = Some(lag_us)).0;
        assert_eq!(late(49.0), None);
        assert_eq!(late(51.0), Some(Severity::Warn));
        assert_eq!(late(501.0), Some(Severity::Fail));
    }

    #[test]
    fn the_limit_of_send_lag_scales_with_response_time() {
        let late = |lag_us: f64| {
            let invalidate = |result: &mut hoptax_result::LoadResult| {
                result.latency.response.p50_us = Some(10_000.0);
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
    fn lateness_in_the_tail_fires() {
        let late =
            |lag_us: f64| fired("late-tail", |result| result.latency.own_lag.p99_9_us = Some(lag_us)).0;
        assert_eq!((late(200.0), late(201.0)), (None, Some(Severity::Warn)));
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
    fn a_pool_that_is_too_small_fires() {
        let (severity, _) = fired("connections-busy", |result| result.book.blocked = 2_500);
        assert_eq!(severity, Some(Severity::Warn));
    }
}
