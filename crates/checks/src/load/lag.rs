//! Requests must leave when planned; where they do not, it must be known whose fault it was.

use hoptax_result::{LoadResult, Loop, Severity};

use crate::thresholds::{BLOCKED_SHARE, OWN_LAG_FAIL_US, OWN_LAG_WARN_US};
use crate::{Check, Measured, finding, severity_above};

/// The generator's own lateness.
pub(super) const SEND_LAG: Check<LoadResult> = Check {
    id: "send-lag",
    protects_from: "a late generator whose delay is taken for the subject's",
    source: "Treadmill (ISCA 2016) and wrk2's admitted millisecond",
    judge: |result| {
        let (Loop::Open, Some(lag_us)) = (result.plan.loop_, result.latency.own_lag.p99_us) else {
            return Vec::new();
        };
        severity_above(lag_us, OWN_LAG_WARN_US, OWN_LAG_FAIL_US)
            .map(|(severity, threshold)| {
                finding(
                    "send-lag",
                    severity,
                    Measured::us(lag_us, threshold),
                    format!(
                        "the generator sent late: 1 request in 100 left more than {lag_us:.0} us after its planned \
                         time although a connection was free"
                    ),
                    "give the generator a core of its own, use more workers, or lower the rate",
                )
            })
            .into_iter()
            .collect()
    },
    withhold: None,
};

/// Waiting for a connection is the pool's share of the response time.
pub(super) const CONNECTIONS_BUSY: Check<LoadResult> = Check {
    id: "connections-busy",
    protects_from: "a pool that is too small being taken for a subject that is too slow",
    source: "van der Schaaf, ServiceMeshCon EU 2021: results with significant blocking are invalid",
    judge: |result| {
        let book = &result.book;
        let share = if book.sent == 0 { 0.0 } else { book.blocked as f64 / book.sent as f64 };
        if share <= BLOCKED_SHARE {
            return Vec::new();
        }
        vec![finding(
            "connections-busy",
            Severity::Warn,
            Measured::percent(share, BLOCKED_SHARE),
            format!(
                "{:.1} % of the requests waited for one of the {} connections; response time counts that wait, \
                 service time does not",
                share * 100.0,
                result.plan.connections
            ),
            "raise the connections if users would not wait for one another",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Loop, Severity};

    use crate::load::tests::fired;

    #[test]
    fn a_late_generator_fires() {
        let late = |lag_us: f64| fired("send-lag", |result| result.latency.own_lag.p99_us = Some(lag_us)).0;
        assert_eq!(late(199.0), None);
        assert_eq!(late(201.0), Some(Severity::Warn));
        assert_eq!(late(2_001.0), Some(Severity::Fail));
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
