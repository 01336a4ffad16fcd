//! The parts of a configuration that a request passes and that can be removed: filters, logs, tracers, TLS, routes.
//!
//! A part is a list of nodes. [`Adapted::without`] removes them and leaves a valid bootstrap.

mod form;
mod proof;

use std::fmt;

use serde_json::Value;

pub use self::form::Form;
use self::proof::Proof;
use crate::adapt::{Adapted, Listener, service_clusters};
use crate::place::Place;
use crate::request::{DerivedRequest, conditions, connection_manager};
use crate::statistics::is_matched;
use crate::tree::{
    extension_name, extension_type, is_tls, is_within, items, join, last_name, message, pointers, sockets,
    text,
};

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// A filter that sees connections before a filter chain is chosen.
    ListenerFilter,
    /// A network filter, which sees bytes.
    NetworkFilter,
    /// An HTTP filter, which sees requests.
    HttpFilter,
    /// An HTTP filter for requests on their way to a cluster.
    UpstreamFilter,
    /// An access log.
    AccessLog,
    /// Spans of requests.
    Tracer,
    /// TLS with clients.
    DownstreamTls,
    /// TLS with servers.
    UpstreamTls,
    /// A transport socket other than TLS, around or instead of the plain socket of a connection.
    TransportSocket,
    /// The routes that the request does not take.
    OtherRoutes,
    /// A sink of statistics.
    StatisticsSink,
    /// A tag of statistics.
    StatisticsTag,
    /// All tags of statistics.
    StatisticsTags,
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ListenerFilter => "listener filter",
            Self::NetworkFilter => "network filter",
            Self::HttpFilter => "HTTP filter",
            Self::UpstreamFilter => "upstream HTTP filter",
            Self::AccessLog => "access log",
            Self::Tracer => "tracer",
            Self::DownstreamTls => "downstream TLS",
            Self::UpstreamTls => "upstream TLS",
            Self::TransportSocket => "transport socket",
            Self::OtherRoutes => "other routes",
            Self::StatisticsSink => "statistics sink",
            Self::StatisticsTag => "statistics tag",
            Self::StatisticsTags => "statistics tags",
        })
    }
}

/// A part of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its kind.
    pub kind: PartKind,
    /// Its name in the configuration, or the key of its node if it has none; unique within its kind.
    pub name: String,
    /// Its place in the user's files.
    pub place: Place,
    /// Its form, to find a function that does the same; None if it is not an extension.
    pub form: Option<Form>,
    /// The nodes to remove, for [`Adapted::without`].
    pub pointers: Vec<String>,
    /// Statistics of Envoy, of which at least one changes when the part acts on requests; `*` is a wildcard. Other parts may change them
    /// too. Empty if it has no statistic of its own.
    pub proof: Vec<String>,
    /// Kind of request or event that makes it act, for a part that did not act or whose statistics do not show it: the object of
    /// `exercised by`. None for an unknown type.
    pub exercised_by: Option<String>,
    /// True if the request is not known to meet the conditions in its configuration, which `exercised_by` names.
    pub is_unmet: bool,
}

impl Part {
    /// The statistics of the part among those that changed.
    pub fn moved<'m>(&self, moved: impl IntoIterator<Item = &'m String>) -> Vec<&'m String> {
        let is_own = |name: &&String| self.proof.iter().any(|pattern| is_matched(name, pattern));
        moved.into_iter().filter(is_own).collect()
    }
}

/// The parts that a request through a listener passes, in the order in which it passes them.
pub fn parts(adapted: &Adapted, listener: &Listener, request: &DerivedRequest) -> Vec<Part> {
    let mut finder = Finder { adapted, request, found: Vec::new() };
    finder.listener_filters(listener);
    finder.downstream_tls(listener, request);
    finder.access_logs(&join(&listener.pointer, "access_log"));
    finder.filters(request);
    // Filters, logs and tracers of the chain call services on the way.
    let services = adapted.tree.pointer(&request.chain).map(service_clusters).unwrap_or_default().into_iter();
    let services = services.filter(|name| !request.clusters.contains(name));
    for cluster in request.clusters.iter().cloned().chain(services) {
        finder.cluster(&cluster);
    }
    finder.statistics();
    finder.found
}

/// Pointer from a cluster to its HTTP options.
const OPTIONS: &str =
    "/typed_extension_protocol_options/envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// The pointer of the upstream HTTP filters of a cluster.
fn upstream_list(cluster: &str) -> String {
    format!("{cluster}{OPTIONS}/http_filters")
}

/// The cluster of this name, with its pointer.
fn cluster_of<'a>(adapted: &'a Adapted, name: &str) -> Option<(String, &'a Value)> {
    let clusters = items(&adapted.tree, "/static_resources/clusters");
    clusters.into_iter().find(|(_, cluster)| text(cluster, "/name") == name)
}

struct Finder<'a> {
    adapted: &'a Adapted,
    request: &'a DerivedRequest,
    found: Vec<Part>,
}

