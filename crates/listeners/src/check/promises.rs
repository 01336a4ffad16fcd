//! The promises of a file, one file for each kind: which routes make it, what tries it, and when it is kept.

mod arrival;
mod certificate;
mod circuit_breaker;
mod client;
mod keepalive;
mod local_rate_limit;
mod rate_limit;
mod share;
mod timeout;
mod tries;

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use super::Promise;
use crate::file::Duration;
use crate::plan::{Cluster, Listener, Plan, Retry, Route};

/// The longest time that is waited for, microseconds: what takes longer is not tried.
const LONGEST_WAIT_US: u64 = 90_000_000;
/// The time without a byte after which Envoy ends a request by default, microseconds.
const STREAM_IDLE_US: u64 = 300_000_000;
/// How much earlier than promised something may end, microseconds: Envoy's timers count whole milliseconds from the turn of its loop.
const EARLY_US: u64 = 10_000;
/// How much later it may end, microseconds, and as a share of the time.
const LATE_US: u64 = 100_000;
const LATE_SHARE: u64 = 20;

/// All kinds. The first is tried first: without an arrival nothing else can be.
const ALL: [fn(&Subject<'_>, &str) -> Option<Promise>; 10] = [
    |subject, host| Some(arrival::promise(subject, host)),
    |subject, _| Some(timeout::promise(subject)),
    |subject, _| Some(tries::promise(subject)),
    |subject, _| certificate::promise(subject),
    |subject, _| client::promise(subject),
    |subject, _| share::promise(subject),
    |subject, _| circuit_breaker::promise(subject),
    |subject, _| keepalive::promise(subject),
    |subject, _| rate_limit::promise(subject),
    |subject, _| local_rate_limit::promise(subject),
];

/// A route, with what a promise may be about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'p> {
    pub(super) plan: &'p Plan,
    pub(super) listener: &'p Listener,
    pub(super) route: &'p Route,
    pub(super) cluster: &'p Cluster,
    /// The share of its requests that it gets, percent.
    pub(super) share: u8,
    /// Whether promises of the listener are tried by it.
    pub(super) is_of_listener: bool,
    /// Whether promises of the cluster are tried by it.
    pub(super) is_of_cluster: bool,
}

/// All promises about a route, whose requests have this Host header.
pub(super) fn all(subject: &Subject<'_>, host: &str) -> Vec<Promise> {
    ALL.iter().filter_map(|promise| promise(subject, host)).collect()
}

impl Subject<'_> {
    /// The time after which a try that gets no response ends, microseconds.
    pub(super) fn ends_us(&self) -> u64 {
        let timeout = self.route.timeout;
        let per_try = self.listener.retry.as_ref().map_or(timeout, |retry| retry.per_try(timeout));
        per_try.us.min(timeout.us).min(self.idle_us())
    }

    /// The time without a byte after which a request ends, microseconds.
    fn idle_us(&self) -> u64 {
        let usual_us = STREAM_IDLE_US.max(self.route.timeout.us);
        self.listener.idle_timeout.map_or(usual_us, |idle| idle.us)
    }
}

/// Whether requests are tried again by a condition.
fn has(retry: &Retry, condition: &str) -> bool {
    retry.conditions.split(',').any(|one| one == condition)
}

/// Whether a time is below what is promised, or above it by more than a busy machine explains.
fn compared(took_us: u64, promised: &RangeInclusive<u64>) -> Ordering {
    let latest = promised.end() + LATE_US.max(promised.end() / LATE_SHARE);
    if took_us + EARLY_US < *promised.start() {
        Ordering::Less
    } else if took_us > latest {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Why a time is not waited for; none if it is short enough.
fn too_long(us: u64) -> Option<String> {
    (us > LONGEST_WAIT_US).then(|| {
        format!(
            "{} is longer than the {} that a check waits",
            Duration { us }.in_seconds(),
            Duration { us: LONGEST_WAIT_US }.in_seconds()
        )
    })
}

fn seconds(us: u64) -> String {
    format!("{:.3} s", us as f64 / 1e6)
}

/// What tests of several promises need.
#[cfg(test)]
mod sample {
    use crate::check::{Arrival, Course, Judged, Promise, Seen, Trial, courses};
    use crate::{Source, read};

    /// An arrival at cluster `a`.
    pub(super) fn arrival() -> Arrival {
        Arrival {
            cluster: "a".to_owned(),
            host: "a.example".to_owned(),
            server_name: Some("a.example".to_owned()),
            scheme: "http".to_owned(),
        }
    }

    /// A course to cluster `a`.
    pub(super) fn course() -> Course {
        Course {
            listener: "a".to_owned(),
            line: 2,
            is_tls: false,
            host: "a.example".to_owned(),
            path: "/".to_owned(),
            cluster: "a".to_owned(),
            share: 100,
            rivals: vec!["rival".to_owned()],
            has_functions: false,
            promises: Vec::new(),
        }
    }

    /// A response, and so many tries.
    pub(super) fn seen(status: u16, took_us: u64, tries: usize) -> Seen {
        Seen { response: Some(Ok(status)), took_us, arrivals: vec![arrival(); tries], ..Seen::default() }
    }

    pub(super) fn is_kept(trial: &dyn Trial, seen: &Seen) -> bool {
        matches!(trial.judge(&course(), seen), Judged::Kept(_))
    }

    /// The promises of the only listener of a file, from its keys behind `name` and `port`.
    pub(super) fn promises(keys: &str) -> Vec<Promise> {
        let text = format!(
            "listeners: [{{name: a, port: 6001, {keys}}}]\nratelimit_service: {{address: limits.example, port: 8081}}\n"
        );
        let plan = read(Source { name: "a.yaml", text: &text }, None).unwrap();
        courses(&plan).into_iter().flat_map(|course| course.promises).collect()
    }
}
