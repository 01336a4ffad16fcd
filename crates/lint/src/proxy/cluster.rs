//! A cluster.

use hoptax_bootstrap::tree;
use serde_json::Value;

use super::Node;
use crate::found::Found;

/// Fields of a cluster with HTTP options, from before these had a separate message.
pub(crate) const OLD_OPTIONS: [&str; 5] = [
    "/http_protocol_options",
    "/http2_protocol_options",
    "/common_http_protocol_options",
    "/upstream_http_protocol_options",
    "/protocol_selection",
];
const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// A cluster.
#[derive(Clone, Debug)]
pub(crate) struct Cluster<'a> {
    /// The cluster.
    pub(crate) node: Node<'a>,
    /// Its HTTP options.
    pub(crate) http: Option<Node<'a>>,
    /// True if HTTP routes lead to it.
    pub(crate) has_routes: bool,
}

/// The address of an endpoint.
pub(crate) struct Address<'a> {
    /// Its node.
    pub(crate) socket: Node<'a>,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
}

impl<'a> Cluster<'a> {
    /// Returns the view of a cluster's node.
    pub(super) fn new(node: Node<'a>, has_routes: bool) -> Self {
        let of_http = |(_, node): (&str, Node<'a>)| {
            let (of, message) = node.message();
            (of == HTTP_OPTIONS).then_some(message)
        };
        let options = node.entries("/typed_extension_protocol_options");
        let http = options.into_iter().find_map(of_http);
        Self { node, http, has_routes }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'a str {
        self.node.name()
    }

    /// Returns true if its servers are the endpoints in the file, given by address.
    pub(crate) fn is_static(&self) -> bool {
        !self.node.has("/cluster_type") && ["", "STATIC"].contains(&self.node.text("/type"))
    }

    /// Returns true if it resolves the names of its endpoints.
    fn is_dns(&self) -> bool {
        let Some(extension) = self.node.get("/cluster_type") else {
            return ["STRICT_DNS", "LOGICAL_DNS"].contains(&self.node.text("/type"));
        };
        let of = extension.extension();
        let name = ["envoy.cluster.", "envoy.clusters."].iter().find_map(|start| of.strip_prefix(start));
        of.ends_with(".DnsCluster")
            || name.is_some_and(|name| ["dns", "strict_dns", "logical_dns"].contains(&name))
    }

    /// Its endpoints.
    pub(crate) fn endpoints(&self) -> Vec<Node<'a>> {
        let localities = self.node.items("/load_assignment/endpoints");
        localities.iter().flat_map(|locality| locality.items("/lb_endpoints")).collect()
    }

    /// The address of each endpoint.
    pub(crate) fn addresses(&self) -> Vec<Address<'a>> {
        let address = |endpoint: &Node<'a>| {
            let socket = endpoint.get("/endpoint/address/socket_address")?;
            let port = socket.number("/port_value").unwrap_or_default() as u16;
            Some(Address { host: socket.text("/address"), port, socket })
        };
        self.endpoints().iter().filter_map(address).collect()
    }

    /// Returns true if its only endpoint is a name, which may resolve to several servers.
    pub(crate) fn is_behind_one_name(&self) -> bool {
        let addresses = self.addresses();
        let is_name = |host: &str| host.parse::<std::net::IpAddr>().is_err() && host != "localhost";
        self.is_dns() && addresses.len() == 1 && addresses.iter().all(|address| is_name(address.host))
    }

    /// Returns the node with its HTTP options: the separate message, or the cluster itself, as in old releases. If the message exists,
    /// Envoy ignores all options in the cluster.
    pub(crate) fn options(&self) -> &Node<'a> {
        self.http.as_ref().unwrap_or(&self.node)
    }

    /// A common HTTP option.
    pub(crate) fn common_option(&self, field: &str) -> Option<Node<'a>> {
        self.options().get(&format!("/common_http_protocol_options/{field}"))
    }

    /// Adds a fix that sets a common HTTP option, with the other fields that its message needs.
    pub(crate) fn set_common_option(&self, found: Found, field: &str, value: Value) -> Found {
        if self.http.is_some() || self.has_old_options() {
            return found.set(self.options().field(&format!("/common_http_protocol_options/{field}")), value);
        }
        self.set_options(found, "http_protocol_options", Some(serde_json::json!({field: value})))
    }

    /// Adds a fix that makes it use HTTP/2, unless it states HTTP/1 options, which may be intended.
    pub(crate) fn set_http2(&self, found: Found) -> Found {
        if self.http.is_some() || self.node.has("/http_protocol_options") {
            return found;
        }
        if self.has_old_options() {
            return found.set(self.node.field("/http2_protocol_options"), serde_json::json!({}));
        }
        self.set_options(found, "http2_protocol_options", None)
    }

    /// Adds a fix that adds a message with HTTP options.
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

    /// Returns true if its connections certainly use HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        let new = |http: &Node<'_>| http.has("/explicit_http_config/http2_protocol_options");
        self.http.as_ref().is_some_and(new) || self.http.is_none() && self.node.has("/http2_protocol_options")
    }

    /// Returns true if its connections certainly use HTTP/1.1.
    pub(crate) fn is_http1(&self) -> bool {
        match &self.http {
            Some(http) => http.has("/explicit_http_config/http_protocol_options"),
            None => {
                !self.node.has("/http2_protocol_options")
                    && self.node.text("/protocol_selection") != "USE_DOWNSTREAM_PROTOCOL"
            }
        }
    }

    /// Returns true if any setting shows that it uses HTTP.
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
