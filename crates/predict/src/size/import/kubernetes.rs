//! Reads manifests of Kubernetes: workloads become services, and workloads with an injected sidecar have a proxy.
//!
//! Manifests do not state which service calls which. A call is assumed where an environment variable or an argument of a container names a
//! Service with a port, a scheme or its namespace (`cart:7070`, `http://cart`, `cart.shop.svc`).
//!
//! Sources of the labels and annotations: the documentation of Istio ("Installing the Sidecar"), Linkerd ("Automatic Proxy Injection"),
//! Consul ("Annotations and labels") and Kuma ("Data plane proxy on Kubernetes"). Values that the documentation leaves out are from the
//! source code of the injectors of Istio (`injectRequired`), Linkerd (`ProxyInjectIngress`) and Kuma (`GetBooleanWithDefault`).

mod calls;

use std::collections::BTreeMap;
use std::fmt;

use hoptax_plan::file::{Problem, Problems, Protocol, templated, unparsed};
use hoptax_text::yaml::Placed;

use super::isotope::reached;
use super::{Imported, at, count, cycle, entries, field, items, names, problem_at, string};
use crate::size::graph::{CallSection, CallStep, GraphFile, OutboundSection, ServiceSection};

/// Kinds of workloads.
const WORKLOADS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// Labels and annotations of a pod or its namespace that control injection: the key, and the values that enable it. Case does not matter,
/// as in Istio.
const INJECTION: [(&str, &[&str]); 5] = [
    ("sidecar.istio.io/inject", &["true", "yes", "y", "on"]),
    ("istio-injection", &["enabled"]),
    ("linkerd.io/inject", &["enabled", "ingress"]),
    ("consul.hashicorp.com/connect-inject", &["true"]),
    ("kuma.io/sidecar-injection", &["enabled", "true", "yes"]),
];

/// A label that enables injection, whatever its value.
const REVISION: &str = "istio.io/rev";

/// Reasons why there is no graph: the problems of all files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NoGraph(Vec<Problems>);

impl fmt::Display for NoGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("\n"))
    }
}

/// A workload, as far as the manifests describe it.
#[derive(Clone, Debug, Default)]
struct Workload {
    name: String,
    namespace: String,
    replicas: u32,
    labels: BTreeMap<String, String>,
    /// True if its own labels and annotations enable injection, false if they disable it; none if they do neither.
    is_injected: Option<bool>,
    /// Environment variables and arguments: names, and values.
    texts: Vec<String>,
}

/// A Service of Kubernetes.
#[derive(Clone, Debug, Default)]
struct Target {
    name: String,
    namespace: String,
    selector: BTreeMap<String, String>,
    protocol: Option<Protocol>,
    /// True if it is reached from outside.
    is_public: bool,
}

#[derive(Default)]
struct Reading {
    workloads: Vec<Workload>,
    targets: Vec<Target>,
    /// Injection by namespace, as its labels and annotations state it.
    namespaces: BTreeMap<String, Option<bool>>,
    /// Numbers of other objects by kind.
    others: BTreeMap<String, usize>,
    problems: Vec<Problem>,
}

/// A file of manifests.
#[derive(Clone, Debug)]
pub struct ManifestFile {
    /// Its path, for messages.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Reads manifests. `name` names the graph, and `entry` the workload that requests from outside arrive at. By default, it is the only
/// workload behind a Service of the type `LoadBalancer` or `NodePort`, or else the only workload that no other calls.
///
/// # Errors
/// All problems of all files; or that no workload, or no entry, was found.
pub fn read(name: &str, files: &[ManifestFile], entry: Option<&str>) -> Result<Imported, NoGraph> {
    let mut reading = Reading::default();
    let mut problems = Vec::new();
    for ManifestFile { name: file, text } in files {
        match serde_saphyr::from_multiple::<Placed>(text) {
            Ok(documents) => documents.iter().for_each(|document| reading.object(document, None)),
            Err(error) => reading.problems.push(unparsed(text, &error)),
        }
        if !reading.problems.is_empty() {
            problems.push(Problems::new(file, std::mem::take(&mut reading.problems)));
        }
    }
    if !problems.is_empty() {
        return Err(NoGraph(problems));
    }
    reading
        .graph(name, entry)
        .map_err(|message| NoGraph(vec![Problems::new(name, vec![Problem { line: 0, column: 0, message }])]))
}

impl Reading {
    fn problem(&mut self, node: &Placed, message: String) {
        self.problems.push(problem_at(node, message));
    }

