//! What rules look at: the listeners, routes and clusters of a configuration, each with its pointer.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_bootstrap::{Configuration, Partly, tree};
use serde_json::Value;

use crate::finding::Found;

/// The ends of types.
pub(crate) const MANAGER: &str = "HttpConnectionManager";
const TCP_PROXY: &str = "TcpProxy";
/// Fields of a cluster with options of HTTP, from before they had a message of their own.
pub(crate) const OLD_OPTIONS: [&str; 5] = [
    "/http_protocol_options",
    "/http2_protocol_options",
    "/common_http_protocol_options",
    "/upstream_http_protocol_options",
    "/protocol_selection",
];
const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// A node of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    /// Its pointer.
    pub(crate) at: String,
    /// Its value, which is not null.
    pub(crate) value: &'a Value,
}

impl<'a> Node<'a> {
    /// The node at a pointer below this one.
    pub(crate) fn get(&self, pointer: &str) -> Option<Self> {
        let value = self.value.pointer(pointer).filter(|value| !value.is_null())?;
        Some(Self { at: format!("{}{pointer}", self.at), value })
    }

    /// Whether there is a node at a pointer below this one.
    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.value.pointer(pointer).is_some_and(|value| !value.is_null())
    }

    /// The text at a pointer below this one; empty if there is none.
    pub(crate) fn text(&self, pointer: &str) -> &'a str {
        tree::text(self.value, pointer)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'a str {
        self.text("/name")
    }

    /// What a listener is called: by its name, or by its address.
    pub(crate) fn label(&self) -> String {
        let socket = "/address/socket_address";
        let port = self.number(&format!("{socket}/port_value")).unwrap_or_default();
        match self.name() {
            "" => format!("{}:{port}", self.text(&format!("{socket}/address"))),
            name => name.to_owned(),
        }
    }

    /// The items of a list below this one; a value that is no list is one item.
    pub(crate) fn items(&self, pointer: &str) -> Vec<Self> {
        let at = format!("{}{pointer}", self.at);
        match self.value.pointer(pointer) {
            Some(Value::Array(items)) => {
                let items = items.iter().enumerate().filter(|(_, item)| !item.is_null());
                items.map(|(index, value)| Self { at: format!("{at}/{index}"), value }).collect()
            }
            None | Some(Value::Null) => Vec::new(),
            Some(value) => vec![Self { at, value }],
        }
    }

    /// The entries of a mapping below this one.
    pub(crate) fn entries(&self, pointer: &str) -> Vec<(&'a str, Self)> {
        let at = format!("{}{pointer}", self.at);
        let entries = self.value.pointer(pointer).and_then(Value::as_object);
        let entries = entries.into_iter().flatten().filter(|(_, value)| !value.is_null());
        entries.map(|(key, value)| (key.as_str(), Self { at: tree::join(&at, key), value })).collect()
    }

    /// A duration in seconds.
    pub(crate) fn seconds(&self, pointer: &str) -> Option<f64> {
        self.text(pointer).strip_suffix('s')?.parse().ok()
    }

    /// A number, which may be written as a text.
    pub(crate) fn number(&self, pointer: &str) -> Option<f64> {
        let value = self.value.pointer(pointer)?;
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    }

    /// A boolean; false if there is none.
    pub(crate) fn is_set(&self, pointer: &str) -> bool {
        self.value.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The type of an extension, or its name if it states none.
    pub(crate) fn extension(&self) -> &'a str {
        tree::extension_type(self.value)
    }

    /// The fields of the configuration of an extension.
    pub(crate) fn fields(&self) -> Self {
        let Some(typed) = self.get("/typed_config") else { return self.clone() };
        let message = tree::message(typed.value);
        Self { at: format!("{}{}", typed.at, message.at), value: message.fields }
    }

    /// The message of a typed configuration, which this node is.
    pub(crate) fn message(&self) -> (&'a str, Self) {
        let message = tree::message(self.value);
        (message.of, Self { at: format!("{}{}", self.at, message.at), value: message.fields })
    }

    /// All nodes below this one and itself.
    pub(crate) fn walk(&self, visit: &mut dyn FnMut(Node<'a>)) {
        tree::walk(self.value, &self.at, &mut |at, value| {
            if !value.is_null() {
                visit(Node { at: at.to_owned(), value });
            }
        });
    }

    /// A finding about a field of it, or about itself if it has not the field.
    pub(crate) fn found(&self, pointer: &str, message: impl Into<String>) -> Found {
        let field = if self.has(pointer) { pointer } else { "" };
        Found::new(&format!("{}{field}", self.at), message)
    }

    /// The pointer of a field of it.
    pub(crate) fn field(&self, pointer: &str) -> String {
        format!("{}{pointer}", self.at)
    }
}

