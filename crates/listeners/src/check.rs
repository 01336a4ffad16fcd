//! Promises of the listeners in a plan: how each is tried, and how the observations are judged. This module sends nothing itself.
//!
//! The promises come from the plan, not from the rendered configuration, so that a fault in rendering breaks a promise.

mod lab;
mod procedure;
mod promises;
mod request;
mod seen;

use std::collections::BTreeMap;
use std::fmt;

use hoptax_result::PromiseKind;

use crate::plan::{Cluster, Listener, Matches, Plan, RATELIMIT, Route};
use promises::Subject;

pub use lab::{Lab, Variant, in_lab};
pub use procedure::{Answer, Crowd, Procedure, Retries, Series};
use seen::response_in_words;
pub use seen::{Arrival, Ejected, Judged, Limited, Seen};

/// The header by which a server of the lab identifies a request.
pub const MARK: &str = "x-hoptax-probe";
/// The name of the rate limit service's cluster.
pub const LIMITS: &str = RATELIMIT;

/// A route of a listener, with a request that matches it.
#[derive(Debug)]
pub struct Course {
    /// The name of the listener.
    pub listener: String,
    /// The line of the listener in its file.
    pub line: u64,
    /// True if its clients use TLS.
    pub is_tls: bool,
    /// The Host header of the request.
    pub host: String,
    /// The path of the request.
    pub path: String,
    /// The cluster that it goes to.
    pub cluster: String,
    /// The percentage of such requests that are routed there. Below 100, several are sent until one arrives.
    pub share: u8,
    /// Clusters that may receive it instead, because a `host_regex` may match its host.
    pub(crate) rivals: Vec<String>,
    /// True if functions of the catalogue may answer it.
    pub(crate) has_functions: bool,
    /// The promises of the file about such requests.
    pub promises: Vec<Promise>,
}

/// A promise of the file about requests.
#[derive(Debug)]
pub struct Promise {
    /// The kind of the promise.
    pub about: PromiseKind,
    /// The statement of the file, as text.
    pub said: String,
    /// Its trial, or the reason why it cannot be tried.
    pub trial: Result<Box<dyn Trial>, String>,
}

impl Promise {
    /// A promise with its trial, or with the obstacle that prevents one.
    fn new(about: PromiseKind, said: String, obstacle: Option<String>, trial: impl Trial + 'static) -> Self {
        let trial: Result<Box<dyn Trial>, String> = match obstacle {
            Some(why) => Err(why),
            None => Ok(Box::new(trial)),
        };
        Self { about, said, trial }
    }
}

/// Trial of a promise.
pub trait Trial: fmt::Debug + Send + Sync {
    /// Returns the procedure that tries the promise.
    fn procedure(&self) -> Procedure;
    /// Judges the promise from the observations, in which no request reached a rival.
    fn judge(&self, course: &Course, seen: &Seen) -> Judged;
}

/// Judges a promise from the observations of its trial.
pub fn judge(course: &Course, trial: &dyn Trial, seen: &Seen) -> Judged {
    match seen.arrivals.iter().find(|arrival| course.rivals.contains(&arrival.cluster)) {
        Some(rival) => {
            Judged::Untried(format!("a `host_regex` sends `{}` to `{}`", course.host, rival.cluster))
        }
        None => trial.judge(course, seen),
    }
}

/// The name that each encrypted cluster expects in the certificate of its server.
pub fn certificate_names(plan: &Plan) -> BTreeMap<String, String> {
    let encrypted = plan.clusters.iter().filter(|cluster| cluster.upstream.encryption);
    let name = |cluster: &Cluster| {
        let name = cluster.options.san.first().unwrap_or(&cluster.upstream.host);
        (cluster.name.clone(), name.0.trim_end_matches('.').to_owned())
    };
    encrypted.map(name).collect()
}

/// All routes of a plan with their promises.
pub fn courses(plan: &Plan) -> Vec<Course> {
    let clusters: BTreeMap<&str, &Cluster> =
        plan.clusters.iter().map(|cluster| (cluster.name.as_str(), cluster)).collect();
    let mut subjects = Vec::new();
    for listener in &plan.listeners {
        for (index, route) in listener.routes.iter().enumerate() {
            let Some(cluster) = clusters.get(route.cluster.as_str()) else { continue };
            let share = share(listener, &route.matches);
            // The last route matches all remaining requests.
            let is_of_listener = index + 1 == listener.routes.len();
            let (is_of_cluster, is_of_retries) = (false, false);
            subjects.push(Subject {
                plan,
                listener,
                route,
                cluster,
                share,
                is_of_listener,
                is_of_cluster,
                is_of_retries,
            });
        }
    }
    // A promise of a cluster is tried once, on the route that leaves the most time for it.
    for index in best(&subjects, |_| true) {
        if let Some(subject) = subjects.get_mut(index) {
            subject.is_of_cluster = true;
        }
    }
    for index in best(&subjects, |subject| subject.listener.retry.is_some()) {
        if let Some(subject) = subjects.get_mut(index) {
            subject.is_of_retries = true;
        }
    }
    subjects.iter().map(course).collect()
}

/// Returns, for each cluster, the best of the routes for which `does` is true: the one that gets most of its requests and, among equals,
/// leaves the most time for them.
fn best(subjects: &[Subject<'_>], does: impl Fn(&Subject<'_>) -> bool) -> Vec<usize> {
    let mut best: BTreeMap<&str, (usize, (u8, u64))> = BTreeMap::new();
    for (index, subject) in subjects.iter().enumerate().filter(|(_, subject)| does(subject)) {
        let rank = (subject.share, subject.ends_us());
        let first = best.entry(&subject.cluster.name).or_insert((index, rank));
        if rank > first.1 {
            *first = (index, rank);
        }
    }
    best.into_values().map(|(index, _)| index).collect()
}

fn course(subject: &Subject<'_>) -> Course {
    let Subject { listener, route, cluster, .. } = subject;
    let request = request::matching(&route.matches);
    let obstacle = match &request {
        Err(why) => Some(why.clone()),
        Ok(_) if subject.share == 0 => Some("its share of the requests is 0 %".to_owned()),
        Ok(_) => None,
    };
    let (host, path) = request.unwrap_or_default();
    let mut promises = promises::all(subject, &host);
    if let Some(why) = obstacle {
        for promise in promises.iter_mut().filter(|promise| promise.about != PromiseKind::Share) {
            promise.trial = Err(why.clone());
        }
    }
    let is_rival = |one: &&Route| matches!(one.matches, Matches::Host(_)) && one.cluster != route.cluster;
    Course {
        listener: listener.name.clone(),
        line: listener.place.line,
        is_tls: listener.tls.is_some(),
        host,
        path,
        cluster: cluster.name.clone(),
        share: subject.share,
        rivals: listener.routes.iter().filter(is_rival).map(|one| one.cluster.clone()).collect(),
        has_functions: listener.fragment.is_some(),
        promises,
    }
}

/// The percentage of its matching requests that a route gets.
fn share(listener: &Listener, matches: &Matches) -> u8 {
    let split = listener.routes.iter().find_map(|route| match route.matches {
        Matches::Share(percent) => Some(percent),
        _ => None,
    });
    match (matches, split) {
        (Matches::Share(percent), _) => *percent,
        (Matches::All, Some(percent)) => 100 - percent,
        _ => 100,
    }
}
