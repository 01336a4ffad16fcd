//! Promise that a connection attempt to an upstream is abandoned after `connect_timeout`.
//!
//! The try timeout does not apply, because Envoy starts it when the request is sent. The try is retried under `connect-failure`, and under
//! the conditions that include it (`RetryStateImpl::wouldRetryFromReset`).

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use hoptax_result::PromiseKind;

use super::{Subject, compared, has, latest, seconds, too_long, tries};
use crate::check::{Course, Judged, Procedure, Promise, Seen, Trial};

/// The retry conditions that include a failed connection attempt.
const CONDITIONS: [&str; 5] = ["5xx", "connect-failure", "gateway-error", "reset", "reset-before-request"];
/// Text in Envoy's response.
const REASON: &str = "connection timeout";

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    if !subject.is_of_cluster {
        return None;
    }
    let connect = subject.cluster.options.connect_timeout;
    let retry = subject.listener.retry.as_ref();
    let retry = retry.filter(|retry| CONDITIONS.iter().any(|one| has(retry, one)));
    let tries = retry.map_or(1, |retry| u64::from(retry.retries) + 1);
    let from_us = connect.us.saturating_mul(tries);
    let to_us = from_us.saturating_add(retry.map_or(0, tries::back_offs_us));
    let mut said = format!("a connection that does not open is given up after {}", connect.in_seconds());
    if tries > 1 {
        said = format!("{said}, and tried {tries} times");
    }
    let ends_us = subject.route.timeout.us.min(subject.idle_us());
    // Neither branch of a split gets a connection, and the response does not show which one was chosen.
    let obstacle = (subject.share < 100)
        .then(|| "a check cannot distinguish requests of a share from others".to_owned())
        .or_else(|| tries::obstacle(subject, retry?))
        .or_else(|| (latest(to_us) >= ends_us).then(|| "the request may end first".to_owned()))
        .or_else(|| too_long(to_us));
    Some(Promise::new(PromiseKind::ConnectTimeout, said, obstacle, ConnectGiveUp(from_us..=to_us)))
}

/// No connection opens, and the request ends with status 503 within this time, microseconds.
#[derive(Debug)]
struct ConnectGiveUp(RangeInclusive<u64>);

impl Trial for ConnectGiveUp {
    fn procedure(&self) -> Procedure {
        Procedure::FullBacklog { waits_us: *self.0.end() }
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let words = format!("{} after {}", seen.response(), seconds(seen.took_us));
        if seen.response != Some(Ok(503)) || !seen.reason.contains(REASON) {
            let words = format!("{words}: `{}`", seen.reason);
            return if course.has_functions { Judged::Untried(words) } else { Judged::retryable(words) };
        }
        match compared(seen.took_us, &self.0) {
            Ordering::Equal => Judged::Kept(format!("{}, status 503", seconds(seen.took_us))),
            Ordering::Greater => Judged::retryable(words),
            Ordering::Less => Judged::broken(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, is_kept, procedure, seen};
    use super::*;

    #[test]
    fn a_connection_is_given_up_neither_early_nor_late_nor_for_another_reason() {
        let trial = ConnectGiveUp(250_000..=250_000);
        let with = |took_us| Seen { reason: format!("reset reason: {REASON}"), ..seen(503, took_us, 0) };
        let kept = |took_us| is_kept(&trial, &with(took_us));
        assert_eq!([230_000, 245_000, 250_000, 340_000, 360_000].map(kept), [false, true, true, true, false]);
        assert!(!is_kept(&trial, &seen(503, 250_000, 0)));
        let with_functions = Course { has_functions: true, ..course() };
        assert!(matches!(trial.judge(&with_functions, &seen(403, 1, 0)), Judged::Untried(_)));
    }

    #[test]
    fn each_try_that_opens_no_connection_takes_its_time() {
        let waits = |keys: &str| procedure(PromiseKind::ConnectTimeout, keys).map(|one| one.waits_us());
        assert_eq!(waits("timeout: 2s"), Ok(250_000));
        assert_eq!(waits("timeout: 5s, connect_timeout: 2s"), Ok(2_000_000));
        let retry = "timeout: 5s, retry: {retry_on: CONDITION, num_retries: 2, retry_back_off: {base_interval: 10ms, max_interval: 10ms}}";
        assert_eq!(waits(&retry.replace("CONDITION", "connect-failure")), Ok(770_000));
        assert_eq!(waits(&retry.replace("CONDITION", "retriable-4xx")), Ok(250_000));
        assert!(waits("timeout: 300ms").unwrap_err().contains("may end first"));
        assert!(waits("timeout: 600s, connect_timeout: 100s").unwrap_err().contains("longer than"));
        let split = "timeout: 2s, split: {percentage: 10, upstream: {address: b.example, port: 80}}";
        assert!(waits(split).unwrap_err().contains("cannot distinguish"));
    }
}
