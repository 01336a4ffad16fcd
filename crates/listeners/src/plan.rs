//! The listeners with all names resolved and all defaults stated, or all problems of the file.

mod addresses;
mod cluster;
mod expression;
mod function;
mod restart;
mod retry;
mod routes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use hoptax_functions::Fragment;
use hoptax_text::nearest::hint;
use hoptax_text::yaml::envoy::Node;
use serde_json::Value;

use crate::file::{
    AccessLogSection, Duration, FilePath, ListenerSection, ListenersFile, OneOrMore, RateLimitSection,
    Scheme, ServerSection, ServiceSection, TargetSection, TlsSection, TracingSection, schema,
};
use crate::problem::{Problem, Problems};
use crate::shape;
use crate::tree::{Document, shortened};
use addresses::{addresses, is_own, overlap};
use cluster::Clusters;

pub(crate) use cluster::{Cluster, DEFAULT_CA, Options, Upstream, usual_name};
pub use restart::Restart;
pub(crate) use retry::Retry;

/// The cluster of the trace collector.
pub(crate) const TRACING: &str = "tracing_collector";
/// The cluster of the rate limit service.
pub(crate) const RATELIMIT: &str = "ratelimit_service";

/// Envoy's default idle timeout of a request, microseconds.
pub(crate) const STREAM_IDLE_US: u64 = 300_000_000;

/// Maximum number of problems up to which unknown services get a suggestion.
const SUGGESTED: usize = 20;

/// Top-level keys of Envoy configurations and dumps.
const OF_ENVOY: [&str; 4] = ["static_resources", "dynamic_resources", "resources", "configs"];

/// The domain of services in Wikimedia's files, which do not state it.
const DOMAIN_OF_WIKIMEDIA: &str = "discovery.wmnet";

/// A text, with the name of its file for problems.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t> {
    /// The name.
    pub name: &'t str,
    /// The text.
    pub text: &'t str,
}

/// A configuration of Envoy with all names resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) listeners: Vec<Listener>,
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) admin_port: u16,
    pub(crate) access_log: AccessLogSection,
    pub(crate) ca: FilePath,
    pub(crate) connection_limit: u32,
    pub(crate) tracing: Option<TracingSection>,
    pub(crate) ratelimit_service: Option<ServerSection>,
    pub(crate) restart: Restart,
}

impl Plan {
    /// The times of a hot restart.
    pub fn restart(&self) -> Restart {
        self.restart
    }
}

/// A listener.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    /// Its index in the file.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) listen: Vec<IpAddr>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) routes: Vec<Route>,
    pub(crate) tls: Option<TlsSection>,
    pub(crate) xfp: Option<Scheme>,
    pub(crate) retry: Option<Retry>,
    pub(crate) ratelimit: Option<RateLimitSection>,
    pub(crate) is_traced: bool,
    /// Catalogue functions, as the file states them.
    pub(crate) functions: Vec<String>,
    /// The configuration that they add.
    pub(crate) fragment: Option<Fragment>,
    /// Its position, without a message.
    pub(crate) place: Problem,
}

impl Listener {
    /// Returns true if it serves clients on other machines, not the applications on this one.
    pub(crate) fn is_ingress(&self) -> bool {
        self.tls.is_some() || self.listen.iter().any(|address| !address.is_loopback())
    }

    /// The idle timeout of a route's requests; none for Envoy's own. It is at least as long as the request timeout, unless the file states
    /// a shorter one.
    pub(crate) fn stream_idle(&self, route: &Route) -> Option<Duration> {
        self.idle_timeout.or((route.timeout.us > STREAM_IDLE_US).then_some(route.timeout))
    }
}

/// Requests that are routed to a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) matches: Matches,
    pub(crate) cluster: String,
    pub(crate) timeout: Duration,
    pub(crate) host: HostHeader,
}

/// The requests that a route matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matches {
    /// All requests.
    All,
    /// Hosts (all if empty) and a path prefix.
    Place { hosts: Vec<String>, prefix: String },
    /// Hosts matching a regular expression.
    Host(String),
    /// A percentage of the requests.
    Share(u8),
}

