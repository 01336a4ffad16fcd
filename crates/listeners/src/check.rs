//! What the listeners of a plan promise, how each promise is tried, and whether what was seen keeps it; it sends nothing itself.
//!
//! The promises come from the plan and not from what was rendered: a fault of the rendering breaks a promise.

mod judge;
mod lab;
mod request;
mod timing;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::file::Scheme;
use crate::plan::{Cluster, HostHeader, Listener, Matches, Plan, Route};

pub use judge::{Judged, judge};
pub use lab::{Lab, in_lab};

/// The header by which a server of the lab knows a request.
pub const MARK: &str = "x-hoptax-probe";

/// The longest time that is waited for: a `timeout` above it is not tried.
const LONGEST_WAIT_US: u64 = 90_000_000;

/// A route of a listener, with a request that takes it.
#[derive(Clone, Debug)]
pub struct Course {
    /// The name of the listener.
    pub listener: String,
    /// Whether its clients use TLS.
    pub is_tls: bool,
    /// The Host header of the request.
    pub host: String,
    /// The path of the request.
    pub path: String,
    /// The cluster that it goes to.
    pub cluster: String,
    /// Whether a share of the requests goes elsewhere, so that several are sent until one arrives.
    pub is_shared: bool,
    /// Clusters that may get it instead, because a `host_regex` may match its host.
    pub(crate) rivals: Vec<String>,
    /// Whether functions of the catalogue may answer it.
    pub(crate) has_functions: bool,
    /// What the file promises about it.
    pub promises: Vec<Promise>,
}

/// A promise of the file about requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// What it is about.
    pub about: About,
    /// What the file says, in words.
    pub said: String,
    /// How it is tried, or why it cannot be.
    pub trial: Result<Trial, String>,
}

/// What a promise is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// The cluster, the Host header, the name in the handshake, and x-forwarded-proto.
    Arrival,
    /// The time after which a request without a response ends.
    Timeout,
    /// The number of tries.
    Tries,
    /// That a certificate with another name is refused.
    Certificate,
}

/// How a promise is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// The server answers, and these arrive.
    Arrival(Arrival),
    /// The server is silent, and the request ends with status 504 in this time, microseconds.
    Silence(RangeInclusive<u64>),
    /// The server fails, and gets the request so many times.
    Failure {
        /// How it fails.
        answer: Answer,
        /// The tries.
        tries: u32,
    },
    /// The server has a certificate with another name, and gets no request.
    WrongName,
}

/// What a server of the lab does with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// It answers with status 200.
    #[default]
    Success,
    /// It answers with this status, and a header.
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

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The status of the response, or why there was none.
    pub response: Result<u16, String>,
    /// The time until then, microseconds.
    pub took_us: u64,
    /// The requests that servers got, in their order.
    pub arrivals: Vec<Arrival>,
    /// The handshakes in which the server showed a certificate with another name.
    pub wrong_names: u64,
}

impl Trial {
    /// What the servers do.
    pub fn answer(&self) -> Answer {
        match self {
            Self::Arrival(_) | Self::WrongName => Answer::Success,
            Self::Silence(_) => Answer::Silence,
            Self::Failure { answer, .. } => answer.clone(),
        }
    }

    /// The longest time that it takes if the promise is kept, microseconds; none if that is short.
    pub fn wait_us(&self) -> Option<u64> {
        match self {
            Self::Silence(range) => Some(*range.end()),
            _ => None,
        }
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
    let of_listener = |listener| {
        let clusters = &clusters;
        let course = move |route: &Route| {
            Some(course(listener, route, clusters.get(route.cluster.as_str()).copied()?))
        };
        listener.routes.iter().filter_map(course).collect::<Vec<Course>>()
    };
    plan.listeners.iter().flat_map(of_listener).collect()
}

fn course(listener: &Listener, route: &Route, cluster: &Cluster) -> Course {
    let request = request::of(&route.matches);
    let (share, is_shared) = share(listener, &route.matches);
    let obstacle = match (&request, share) {
        (Err(why), _) => Some(why.clone()),
        (Ok(_), 0) => Some("its share of the requests is 0 %".to_owned()),
        _ => None,
    };
    let (host, path) = request.unwrap_or_default();
    let mut promises = promises(listener, route, cluster, &host);
    if let Some(why) = obstacle {
        for promise in &mut promises {
            promise.trial = Err(why.clone());
        }
    }
    let is_host = |one: &&Route| matches!(one.matches, Matches::Host(_)) && one.cluster != route.cluster;
    Course {
        listener: listener.name.clone(),
        is_tls: listener.tls.is_some(),
        host,
        path,
        cluster: cluster.name.clone(),
        is_shared,
        rivals: listener.routes.iter().filter(is_host).map(|one| one.cluster.clone()).collect(),
        has_functions: listener.fragment.is_some(),
        promises,
    }
}

/// The percentage of its requests that a route gets, and whether others get the rest.
fn share(listener: &Listener, matches: &Matches) -> (u8, bool) {
    let split = listener.routes.iter().find_map(|route| match route.matches {
        Matches::Share(percent) => Some(percent),
        _ => None,
    });
    let share = match (matches, split) {
        (Matches::Share(percent), _) => *percent,
        (Matches::All, Some(percent)) => 100 - percent,
        _ => 100,
    };
    (share, share < 100)
}

fn promises(listener: &Listener, route: &Route, cluster: &Cluster, host: &str) -> Vec<Promise> {
    let (upstream, options) = (&cluster.upstream, &cluster.options);
    let arrival = Arrival {
        cluster: cluster.name.clone(),
        host: match &route.host {
            HostHeader::Kept => host.to_owned(),
            HostHeader::OfUpstream => upstream.host.0.clone(),
            HostHeader::Literal(host) => host.clone(),
        },
        server_name: options.sets_sni.then(|| upstream.host.0.trim_end_matches('.').to_owned()),
        scheme: match listener.xfp {
            Some(Scheme::Https) => "https",
            None if listener.tls.is_some() => "https",
            Some(Scheme::Http) | None => "http",
        }
        .to_owned(),
    };
    let mut all = vec![
        Promise { about: About::Arrival, said: arrival.in_words(), trial: Ok(Trial::Arrival(arrival)) },
        timing::timeout(listener, route),
        timing::tries(listener, route, cluster),
    ];
    if upstream.encryption {
        let names: Vec<&str> = options.san.iter().map(|name| name.0.as_str()).collect();
        all.push(Promise {
            about: About::Certificate,
            said: format!("only a certificate of `{}` is accepted", names.join("` or `")),
            trial: Ok(Trial::WrongName),
        });
    }
    all
}

impl Arrival {
    /// In words.
    pub(crate) fn in_words(&self) -> String {
        let name = self.server_name.as_ref().map_or_else(String::new, |name| format!(", SNI `{name}`"));
        format!("Host `{}`{name}, x-forwarded-proto `{}` at `{}`", self.host, self.scheme, self.cluster)
    }
}
