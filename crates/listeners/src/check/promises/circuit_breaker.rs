//! Promise of circuit breakers: they permit a certain number of requests in flight to an upstream, and refuse further ones.
//!
//! Each worker may open one connection regardless of the limits, which all workers share, so the promise is tried with one worker. Over
//! HTTP/1.1, each request needs a connection, so the smaller of `max_connections` and `max_requests` is the number that arrives. If
//! connections are the limit, `max_pending_requests` more requests wait; if requests are the limit, none waits. Envoy opens one connection
//! regardless of the limits (`ConnPoolImplBase::tryCreateNewConnection`), and can open any connection only if there is room for a pending
//! request (`newStreamImpl`).
//!
//! The proxy has longer request timeouts than the file, so that the first requests are still in flight when the last one is sent.

use hoptax_result::{PromiseKind, counted, grouped};

use super::Subject;
use crate::check::{Course, Crowd, Judged, Procedure, Promise, Seen, Trial};

/// Number of requests beyond the limit.
const REFUSED: u32 = 3;
/// Maximum number of requests in flight. Envoy's own defaults need 2,051.
const MOST_REQUESTS: u32 = 3000;
/// Maximum number of requests to send until enough of them are routed to a traffic share.
const MOST_SENT: u32 = 10_000;

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    if !subject.is_of_cluster {
        return None;
    }
    let limits = &subject.cluster.options.circuit_breakers;
    let arriving = limits.max_connections.max(1).min(limits.max_requests);
    let waiting = if limits.max_connections <= limits.max_requests { limits.max_pending_requests } else { 0 };
    let crowd = Crowd { arriving, waiting, refused: REFUSED };
    let wait = if waiting == 0 { String::new() } else { format!(", {} more wait", number(waiting)) };
    let verb = if arriving == 1 { "is" } else { "are" };
    let requests = counted(u64::from(arriving), "request");
    let said = format!(
        "{requests} {verb} in flight at a time{wait}, and others get status 503 with `x-envoy-overloaded`, with one worker"
    );
    let obstacle = subject.other_connections().or_else(|| obstacle(subject, &crowd));
    Some(Promise::new(PromiseKind::CircuitBreaker, said, obstacle, Limits(crowd)))
}

/// Returns the reason why this number of requests cannot be sent; none if it can.
fn obstacle(subject: &Subject<'_>, crowd: &Crowd) -> Option<String> {
    let all = crowd.all();
    if all > MOST_REQUESTS {
        let (all, most) = (number(all), number(MOST_REQUESTS));
        return Some(format!("{all} requests at a time are more than the {most} that a check sends"));
    }
    if all >= subject.plan.connection_limit {
        return Some(format!(
            "`connection_limit` of {} is reached first",
            number(subject.plan.connection_limit)
        ));
    }
    let is_too_rare = u64::from(all) * 100 > u64::from(MOST_SENT) * u64::from(subject.share);
    is_too_rare.then(|| {
        let (share, sent, all) = (subject.share, number(MOST_SENT), number(all));
        format!("{share} % of {sent} requests are fewer than the {all} that it needs")
    })
}

fn number(of: u32) -> String {
    grouped(f64::from(of), 0)
}

/// Tries the numbers of requests that arrive, wait and are refused.
#[derive(Debug)]
struct Limits(Crowd);

