//! View of a configuration for rules: its listeners, routes and clusters, each with its pointer.

mod cluster;
mod index;
mod limits;
mod node;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(crate) use self::cluster::{Address, Cluster, OLD_OPTIONS};
use self::index::Index;
pub(crate) use self::index::Places;
pub(crate) use self::node::Node;
use hoptax_bootstrap::{Configuration, Partly, tree};

/// Suffixes of types.
const MANAGER: &str = "HttpConnectionManager";
const TCP_PROXY: &str = "TcpProxy";

/// An HTTP connection manager.
#[derive(Clone, Debug)]
pub(crate) struct Manager<'a> {
    /// Its fields.
    pub(crate) node: Node<'a>,
    /// The listener around it.
    pub(crate) listener: Node<'a>,
    /// The filter chain around it.
    pub(crate) chain: Node<'a>,
}

impl<'a> Manager<'a> {
    /// Its HTTP filters.
    pub(crate) fn filters(&self) -> Vec<Node<'a>> {
        self.node.items("/http_filters")
    }

    /// Returns true if its connections have TLS.
    pub(crate) fn is_tls(&self) -> bool {
        is_tls(&self.chain)
    }
}

/// An HTTP route.
#[derive(Clone, Debug)]
pub(crate) struct Route<'a> {
    /// The route.
    pub(crate) node: Node<'a>,
    /// The virtual host around it.
    pub(crate) host: Node<'a>,
    /// The table around the virtual host.
    pub(crate) table: Node<'a>,
    /// The number of its connection manager.
    pub(crate) manager: usize,
}

impl<'a> Route<'a> {
    /// Returns the action for a request that it forwards.
    pub(crate) fn action(&self) -> Option<Node<'a>> {
        self.node.get("/route")
    }

    /// The names of the clusters that it forwards to.
    pub(crate) fn clusters(&self) -> Vec<&'a str> {
        let Some(action) = self.action() else { return Vec::new() };
        let weighted = action.items("/weighted_clusters/clusters");
        let names = weighted.iter().map(Node::name).chain([action.text("/cluster")]);
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Its retry policy, or that of its virtual host.
    pub(crate) fn retries(&self) -> Option<Node<'a>> {
        let own = self.action().and_then(|action| action.get("/retry_policy"));
        let policy = own.or_else(|| self.host.get("/retry_policy"))?;
        // A policy without conditions retries nothing.
        (!policy.text("/retry_on").is_empty()).then_some(policy)
    }

    /// The number of retries of a request.
    pub(crate) fn retries_of(policy: &Node<'_>) -> f64 {
        policy.number("/num_retries").unwrap_or(1.0)
    }

    /// Its timeout in seconds; infinite if it is off.
    pub(crate) fn timeout(&self) -> f64 {
        const DEFAULT: f64 = 15.0;
        let stated = self.action().and_then(|action| action.seconds("/timeout")).unwrap_or(DEFAULT);
        if stated == 0.0 { f64::INFINITY } else { stated }
    }
}

/// The configuration of a proxy.
pub(crate) struct Proxy<'a> {
    /// All of it.
    pub(crate) root: Node<'a>,
    /// The configuration from which its nodes come.
    pub(crate) configuration: &'a Configuration,
    /// Its mappings by their fields and types.
    pub(crate) index: Index<'a>,
    pub(crate) listeners: Vec<Node<'a>>,
    pub(crate) managers: Vec<Manager<'a>>,
    pub(crate) routes: Vec<Route<'a>>,
    pub(crate) clusters: Vec<Cluster<'a>>,
    /// Clusters to which TCP proxies lead, each with the node that names it.
    pub(crate) of_tcp: Vec<(Node<'a>, &'a str)>,
    /// Numbers of connection managers, by the ports of their listeners on loopback.
    by_port: BTreeMap<u16, Vec<usize>>,
    /// Numbers of clusters by their names.
    numbers: BTreeMap<&'a str, usize>,
    /// True if all clusters are known.
    pub(crate) is_complete: bool,
    /// True if it is a file of resources, not a bootstrap.
    pub(crate) is_part: bool,
}

impl<'a> Proxy<'a> {
    /// Returns the view of a configuration.
    pub(crate) fn new(read: &'a Partly) -> Self {
        let configuration = &read.configuration;
        let root = Node { at: String::new(), value: configuration.tree() };
        let listeners = root.items("/static_resources/listeners");
        let index = Index::new(root.value);
        // With on-demand discovery, a proxy asks its control plane for clusters that requests name.
        let asks_for_clusters = index.has_any(&["odcds", "odcds_config"]);
        let mut proxy = Self {
            configuration,
            index,
            listeners,
            managers: Vec::new(),
            routes: Vec::new(),
            clusters: Vec::new(),
            of_tcp: Vec::new(),
            by_port: BTreeMap::new(),
            numbers: BTreeMap::new(),
            is_complete: !read.is_part && configuration.has_all_clusters() && !asks_for_clusters,
            is_part: read.is_part,
            root,
        };
        proxy.add_managers();
        for (number, manager) in proxy.managers.iter().enumerate() {
            for port in local_ports(&manager.listener) {
                proxy.by_port.entry(port).or_default().push(number);
            }
        }
        proxy.add_routes();
        proxy.add_clusters();
        proxy
    }

