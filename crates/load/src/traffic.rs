//! The requests of a load: one or several, in turn or by weight, to one host or several.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use hoptax_result::{DataPlan, Http2Plan};
use hoptax_wire::grpc::Messages;
use hoptax_wire::http3::Setup;
use hoptax_wire::tls::{ClientConfig, ServerName};
use hoptax_wire::{Client, ClientProtocol, Encoded, ExpectedHeader, Hidden};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::addresses::Addresses;
use crate::dial::Dial;
use crate::expect::Expectation;
use crate::lookups::{HostPort, Refresh};
use crate::placeholders::has_placeholders;
use crate::protocol::{ConnectionPlan, Protocol};
use crate::request_names::RequestNames;
use crate::target::Target;

/// The requests of a load.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Shared, because cloning many requests would double their memory.
    pub(crate) targets: Arc<Vec<Target>>,
    /// The names of the targets; None unless there are several.
    pub(crate) names: Option<Arc<RequestNames>>,
    pub(crate) hosts: Vec<Host>,
    /// The host of each target.
    host_of: Vec<usize>,
    order: Order,
    /// Protocol of its connections.
    pub(crate) protocol: ClientProtocol,
    /// Requirements on every response.
    pub expectation: Expectation,
    /// Network path of connections to the servers.
    pub dial: Dial,
    /// Rules for looking names up again during the load; None if they are not.
    pub refresh: Option<Refresh>,
    /// Messages of gRPC calls that are timed; None for none.
    pub messages: Option<MessageTimes>,
    /// True if cookies of responses are sent back on their connection.
    pub keeps_cookies: bool,
    /// The data file that the requests were filled in from.
    pub data: Option<DataPlan>,
    /// Properties that were given and that the plan in a result does not state.
    pub unstated: Vec<String>,
}

/// A destination of connections, and the requests that go to it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// Its addresses at the start.
    pub(crate) addresses: Arc<Addresses>,
    /// Its name, if that is looked up again during the load.
    pub(crate) name: Option<HostPort>,
    /// TLS configuration, and the name to verify in the certificate.
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    server_name: Option<ServerName<'static>>,
    /// The upgrade request that starts its connections.
    upgrade: Hidden,
    /// Share of all requests.
    share: f64,
    /// Indices of its requests.
    targets: Vec<usize>,
    /// Cumulative shares of its requests.
    sums: Vec<f64>,
}

/// Messages of gRPC calls that are timed, and their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageTimes {
    /// Each message of a response: the time since the one before, or since the first byte written.
    Received,
    /// A conversation of this many messages, each sent after the response to the one before: the time of a round trip.
    RoundTrips(u32),
    /// Requests of this many messages, which are not answered one by one: the service time of a call divided by their number, one value for
    /// each answered call.
    Sent(u32),
}

impl fmt::Display for MessageTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received => f.write_str("server"),
            Self::RoundTrips(messages) => write!(f, "both={messages}"),
            Self::Sent(messages) => write!(f, "client={messages}"),
        }
    }
}

/// Selection of the next request.
#[derive(Clone, Debug, PartialEq)]
enum Order {
    /// In order, cyclically.
    InTurn,
    /// At random, by the cumulative shares.
    ByWeight(Vec<f64>),
}

impl Traffic {
    /// Requests that are sent in turn, each equally often.
    pub fn in_turn(targets: Vec<Target>) -> Self {
        let weights = vec![1.0; targets.len()];
        Self::new(targets, &weights, Order::InTurn)
    }

    /// Requests that are selected at random. Each has a weight above zero.
    pub fn by_weight(targets: Vec<Target>, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let sums = weights.iter().map(|weight| {
            sum += weight / total;
            sum
        });
        let order = Order::ByWeight(sums.collect());
        Self::new(targets, weights, order)
    }