    /// Reads an object. Its kind is `of_list` if it states none.
    fn object(&mut self, node: &Placed, of_list: Option<&str>) {
        let Some(kind) = field(node, "kind").and_then(string).or(of_list) else {
            // Two document separators in a row leave an empty document.
            if entries(node).next().is_some() {
                self.problem(node, "an object needs a `kind`".to_owned());
            }
            return;
        };
        // The Kubernetes API returns lists of one kind, whose items do not state the kind.
        if let (Some(of_items), Some(listed)) = (kind.strip_suffix("List"), field(node, "items")) {
            let of_items = Some(of_items).filter(|kind| !kind.is_empty());
            for item in items(listed) {
                self.object(item, of_items);
            }
            return;
        }
        match kind {
            "Namespace" => {
                if let Some(name) = at(node, &["metadata", "name"]).and_then(string) {
                    self.namespaces.insert(name.to_owned(), injection(field(node, "metadata")));
                }
            }
            "Service" => self.target(node),
            kind if WORKLOADS.contains(&kind) => self.workload(node),
            other => *self.others.entry(other.to_owned()).or_default() += 1,
        }
    }

    /// The name and the namespace of an object.
    fn names(&mut self, node: &Placed) -> Option<(String, String)> {
        let stated = at(node, &["metadata", "name"]);
        let Some(name) = stated.and_then(string) else {
            self.problem(node, "an object needs a name: `metadata: {name: ...}`".to_owned());
            return None;
        };
        // Names in Kubernetes cannot contain these characters.
        let of_template = stated.and_then(|stated| {
            templated(&stated.value.to_value(), stated.referenced.line(), stated.referenced.column())
        });
        self.problems.extend(of_template);
        let namespace = at(node, &["metadata", "namespace"]).and_then(string).unwrap_or("default");
        Some((name.to_owned(), namespace.to_owned()))
    }

    fn target(&mut self, node: &Placed) {
        let Some((name, namespace)) = self.names(node) else { return };
        let ports = at(node, &["spec", "ports"]).map_or(&[][..], items);
        let kind = at(node, &["spec", "type"]).and_then(string);
        self.targets.push(Target {
            name,
            namespace,
            selector: at(node, &["spec", "selector"]).map(texts).unwrap_or_default(),
            protocol: ports.first().and_then(protocol),
            is_public: matches!(kind, Some("LoadBalancer" | "NodePort")),
        });
    }

    fn workload(&mut self, node: &Placed) {
        let Some((name, namespace)) = self.names(node) else { return };
        let Some(pod) = at(node, &["spec", "template"]) else {
            self.problem(node, format!("workload `{name}` has no `spec: {{template: ...}}`"));
            return;
        };
        let replicas = at(node, &["spec", "replicas"]);
        let number = replicas.map_or(Some(1), count).filter(|number| *number <= 1_024);
        if let (Some(replicas), None) = (replicas, number) {
            self.problem(replicas, "`replicas` must be a whole number from 1 to 1024".to_owned());
        }
        let metadata = field(pod, "metadata");
        self.workloads.push(Workload {
            name,
            namespace,
            replicas: number.unwrap_or(1),
            labels: metadata.and_then(|metadata| field(metadata, "labels")).map(texts).unwrap_or_default(),
            is_injected: injection(metadata),
            texts: calls::texts(pod),
        });
    }

