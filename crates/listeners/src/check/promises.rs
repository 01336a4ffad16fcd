//! The promises of a file, one module for each kind: the routes that make it, its trial, and its judgement.

mod arrival;
mod certificate;
mod circuit_breaker;
mod client;
mod connect_timeout;
mod keepalive;
mod local_rate_limit;
mod outlier_detection;
mod rate_limit;
mod requests_per_connection;
mod retry_budget;
mod share;
mod timeout;
mod tries;

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use hoptax_result::grouped;

use super::Promise;
use crate::file::Duration;
use crate::plan::{Cluster, Listener, Plan, Retry, Route, STREAM_IDLE_US};

/// Maximum waiting time of a trial, microseconds. A promise that takes longer is not tried.
const LONGEST_WAIT_US: u64 = 90_000_000;
/// How much earlier than promised an event may occur, microseconds: Envoy's timers count whole milliseconds from the current iteration of
/// its event loop.
const EARLY_US: u64 = 10_000;
/// How much later than promised it may occur, microseconds, and as a share of the promised time.
const LATE_US: u64 = 100_000;
const LATE_SHARE: u64 = 20;

/// All kinds. The first is tried first: if no request arrives, nothing else can be tried.
const ALL: [fn(&Subject<'_>, &str) -> Vec<Promise>; 14] = [
    |subject, host| vec![arrival::promise(subject, host)],
    |subject, _| vec![timeout::promise(subject)],
    |subject, _| tries::promises(subject),
    |subject, _| Vec::from_iter(certificate::promise(subject)),
    |subject, _| Vec::from_iter(client::promise(subject)),
    |subject, _| Vec::from_iter(share::promise(subject)),
    |subject, _| Vec::from_iter(circuit_breaker::promise(subject)),
    |subject, _| Vec::from_iter(keepalive::promise(subject)),
    |subject, _| Vec::from_iter(requests_per_connection::promise(subject)),
    |subject, _| Vec::from_iter(connect_timeout::promise(subject)),
    |subject, _| Vec::from_iter(retry_budget::promise(subject)),
    |subject, _| Vec::from_iter(outlier_detection::promise(subject)),
    |subject, _| Vec::from_iter(rate_limit::promise(subject)),
    |subject, _| Vec::from_iter(local_rate_limit::promise(subject)),
];

/// A route with the properties that promises may concern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'p> {
    pub(super) plan: &'p Plan,
    pub(super) listener: &'p Listener,
    pub(super) route: &'p Route,
    pub(super) cluster: &'p Cluster,
    /// The percentage of its matching requests that it gets.
    pub(super) share: u8,
    /// True if the promises of the listener are tried on this route.
    pub(super) is_of_listener: bool,
    /// True if the promises of the cluster are tried on this route.
    pub(super) is_of_cluster: bool,
    /// True if the cluster's promises about retries are tried on this route.
    pub(super) is_of_retries: bool,
}

/// All promises about a route. Its requests have this Host header.
pub(super) fn all(subject: &Subject<'_>, host: &str) -> Vec<Promise> {
    ALL.iter().flat_map(|promises| promises(subject, host)).collect()
}

impl Subject<'_> {
    /// The time after which a try without a response ends, microseconds.
    pub(super) fn ends_us(&self) -> u64 {
        let timeout = self.route.timeout;
        let per_try = self.listener.retry.as_ref().map_or(timeout, |retry| retry.per_try(timeout));
        per_try.us.min(timeout.us).min(self.idle_us())
    }

    /// The idle time after which a request ends, microseconds.
    fn idle_us(&self) -> u64 {
        self.listener.stream_idle(self.route).map_or(STREAM_IDLE_US, |idle| idle.us)
    }

    /// Returns the reason why the lab's connections to the upstream differ from those in the file; none if they do not.
    fn other_connections(&self) -> Option<String> {
        let is_http2 = self.cluster.options.http2;
        is_http2.then(|| "the upstream speaks HTTP/2, but the servers of a check speak HTTP/1.1".to_owned())
    }
}

/// Returns true if a condition leads to retries.
fn has(retry: &Retry, condition: &str) -> bool {
    retry.conditions.iter().any(|one| one == condition)
}

/// Compares a time with the promised range. It counts as too long only if a busy machine cannot explain the excess.
fn compared(took_us: u64, promised: &RangeInclusive<u64>) -> Ordering {
    if took_us + EARLY_US < *promised.start() {
        Ordering::Less
    } else if took_us > latest(*promised.end()) {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// The latest time, in microseconds, at which an event that is promised for `promised_us` may be observed.
fn latest(promised_us: u64) -> u64 {
    promised_us.saturating_add(LATE_US.max(promised_us / LATE_SHARE))
}

/// Returns the reason why a time is too long to wait for; none if it is short enough.
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
    format!("{} s", grouped(us as f64 / 1e6, 3))
}

/// Samples that tests of several promises share.
#[cfg(test)]
mod sample {
    use hoptax_result::PromiseKind;

    use crate::check::{Arrival, Course, Judged, Procedure, Promise, Seen, Trial, courses};
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

    /// The promises of this kind of the only listener of a file, from its keys behind `name`, `port` and `upstream`.
    pub(super) fn promises(about: PromiseKind, keys: &str) -> Vec<Promise> {
        let text = format!(
            "listeners: [{{name: a, port: 6001, upstream: {{address: a.example, port: 80}}, {keys}}}]\n\
             ratelimit_service: {{address: limits.example, port: 8081}}\n"
        );
        let plan = read(Source { name: "a.yaml", text: &text }, None).unwrap();
        let all = courses(&plan).into_iter().flat_map(|course| course.promises);
        all.filter(|one| one.about == about).collect()
    }

    /// How the first of them is tried.
    pub(super) fn procedure(about: PromiseKind, keys: &str) -> Result<Procedure, String> {
        promises(about, keys).swap_remove(0).trial.map(|trial| trial.procedure())
    }
}