    fn new(mut targets: Vec<Target>, weights: &[f64], order: Order) -> Self {
        let total: f64 = weights.iter().sum();
        let mut hosts: Vec<Host> = Vec::new();
        let mut host_of = Vec::with_capacity(targets.len());
        for (target, weight) in targets.iter().zip(weights) {
            let is_same = |host: &Host| {
                host.addresses.used() == target.addresses.used()
                    && (&host.name, &host.server_name, &host.upgrade)
                        == (&target.name, &target.server_name, &target.upgrade)
            };
            let number = hosts.iter().position(is_same).unwrap_or(hosts.len());
            if number == hosts.len() {
                hosts.push(Host {
                    addresses: Arc::new(target.addresses.clone()),
                    name: target.name.clone(),
                    tls: None,
                    server_name: target.server_name.clone(),
                    upgrade: target.upgrade.clone(),
                    share: 0.0,
                    targets: Vec::new(),
                    sums: Vec::new(),
                });
            }
            if let Some(host) = hosts.get_mut(number) {
                host.share += weight / total;
                host.targets.push(host_of.len());
                host.sums.push(host.share);
            }
            host_of.push(number);
        }
        Encoded::number_fields(targets.iter_mut().map(|target| &mut target.request), has_placeholders);
        let names = RequestNames::new(&targets, weights).map(Arc::new);
        let mut traffic = Self {
            targets: Arc::new(targets),
            names,
            hosts,
            host_of,
            order,
            protocol: ClientProtocol::Http1,
            expectation: Expectation::default(),
            dial: Dial::default(),
            refresh: None,
            messages: None,
            keeps_cookies: false,
            data: None,
            unstated: Vec::new(),
        };
        traffic.set_streams(1, 1);
        traffic
    }

    /// The protocol of the first request, which applies to all connections.
    pub fn protocol(&self) -> Protocol {
        self.first().map(|target| target.protocol).unwrap_or_default()
    }

    /// The first request, if the server may choose the protocol of all requests: every URL is `https`, with the default
    /// protocol. Requests without TLS cannot negotiate, and all connections of a load speak the same protocol.
    pub fn negotiable(&self) -> Option<&Target> {
        let may = |target: &Target| target.protocol == Protocol::Http1 && target.server_name.is_some();
        self.first().filter(|_| self.targets.iter().all(may))
    }

    /// The protocol of the first request whose protocol differs from that of the connections; None if all agree.
    pub fn other_protocol(&self) -> Option<Protocol> {
        self.targets.iter().map(|target| target.protocol).find(|protocol| *protocol != self.protocol())
    }

