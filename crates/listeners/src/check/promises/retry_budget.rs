//! Promise of `retry_budget`: it permits a certain number of concurrent retries, and no more.
//!
//! Envoy compares the number of active retries with `min_retry_concurrency`, or with the share of active requests if that is larger
//! (`ResourceManagerImpl::RetryBudgetImpl`). It is unspecified if a request whose first try has just failed is one of the active requests,
//! so the trial has a number of other requests in flight for which both cases give the same limit.

use hoptax_result::{PromiseKind, counted, grouped};

use super::{Subject, tries};
use crate::check::{Answer, Course, Judged, Procedure, Promise, Retries, Seen, Trial};
use crate::file::BudgetSection;

/// Number of requests beyond the budget.
const REFUSED: u32 = 2;
/// Maximum number of requests in flight, and of the retries among them.
const MOST_REQUESTS: u32 = 2000;
const MOST_RETRIES: u32 = 200;

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    let retry = subject.listener.retry.as_ref().filter(|_| subject.is_of_retries)?;
    let budget = &subject.cluster.options.retry_budget;
    let failure = tries::failures(retry).into_iter().next().map(|(_, failure)| failure);
    let numbers = failure.ok_or_else(|| "no response of a server meets `retry_on`".to_owned());
    let trial = numbers.and_then(|failure| retries(subject, budget, failure));
    let said = match &trial {
        Ok(Retries { beside, again, .. }) => {
            let beside = counted(u64::from(*beside), "request");
            format!("beside {beside} without a response, {again} are retried at a time")
        }
        Err(_) => format!(
            "{} % of the requests are retried at a time, or {}",
            budget.budget_percent, budget.min_retry_concurrency
        ),
    };
    let trial = trial.map(|retries| Box::new(Budget(retries)) as Box<dyn Trial>);
    Some(Promise { about: PromiseKind::RetryBudget, said, trial })
}

/// A trial in which the share admits more retries than `min_retry_concurrency`, so that both numbers matter; or the reason why there is
/// none.
fn retries(subject: &Subject<'_>, budget: &BudgetSection, failure: Answer) -> Result<Retries, String> {
    if subject.share < 100 {
        return Err("too few requests belong to a share".to_owned());
    }
    if let Some(why) = subject.other_connections() {
        return Err(why);
    }
    // Each retry is an active request itself, so at 50 % or more, each admitted retry admits at least one more.
    if budget.budget_percent >= 50 {
        return Err(
            "at a `budget_percent` of 50 or more, the retries themselves raise the number that is admitted"
                .to_owned(),
        );
    }
    let limits = &subject.cluster.options.circuit_breakers;
    let room = limits.max_connections.min(limits.max_requests).min(subject.plan.connection_limit / 2);
    let all = if budget.min_retry_concurrency > MOST_RETRIES { 0 } else { MOST_REQUESTS };
    let found = (0..all).find_map(|beside| {
        let again = admitted(budget, beside, 0);
        (again > budget.min_retry_concurrency && again == admitted(budget, beside, 1))
            .then_some((beside, again))
    });
    let (beside, again) = found.ok_or("it needs more requests at a time than a check sends")?;
    if beside + again >= room.min(MOST_REQUESTS) {
        let all = grouped(f64::from(beside + again), 0);
        return Err(format!("it needs {all} requests in flight, but other limits admit fewer"));
    }
    if limits.max_pending_requests == 0 {
        return Err("`max_pending_requests` of 0 opens no connection".to_owned());
    }
    Ok(Retries { failure, beside, again, refused: REFUSED })
}

/// The number of sequential retries that are admitted beside `beside` unanswered requests, if `own` requests whose first try has failed are
/// active.
fn admitted(budget: &BudgetSection, beside: u32, own: u32) -> u32 {
    let most = |again: u32| {
        let share = f64::from(budget.budget_percent) / 100.0 * f64::from(beside + again + own);
        (share as u32).max(budget.min_retry_concurrency)
    };
    (0..MOST_REQUESTS).find(|again| *again >= most(*again)).unwrap_or(MOST_REQUESTS)
}

