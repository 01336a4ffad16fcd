//! A request that fails is tried as often as the file says, and no more.

use hoptax_result::PromiseKind;

use super::{Subject, has};
use crate::check::{Answer, Course, Judged, Procedure, Promise, Seen, Trial};
use crate::file::BackOffSection;
use crate::plan::Retry;

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

pub(super) fn promise(subject: &Subject<'_>) -> Promise {
    let about = PromiseKind::Tries;
    let Some(retry) = &subject.listener.retry else {
        let trial = Failure { answer: Answer::Failure(503, None), tries: 1 };
        let said = "a request that fails is tried once".to_owned();
        return Promise { about, said, trial: Ok(Box::new(trial)) };
    };
    let tries = retry.retries + 1;
    let said = format!("a request that fails by `{}` is tried {tries} times", retry.conditions);
    let listed =
        FAILURES.iter().find(|(condition, _)| has(retry, condition)).map(|(_, answer)| answer.clone());
    let by_status = retry.status_codes.iter().find(|code| **code >= 200);
    let by_status = by_status.filter(|_| has(retry, "retriable-status-codes"));
    let answer = by_status.map(|status| Answer::Failure(*status, None)).or(listed);
    let budget = &subject.cluster.options.retry_budget;
    let trial: Result<Box<dyn Trial>, String> = match answer {
        None => Err(format!("no response of a server is a failure by `{}`", retry.conditions)),
        Some(_) if budget.min_retry_concurrency == 0 && budget.budget_percent < 100 => {
            Err("`retry_budget` admits no retry of a single request".to_owned())
        }
        // Half of the time is for the tries themselves on a slow machine.
        Some(_) if back_offs_us(retry) > subject.route.timeout.us / 2 => {
            Err(format!("`timeout` may end before {tries} tries with the times between them"))
        }
        Some(answer) => Ok(Box::new(Failure { answer, tries })),
    };
    Promise { about, said, trial }
}

/// The longest time between all tries together, microseconds.
pub(super) fn back_offs_us(retry: &Retry) -> u64 {
    let (base_us, most_us) = match &retry.back_off {
        None => (BACK_OFF_US, 10 * BACK_OFF_US),
        Some(BackOffSection { base_interval, max_interval }) => {
            (base_interval.us, max_interval.map_or(10 * base_interval.us, |most| most.us))
        }
    };
    (0..retry.retries).map(|number| base_us.saturating_mul(1 << number.min(30)).min(most_us)).sum()
}

/// The server fails, and gets the request so many times.
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
            std::cmp::Ordering::Less => Judged::excusable(words),
            std::cmp::Ordering::Greater => Judged::broken(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{is_kept, seen};
    use super::*;

    #[test]
    fn tries_are_neither_more_nor_fewer() {
        let trial = Failure { answer: Answer::Close, tries: 3 };
        assert_eq!([2, 3, 4].map(|tries| is_kept(&trial, &seen(503, 1, tries))), [false, true, false]);
    }
}