/// The Host header of requests to an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostHeader {
    /// The client's header.
    Kept,
    /// The name of the upstream.
    OfUpstream,
    /// This name.
    Literal(String),
}

/// Reads a file, with the services of another file.
///
/// # Errors
/// All problems of the files.
pub fn read(source: Source<'_>, services: Option<Source<'_>>) -> Result<Plan, Problems> {
    let schema = schema();
    let document = Document::read(source.name, source.text).map_err(Problems::new)?;
    if let Some(key) = OF_ENVOY.into_iter().find(|key| document.has(key)) {
        let message =
            "this is an Envoy configuration; `hoptax listeners import` makes a listeners file of it";
        return Err(Problems::new(vec![document.problem_at(&format!("/{key}"), message)]));
    }
    let mut problems = shape::problems(&document, &schema);
    let mut other = BTreeMap::new();
    if let Some(source) = services {
        match read_services(source, &schema) {
            Ok(services) => other = services,
            Err(found) => problems.extend(found),
        }
    }
    let mut value = document.root.to_value();
    let indexes = keep_sound(&document, &mut value, &problems);
    let file: ListenersFile = match serde_json::from_value(value) {
        Ok(file) => file,
        Err(error) if problems.is_empty() => {
            return Err(Problems::new(vec![document.problem(&document.root.bytes, error.to_string())]));
        }
        Err(_) => return Err(Problems::new(problems)),
    };
    let mut resolver =
        Resolver { document: &document, services: file.services, other, domain: None, problems };
    resolver.domain = file.domain.map(|domain| domain.0);
    if resolver.domain.is_none() && document.is_foreign {
        resolver.domain = Some(DOMAIN_OF_WIKIMEDIA.to_owned());
    }
    let mut clusters = Clusters::default();
    let mut listeners = Vec::with_capacity(indexes.len());
    for (index, section) in indexes.into_iter().zip(&file.listeners) {
        let path = format!("/listeners/{index}");
        if section.tracing_enabled == Some(true) && file.tracing.is_none() {
            resolver.add(
                &format!("{path}/tracing_enabled"),
                "nothing is traced without `tracing` at the top level of the file; add it, or remove this",
            );
        }
        if section.ratelimit.is_some() && file.ratelimit_service.is_none() {
            resolver.add(
                &format!("{path}/ratelimit"),
                "needs `ratelimit_service: {address: HOST, port: PORT}` at the top level of the file",
            );
        }
        listeners.push(resolver.listener(section, index, &path, &mut clusters));
    }
    resolver.check_unique(&listeners, file.admin.port);
    let own = [
        file.tracing.as_ref().map(|_| (TRACING, "tracing")),
        file.ratelimit_service.as_ref().map(|_| (RATELIMIT, "ratelimit_service")),
    ];
    clusters.check(&own.into_iter().flatten().collect::<Vec<_>>(), &mut resolver);
    let restart = resolver.restart(&file.restart);
    if !resolver.problems.is_empty() {
        return Err(Problems::new(resolver.problems));
    }
    let is_traced = file.tracing.is_some();
    for listener in &mut listeners {
        listener.is_traced &= is_traced;
    }
    Ok(Plan {
        listeners,
        clusters: clusters.into_all(),
        admin_port: file.admin.port,
        access_log: file.access_log,
        ca: file.ca.unwrap_or_else(|| FilePath(DEFAULT_CA.to_owned())),
        connection_limit: file.connection_limit.unwrap_or(50_000),
        tracing: file.tracing,
        ratelimit_service: file.ratelimit_service,
        restart,
    })
}

/// Removes listeners with problems from a file, because further problems may only follow from these. Returns the indexes of the remaining
/// listeners.
fn keep_sound(document: &Document<'_>, file: &mut Value, problems: &[Problem]) -> Vec<usize> {
    let place = |problem: &Problem| (problem.line, problem.column);
    let own = problems.iter().filter(|problem| problem.file == document.name);
    let mut places: Vec<(u64, u64)> = own.map(place).collect();
    places.sort_unstable();
    let is_sound = |index: usize| {
        let Some(item) = document.item("listeners", index) else { return false };
        let start = place(&document.problem(&item, ""));
        let end = place(&document.problem(&(item.end..item.end), ""));
        let first = places.partition_point(|place| *place < start);
        places.get(first).is_none_or(|place| *place > end)
    };
    let Some(Value::Array(sections)) = file.get_mut("listeners") else { return Vec::new() };
    let indexes: Vec<usize> = (0..sections.len()).filter(|index| is_sound(*index)).collect();
    let mut index = 0..;
    sections.retain(|_| index.next().is_some_and(|index| indexes.binary_search(&index).is_ok()));
    indexes
}