impl Finder<'_> {
    /// Adds a part, unless none of its nodes exists.
    fn add(&mut self, kind: PartKind, name: &str, mut pointers: Vec<String>, proof: Proof) {
        pointers.retain(|pointer| self.adapted.has(pointer));
        let Some(first) = pointers.first() else { return };
        let place = self.adapted.place(first);
        let name = if name.is_empty() { last_name(first) } else { name };
        let same = self.found.iter().filter(|part| {
            part.kind == kind && (part.name == name || part.name.starts_with(&format!("{name}#")))
        });
        let name = match same.count() {
            0 => name.to_owned(),
            earlier => format!("{name}#{}", earlier + 1),
        };
        let Proof { statistics, exercised_by, is_unmet } = proof;
        let form = self.adapted.tree.pointer(first).and_then(Form::from_extension);
        self.found.push(Part {
            kind,
            name,
            place,
            form,
            pointers,
            proof: statistics,
            exercised_by,
            is_unmet,
        });
    }

    /// Adds a part that is a single extension in a list.
    fn extension(&mut self, kind: PartKind, pointer: String, node: &Value, scope: &str) {
        let mut proof = proof::of_extension(node, scope);
        // The conditions in its settings, and in its settings of the route, are more precise than its type.
        if let Some(needs) = conditions::needs(self.adapted, node, self.request) {
            (proof.exercised_by, proof.is_unmet) = (Some(needs.words), needs.is_unmet);
        }
        self.add(kind, extension_name(node), vec![pointer], proof);
    }

    fn listener_filters(&mut self, listener: &Listener) {
        let adapted = self.adapted;
        let chains = join(&listener.pointer, "filter_chains");
        let is_selective = items(&adapted.tree, &chains).iter().any(|(_, chain)| {
            let matching = chain.get("filter_chain_match").and_then(Value::as_object);
            matching.is_some_and(|matching| matching.values().any(|condition| !condition.is_null()))
        });
        for (pointer, filter) in items(&adapted.tree, &join(&listener.pointer, "listener_filters")) {
            let of = extension_type(filter);
            // Inspectors determine the filter chain, and the PROXY protocol determines addresses.
            if is_selective || of.contains("proxy_protocol") {
                continue;
            }
            self.extension(PartKind::ListenerFilter, pointer, filter, "");
        }
    }

    fn downstream_tls(&mut self, listener: &Listener, request: &DerivedRequest) {
        let Some(chain) = self.adapted.tree.pointer(&request.chain) else { return };
        let sockets = sockets(chain, &request.chain);
        self.transport_sockets(&sockets);
        let Some((socket, node)) = sockets.into_iter().find(|(_, node)| is_tls(node)) else { return };
        // Without TLS, chains cannot be selected by server name, so only this chain is kept.
        let mut pointers = vec![socket, join(&request.chain, "filter_chain_match")];
        let chains = self::pointers(&self.adapted.tree, &join(&listener.pointer, "filter_chains"));
        let others = chains.into_iter().chain([join(&listener.pointer, "default_filter_chain")]);
        pointers.extend(others.filter(|pointer| *pointer != request.chain));
        self.add(PartKind::DownstreamTls, text(node, "/name"), pointers, proof::of_downstream_tls());
    }

    /// Adds transport sockets that are neither plain nor TLS. If one wraps another, only the wrapper is removed. QUIC is excluded, because
    /// without it the listener accepts no datagrams.
    fn transport_sockets(&mut self, sockets: &[(String, &Value)]) {
        for (pointer, socket) in sockets {
            let of = extension_type(socket);
            if !is_tls(socket) && ![".raw_buffer.", ".quic."].iter().any(|known| of.contains(known)) {
                self.extension(PartKind::TransportSocket, pointer.clone(), socket, "");
            }
        }
    }

    /// Adds the access logs of a list.
    fn access_logs(&mut self, list: &str) {
        let adapted = self.adapted;
        for (pointer, log) in items(&adapted.tree, list) {
            self.extension(PartKind::AccessLog, pointer, log, "");
        }
    }

    /// Adds the upstream filters of a list, except the last one: the codec, without which no request reaches the cluster.
    fn upstream_filters(&mut self, list: &str) {
        let adapted = self.adapted;
        let filters = items(&adapted.tree, list);
        if let Some((_, others)) = filters.split_last() {
            for (pointer, filter) in others {
                self.extension(PartKind::UpstreamFilter, pointer.clone(), filter, proof::SCOPE_OF_UPSTREAM);
            }
        }
    }

    /// Adds the filters of the chain, and the parts of the connection manager.
    fn filters(&mut self, request: &DerivedRequest) {
        let adapted = self.adapted;
        let filters = items(&adapted.tree, &join(&request.chain, "filters"));
        let Some(((last, _), earlier)) = filters.split_last() else { return };
        for (pointer, filter) in earlier {
            self.extension(PartKind::NetworkFilter, pointer.clone(), filter, "");
        }
        let Some(manager) = connection_manager(&adapted.tree, &request.chain) else {
            self.access_logs(&format!("{last}/typed_config/access_log"));
            return;
        };
        let node = &adapted.tree.pointer(&manager).unwrap_or(&Value::Null);
        let scope = proof::scope_of_manager(text(node, "/stat_prefix"));
        let http = items(&adapted.tree, &join(&manager, "http_filters"));
        if let Some(((pointer, router), others)) = http.split_last() {
            for (pointer, filter) in others {
                self.extension(PartKind::HttpFilter, pointer.clone(), filter, &scope);
            }
            let at = router.get("typed_config").map_or("", |held| message(held).at);
            self.router(&format!("{pointer}/typed_config{at}"), request);
        }
        self.access_logs(&join(&manager, "access_log"));
        let tracing = join(&manager, "tracing");
        if let Some(node) = adapted.tree.pointer(&tracing).filter(|node| node.is_object()) {
            let own = text(node, "/provider/name");
            let name = if own.is_empty() { text(&adapted.tree, "/tracing/http/name") } else { own };
            self.add(PartKind::Tracer, name, vec![tracing], proof::of_tracer(&scope));
        }
        self.other_routes(&manager, request);
    }

    /// Adds the parts of a router other than routing: upstream filters and upstream logs.
    fn router(&mut self, router: &str, request: &DerivedRequest) {
        // Filters of a cluster replace those of the router.
        let has_own = |cluster: &String| {
            let found = cluster_of(self.adapted, cluster);
            found.is_some_and(|(pointer, _)| self.adapted.has(&upstream_list(&pointer)))
        };
        let are_replaced = !request.clusters.is_empty() && request.clusters.iter().all(has_own);
        if !are_replaced {
            self.upstream_filters(&join(router, "upstream_http_filters"));
        }
        self.access_logs(&join(router, "upstream_log"));
    }

    fn other_routes(&mut self, manager: &str, request: &DerivedRequest) {
        let table = join(manager, "route_config");
        let mut others = Vec::new();
        for host in pointers(&self.adapted.tree, &join(&table, "virtual_hosts")) {
            if !is_within(&request.route, &host) {
                others.push(host);
                continue;
            }
            // The request may take any of its routes.
            if request.route == host {
                continue;
            }
            let routes = pointers(&self.adapted.tree, &join(&host, "routes"));
            others.extend(routes.into_iter().filter(|route| *route != request.route));
        }
        let name = text(self.adapted.tree.pointer(&table).unwrap_or(&Value::Null), "/name").to_owned();
        self.add(PartKind::OtherRoutes, &name, others, proof::of_other_routes());
    }

    /// Adds TLS and filters of a cluster.
    fn cluster(&mut self, name: &str) {
        let adapted = self.adapted;
        let Some((pointer, node)) = cluster_of(adapted, name) else { return };
        // A cluster that negotiates its protocol needs TLS.
        let negotiates = node.pointer(OPTIONS).is_some_and(|options| options.get("auto_config").is_some());
        let sockets = sockets(node, &pointer);
        self.transport_sockets(&sockets);
        let mut tls: Vec<String> =
            sockets.into_iter().filter(|(_, socket)| is_tls(socket)).map(|(socket, _)| socket).collect();
        let matches = join(&pointer, "transport_socket_matches");
        let selected = items(&adapted.tree, &matches);
        let is_any_tls = selected
            .iter()
            .any(|(at, entry)| self::sockets(entry, at).iter().any(|(_, socket)| is_tls(socket)));
        tls.extend(is_any_tls.then_some(matches));
        if !negotiates {
            self.add(PartKind::UpstreamTls, name, tls, proof::of_upstream_tls(name));
        }
        self.upstream_filters(&upstream_list(&pointer));
    }

    fn statistics(&mut self) {
        let adapted = self.adapted;
        for (pointer, sink) in items(&adapted.tree, "/stats_sinks") {
            self.extension(PartKind::StatisticsSink, pointer, sink, "");
        }
        for (pointer, tag) in items(&adapted.tree, TAGS) {
            self.add(
                PartKind::StatisticsTag,
                text(tag, "/tag_name"),
                vec![pointer],
                proof::of_statistics_tags(),
            );
        }
    }
}

/// The list of tags of statistics.
const TAGS: &str = "/stats_config/stats_tags";

/// The parts with all tags of statistics as one part, if there are more than `most`.
pub fn with_joined_tags(parts: Vec<Part>, most: usize) -> Vec<Part> {
    let (tags, mut rest): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|part| part.kind == PartKind::StatisticsTag);
    if tags.len() <= most {
        rest.extend(tags);
        return rest;
    }
    let pointers = tags.iter().flat_map(|tag| tag.pointers.iter().cloned()).collect();
    if let Some(first) = tags.into_iter().next() {
        let name = last_name(TAGS).to_owned();
        rest.push(Part { kind: PartKind::StatisticsTags, name, pointers, ..first });
    }
    rest
}

#[cfg(test)]
mod tests;