    fn graph(&self, name: &str, entry: Option<&str>) -> Result<Imported, String> {
        if self.workloads.is_empty() {
            return Err(format!("no {} was found", WORKLOADS.join(", ")));
        }
        if let Some(twice) =
            self.workloads.iter().enumerate().find(|(number, one)| {
                self.workloads.iter().take(*number).any(|earlier| earlier.name == one.name)
            })
        {
            return Err(format!(
                "two workloads have the name `{}`: read the manifests of one namespace at a time",
                twice.1.name
            ));
        }
        let mut services: Vec<ServiceSection> =
            self.workloads.iter().map(|workload| self.service(workload)).collect();
        let entry = self.entry(&services, entry)?;
        let mut notes = self.notes(&services);
        let reached = reached(&services, &entry);
        let unreached: Vec<&str> = services
            .iter()
            .map(|service| service.name.as_str())
            .filter(|name| !reached.iter().any(|reached| reached == name))
            .collect();
        if !unreached.is_empty() {
            notes.push(format!(
                "Left out, as no request from `{entry}` reaches them: {}.",
                names(unreached.into_iter())
            ));
        }
        services.retain(|service| reached.contains(&service.name));
        if let Some(cycle) = cycle(&services) {
            return Err(format!(
                "{} call each other in a circle, and a cycle has no rate: leave out the variable or the argument of one of them that names \
                 the next",
                names(cycle.into_iter())
            ));
        }
        let graph = GraphFile { name: name.to_owned(), entry, protocol: Protocol::Http1, services };
        Ok(Imported { graph, notes })
    }

    fn service(&self, workload: &Workload) -> ServiceSection {
        let of_namespace = self.namespaces.get(&workload.namespace).copied().flatten();
        let proxy = workload.is_injected.or(of_namespace).unwrap_or(false);
        let protocol = self.targets_of(workload).find_map(|target| target.protocol);
        let calls: Vec<CallStep> = self
            .called(workload)
            .into_iter()
            .map(|service| CallStep::One(CallSection { service: service.to_owned(), factor: 1.0 }))
            .collect();
        ServiceSection {
            proxy,
            workers: if proxy { workload.replicas } else { 1 },
            protocol: protocol.filter(|protocol| *protocol != Protocol::Http1),
            outbound: (proxy && !calls.is_empty()).then(OutboundSection::default),
            calls,
            ..ServiceSection::named(&workload.name)
        }
    }

    /// The Services that select the pods of a workload.
    fn targets_of<'a>(&'a self, workload: &'a Workload) -> impl Iterator<Item = &'a Target> {
        let selects = |target: &&Target| {
            !target.selector.is_empty()
                && target.namespace == workload.namespace
                && target.selector.iter().all(|(key, value)| workload.labels.get(key) == Some(value))
        };
        self.targets.iter().filter(selects)
    }

    /// The names of the workloads that a workload calls, each once.
    fn called(&self, workload: &Workload) -> Vec<&str> {
        let is_called = |other: &&Workload| {
            other.name != workload.name
                && self.targets_of(other).any(|target| {
                    let is_near = target.namespace == workload.namespace;
                    workload
                        .texts
                        .iter()
                        .any(|text| calls::mentions(text, &target.name, &target.namespace, is_near))
                })
        };
        self.workloads.iter().filter(is_called).map(|other| other.name.as_str()).collect()
    }