/// Tries the number of concurrent retries.
#[derive(Debug)]
struct Budget(Retries);

impl Trial for Budget {
    fn procedure(&self) -> Procedure {
        Procedure::Retries(self.0.clone())
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let Retries { beside, again, refused, .. } = self.0;
        let ended: u32 = seen.statuses.values().sum();
        let number = |of: u32| grouped(f64::from(of), 0);
        let words = format!("{}, {} are not retried", number(seen.again), number(ended));
        if let Some(Err(why)) = &seen.response {
            return Judged::Untried(format!("{why}; {words}"));
        }
        // The expected arrivals are the other requests, two tries of each retried request, and one of each refused one.
        if seen.overloaded > 0 || seen.arrivals.iter().any(|arrival| arrival.cluster != course.cluster) {
            return Judged::Untried(format!("something else answers; {words}"));
        }
        let expected = beside + 2 * again + refused;
        match (seen.again, ended) {
            (own, others)
                if (own, others) == (again, refused) && seen.arrivals.len() == expected as usize =>
            {
                Judged::Kept(words)
            }
            (own, _) if own > again => Judged::broken(words),
            _ if course.has_functions => Judged::Untried(words),
            _ => Judged::retryable(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, procedure, seen};
    use super::*;

    fn found(keys: &str) -> Result<(u32, u32), String> {
        let keys = format!("timeout: 9s, retry: {{retry_on: 5xx}}, {keys}");
        procedure(PromiseKind::RetryBudget, &keys).map(|one| match one {
            Procedure::Retries(retries) => (retries.beside, retries.again),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn both_numbers_of_a_budget_count() {
        // 20 % of 17 + 3 are four, and of 17 + 4 not five.
        assert_eq!(found(""), Ok((17, 4)));
        let budget = |percent, min| {
            found(&format!("retry_budget: {{budget_percent: {percent}, min_retry_concurrency: {min}}}, "))
        };
        // 25 % of 4 + 0 are one, and of 4 + 1 not two.
        assert_eq!(budget(25, 0), Ok((4, 1)));
        let (beside, again) = budget(40, 5).unwrap();
        assert!(again > 5 && beside + again < 20, "{beside} {again}");
        assert!(budget(100, 5).unwrap_err().contains("the retries themselves"));
        assert!(budget(1, 100).unwrap_err().contains("more requests at a time"));
        assert!(budget(40, 10_000).unwrap_err().contains("more requests at a time"));
    }

    #[test]
    fn what_other_limits_leave_no_room_for_is_not_tried() {
        assert!(found("circuit_breakers: {max_requests: 10}, ").unwrap_err().contains("other limits"));
        assert!(found("circuit_breakers: {max_pending_requests: 0}, ").unwrap_err().contains("of 0"));
        assert!(found("http2: true, ").unwrap_err().contains("HTTP/2"));
        let split = "split: {percentage: 10, upstream: {address: b.example, port: 80}}, ";
        assert!(found(split).unwrap_err().contains("share"));
    }

    #[test]
    fn retries_are_neither_more_nor_fewer() {
        let budget = Budget(Retries { failure: Answer::Close, beside: 17, again: 4, refused: 2 });
        let judged = |again: u32, ended: u32| {
            let arrivals = 17 + 2 * again + ended;
            let statuses = [(503, ended)].into();
            budget.judge(
                &course(),
                &Seen { again, statuses, response: None, ..seen(503, 1, arrivals as usize) },
            )
        };
        assert!(matches!(judged(4, 2), Judged::Kept(_)));
        assert!(matches!(judged(5, 1), Judged::Broken { is_retryable: false, .. }));
        assert!(matches!(judged(3, 3), Judged::Broken { .. }));
        assert!(matches!(judged(4, 0), Judged::Broken { .. }));
    }
}
