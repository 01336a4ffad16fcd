//! A graph of services, read from a graph file: names are resolved, and services are in the order of their calls.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::size::items::Items;
use hoptax_functions::{Catalogue, FunctionCall};
use hoptax_plan::file::{Format, Positions, Problem, Problems, Protocol};
use hoptax_plan::plan::USUAL_BYTES;
use hoptax_result::PlannedFunction;
use hoptax_text::nearest::hint;

pub(crate) use file::MAX_SERVICE_TIME_US;
pub use file::{CallSection, CallStep, GraphFile, OutboundSection, ServiceSection};

/// A graph whose names are resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Its name.
    pub name: String,
    /// Its services, each after all services that call it.
    pub(crate) services: Vec<Service>,
}

/// A service of a graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Service {
    pub(crate) name: String,
    /// Its index in the file.
    pub(crate) place: usize,
    pub(crate) has_proxy: bool,
    pub(crate) workers: u32,
    pub(crate) items: Items,
    pub(crate) requests_per_connection: Option<u32>,
    pub(crate) traffic: Traffic,
    pub(crate) inbound: Vec<Called>,
    /// None if its calls do not pass its proxy.
    pub(crate) outbound: Option<Vec<Called>>,
    /// Time that the service itself takes, us.
    pub(crate) own_time_us: f64,
    /// Calls in the order of the file.
    pub(crate) calls: Vec<Call>,
}

/// A call from one service to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Call {
    /// The service that is called: its index in [`Graph::services`], or in the file while the graph is being read.
    pub(crate) service: usize,
    /// Calls for each request to the caller.
    pub(crate) factor: f64,
    /// Calls with the same step are concurrent.
    pub(crate) step: usize,
}

/// Properties of requests that change the CPU time of plain proxying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) protocol: String,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
}

impl Traffic {
    /// Requests of this protocol. Missing sizes become the defaults of a study.
    pub(crate) fn new(protocol: &str, request_bytes: Option<u64>, response_bytes: Option<u64>) -> Self {
        let usual_request = if protocol == Protocol::Grpc.as_str() { USUAL_BYTES } else { 0 };
        Self {
            protocol: protocol.to_owned(),
            request_bytes: request_bytes.unwrap_or(usual_request),
            response_bytes: response_bytes.unwrap_or(USUAL_BYTES),
        }
    }
}

impl Graph {
    /// The functions of its proxies, as in the file, once for each proxy that has them.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        let all = self.services.iter();
        let called = all.flat_map(|service| service.inbound.iter().chain(service.outbound.iter().flatten()));
        called.map(|called| called.text.as_str())
    }

    /// The service that a call of this graph reaches.
    pub(crate) fn called(&self, call: &Call) -> &Service {
        &self.services[call.service]
    }
}

/// A function with all its knobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Called {
    /// As in the file.
    pub(crate) text: String,
    pub(crate) id: String,
    pub(crate) knobs: BTreeMap<String, String>,
    /// The knobs that are at their defaults.
    pub(crate) at_default: BTreeSet<String>,
}

impl Called {
    /// Returns true if a result measured this function. A knob that is unknown to the result was added later, and its default leaves the
    /// function unchanged.
    pub(crate) fn is(&self, measured: &PlannedFunction) -> bool {
        let is_alike = |(name, value): (&String, &String)| match measured.knobs.get(name) {
            Some(other) => other == value,
            None => self.at_default.contains(name),
        };
        self.id == measured.id
            && self.knobs.iter().all(is_alike)
            && measured.knobs.keys().all(|name| self.knobs.contains_key(name))
    }
}

/// The format of graph files.
pub static GRAPH_FILE: LazyLock<Format<GraphFile>> = LazyLock::new(Format::new);

