//! When a request without a response ends, and how many times one that fails is tried.
//!
//! Envoy tries again after the time of a try with `5xx`, `gateway-error` and `reset` alone (`RetryStateImpl::wouldRetryFromReset`).

use crate::file::{BackOffSection, Duration};
use crate::plan::{Cluster, Listener, Retry, Route};

use super::{About, Answer, LONGEST_WAIT_US, Promise, Trial};

/// The time without a byte after which Envoy ends a request by default, microseconds.
const IDLE_US: u64 = 300_000_000;
/// Envoy's time before the first retry is at most this, microseconds, and then grows tenfold at most.
const BACK_OFF_US: u64 = 25_000;
/// How a server fails for each condition of retries, the most usual first.
const FAILURES: [(&str, Answer); 9] = [
    ("5xx", Answer::Failure(503, None)),
    ("gateway-error", Answer::Failure(503, None)),
    ("retriable-4xx", Answer::Failure(409, None)),
    ("reset", Answer::Close),
    ("envoy-ratelimited", Answer::Failure(429, Some(("x-envoy-ratelimited", "true")))),
    ("unavailable", Answer::Failure(200, Some(("grpc-status", "14")))),
    ("internal", Answer::Failure(200, Some(("grpc-status", "13")))),
    ("resource-exhausted", Answer::Failure(200, Some(("grpc-status", "8")))),
    ("deadline-exceeded", Answer::Failure(200, Some(("grpc-status", "4")))),
];

/// The promise about the time of a request.
pub(super) fn timeout(listener: &Listener, route: &Route) -> Promise {
    let timeout = route.timeout;
    let (mut from_us, mut to_us) = (timeout.us, timeout.us);
    let mut said = format!("a request ends after {}", timeout.in_seconds());
    if let Some(retry) = &listener.retry {
        let per_try = retry.per_try(timeout);
        let is_tried_again = ["5xx", "gateway-error", "reset"].iter().any(|one| has(retry, one));
        let tries = if is_tried_again { u64::from(retry.retries) + 1 } else { 1 };
        from_us = (per_try.us * tries).min(timeout.us);
        to_us = if is_tried_again { (from_us + back_offs_us(retry)).min(timeout.us) } else { from_us };
        said = format!("{said}, a try after {}", per_try.in_seconds());
    }
    let idle_us = listener.idle_timeout.map_or(IDLE_US.max(timeout.us), |idle| idle.us);
    (from_us, to_us) = (from_us.min(idle_us), to_us.min(idle_us));
    if from_us == idle_us && idle_us < timeout.us {
        said = format!("{said}, without a byte after {}", Duration { us: idle_us }.in_seconds());
    }
    let trial = if to_us > LONGEST_WAIT_US {
        Err(format!(
            "{} is longer than the {} that a check waits",
            Duration { us: to_us }.in_seconds(),
            Duration { us: LONGEST_WAIT_US }.in_seconds()
        ))
    } else {
        Ok(Trial::Silence(from_us..=to_us))
    };
    Promise { about: About::Timeout, said, trial }
}

/// The promise about the number of tries.
pub(super) fn tries(listener: &Listener, route: &Route, cluster: &Cluster) -> Promise {
    let about = About::Tries;
    let Some(retry) = &listener.retry else {
        let trial = Trial::Failure { answer: Answer::Failure(503, None), tries: 1 };
        return Promise { about, said: "a request that fails is tried once".to_owned(), trial: Ok(trial) };
    };
    let tries = retry.retries + 1;
    let said = format!("a request that fails by `{}` is tried {tries} times", retry.conditions);
    let listed =
        FAILURES.iter().find(|(condition, _)| has(retry, condition)).map(|(_, answer)| answer.clone());
    let by_status = retry.status_codes.iter().find(|code| **code >= 200);
    let by_status = by_status.filter(|_| has(retry, "retriable-status-codes"));
    let answer = by_status.map(|status| Answer::Failure(*status, None)).or(listed);
    let budget = &cluster.options.retry_budget;
    let trial = match answer {
        None => Err(format!("no response of a server is a failure by `{}`", retry.conditions)),
        Some(_) if budget.min_retry_concurrency == 0 && budget.budget_percent < 100 => {
            Err("`retry_budget` admits no retry of a single request".to_owned())
        }
        // Half of the time is for the tries themselves on a slow machine.
        Some(_) if back_offs_us(retry) > route.timeout.us / 2 => {
            Err(format!("`timeout` may end before {tries} tries with the times between them"))
        }
        Some(answer) => Ok(Trial::Failure { answer, tries }),
    };
    Promise { about, said, trial }
}

fn has(retry: &Retry, condition: &str) -> bool {
    retry.conditions.split(',').any(|one| one == condition)
}

/// The longest time between all tries together, microseconds.
fn back_offs_us(retry: &Retry) -> u64 {
    let (base_us, most_us) = match &retry.back_off {
        None => (BACK_OFF_US, 10 * BACK_OFF_US),
        Some(BackOffSection { base_interval, max_interval }) => {
            (base_interval.us, max_interval.map_or(10 * base_interval.us, |most| most.us))
        }
    };
    (0..retry.retries).map(|number| base_us.saturating_mul(1 << number.min(30)).min(most_us)).sum()
}
