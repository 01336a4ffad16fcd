//! Retries of requests.

use hoptax_text::nearest::hint;

use super::Resolver;
use crate::file::{BackOffSection, Duration, ListenerSection, RetrySection};
use crate::tree::shortened;

/// Envoy's retry conditions for HTTP and gRPC. It silently ignores others.
const CONDITIONS: [&str; 15] = [
    "5xx",
    "cancelled",
    "connect-failure",
    "deadline-exceeded",
    "envoy-ratelimited",
    "gateway-error",
    "http3-post-connect-failure",
    "internal",
    "refused-stream",
    "reset",
    "reset-before-request",
    "resource-exhausted",
    "retriable-4xx",
    "retriable-status-codes",
    "unavailable",
];

/// Conditions and number of retries of requests.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) conditions: Vec<String>,
    pub(crate) retries: u32,
    /// The timeout of each try, if the file states it.
    pub(crate) per_try: Option<Duration>,
    pub(crate) status_codes: Vec<u16>,
    pub(crate) back_off: Option<BackOffSection>,
}

impl Retry {
    /// The timeout of each try of a request with a timeout.
    pub(crate) fn per_try(&self, timeout: Duration) -> Duration {
        self.per_try.unwrap_or_else(|| share(timeout, self.retries))
    }
}

/// An equal share of a timeout for each try. It is rounded to whole milliseconds, if it is at least one.
fn share(timeout: Duration, retries: u32) -> Duration {
    let us = timeout.us / u64::from(retries + 1);
    Duration { us: if us >= 1000 { us / 1000 * 1000 } else { us.max(1) } }
}

impl Resolver<'_> {
    /// The retries of a listener; none if it has none.
    pub(super) fn retry(&mut self, listener: &ListenerSection, path: &str) -> Option<Retry> {
        let (section, path) = match (&listener.retry, &listener.retry_policy) {
            (Some(_), Some(_)) => {
                self.add(
                    &format!("{path}/retry_policy"),
                    "`retry` and `retry_policy` are the same: keep one",
                );
                return None;
            }
            (Some(section), None) => (section, format!("{path}/retry")),
            (None, Some(section)) => (section, format!("{path}/retry_policy")),
            (None, None) => return None,
        };
        let retries = section.num_retries.unwrap_or(1);
        self.check_retry(section, retries, listener.timeout, &path);
        let conditions = section.retry_on.as_deref().filter(|_| retries > 0)?;
        Some(Retry {
            conditions: conditions.split(',').map(|one| one.trim().to_owned()).collect(),
            retries,
            per_try: section.per_try_timeout,
            status_codes: section.retriable_status_codes.iter().map(|code| code.0).collect(),
            back_off: section.retry_back_off.clone(),
        })
    }

    fn check_retry(&mut self, section: &RetrySection, retries: u32, timeout: Duration, path: &str) {
        let conditions: Vec<&str> =
            section.retry_on.as_deref().unwrap_or_default().split(',').map(str::trim).collect();
        if section.retry_on.is_none() && retries > 0 {
            self.add(
                path,
                "nothing is retried without `retry_on`; add it, such as `connect-failure,refused-stream`",
            );
        }
        if section.retry_on.is_some() {
            for condition in conditions.iter().filter(|condition| !CONDITIONS.contains(condition)) {
                let shown = shortened(condition);
                let hint = hint(condition, CONDITIONS);
                let hint = if hint.is_empty() {
                    format!("; Envoy knows `{}`", CONDITIONS.join("`, `"))
                } else {
                    hint
                };
                self.add(
                    &format!("{path}/retry_on"),
                    format!("unknown condition `{shown}`, which Envoy would ignore{hint}"),
                );
            }
        }
        if !section.retriable_status_codes.is_empty() && !conditions.contains(&"retriable-status-codes") {
            let message = "has no effect without `retriable-status-codes` in `retry_on`";
            self.add(&format!("{path}/retriable_status_codes"), message);
        }
        if section.per_try_timeout.is_some_and(|per_try| per_try >= timeout) {
            let message = format!(
                "has no effect: the request ends first, after the `timeout` of its listener, {}; {} gives each try an equal share",
                timeout.in_seconds(),
                share(timeout, retries).in_seconds()
            );
            self.add(&format!("{path}/per_try_timeout"), message);
        }
        if let Some(BackOffSection { base_interval, max_interval: Some(most) }) = &section.retry_back_off
            && most < base_interval
        {
            self.add(&format!("{path}/retry_back_off/max_interval"), "is less than `base_interval`");
        }
    }
}