    fn add_managers(&mut self) {
        for listener in &self.listeners {
            let chains =
                listener.items("/filter_chains").into_iter().chain(listener.get("/default_filter_chain"));
            for chain in chains {
                for filter in chain.items("/filters") {
                    let of = filter.extension();
                    let node = filter.fields();
                    if of.ends_with(MANAGER) || of == "envoy.filters.network.http_connection_manager" {
                        self.managers.push(Manager {
                            node,
                            listener: listener.clone(),
                            chain: chain.clone(),
                        });
                    } else if of.ends_with(TCP_PROXY) {
                        let weighted = node.items("/weighted_clusters/clusters");
                        let named = weighted.into_iter().map(|one| (one.clone(), one.name()));
                        self.of_tcp.extend(named);
                        if let Some(one) = node.get("/cluster") {
                            self.of_tcp.push((one, node.text("/cluster")));
                        }
                    }
                }
            }
        }
    }

    fn add_routes(&mut self) {
        for (manager, Manager { node, .. }) in self.managers.iter().enumerate() {
            let Some(table) = node.get("/route_config") else { continue };
            for host in table.items("/virtual_hosts") {
                for node in host.items("/routes") {
                    self.routes.push(Route { node, host: host.clone(), table: table.clone(), manager });
                }
            }
        }
    }

    fn add_clusters(&mut self) {
        let mut routed: BTreeSet<&str> = BTreeSet::new();
        for route in &self.routes {
            routed.extend(route.clusters());
        }
        for node in self.root.items("/static_resources/clusters") {
            let has_routes = routed.contains(node.name());
            self.numbers.entry(node.name()).or_insert(self.clusters.len());
            self.clusters.push(Cluster::new(node, has_routes));
        }
    }

    /// The retry policies, each with the routes to which it applies.
    pub(crate) fn retry_policies(&self) -> Vec<(Node<'a>, Vec<&Route<'a>>)> {
        let mut policies: Vec<(Node<'a>, Vec<&Route<'a>>)> = Vec::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for route in &self.routes {
            let Some(policy) = route.retries() else { continue };
            let number = *numbers.entry(policy.at.clone()).or_insert(policies.len());
            match policies.get_mut(number) {
                Some((_, routes)) => routes.push(route),
                None => policies.push((policy, vec![route])),
            }
        }
        policies
    }

    /// The tracing of a connection manager; none if neither it nor the bootstrap states a tracer.
    pub(crate) fn tracing(&self, manager: &Manager<'a>) -> Option<Node<'a>> {
        let tracing = manager.node.get("/tracing")?;
        (tracing.has("/provider") || self.root.has("/tracing/http")).then_some(tracing)
    }

    /// The cluster of this name.
    pub(crate) fn cluster(&self, name: &str) -> Option<&Cluster<'a>> {
        self.clusters.get(*self.numbers.get(name)?)
    }

    /// The connection managers of this proxy to which a cluster leads back, at a port of the same machine.
    pub(crate) fn own_managers(&self, cluster: &Cluster<'a>) -> Vec<usize> {
        let addresses = cluster.addresses();
        let own = addresses.iter().filter(|address| is_loopback(address.host));
        own.filter_map(|address| self.by_port.get(&address.port)).flatten().copied().collect()
    }

    /// The routes of the connection managers of this proxy to which a route leads back.
    pub(crate) fn own_routes(&self, route: &Route<'a>) -> Vec<&Route<'a>> {
        let clusters = route.clusters();
        let clusters = clusters.iter().filter_map(|name| self.cluster(name));
        let behind: BTreeSet<usize> = clusters.flat_map(|cluster| self.own_managers(cluster)).collect();
        // Routes are in the order of their managers.
        let of = |manager: usize| {
            let first = self.routes.partition_point(|inner| inner.manager < manager);
            self.routes.iter().skip(first).take_while(move |inner| inner.manager == manager)
        };
        behind.into_iter().flat_map(of).collect()
    }
}

/// The ports at which a listener accepts TCP connections to the loopback address.
fn local_ports(listener: &Node<'_>) -> BTreeSet<u16> {
    if listener.is_off("/bind_to_port") {
        return BTreeSet::new();
    }
    let is_local = |socket: &Node<'_>| {
        let host = socket.text("/address");
        let is_any = host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
        socket.text("/protocol") != "UDP" && (is_any || is_loopback(host))
    };
    let sockets = listener.sockets().into_iter().filter(is_local);
    let ports = sockets.map(|socket| socket.number("/port_value").unwrap_or_default() as u16);
    ports.filter(|port| *port > 0).collect()
}

/// Returns true if a host is a loopback address or name.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || hoptax_bootstrap::is_loopback(host)
}

/// Returns true if the connections of a filter chain have TLS.
pub(crate) fn is_tls(chain: &Node<'_>) -> bool {
    tree::sockets(chain.value, &chain.at).iter().any(|(_, socket)| tree::is_tls(socket))
}
