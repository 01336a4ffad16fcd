//! What the listeners of a plan promise, how each promise is tried, and whether what was seen keeps it; it sends nothing itself.
//!
//! The promises come from the plan and not from what was rendered: a fault of the rendering breaks a promise.

mod lab;
mod promises;
mod request;

use std::collections::BTreeMap;
use std::fmt;

use hoptax_result::PromiseKind;

use crate::plan::{Cluster, Listener, Matches, Plan, RATELIMIT, Route};
use promises::Subject;

pub use lab::{Lab, in_lab, patient};

/// The header by which a server of the lab knows a request.
pub const MARK: &str = "x-hoptax-probe";
/// The name of the cluster of the service that decides about limits.
pub const LIMITS: &str = RATELIMIT;

/// A route of a listener, with a request that takes it.
#[derive(Debug)]
pub struct Course {
    /// The name of the listener.
    pub listener: String,
    /// The line of the listener in its file.
    pub line: u64,
    /// Whether its clients use TLS.
    pub is_tls: bool,
    /// The Host header of the request.
    pub host: String,
    /// The path of the request.
    pub path: String,
    /// The cluster that it goes to.
    pub cluster: String,
    /// The share of such requests that goes there, percent: several are sent until one arrives.
    pub share: u8,
    /// Clusters that may get it instead, because a `host_regex` may match its host.
    pub(crate) rivals: Vec<String>,
    /// Whether functions of the catalogue may answer it.
    pub(crate) has_functions: bool,
    /// What the file promises about it.
    pub promises: Vec<Promise>,
}

/// A promise of the file about requests.
#[derive(Debug)]
pub struct Promise {
    /// What it is about.
    pub about: PromiseKind,
    /// What the file says, in words.
    pub said: String,
    /// How it is tried, or why it cannot be.
    pub trial: Result<Box<dyn Trial>, String>,
}

/// How a promise is tried.
pub trait Trial: fmt::Debug + Send + Sync {
    /// What is done.
    fn procedure(&self) -> Procedure;
    /// Whether what was seen keeps the promise. That a rival gets no request is known.
    fn judge(&self, course: &Course, seen: &Seen) -> Judged;
}

/// What is done to try a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// A request.
    Request {
        /// What the server does with it.
        answer: Answer,
        /// The longest time that it takes if the promise is kept, microseconds; 0 if that is short.
        waits_us: u64,
    },
    /// A request, while the server has a certificate with another name.
    WrongName,
    /// A request of a client without a certificate.
    Stranger,
    /// A request, and then none until the proxy ends its connection to the server.
    Idle {
        /// The longest time that it takes if the promise is kept, microseconds.
        waits_us: u64,
    },
    /// A request that the service of limits admits, and one that it refuses.
    Limited,
    /// Requests on one connection, one after the other.
    Series(Series),
    /// Requests at a time, of which the server answers none, to a proxy that is [`patient`].
    Crowd(Crowd),
}

/// Requests on one connection, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The time before them, microseconds.
    pub pause_us: u64,
    /// The most requests.
    pub requests: u32,
    /// The longest time, microseconds.
    pub lasts_us: u64,
}

/// Requests at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Those that the server is to get.
    pub arriving: u32,
    /// Those that are to wait in the proxy.
    pub waiting: u32,
    /// Those that the proxy is to refuse.
    pub refused: u32,
}

impl Crowd {
    /// All.
    pub fn all(&self) -> u32 {
        self.arriving.saturating_add(self.waiting).saturating_add(self.refused)
    }
}

impl Procedure {
    /// Whether others like it wait, because it keeps the processors busy.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Series(_) | Self::Crowd(_))
    }

    /// The longest time that it takes if the promise is kept, microseconds; 0 if that is short.
    pub fn waits_us(&self) -> u64 {
        match self {
            Self::Request { waits_us, .. } | Self::Idle { waits_us } => *waits_us,
            _ => 0,
        }
    }
}

/// What a server of the lab does with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// It answers with status 200, and closes the connection.
    #[default]
    Success,
    /// It answers with status 200, and leaves the connection open.
    Kept,
    /// It answers with this status, and a header, and closes the connection.
    Failure(u16, Option<(&'static str, &'static str)>),
    /// It never answers.
    Silence,
    /// It closes the connection without an answer.
    Close,
}

/// What a server sees of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The cluster that the server stands for.
    pub cluster: String,
    /// The Host header.
    pub host: String,
    /// The name in the handshake.
    pub server_name: Option<String>,
    /// The x-forwarded-proto header.
    pub scheme: String,
}