/// A connection manager of HTTP.
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

    /// Whether its connections have TLS.
    pub(crate) fn is_tls(&self) -> bool {
        is_tls(&self.chain)
    }
}

/// A route of HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Route<'a> {
    /// The route.
    pub(crate) node: Node<'a>,
    /// The virtual host around it.
    pub(crate) host: Node<'a>,
    /// The table around that.
    pub(crate) table: Node<'a>,
    /// The number of its connection manager.
    pub(crate) manager: usize,
}

impl<'a> Route<'a> {
    /// What it does with a request that it forwards.
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

    /// Its retry policy, or that of its virtual host or its table.
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

/// A cluster.
#[derive(Clone, Debug)]
pub(crate) struct Cluster<'a> {
    /// The cluster.
    pub(crate) node: Node<'a>,
    /// Its options of HTTP.
    pub(crate) http: Option<Node<'a>>,
    /// Whether routes of HTTP lead to it.
    pub(crate) has_routes: bool,
}

impl<'a> Cluster<'a> {
    /// Its name.
    pub(crate) fn name(&self) -> &'a str {
        self.node.name()
    }

    /// Its type of discovery, in capitals; that of its extension otherwise.
    pub(crate) fn discovery(&self) -> &'a str {
        match self.node.text("/type") {
            "" if self.node.has("/cluster_type") => "EXTENSION",
            "" => "STATIC",
            of => of,
        }
    }

    /// Its endpoints.
    pub(crate) fn endpoints(&self) -> Vec<Node<'a>> {
        let localities = self.node.items("/load_assignment/endpoints");
        localities.iter().flat_map(|locality| locality.items("/lb_endpoints")).collect()
    }

    /// The host and the port of each endpoint.
    pub(crate) fn addresses(&self) -> Vec<(Node<'a>, &'a str, u16)> {
        let address = |endpoint: &Node<'a>| {
            let socket = endpoint.get("/endpoint/address/socket_address")?;
            let port = socket.number("/port_value").unwrap_or_default() as u16;
            Some((socket.clone(), socket.text("/address"), port))
        };
        self.endpoints().iter().filter_map(address).collect()
    }

    /// Whether one name or address stands for whatever is behind it.
    pub(crate) fn is_behind_one_name(&self) -> bool {
        let addresses = self.addresses();
        let is_name = |host: &str| host.parse::<std::net::IpAddr>().is_err() && host != "localhost";
        ["STRICT_DNS", "LOGICAL_DNS"].contains(&self.discovery())
            && addresses.len() == 1
            && addresses.iter().all(|(_, host, _)| is_name(host))
    }

    /// What holds its options of HTTP: the message of them, or the cluster itself as it did before. Envoy ignores all of the old place
    /// where the message is.
    pub(crate) fn options(&self) -> &Node<'a> {
        self.http.as_ref().unwrap_or(&self.node)
    }

    /// A common option of HTTP.
    pub(crate) fn common_option(&self, field: &str) -> Option<Node<'a>> {
        self.options().get(&format!("/common_http_protocol_options/{field}"))
    }

    /// With a fix that sets a common option of HTTP, with what else its message needs.
    pub(crate) fn set_common_option(&self, found: Found, field: &str, value: Value) -> Found {
        if self.http.is_some() || self.has_old_options() {
            return found.set(self.options().field(&format!("/common_http_protocol_options/{field}")), value);
        }
        self.set_options(found, "http_protocol_options", Some(serde_json::json!({field: value})))
    }

    /// With a fix that makes it speak HTTP/2, unless it states options of HTTP/1, which may be meant for something else.
    pub(crate) fn set_http2(&self, found: Found) -> Found {
        if self.http.is_some() || self.node.has("/http_protocol_options") {
            return found;
        }
        if self.has_old_options() {
            return found.set(self.node.field("/http2_protocol_options"), serde_json::json!({}));
        }
        self.set_options(found, "http2_protocol_options", None)
    }

    /// With a fix that adds a message of options.
    fn set_options(&self, found: Found, protocol: &str, common: Option<Value>) -> Found {
        let mut options = serde_json::json!({
            "@type": format!("type.googleapis.com/{HTTP_OPTIONS}"),
            "explicit_http_config": {protocol: {}},
        });
        if let Some(common) = common {
            options["common_http_protocol_options"] = common;
        }
        found.set(tree::join(&self.node.field("/typed_extension_protocol_options"), HTTP_OPTIONS), options)
    }

    fn has_old_options(&self) -> bool {
        OLD_OPTIONS.iter().any(|field| self.node.has(field))
    }

    /// Whether its connections speak HTTP/2 for certain.
    pub(crate) fn is_http2(&self) -> bool {
        let new = |http: &Node<'_>| http.has("/explicit_http_config/http2_protocol_options");
        self.http.as_ref().is_some_and(new) || self.http.is_none() && self.node.has("/http2_protocol_options")
    }

    /// Whether its connections speak HTTP/1.1 for certain.
    pub(crate) fn is_http1(&self) -> bool {
        match &self.http {
            Some(http) => http.has("/explicit_http_config/http_protocol_options"),
            None => {
                !self.node.has("/http2_protocol_options")
                    && self.node.text("/protocol_selection") != "USE_DOWNSTREAM_PROTOCOL"
            }
        }
    }

    /// Whether anything says that it speaks HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.has_routes || self.http.is_some() || self.has_old_options()
    }

    /// The TLS of its connections.
    pub(crate) fn tls(&self) -> Option<Node<'a>> {
        let sockets = tree::sockets(self.node.value, &self.node.at);
        let (at, socket) = sockets.into_iter().find(|(_, socket)| tree::is_tls(socket))?;
        Node { at, value: socket }.get("/typed_config")
    }
}