/// Reads a graph file. `name` is the file name in problems.
///
/// # Errors
/// All problems of the file: those of its structure, or else those of its names and calls.
pub fn read(name: &str, text: &str, catalogue: &Catalogue) -> Result<Graph, Problems> {
    let (file, positions) = GRAPH_FILE.read(name, text)?;
    let mut resolving = Resolving { file: &file, positions: &positions, problems: Vec::new() };
    let functions = resolving.functions(catalogue);
    let calls = resolving.calls();
    let order = resolving.order(&calls);
    if !file.services.iter().any(|service| service.proxy) {
        resolving.problem("/services", "no service has a proxy, so there is nothing to predict".to_owned());
    }
    if !resolving.problems.is_empty() {
        return Err(positions.problems(resolving.problems));
    }
    Ok(assemble(&file, &order, functions, &calls))
}

/// A graph file whose names are being resolved.
struct Resolving<'a> {
    file: &'a GraphFile,
    positions: &'a Positions,
    problems: Vec<Problem>,
}

/// Inbound and outbound functions of a service.
type Functions = (Vec<Called>, Option<Vec<Called>>);

impl Resolving<'_> {
    fn problem(&mut self, pointer: &str, message: String) {
        self.problems.push(self.positions.problem(pointer, message));
    }

    fn functions(&mut self, catalogue: &Catalogue) -> Vec<Functions> {
        let mut all = Vec::new();
        for (place, service) in self.file.services.iter().enumerate() {
            let inbound = self.called(catalogue, &service.functions, &format!("/services/{place}/functions"));
            let outbound = service.outbound.as_ref().map(|outbound| {
                let pointer = format!("/services/{place}/outbound/functions");
                self.called(catalogue, &outbound.functions, &pointer)
            });
            all.push((inbound, outbound));
        }
        all
    }

    fn called(&mut self, catalogue: &Catalogue, names: &[String], pointer: &str) -> Vec<Called> {
        let mut called: Vec<Called> = Vec::new();
        for (index, text) in names.iter().enumerate() {
            let pointer = format!("{pointer}/{index}");
            let call = match FunctionCall::parse(text) {
                Ok(call) => call,
                Err(error) => {
                    self.problem(&pointer, error.to_string());
                    continue;
                }
            };
            match catalogue.resolve(&call) {
                Ok((function, resolved)) => {
                    let knobs =
                        resolved.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
                    let is_default = |name: &&String| {
                        function.knobs.get(*name).map(|knob| &knob.default) == resolved.get(name)
                    };
                    let at_default = function.knobs.keys().filter(is_default).cloned().collect();
                    let one = Called { text: text.clone(), id: function.id.clone(), knobs, at_default };
                    if called.iter().any(|other| other.id == one.id) {
                        self.problem(
                            &pointer,
                            format!("the proxy has `{}` already: remove one of them", one.id),
                        );
                    }
                    called.push(one);
                }
                Err(errors) => {
                    for error in errors {
                        self.problem(&pointer, error.to_string());
                    }
                }
            }
        }
        called
    }

    /// The index of the service `name`; a problem at `pointer` if there is none.
    fn service(&mut self, name: &str, pointer: &str) -> Option<usize> {
        let found = self.file.services.iter().position(|service| service.name == name);
        if found.is_none() {
            let hint = hint(name, self.file.services.iter().map(|service| service.name.as_str()));
            self.problem(pointer, format!("no service has the name `{name}`{hint}"));
        }
        found
    }

    /// The calls of each service, with indexes of the file.
    fn calls(&mut self) -> Vec<Vec<Call>> {
        let file = self.file;
        for (place, service) in file.services.iter().enumerate() {
            if file.services.iter().take(place).any(|earlier| earlier.name == service.name) {
                let message = format!("an earlier service has the name `{}` too: rename one", service.name);
                self.problem(&format!("/services/{place}/name"), message);
            }
            let needs_proxy = [
                ("workers", service.workers != file::one_worker()),
                ("connections", service.connections.is_some()),
                ("clusters", service.clusters.is_some()),
                ("routes", service.routes.is_some()),
                ("functions", !service.functions.is_empty()),
                ("outbound", service.outbound.is_some()),
            ];
            for (key, is_stated) in needs_proxy {
                if is_stated && !service.proxy {
                    let message =
                        format!("`{key}` does not apply to a service with `proxy: false`: remove it");
                    self.problem(&format!("/services/{place}/{key}"), message);
                }
            }
            if service.outbound.is_some() && service.calls.is_empty() {
                let message =
                    "`outbound` does not apply to a service without `calls`: remove it, or add calls";
                self.problem(&format!("/services/{place}/outbound"), message.to_owned());
            }
        }
        let mut all = Vec::new();
        for (place, service) in file.services.iter().enumerate() {
            let mut calls = Vec::new();
            for (step, calls_of_step) in service.calls.iter().enumerate() {
                for (index, call) in calls_of_step.calls().iter().enumerate() {
                    let pointer = match calls_of_step {
                        CallStep::One(_) => format!("/services/{place}/calls/{step}/service"),
                        CallStep::Together(_) => format!("/services/{place}/calls/{step}/{index}/service"),
                    };
                    let called = self.service(&call.service, &pointer);
                    calls.extend(called.map(|service| Call { service, factor: call.factor, step }));
                }
            }
            all.push(calls);
        }
        all
    }

    /// The services, each after all that call it.
    fn order(&mut self, calls: &[Vec<Call>]) -> Vec<usize> {
        let Some(entry) = self.service(&self.file.entry.clone(), "/entry") else { return Vec::new() };
        let mut order = Vec::new();
        let mut state = vec![Visit::None; calls.len()];
        self.visit(entry, calls, &mut state, &mut order);
        order.reverse();
        for (place, _) in state.iter().enumerate().filter(|(_, state)| **state == Visit::None) {
            let name = self.file.services.get(place).map(|service| service.name.clone()).unwrap_or_default();
            let message = format!(
                "no request reaches `{name}`: call it from `{}` or a service that it calls, or remove it",
                self.file.entry
            );
            self.problem(&format!("/services/{place}"), message);
        }
        order
    }

    fn visit(&mut self, place: usize, calls: &[Vec<Call>], state: &mut [Visit], order: &mut Vec<usize>) {
        if let Some(state) = state.get_mut(place) {
            *state = Visit::Entered;
        }
        for call in calls.get(place).into_iter().flatten() {
            match state.get(call.service) {
                Some(Visit::None) => self.visit(call.service, calls, state, order),
                Some(Visit::Entered) => {
                    let message = "the call closes a cycle of services, and a cycle has no rate";
                    self.problem(&format!("/services/{place}/calls/{}", call.step), message.to_owned());
                }
                _ => {}
            }
        }
        if let Some(state) = state.get_mut(place) {
            *state = Visit::Left;
        }
        order.push(place);
    }
}