/// The services in a file: below `services`, or the whole file.
fn read_services(
    source: Source<'_>,
    schema: &Value,
) -> Result<BTreeMap<String, ServiceSection>, Vec<Problem>> {
    let mut document = Document::read(source.name, source.text)?;
    if let Node::Mapping(entries) = &document.root.node
        && let Some((_, services)) = entries.iter().find(|(key, _)| key.text == "services")
        && matches!(services.node, Node::Mapping(_))
    {
        document.root = services.clone();
    }
    let of_services = schema.pointer("/properties/services").cloned().unwrap_or_default();
    let definitions = schema.get("$defs").cloned().unwrap_or_default();
    let mut own = of_services;
    own["$defs"] = definitions;
    let problems = shape::problems(&document, &own);
    if !problems.is_empty() {
        return Err(problems);
    }
    let read = serde_json::from_value(document.root.to_value());
    read.map_err(|error| vec![document.problem(&document.root.bytes, format!("cannot be read: {error}"))])
}

/// State of name resolution: its inputs, and the problems found.
struct Resolver<'t> {
    document: &'t Document<'t>,
    services: BTreeMap<String, ServiceSection>,
    /// Services of the other file. Those of the file itself take precedence.
    other: BTreeMap<String, ServiceSection>,
    domain: Option<String>,
    problems: Vec<Problem>,
}

