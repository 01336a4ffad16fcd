//! Promise that a failed request is tried as often as the file states, and no more, for each retry condition that a response can trigger.

use std::fmt;

use hoptax_result::PromiseKind;

use super::Subject;
use crate::check::{Answer, Course, Judged, Procedure, Promise, Seen, Trial};
use crate::file::BackOffSection;
use crate::plan::Retry;

/// Maximum of Envoy's backoff before the first retry, microseconds. It grows at most tenfold.
const BACK_OFF_US: u64 = 25_000;
/// The condition for the statuses that the file lists.
const BY_STATUS: &str = "retriable-status-codes";
/// For each other condition that a response can trigger, an answer that triggers it.
const FAILURES: [(&str, Answer); 9] = [
    ("5xx", Answer::Failure(503, None)),
    ("gateway-error", Answer::Failure(502, None)),
    ("retriable-4xx", Answer::Failure(409, None)),
    ("reset", Answer::Close),
    ("envoy-ratelimited", Answer::Failure(429, Some(("x-envoy-ratelimited", "true")))),
    ("unavailable", Answer::Failure(200, Some(("grpc-status", "14")))),
    ("internal", Answer::Failure(200, Some(("grpc-status", "13")))),
    ("resource-exhausted", Answer::Failure(200, Some(("grpc-status", "8")))),
    ("deadline-exceeded", Answer::Failure(200, Some(("grpc-status", "4")))),
];

pub(super) fn promises(subject: &Subject<'_>) -> Vec<Promise> {
    let about = PromiseKind::Tries;
    let Some(retry) = &subject.listener.retry else {
        let trial = Failure { answer: Answer::Failure(503, None), tries: 1 };
        let said = format!("a request that gets {} is tried once", DisplayAnswer(&trial.answer));
        return vec![Promise::new(about, said, None, trial)];
    };
    let tries = retry.retries + 1;
    let obstacle = obstacle(subject, retry);
    let mut promises: Vec<Promise> = failures(retry)
        .into_iter()
        .map(|(condition, answer)| {
            let said = format!(
                "a request that gets {} (`{condition}`) is tried {tries} times",
                DisplayAnswer(&answer)
            );
            Promise::new(about, said, obstacle.clone(), Failure { answer, tries })
        })
        .collect();
    let conditions = retry.conditions.iter().map(String::as_str);
    let others: Vec<&str> = conditions.filter(|one| failure(retry, one).is_none()).collect();
    if !others.is_empty() {
        let others = others.join("`, `");
        let said = format!("a request that fails with `{others}` is tried {tries} times");
        let trial = Err(format!("no response of a server causes `{others}`"));
        promises.push(Promise { about, said, trial });
    }
    promises
}

/// The retry conditions that a response can trigger, each with such an answer.
pub(super) fn failures(retry: &Retry) -> Vec<(&str, Answer)> {
    retry.conditions.iter().filter_map(|one| Some((one.as_str(), failure(retry, one)?))).collect()
}

/// Returns an answer that triggers a condition; none if no response does.
fn failure(retry: &Retry, condition: &str) -> Option<Answer> {
    if condition == BY_STATUS {
        let status = retry.status_codes.iter().find(|code| **code >= 200)?;
        return Some(Answer::Failure(*status, None));
    }
    FAILURES.iter().find(|(one, _)| *one == condition).map(|(_, answer)| answer.clone())
}

/// Returns the reason why the tries of a request cannot be counted; none if they can.
pub(super) fn obstacle(subject: &Subject<'_>, retry: &Retry) -> Option<String> {
    let budget = &subject.cluster.options.retry_budget;
    if budget.min_retry_concurrency == 0 && budget.budget_percent < 100 {
        return Some("`retry_budget` admits no retry of a single request".to_owned());
    }
    // Leave half of the time for the tries themselves on a slow machine.
    (back_offs_us(retry) > subject.route.timeout.us / 2).then(|| {
        let tries = retry.retries + 1;
        format!("`timeout` may end before {tries} tries and the pauses between them")
    })
}

/// A server's answer as text.
struct DisplayAnswer<'a>(&'a Answer);

impl fmt::Display for DisplayAnswer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Answer::Failure(status, None) => write!(formatter, "status {status}"),
            Answer::Failure(_, Some((name, value))) => write!(formatter, "`{name}: {value}`"),
            _ => formatter.write_str("a closed connection"),
        }
    }
}

/// The longest total backoff, microseconds.
pub(super) fn back_offs_us(retry: &Retry) -> u64 {
    let (base_us, most_us) = match &retry.back_off {
        None => (BACK_OFF_US, 10 * BACK_OFF_US),
        Some(BackOffSection { base_interval, max_interval }) => {
            (base_interval.us, max_interval.map_or(10 * base_interval.us, |most| most.us))
        }
    };
    (0..retry.retries).map(|number| base_us.saturating_mul(1 << number.min(30)).min(most_us)).sum()
}

/// The server fails, and gets the request this many times.
#[derive(Debug)]
struct Failure {
    answer: Answer,
    tries: u32,
}

impl Trial for Failure {
    fn procedure(&self) -> Procedure {
        Procedure::Request { answer: self.answer.clone(), waits_us: 0 }
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        let tries = seen.arrivals.len();
        let words = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
        let promised = usize::try_from(self.tries).unwrap_or(usize::MAX);
        match tries.cmp(&promised) {
            std::cmp::Ordering::Equal => Judged::Kept(words),
            std::cmp::Ordering::Less => Judged::retryable(words),
            std::cmp::Ordering::Greater => Judged::broken(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{is_kept, promises, seen};
    use super::*;

    #[test]
    fn tries_are_neither_more_nor_fewer() {
        let trial = Failure { answer: Answer::Close, tries: 3 };
        assert_eq!([2, 3, 4].map(|tries| is_kept(&trial, &seen(503, 1, tries))), [false, true, false]);
    }

    #[test]
    fn each_condition_is_tried_as_it_is_said_and_what_no_response_shows_is_not() {
        let said = |keys: &str| {
            let tries = promises(PromiseKind::Tries, &format!("timeout: 9s, {keys}"));
            tries.into_iter().map(|one| (one.said, one.trial.is_ok())).collect::<Vec<_>>()
        };
        let all = |expected: &[(&str, bool)]| {
            expected.iter().map(|(said, is_tried)| ((*said).to_owned(), *is_tried)).collect::<Vec<_>>()
        };
        assert_eq!(said(""), all(&[("a request that gets status 503 is tried once", true)]));
        let retry = "retry: {retry_on: 'connect-failure,5xx,reset,unavailable,retriable-status-codes,refused-stream', \
            num_retries: 2, retriable_status_codes: [404]}, ";
        assert_eq!(
            said(retry),
            all(&[
                ("a request that gets status 503 (`5xx`) is tried 3 times", true),
                ("a request that gets a closed connection (`reset`) is tried 3 times", true),
                ("a request that gets `grpc-status: 14` (`unavailable`) is tried 3 times", true),
                ("a request that gets status 404 (`retriable-status-codes`) is tried 3 times", true),
                ("a request that fails with `connect-failure`, `refused-stream` is tried 3 times", false),
            ])
        );
        let without = "retry_budget: {min_retry_concurrency: 0}, retry: {retry_on: 5xx}, ";
        assert_eq!(said(without).first().map(|(_, is_tried)| *is_tried), Some(false));
    }
}
