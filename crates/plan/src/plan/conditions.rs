//! The conditions that an arm shares with the arm that its cost is the difference from.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hoptax_subject::application::Application;

use super::{Arm, Load, Plan, Subject};
use crate::file::{Protocol, TlsWord};

/// Default size of the body of a response, and of a message of gRPC, TCP or WebSocket, in bytes.
pub const USUAL_BYTES: u64 = 64;
/// The value of each additional header.
const HEADER_VALUE: &str = "0123456789abcdefghij";

/// Conditions that change the cost of plain proxying. An arm is compared with a baseline under the same conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The protocol from end to end.
    pub protocol: Protocol,
    /// Security between generator and proxy.
    pub tls: TlsWord,
    /// The body of its requests, which are then `POST`. With gRPC, the message of each call, instead of the default
    /// one.
    pub body: Option<Vec<u8>>,
    /// Size of the body of its responses in bytes, which its requests state in their query.
    pub response_bytes: Option<u64>,
    /// The rest of the query of its requests.
    pub query: Option<String>,
    /// Headers of its requests, in addition to those of all arms.
    pub headers: BTreeMap<String, String>,
    /// Number of additional headers without meaning.
    pub more_headers: u64,
    /// Connections of its closed loops, overriding those of the load.
    pub connections: Option<u64>,
    /// Minimum number of connections of its closed loops.
    pub min_connections: Option<u64>,
    /// Environment variables of its proxy.
    pub environment: BTreeMap<String, String>,
    /// Worker threads of its proxy. Default: one per processor of the proxy, which is one.
    pub workers: Option<u64>,
    /// The application behind it; none for the origin.
    pub application: Option<Application>,
    /// Envoy of its proxies that have none of their own, as in a study file. Default: that of the study.
    pub envoy: Option<String>,
}

impl Conditions {
    /// The query of each request, without `?`; none if empty.
    pub fn query(&self) -> Option<String> {
        let size = self.response_bytes.map(|bytes| format!("size={bytes}"));
        let parts: Vec<String> = self.query.clone().into_iter().chain(size).collect();
        (!parts.is_empty()).then(|| parts.join("&"))
    }

    /// The headers of each request, in addition to those of all arms.
    pub fn all_headers(&self) -> impl Iterator<Item = (String, String)> {
        let more = (1..=self.more_headers).map(|number| format!("x-hoptax-more-{number}"));
        let own = self.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        own.chain(more.map(|name| (name, HEADER_VALUE.to_owned())))
    }
}

/// Displays the conditions that functions set; conditions of a study file are named as written there ([`super::points`]).
impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.query().into_iter();
        let body = self.body.iter().map(|body| format!("body={} B", body.len()));
        let headers = self.headers.iter().map(|(name, value)| format!("{name}={value}"));
        let connections = self.min_connections.iter().map(|number| format!("connections={number}"));
        let environment = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        f.write_str(
            &query
                .chain(body)
                .chain(headers)
                .chain(connections)
                .chain(environment)
                .collect::<Vec<_>>()
                .join(","),
        )
    }
}

/// Most connections of an arm under one load that stay open over the slices of a round.
const MOST_KEPT: usize = 500;
/// Time limit of responses after a slice, over one connection.
pub const DRAIN: Duration = Duration::from_secs(1);
/// Additional time for each further connection. In a closed loop, each has a request in the queue of a proxy, which takes tens to
/// hundreds of microseconds for it.
const DRAIN_PER_CONNECTION: Duration = Duration::from_micros(500);

impl Plan {
    /// Returns true if the connections of an arm under `load` stay open over the slices of a round. A large number is opened for each
    /// slice: those of all arms and loads together would need more open files than most limits allow. Trials open their own.
    pub fn keeps_connections(&self, arm: &Arm, load: &Load) -> bool {
        !self.is_searched && (self.timeline.is_some() || arm.connections(load) <= MOST_KEPT)
    }

    /// The most files that the generator has open at once for its subjects: its connections, an epoll instance for those to a subject under
    /// a load, and a handle of each proxy, also of those of a graph.
    pub fn most_open_files(&self) -> usize {
        let of_graph = self.graph.as_ref().map_or(0, |graph| graph.proxies().count());
        let (mut kept, mut most_in_turn) = (of_graph, 0);
        for Subject { arm, .. } in self.subjects() {
            kept += arm.chain.hops.len();
            for load in self.loads.iter().filter(|load| arm.has_connections(load)) {
                let files = arm.connections(load) + 1;
                if self.keeps_connections(arm, load) {
                    kept += files;
                } else {
                    most_in_turn = most_in_turn.max(files);
                }
            }
        }
        kept + most_in_turn
    }

    /// The most connections that one proxy has open at once: those of the generator under all loads, and as many to its servers.
    pub fn most_of_a_proxy(&self) -> usize {
        let of_arm = |arm: &Arm| {
            let loads = self.loads.iter().filter(|load| arm.has_connections(load));
            let (kept, opened): (Vec<&Load>, Vec<&Load>) =
                loads.partition(|load| self.keeps_connections(arm, load));
            let kept: usize = kept.into_iter().map(|load| arm.connections(load)).sum();
            let opened = opened.into_iter().map(|load| arm.connections(load)).max();
            2 * (kept + opened.unwrap_or_default())
        };
        self.arms.iter().filter(|arm| !arm.chain.hops.is_empty()).map(of_arm).max().unwrap_or_default()
    }

    /// Returns the time limit of responses to an arm after a slice under a load, nanoseconds.
    pub fn drain_ns(&self, arm: &Arm, load: &Load) -> u64 {
        let connections = arm.connections(load);
        (DRAIN + DRAIN_PER_CONNECTION * u32::try_from(connections).unwrap_or(u32::MAX)).as_nanos() as u64
    }
}

impl Arm {
    /// The number of its connections under `load`.
    pub fn connections(&self, load: &Load) -> usize {
        if load.open.is_some() {
            return load.connections;
        }
        let requested = self.conditions.connections.map_or(load.connections, |number| number as usize);
        requested.max(self.conditions.min_connections.unwrap_or(0) as usize)
    }
}
