//! Promise that a request without a response ends at its timeout.
//!
//! After the timeout of a try, Envoy retries only under `5xx`, `gateway-error` and `reset` (`RetryStateImpl::wouldRetryFromReset`).

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use hoptax_result::PromiseKind;

use super::{Subject, compared, has, seconds, too_long, tries};
use crate::check::{Answer, Course, Judged, Procedure, Promise, Seen, Trial};
use crate::file::Duration;

pub(super) fn promise(subject: &Subject<'_>) -> Promise {
    let timeout = subject.route.timeout;
    let (mut from_us, mut to_us) = (timeout.us, timeout.us);
    let mut said = format!("a request ends after {}", timeout.in_seconds());
    if let Some(retry) = &subject.listener.retry {
        let per_try = retry.per_try(timeout);
        let is_tried_again = ["5xx", "gateway-error", "reset"].iter().any(|one| has(retry, one));
        let tries = if is_tried_again { u64::from(retry.retries) + 1 } else { 1 };
        from_us = (per_try.us * tries).min(timeout.us);
        to_us = if is_tried_again { (from_us + tries::back_offs_us(retry)).min(timeout.us) } else { from_us };
        said = format!("{said}, a try after {}", per_try.in_seconds());
    }
    let idle_us = subject.idle_us();
    (from_us, to_us) = (from_us.min(idle_us), to_us.min(idle_us));
    if from_us == idle_us && idle_us < timeout.us {
        said = format!("{said}, without a byte after {}", Duration { us: idle_us }.in_seconds());
    }
    Promise::new(PromiseKind::Timeout, said, too_long(to_us), SilentServer(from_us..=to_us))
}

/// The server does not answer, and the request ends with status 504 within this time, microseconds.
#[derive(Debug)]
struct SilentServer(RangeInclusive<u64>);

impl Trial for SilentServer {
    fn procedure(&self) -> Procedure {
        Procedure::Request { answer: Answer::Silence, waits_us: *self.0.end() }
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        let words = format!("{} after {}", seen.response(), seconds(seen.took_us));
        if seen.arrivals.is_empty() {
            return Judged::retryable(format!("{words}, and nothing arrives"));
        }
        match compared(seen.took_us, &self.0) {
            Ordering::Equal if seen.response == Some(Ok(504)) => {
                Judged::Kept(format!("{}, status 504", seconds(seen.took_us)))
            }
            Ordering::Greater => Judged::retryable(words),
            _ => Judged::broken(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{is_kept, procedure, seen};
    use super::*;

    #[test]
    fn a_timeout_is_neither_early_nor_late_nor_another_status() {
        let trial = SilentServer(1_000_000..=2_000_000);
        for took_us in [995_000, 1_500_000, 2_090_000] {
            assert!(is_kept(&trial, &seen(504, took_us, 1)), "{took_us}");
        }
        assert!(!is_kept(&trial, &seen(504, 980_000, 1)));
        assert!(!is_kept(&trial, &seen(504, 2_200_000, 1)));
        assert!(!is_kept(&trial, &seen(503, 1_500_000, 1)));
        assert!(!is_kept(&trial, &seen(504, 1_500_000, 0)));
    }

    #[test]
    fn what_ends_a_request_first_is_waited_for() {
        let waits = |keys: &str| procedure(PromiseKind::Timeout, keys).map(|one| one.waits_us());
        assert_eq!(waits("timeout: 2s"), Ok(2_000_000));
        assert_eq!(waits("timeout: 600s, idle_timeout: 3s"), Ok(3_000_000));
        assert!(waits("timeout: 600s").unwrap_err().contains("600s is longer than the 90s"));
        // One try: its time is not one after which Envoy tries again.
        assert_eq!(waits("timeout: 9s, retry: {retry_on: connect-failure, num_retries: 2}"), Ok(3_000_000));
        let with_retries = "timeout: 9s, retry: {retry_on: 5xx, num_retries: 2, per_try_timeout: 1s, \
            retry_back_off: {base_interval: 10ms, max_interval: 10ms}}";
        assert_eq!(waits(with_retries), Ok(3_020_000));
    }
}