impl Resolver<'_> {
    /// Adds a problem with the node at a path.
    fn add(&mut self, path: &str, message: impl Into<String>) {
        let problem = self.document.problem_at(path, message);
        self.problems.push(problem);
    }

    fn service(&self, name: &str) -> Option<&ServiceSection> {
        self.services.get(name).or_else(|| self.other.get(name))
    }

    fn services(&self) -> impl Iterator<Item = &str> {
        self.services.keys().chain(self.other.keys()).map(String::as_str)
    }

    fn listener(
        &mut self,
        section: &ListenerSection,
        index: usize,
        path: &str,
        clusters: &mut Clusters,
    ) -> Listener {
        let has_target = section.target.service.is_some() || section.target.upstream.is_some();
        if !has_target && section.routes.is_empty() {
            self.add(path, "has no `upstream`, `service` or `routes`: where do its requests go?");
        }
        let fragment = self.fragment(&section.functions, &section.name.0, &format!("{path}/functions"));
        let of_cluster = fragment.as_ref().filter(|fragment| !fragment.cluster.is_empty());
        let of_cluster = of_cluster.map(|fragment| fragment.cluster.clone());
        let retry = self.retry(section, path);
        let mut routes = Vec::new();
        let mut route = |resolver: &mut Self,
                         matches,
                         target: &TargetSection,
                         path: &str,
                         name: Option<String>,
                         timeout| {
            let Some(cluster) =
                resolver.cluster(target, path, name, retry.is_some(), of_cluster.clone(), clusters)
            else {
                return;
            };
            if clusters.upstream(&cluster).is_some_and(|upstream| is_own(section, upstream)) {
                let message = format!(
                    "its requests would come back to it: the upstream is port {} of this listener itself",
                    section.port
                );
                resolver.add(&format!("{path}/upstream"), message);
            }
            let host = match (&section.http_host, target.sets_sni, target.sni_rewrites_host_header) {
                (Some(host), ..) => HostHeader::Literal(host.0.clone()),
                (None, Some(true), None | Some(true)) => HostHeader::OfUpstream,
                _ => HostHeader::Kept,
            };
            routes.push(Route { matches, cluster, timeout, host });
        };
        for (index, one) in section.routes.iter().enumerate() {
            let path = format!("{path}/routes/{index}");
            self.check_hosts(one, &path);
            let prefix = one.prefix.clone().unwrap_or_else(|| "/".to_owned());
            let matches = Matches::Place { hosts: one.hosts.clone(), prefix };
            route(self, matches, &one.target, &path, None, one.timeout.unwrap_or(section.timeout));
        }
        for (index, one) in section.splits.iter().enumerate() {
            let path = format!("{path}/splits/{index}");
            self.check_expression(one, &path);
            let matches = Matches::Host(one.host_regex.clone());
            let name = format!("{}-{}", section.name.0, one.name.0);
            route(self, matches, &one.target, &path, Some(name), section.timeout);
        }
        if let Some(split) = &section.split {
            let path = format!("{path}/split");
            let name = format!("{}-split", section.name.0);
            route(self, Matches::Share(split.percentage), &split.target, &path, Some(name), section.timeout);
            if !has_target {
                self.add(&path, "splits the requests of `upstream` or `service`, but there is neither");
            }
        }
        if has_target {
            route(self, Matches::All, &section.target, path, None, section.timeout);
        }
        self.check_shared_hosts(section, path);
        self.check_reached(section, has_target, path);
        if matches!(&section.listen, Some(OneOrMore::More(addresses)) if addresses.is_empty()) {
            self.add(&format!("{path}/listen"), "`listen` is an empty list");
        }
        Listener {
            index,
            name: section.name.0.clone(),
            port: section.port,
            listen: addresses(section),
            idle_timeout: section.idle_timeout,
            routes,
            tls: section.tls.clone(),
            xfp: section.xfp,
            retry,
            ratelimit: section.ratelimit.clone(),
            is_traced: section.tracing_enabled.unwrap_or(true),
            functions: section.functions.clone(),
            fragment,
            place: self.document.problem_at(path, ""),
        }
    }

    /// Checks that names and addresses are unique.
    fn check_unique(&mut self, listeners: &[Listener], admin_port: u16) {
        let mut names: BTreeMap<&str, u64> = BTreeMap::new();
        let mut ports: BTreeMap<u16, Vec<(IpAddr, &Listener)>> = BTreeMap::new();
        for listener in listeners {
            let path = format!("/listeners/{}", listener.index);
            let line = listener.place.line;
            if let Some(first) = names.insert(&listener.name, line) {
                let name = shortened(&listener.name);
                self.add(&format!("{path}/name"), format!("duplicate name `{name}`, also in line {first}"));
            }
            let of_port = ports.entry(listener.port).or_default();
            let mut own = BTreeSet::new();
            for address in &listener.listen {
                if !own.insert(address) {
                    self.add(&format!("{path}/listen"), format!("`{address}` is in the list twice"));
                }
                if let Some((_, other)) = of_port.iter().find(|(other, _)| overlap(*other, *address)) {
                    let message = format!(
                        "duplicate port {}: listener `{}` in line {} has it too",
                        listener.port,
                        shortened(&other.name),
                        other.place.line
                    );
                    self.add(&format!("{path}/port"), message);
                    break;
                }
            }
            of_port.extend(listener.listen.iter().map(|address| (*address, listener)));
            let is_admin = listener.port == admin_port
                && listener.listen.iter().any(|address| overlap(*address, Ipv4Addr::LOCALHOST.into()));
            if is_admin {
                let message = format!(
                    "port {admin_port} is the port of the admin interface; choose another one with `admin: {{port: PORT}}`"
                );
                self.add(&format!("{path}/port"), message);
            }
        }
    }

    /// Returns the message about an unknown service.
    fn unknown_service(&self, name: &str) -> String {
        // Limit the search: for ten thousand wrong names among ten thousand services, it would take hours.
        let is_shown = self.problems.len() < SUGGESTED;
        let hint = if is_shown { hint(name, self.services()) } else { String::new() };
        let hint = if hint.is_empty() && self.services().next().is_none() {
            "; the file has no `services`; `hoptax listeners render --services FILE` reads them from another file".to_owned()
        } else {
            hint
        };
        format!("unknown service `{}`{hint}", shortened(name))
    }
}