/// What came of a trial. What its procedure does not show is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The status of the last response, or why there was none.
    pub response: Option<Result<u16, String>>,
    /// The first line of its body: why the proxy answered itself.
    pub reason: String,
    /// The time until then, of a series that of all requests, microseconds.
    pub took_us: u64,
    /// The requests that servers got, in their order.
    pub arrivals: Vec<Arrival>,
    /// The handshakes in which the server showed a certificate with another name.
    pub wrong_names: u64,
    /// The time for which a connection to the server was idle until the proxy ended it, microseconds.
    pub idle_us: Option<u64>,
    /// Responses by status, of several requests.
    pub statuses: BTreeMap<u16, u32>,
    /// What the service of limits was asked, and what became of the requests.
    pub limited: Option<Limited>,
}

/// What the service of limits was asked, and what became of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// The domain and the descriptor of the first question.
    pub asked: Option<(String, Vec<(String, String)>)>,
    /// The user agent of the request that it admits.
    pub admitted_agent: String,
    /// Its status, or why there was no response, and whether a server got it.
    pub admitted: Option<(Result<u16, String>, bool)>,
    /// The same of the request that it refuses.
    pub refused: Option<(Result<u16, String>, bool)>,
}

/// What became of a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// What was seen is what was promised; the shortest form of it ends at the first comma with a space.
    Kept(String),
    /// It is not.
    Broken {
        /// What was seen.
        seen: String,
        /// Whether a busy machine or chance explains it, so that another trial may tell.
        is_excusable: bool,
    },
    /// What was seen says nothing about the promise, and why.
    Untried(String),
}

impl Judged {
    /// What no busy machine explains.
    pub(crate) fn broken(seen: impl Into<String>) -> Self {
        Self::Broken { seen: seen.into(), is_excusable: false }
    }

    /// What a busy machine or chance explains.
    pub(crate) fn excusable(seen: impl Into<String>) -> Self {
        Self::Broken { seen: seen.into(), is_excusable: true }
    }
}

impl Seen {
    /// The response, in words.
    pub(crate) fn response(&self) -> String {
        response_in_words(self.response.as_ref())
    }
}

/// A response, in words.
pub(crate) fn response_in_words(response: Option<&Result<u16, String>>) -> String {
    match response {
        Some(Ok(status)) => format!("status {status}"),
        Some(Err(why)) => format!("no response: {why}"),
        None => "no response".to_owned(),
    }
}

impl Arrival {
    /// In words.
    pub(crate) fn in_words(&self) -> String {
        let name = self.server_name.as_ref().map_or_else(String::new, |name| format!(", SNI `{name}`"));
        format!("Host `{}`{name}, x-forwarded-proto `{}` at `{}`", self.host, self.scheme, self.cluster)
    }
}

/// Judges what came of a trial.
pub fn judge(course: &Course, trial: &dyn Trial, seen: &Seen) -> Judged {
    match seen.arrivals.iter().find(|arrival| course.rivals.contains(&arrival.cluster)) {
        Some(rival) => {
            Judged::Untried(format!("a `host_regex` sends `{}` to `{}`", course.host, rival.cluster))
        }
        None => trial.judge(course, seen),
    }
}

/// The name that each encrypted cluster wants in the certificate of its server.
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
            // The last route is that of all other requests.
            let (is_of_listener, is_of_cluster) = (index + 1 == listener.routes.len(), false);
            subjects.push(Subject { plan, listener, route, cluster, share, is_of_listener, is_of_cluster });
        }
    }
    // What a cluster promises is tried once, by the route that leaves most time for it.
    let mut best: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, subject) in subjects.iter().enumerate() {
        let rank = |subject: &Subject<'_>| (subject.share, subject.ends_us());
        let before = best.get(subject.cluster.name.as_str()).and_then(|first| subjects.get(*first));
        if before.is_none_or(|before| rank(subject) > rank(before)) {
            best.insert(&subject.cluster.name, index);
        }
    }
    for index in best.into_values().collect::<Vec<usize>>() {
        if let Some(subject) = subjects.get_mut(index) {
            subject.is_of_cluster = true;
        }
    }
    subjects.iter().map(course).collect()
}

fn course(subject: &Subject<'_>) -> Course {
    let Subject { listener, route, cluster, .. } = subject;
    let request = request::of(&route.matches);
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

/// The percentage of its requests that a route gets.
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