impl Trial for Limits {
    fn procedure(&self) -> Procedure {
        Procedure::Crowd(self.0)
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let Crowd { arriving, waiting, refused, .. } = self.0;
        let arrived = seen.arrivals.iter().filter(|arrival| arrival.cluster == course.cluster).count();
        let arrived = u32::try_from(arrived).unwrap_or(u32::MAX);
        let overflowed = seen.statuses.get(&503).copied().unwrap_or_default();
        let waits = self.0.all().saturating_sub(arrived).saturating_sub(overflowed);
        let words = format!(
            "{} at a time, {} wait, {} get status 503",
            number(arrived),
            number(waits),
            number(overflowed)
        );
        if let Some((status, _)) = seen.statuses.iter().find(|(status, _)| **status != 503) {
            let what = if *status == 504 {
                "requests ended before the last was sent"
            } else {
                "something else answers"
            };
            return Judged::Untried(format!("{what}: status {status}; {words}"));
        }
        if let Some(Err(why)) = &seen.response {
            return Judged::Untried(format!("a request could not be sent: {why}; {words}"));
        }
        if seen.overloaded < overflowed {
            let others = number(overflowed - seen.overloaded);
            let words = format!("{words}, {others} of them without `x-envoy-overloaded`");
            return if course.has_functions { Judged::Untried(words) } else { Judged::retryable(words) };
        }
        if (arrived, waits, overflowed) == (arriving, waiting, refused) {
            Judged::Kept(words)
        } else {
            Judged::retryable(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::sample::{course, procedure, seen};
    use super::*;

    fn crowd(limits: &str) -> (u32, u32) {
        let keys = format!("timeout: 30s, circuit_breakers: {{{limits}}}");
        match procedure(PromiseKind::CircuitBreaker, &keys) {
            Ok(Procedure::Crowd(crowd)) => (crowd.arriving, crowd.waiting),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_least_limit_counts_and_requests_wait_for_connections_only() {
        assert_eq!(crowd("max_connections: 5, max_pending_requests: 3"), (5, 3));
        assert_eq!(crowd("max_connections: 5, max_pending_requests: 3, max_requests: 4"), (4, 0));
        assert_eq!(crowd("max_connections: 0, max_pending_requests: 3"), (1, 3));
        assert_eq!(crowd(""), (1024, 1024));
    }

    #[test]
    fn what_cannot_be_sent_is_not_tried() {
        let why = |keys: &str| procedure(PromiseKind::CircuitBreaker, keys).unwrap_err();
        assert!(
            why("timeout: 1s, split: {percentage: 10, upstream: {address: b.example, port: 80}}")
                .contains("10 % of 10,000")
        );
        let many = "timeout: 60s, circuit_breakers: {max_connections: 4000, max_requests: 4000}";
        assert!(why(many).contains("5,027 requests at a time are more than the 3,000"));
        // One connection has many requests of HTTP/2.
        assert!(why("timeout: 1s, http2: true").contains("speaks HTTP/2"));
    }

    #[test]
    fn limits_hold_exactly() {
        let limits = Limits(Crowd { arriving: 5, waiting: 2, refused: 3 });
        let judged = |arrived, statuses: &[(u16, u32)]| {
            let statuses: BTreeMap<u16, u32> = statuses.iter().copied().collect();
            let overloaded = statuses.get(&503).copied().unwrap_or_default();
            limits.judge(&course(), &Seen { response: None, statuses, overloaded, ..seen(503, 1, arrived) })
        };
        assert!(matches!(judged(5, &[(503, 3)]), Judged::Kept(_)));
        for (arrived, refused) in [(6, 3), (4, 3), (5, 4), (5, 2), (10, 0), (0, 0)] {
            let judged = judged(arrived, &[(503, refused)]);
            assert!(matches!(judged, Judged::Broken { .. }), "{arrived} {refused}: {judged:?}");
        }
        assert!(matches!(judged(5, &[(503, 3), (504, 1)]), Judged::Untried(_)));
        assert!(matches!(judged(5, &[(429, 3)]), Judged::Untried(_)));
    }

    #[test]
    fn a_refusal_for_another_reason_is_none() {
        let limits = Limits(Crowd { arriving: 5, waiting: 2, refused: 3 });
        let some = Seen { response: None, statuses: [(503, 3)].into(), overloaded: 2, ..seen(503, 1, 5) };
        let judged = limits.judge(&course(), &some);
        assert!(matches!(judged, Judged::Broken { .. }), "{judged:?}");
        let with_functions = Course { has_functions: true, ..course() };
        assert!(matches!(limits.judge(&with_functions, &some), Judged::Untried(_)));
        assert!(matches!(limits.judge(&course(), &Seen { overloaded: 3, ..some }), Judged::Kept(_)));
    }
}