    fn entry(&self, services: &[ServiceSection], given: Option<&str>) -> Result<String, String> {
        let all = || services.iter().map(|service| service.name.as_str());
        if let Some(given) = given {
            return all().find(|name| *name == given).map(str::to_owned).ok_or_else(|| {
                format!("no workload has the name `{given}`{}", hoptax_text::nearest::hint(given, all()))
            });
        }
        let is_public = |workload: &&Workload| self.targets_of(workload).any(|target| target.is_public);
        let public: Vec<&str> =
            self.workloads.iter().filter(is_public).map(|workload| workload.name.as_str()).collect();
        let is_called = |name: &str| {
            let mut calls = services.iter().flat_map(|service| &service.calls).flat_map(CallStep::calls);
            calls.any(|call| call.service == name)
        };
        let uncalled: Vec<&str> = all().filter(|name| !is_called(name)).collect();
        match (public.as_slice(), uncalled.as_slice()) {
            ([one], _) | ([], [one]) => Ok((*one).to_owned()),
            ([], several) | (several, _) => Err(format!(
                "where requests from outside arrive is unclear: name it with --entry, for example {}",
                names(if several.is_empty() { all().collect() } else { several.to_vec() }.into_iter())
            )),
        }
    }

    /// Sentences about assumptions, and about settings that were left out.
    fn notes(&self, services: &[ServiceSection]) -> Vec<String> {
        let mut notes = vec![
            "Calls are those that environment variables and arguments name, once for each request, one after another: correct them."
                .to_owned(),
            "Replicas became workers of one proxy, so memory is that of one. Sizes of bodies are those of `hoptax predict size`.".to_owned(),
        ];
        let without: Vec<&str> =
            services.iter().filter(|service| !service.proxy).map(|service| service.name.as_str()).collect();
        if !without.is_empty() {
            notes.push(format!(
                "No label or annotation injects a sidecar into {}: they have no proxy.",
                names(without.into_iter())
            ));
        }
        let selects_nothing = |target: &&Target| {
            !self.workloads.iter().any(|workload| {
                self.targets_of(workload)
                    .any(|other| (&other.name, &other.namespace) == (&target.name, &target.namespace))
            })
        };
        let dangling: Vec<&str> =
            self.targets.iter().filter(selects_nothing).map(|target| target.name.as_str()).collect();
        if !dangling.is_empty() {
            notes.push(format!(
                "Left out, as they select no workload: Services {}.",
                names(dangling.into_iter())
            ));
        }
        if !self.others.is_empty() {
            let list: Vec<String> =
                self.others.iter().map(|(kind, times)| format!("{times} {kind}")).collect();
            notes.push(format!("Left out, as a graph cannot express them: {}.", list.join(", ")));
        }
        notes
    }
}

/// Reads injection from labels and annotations: true if enabled, false if disabled; none if they do not state it.
fn injection(metadata: Option<&Placed>) -> Option<bool> {
    let metadata = metadata?;
    let all = ["labels", "annotations"].into_iter().filter_map(|key| field(metadata, key));
    let all: BTreeMap<String, String> = all.flat_map(texts).collect();
    let stated = INJECTION.iter().filter_map(|(key, asks)| {
        let value = all.get(*key)?;
        Some(asks.iter().any(|ask| value.eq_ignore_ascii_case(ask)))
    });
    stated.reduce(|one, other| one || other).or_else(|| all.contains_key(REVISION).then_some(true))
}

/// The entries of a mapping as texts; scalars other than strings are written as in JSON.
fn texts(node: &Placed) -> BTreeMap<String, String> {
    let text = |node: &Placed| string(node).map_or_else(|| node.value.to_value().to_string(), str::to_owned);
    entries(node).map(|(key, value)| (key.to_owned(), text(value))).collect()
}

/// The protocol of a port: its `appProtocol`, or else the part of its name before `-`.
fn protocol(port: &Placed) -> Option<Protocol> {
    let stated = field(port, "appProtocol").or_else(|| field(port, "name")).and_then(string)?;
    match stated.rsplit('/').next()?.split('-').next()? {
        "http" => Some(Protocol::Http1),
        "http2" | "h2c" => Some(Protocol::Http2),
        "grpc" => Some(Protocol::Grpc),
        "tcp" => Some(Protocol::Tcp),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
