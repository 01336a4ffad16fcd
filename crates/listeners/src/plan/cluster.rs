//! Clusters: upstreams with their connections. Listeners with the same upstream share one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Resolver;
use crate::file::{
    BreakersSection, BudgetSection, Duration, Host, OutlierSection, TargetSection, TcpKeepaliveSection,
    UpstreamEntry,
};
use crate::problem::Problem;
use crate::tree::shortened;

/// The certificate authorities of Debian and its derivatives.
pub(crate) const DEFAULT_CA: &str = "/etc/ssl/certs/ca-certificates.crt";

/// An upstream with its connections.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) upstream: Upstream,
    pub(crate) options: Options,
    /// Position of its first use, without a message.
    pub(crate) place: Problem,
}

/// A host with its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upstream {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) encryption: bool,
}

/// Options of connections.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) http2: bool,
    pub(crate) keepalive: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) max_requests_per_connection: u32,
    pub(crate) sets_sni: bool,
    pub(crate) san: Vec<Host>,
    pub(crate) tcp_keepalive: Option<TcpKeepaliveSection>,
    pub(crate) circuit_breakers: BreakersSection,
    pub(crate) retry_budget: BudgetSection,
    pub(crate) outlier_detection: Option<OutlierSection>,
    /// Fields that catalogue functions add.
    pub(crate) functions: Option<Map<String, Value>>,
}

impl Options {
    /// The keys of the file whose values differ between two sets of options.
    fn differences(&self, other: &Self) -> Vec<&'static str> {
        let all = [
            ("http2", self.http2 == other.http2),
            ("keepalive", self.keepalive == other.keepalive),
            ("connect_timeout", self.connect_timeout == other.connect_timeout),
            (
                "max_requests_per_connection",
                self.max_requests_per_connection == other.max_requests_per_connection,
            ),
            ("sets_sni", self.sets_sni == other.sets_sni),
            ("san", self.san == other.san),
            ("tcp_keepalive", self.tcp_keepalive == other.tcp_keepalive),
            ("circuit_breakers", self.circuit_breakers == other.circuit_breakers),
            ("retry_budget", self.retry_budget == other.retry_budget),
            ("outlier_detection", self.outlier_detection == other.outlier_detection),
            ("functions", self.functions == other.functions),
        ];
        all.into_iter().filter(|(_, is_same)| !is_same).map(|(key, _)| key).collect()
    }
}

/// The clusters, by name.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    all: Vec<Cluster>,
    by_name: BTreeMap<String, usize>,
    /// Clusters with a retry budget in the file, each with true if any listener retries, and the path of the budget.
    budgets: BTreeMap<String, (bool, String)>,
}

impl Clusters {
    pub(crate) fn into_all(self) -> Vec<Cluster> {
        self.all
    }

    /// The upstream of a cluster.
    pub(super) fn upstream(&self, name: &str) -> Option<&Upstream> {
        Some(&self.all.get(*self.by_name.get(name)?)?.upstream)
    }

    /// Checks that the names of the file's internal clusters are unused, and that a stated retry budget belongs to a cluster with retries.
    pub(super) fn check(&self, own: &[(&'static str, &'static str)], resolver: &mut Resolver<'_>) {
        for (name, key) in own {
            if let Some(index) = self.by_name.get(*name)
                && let Some(cluster) = self.all.get(*index)
            {
                let message = format!(
                    "`{name}` is the name of the cluster of `{key}`; choose another one with `cluster: NAME`"
                );
                resolver.problems.push(Problem { message, ..cluster.place.clone() });
            }
        }
        for (is_used, path) in self.budgets.values().filter(|(_, path)| !path.is_empty()) {
            if !is_used {
                resolver.add(path, "`retry_budget` has no effect without `retry`; add it, or remove this");
            }
        }
    }
}

/// The default name of a cluster. It has no dots, which separate the parts of statistic names.
pub(crate) fn usual_name(host: &str, port: u64) -> String {
    format!("{}_{port}", host.replace(['.', ':'], "_"))
}