/// Progress of the visit of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visit {
    None,
    Entered,
    Left,
}

fn assemble(file: &GraphFile, order: &[usize], functions: Vec<Functions>, calls: &[Vec<Call>]) -> Graph {
    let index_of = |place: usize| order.iter().position(|other| *other == place).unwrap_or_default();
    let mut services: Vec<Service> = file
        .services
        .iter()
        .zip(functions)
        .zip(calls)
        .enumerate()
        .map(|(place, ((section, (inbound, outbound)), calls))| Service {
            name: section.name.clone(),
            place,
            has_proxy: section.proxy,
            workers: section.workers,
            items: Items {
                connections: section.connections,
                clusters: section.clusters,
                routes: section.routes,
            },
            traffic: Traffic::new(
                section.protocol.unwrap_or(file.protocol).as_str(),
                section.request_bytes,
                section.response_bytes,
            ),
            requests_per_connection: section.requests_per_connection.filter(|requests| *requests > 0),
            inbound,
            outbound,
            own_time_us: section.service_time_us,
            calls: calls.iter().map(|call| Call { service: index_of(call.service), ..*call }).collect(),
        })
        .collect();
    services.sort_by_key(|service| index_of(service.place));
    Graph { name: file.name.clone(), services }
}

#[cfg(test)]
pub(crate) mod tests;