    /// The protocol's ALPN identifier.
    pub fn alpn(&self) -> Option<&'static [u8]> {
        self.protocol.alpn()
    }

    /// Sets the number of streams per connection, for protocols with multiplexing, and the size of a response in bytes, for
    /// TCP, which does not delimit responses.
    pub fn set_streams(&mut self, streams: u32, response_bytes: u64) {
        let address = self.first().map_or_else(|| ([0, 0, 0, 0], 0).into(), |first| first.address);
        let protocol = self.protocol();
        let plan = ConnectionPlan { streams: streams.max(1), response_bytes, address };
        self.protocol = protocol.connection(&plan);
        self.expectation.is_grpc = protocol.is_grpc();
    }

    /// Maximum number of concurrent requests per connection.
    pub fn streams(&self) -> u32 {
        self.protocol.streams()
    }

    /// The HTTP/2 settings; None for other protocols.
    pub(crate) fn http2(&self) -> Option<Http2Plan> {
        let ClientProtocol::Http2(settings) = self.protocol else { return None };
        Some(Http2Plan {
            stream_window_bytes: settings.stream_window_bytes,
            connection_window_bytes: settings.connection_window_bytes,
            header_table_bytes: hoptax_wire::http2::TABLE_BYTES as u32,
            max_frame_bytes: hoptax_wire::http2::MAX_PAYLOAD_BYTES as u32,
        })
    }

    /// True if any host uses TLS.
    pub fn is_secure(&self) -> bool {
        self.hosts.iter().any(|host| host.server_name.is_some())
    }

    /// Sets the TLS configuration. Without it, hosts with TLS cannot be connected to.
    pub fn set_tls(&mut self, config: &Arc<ClientConfig>) {
        for host in &mut self.hosts {
            host.tls = host.server_name.clone().map(|name| (Arc::clone(config), name));
        }
    }

    /// A host that requires TLS while no TLS configuration is set.
    pub(crate) fn unsecured(&self) -> Option<SocketAddr> {
        let is_unsecured = |host: &&Host| host.server_name.is_some() && host.tls.is_none();
        self.hosts.iter().find(is_unsecured).map(|host| host.addresses.select(0).0)
    }

    /// The protocol client of a new connection to an address of a host.
    pub(crate) fn client(
        &self,
        host: usize,
        address: SocketAddr,
        expected: &Arc<[ExpectedHeader]>,
    ) -> Client {
        let host = self.hosts.get(host);
        let mut client = match &self.protocol {
            ClientProtocol::WebSocket { upgrade } => {
                let upgrade = host.map_or(upgrade, |host| &host.upgrade).clone();
                Client::new(&ClientProtocol::WebSocket { upgrade }, expected)
            }
            ClientProtocol::Http3(setup) => {
                let security = host.and_then(|host| host.tls.clone());
                let setup = Setup { address, security, ..setup.clone() };
                Client::new(&ClientProtocol::Http3(setup), expected)
            }
            protocol @ (ClientProtocol::Http1 | ClientProtocol::Http2(_) | ClientProtocol::Tcp { .. }) => {
                Client::new(protocol, expected)
            }
        };
        client.check_bodies(self.expectation.body.clone());
        if self.keeps_cookies {
            client.keep_cookies();
        }
        match self.messages {
            Some(MessageTimes::Received) => client.time_messages(Messages::AtOnce),
            Some(MessageTimes::RoundTrips(times)) => client.time_messages(Messages::InTurn(times)),
            Some(MessageTimes::Sent(_)) | None => {}
        }
        client
    }

    /// Bytes of the body of a request; of a conversation, those of all its messages.
    pub(crate) fn body_bytes(&self, target: usize) -> u64 {
        let messages = match self.messages {
            Some(MessageTimes::RoundTrips(messages)) => u64::from(messages),
            Some(MessageTimes::Received | MessageTimes::Sent(_)) | None => 1,
        };
        self.targets.get(target).map_or(0, |one| messages * one.body_bytes)
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// True if there are no requests.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The addresses of its hosts.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.hosts.iter().flat_map(|host| host.addresses.used().iter().copied())
    }

    /// True if any host name is looked up again during the load.
    pub fn has_refreshed_names(&self) -> bool {
        self.hosts.iter().any(|host| host.name.is_some())
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The first request.
    pub fn first(&self) -> Option<&Target> {
        self.targets.first()
    }

    pub(crate) fn host_of(&self, target: usize) -> usize {
        self.host_of.get(target).copied().unwrap_or_default()
    }

    /// Divides connections among hosts by their shares, with at least one each.
    pub(crate) fn divide_connections(&self, connections: usize) -> Vec<usize> {
        let spare = connections.saturating_sub(self.hosts.len());
        let mut shares: Vec<usize> =
            self.hosts.iter().map(|host| 1 + (host.share * spare as f64) as usize).collect();
        let mut left = connections.saturating_sub(shares.iter().sum());
        for share in &mut shares {
            let one = usize::from(left > 0);
            *share += one;
            left -= one;
        }
        shares
    }
}

impl From<Target> for Traffic {
    fn from(target: Target) -> Self {
        Self::in_turn(vec![target])
    }
}

/// Selects requests and draws the values of their placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    random: SmallRng,
    next: usize,
    /// Requests to each host so far, in a closed loop.
    turns: Vec<usize>,
    /// The worker.
    worker: usize,
    /// Number of this worker's next request. Several workers number their requests in turn.
    counter: u64,
    step: u64,
}

/// A selected request, with the values of its placeholders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picked {
    pub(crate) target: usize,
    pub(crate) counter: u64,
    pub(crate) random: u64,
}

impl Picker {
    pub(crate) fn new(seed: u64, worker: u32, workers: u32) -> Self {
        Self {
            random: SmallRng::seed_from_u64(seed),
            next: worker as usize,
            turns: Vec::new(),
            worker: worker as usize,
            counter: u64::from(worker),
            step: u64::from(workers.max(1)),
        }
    }

    pub(crate) fn pick(&mut self, traffic: &Traffic) -> Picked {
        let counter = self.counter;
        self.counter += self.step;
        let target = match &traffic.order {
            Order::InTurn if traffic.targets.len() < 2 => 0,
            Order::InTurn => {
                let target = self.next % traffic.targets.len();
                self.next = (target + self.step as usize) % traffic.targets.len();
                target
            }
            Order::ByWeight(sums) => {
                let draw: f64 = self.random.random();
                sums.partition_point(|sum| *sum <= draw).min(sums.len().saturating_sub(1))
            }
        };
        self.picked(traffic, target, counter)
    }