/// The configuration of a proxy.
pub(crate) struct Proxy<'a> {
    /// All of it.
    pub(crate) root: Node<'a>,
    /// Where its nodes are from.
    pub(crate) configuration: &'a Configuration,
    pub(crate) listeners: Vec<Node<'a>>,
    pub(crate) managers: Vec<Manager<'a>>,
    pub(crate) routes: Vec<Route<'a>>,
    pub(crate) clusters: Vec<Cluster<'a>>,
    /// Clusters that TCP proxies lead to, with where they are named.
    pub(crate) of_tcp: Vec<(Node<'a>, &'a str)>,
    /// Numbers of connection managers by the ports of their listeners.
    by_port: BTreeMap<u16, Vec<usize>>,
    /// Numbers of clusters by their names.
    numbers: BTreeMap<&'a str, usize>,
    /// Whether all clusters are known.
    pub(crate) is_complete: bool,
    /// Whether it is a file of some resources, and not a bootstrap.
    pub(crate) is_part: bool,
}

impl<'a> Proxy<'a> {
    /// Of a configuration.
    pub(crate) fn new(read: &'a Partly) -> Self {
        let configuration = &read.configuration;
        let root = Node { at: String::new(), value: configuration.tree() };
        let listeners = root.items("/static_resources/listeners");
        let mut proxy = Self {
            configuration,
            listeners,
            managers: Vec::new(),
            routes: Vec::new(),
            clusters: Vec::new(),
            of_tcp: Vec::new(),
            by_port: BTreeMap::new(),
            numbers: BTreeMap::new(),
            is_complete: !read.is_part && configuration.has_all_clusters(),
            is_part: read.is_part,
            root,
        };
        proxy.add_managers();
        for (number, manager) in proxy.managers.iter().enumerate() {
            let port =
                manager.listener.number("/address/socket_address/port_value").unwrap_or_default() as u16;
            if port > 0 {
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
            let http = node.get("/typed_extension_protocol_options");
            let http = http.and_then(|options| {
                let of_http = |(_, node): (&str, Node<'a>)| {
                    let (of, message) = node.message();
                    (of == HTTP_OPTIONS).then_some(message)
                };
                options.entries("").into_iter().find_map(of_http)
            });
            let has_routes = routed.contains(node.name());
            self.numbers.entry(node.name()).or_insert(self.clusters.len());
            self.clusters.push(Cluster { node, http, has_routes });
        }
    }

    /// The cluster of this name.
    pub(crate) fn cluster(&self, name: &str) -> Option<&Cluster<'a>> {
        self.clusters.get(*self.numbers.get(name)?)
    }

    /// The connection managers of this proxy that a cluster leads back to, at a port of the same machine.
    pub(crate) fn own_managers(&self, cluster: &Cluster<'a>) -> Vec<usize> {
        let addresses = cluster.addresses();
        let own = addresses.iter().filter(|(_, host, _)| is_loopback(host));
        own.filter_map(|(_, _, port)| self.by_port.get(port)).flatten().copied().collect()
    }

    /// The routes of the connection managers of this proxy that a route leads back to.
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

/// Whether a host is this machine, reachable from it alone.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the connections of a filter chain have TLS.
pub(crate) fn is_tls(chain: &Node<'_>) -> bool {
    tree::sockets(chain.value, &chain.at).iter().any(|(_, socket)| tree::is_tls(socket))
}

/// A number with the noun that it counts.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