impl Resolver<'_> {
    /// The name of the cluster that a section describes; none if the section is invalid, which is reported as a problem.
    pub(super) fn cluster(
        &mut self,
        section: &TargetSection,
        path: &str,
        own_name: Option<String>,
        retries: bool,
        functions: Option<Map<String, Value>>,
        clusters: &mut Clusters,
    ) -> Option<String> {
        let upstream = self.upstream(section, path)?;
        self.check_encrypted(section, &upstream, path);
        let name = match (&section.cluster, own_name, &section.service, &section.upstream) {
            (Some(name), ..) => name.0.clone(),
            (None, Some(name), ..) => name,
            (None, None, Some(service), None) => service.clone(),
            _ => usual_name(&upstream.host.0, u64::from(upstream.port)),
        };
        let options = Options {
            http2: section.http2.unwrap_or_default(),
            keepalive: section.keepalive.unwrap_or(Duration::from_ms(4500)),
            connect_timeout: section.connect_timeout.unwrap_or(Duration::from_ms(250)),
            max_requests_per_connection: section.max_requests_per_connection.unwrap_or(1000),
            sets_sni: section.sets_sni.unwrap_or_default(),
            san: section.san.clone().unwrap_or_else(|| vec![upstream.host.clone()]),
            tcp_keepalive: section.tcp_keepalive.clone(),
            circuit_breakers: section.circuit_breakers.clone().unwrap_or_default(),
            retry_budget: section.retry_budget.clone().unwrap_or_default(),
            outlier_detection: section.outlier_detection.clone(),
            functions,
        };
        let (is_used, of_budget) = clusters.budgets.entry(name.clone()).or_default();
        *is_used |= retries;
        if section.retry_budget.is_some() && of_budget.is_empty() {
            *of_budget = format!("{path}/retry_budget");
        }
        let first = clusters.by_name.get(&name).and_then(|index| clusters.all.get(*index));
        let Some(first) = first else {
            clusters.by_name.insert(name.clone(), clusters.all.len());
            let place = self.document.problem_at(path, "");
            clusters.all.push(Cluster { name: name.clone(), upstream, options, place });
            return Some(name);
        };
        let line = first.place.line;
        let shown = shortened(&name);
        if first.upstream != upstream {
            let message = format!(
                "cluster `{shown}` has a different upstream in line {line}; give one of them another name with `cluster: NAME`"
            );
            self.add(path, message);
        }
        let differences = first.options.differences(&options);
        if !differences.is_empty() {
            let present = differences.iter().find(|key| self.has(&format!("{path}/{key}")));
            let at = present.map_or_else(|| path.to_owned(), |key| format!("{path}/{key}"));
            let message = format!(
                "connections to `{shown}` are shared with line {line}, which has a different `{}`; make them equal, or give one of them \
                 another name with `cluster: NAME`",
                differences.join("` and a different `")
            );
            self.add(&at, message);
        }
        Some(name)
    }

    /// Returns true if the file has a key at a path.
    fn has(&self, path: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.document.problem_at(path, "") != self.document.problem_at(parent, "")
    }

    fn upstream(&mut self, section: &TargetSection, path: &str) -> Option<Upstream> {
        let of_service = match &section.service {
            None => None,
            Some(name) => {
                let Some(service) = self.service(name) else {
                    let message = self.unknown_service(name);
                    self.add(&format!("{path}/service"), message);
                    return None;
                };
                Some((name, service.clone()))
            }
        };
        match (of_service, &section.upstream) {
            (None, None) => {
                self.add(path, "has neither `service` nor `upstream`");
                None
            }
            (None, Some(UpstreamEntry::Host(host))) => {
                let message = format!(
                    "the port is missing: write `{{address: {}, port: PORT}}`, or name the `service`",
                    host.0
                );
                self.add(&format!("{path}/upstream"), message);
                None
            }
            (None, Some(UpstreamEntry::Section(own))) => {
                Some(Upstream { host: own.address.clone(), port: own.port, encryption: own.encryption })
            }
            (Some(_), Some(UpstreamEntry::Section(_))) => {
                self.add(
                    &format!("{path}/upstream"),
                    "`service` already states the port and the encryption: remove it, or write only the host",
                );
                None
            }
            (Some((_, service)), Some(UpstreamEntry::Host(host))) => {
                Some(Upstream { host: host.clone(), port: service.port, encryption: service.encryption })
            }
            (Some((name, service)), None) => {
                let host = match (&service.upstream, &self.domain) {
                    (Some(host), _) => host.clone(),
                    (None, Some(domain)) => Host(format!("{name}.{domain}")),
                    (None, None) => {
                        let message = format!(
                            "the host of service `{}` is not known: add `upstream` here or to the service, or `domain` to the file",
                            shortened(name)
                        );
                        self.add(&format!("{path}/service"), message);
                        return None;
                    }
                };
                if let Some(Err(why)) = crate::file::check_of("host-or-address").map(|check| check(&host.0)) {
                    let shown = shortened(&host.0);
                    self.add(
                        &format!("{path}/service"),
                        format!("`{shown}` is not a host: {why}; add `upstream`"),
                    );
                    return None;
                }
                Some(Upstream { host, port: service.port, encryption: service.encryption })
            }
        }
    }

    /// Reports options that have no effect.
    fn check_encrypted(&mut self, section: &TargetSection, upstream: &Upstream, path: &str) {
        let needs = "has no effect without encryption; set `encryption: true`, or remove it";
        if section.sets_sni == Some(true) && !upstream.encryption {
            self.add(&format!("{path}/sets_sni"), format!("`sets_sni` {needs}"));
        }
        if section.sets_sni == Some(true) && upstream.host.address().is_some() {
            self.add(
                &format!("{path}/sets_sni"),
                "`sets_sni` needs a host name, and the upstream is an address",
            );
        }
        if section.san.is_some() && !upstream.encryption {
            self.add(&format!("{path}/san"), format!("`san` {needs}"));
        }
        if section.sni_rewrites_host_header.is_some() && section.sets_sni != Some(true) {
            self.add(
                &format!("{path}/sni_rewrites_host_header"),
                "`sni_rewrites_host_header` has no effect without `sets_sni: true`",
            );
        }
    }
}