    /// Selects a request for a connection to a host.
    pub(crate) fn pick_for(&mut self, traffic: &Traffic, host: usize) -> Picked {
        let Some(Host { targets, sums, share, .. }) = traffic.hosts.get(host) else {
            return self.pick(traffic);
        };
        let counter = self.counter;
        self.counter += self.step;
        let number = match &traffic.order {
            _ if targets.len() < 2 => 0,
            Order::InTurn => {
                if self.turns.len() <= host {
                    self.turns.resize(host + 1, 0);
                }
                // Workers are not coordinated in a closed loop, so each starts at a different part of the list.
                let first = targets.len() * self.worker / (self.step.max(1) as usize);
                self.turns.get_mut(host).map_or(0, |turn| {
                    *turn += 1;
                    (first + *turn - 1) % targets.len()
                })
            }
            Order::ByWeight(_) => {
                let draw = self.random.random::<f64>() * share;
                sums.partition_point(|sum| *sum <= draw).min(targets.len() - 1)
            }
        };
        self.picked(traffic, targets.get(number).copied().unwrap_or_default(), counter)
    }

    fn picked(&mut self, traffic: &Traffic, target: usize, counter: u64) -> Picked {
        let has_numbers = traffic.targets.get(target).is_some_and(|target| !target.placeholders.is_empty());
        Picked { target, counter, random: if has_numbers { self.random.random() } else { 0 } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(urls: &[&str]) -> Vec<Target> {
        urls.iter().map(|url| Target::get(url).unwrap()).collect()
    }

    #[test]
    fn requests_in_turn_are_shared_by_workers() {
        let traffic =
            Traffic::in_turn(targets(&["http://127.0.0.1/a", "http://127.0.0.1/b", "http://127.0.0.1/c"]));
        let picked = |worker| {
            let mut picker = Picker::new(1, worker, 2);
            (0..3).map(|_| picker.pick(&traffic)).map(|one| (one.target, one.counter)).collect::<Vec<_>>()
        };
        assert_eq!(picked(0), [(0, 0), (2, 2), (1, 4)]);
        assert_eq!(picked(1), [(1, 1), (0, 3), (2, 5)]);
        assert_eq!(traffic.hosts(), 1);
    }

    #[test]
    fn a_host_gets_only_its_own_requests() {
        let urls =
            ["http://127.0.0.1:1/a", "http://127.0.0.1:2/b", "http://127.0.0.1:1/c", "http://127.0.0.1:2/d"];
        let in_turn = Traffic::in_turn(targets(&urls));
        let mut picker = Picker::new(1, 0, 2);
        let picked: Vec<usize> = (0..4).map(|_| picker.pick_for(&in_turn, 1).target).collect();
        assert_eq!(picked, [1, 3, 1, 3]);
        let mut second = Picker::new(1, 1, 2);
        let picked: Vec<usize> = (0..4).map(|_| second.pick_for(&in_turn, 1).target).collect();
        assert_eq!(picked, [3, 1, 3, 1], "workers begin apart from each other");
        let by_weight = Traffic::by_weight(targets(&urls), &[1.0, 1e-9, 1.0, 3e-9]);
        let last = (0..10_000).filter(|_| picker.pick_for(&by_weight, 1).target == 3).count();
        assert!((7_300..7_700).contains(&last), "{last}");
    }

    #[test]
    fn requests_are_selected_by_weight() {
        let traffic =
            Traffic::by_weight(targets(&["http://127.0.0.1:1/", "http://127.0.0.1:2/"]), &[3.0, 1.0]);
        let mut picker = Picker::new(1, 0, 1);
        let first = (0..10_000).filter(|_| picker.pick(&traffic).target == 0).count();
        assert!((7_300..7_700).contains(&first), "{first}");
        assert_eq!(traffic.divide_connections(10), [7, 3]);
        assert_eq!(traffic.divide_connections(2), [1, 1]);
        assert_eq!(traffic.divide_connections(101).iter().sum::<usize>(), 101);
    }
}
