//! Reads a topology of isotope, Istio's generator of mock services.
//!
//! Source: the YAML that `isotope` of <https://github.com/istio/tools> reads. Every service has a sidecar, which its own calls pass too.
//! Some keys differ between isotope's README and its program; both are read.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_plan::file::{Problem, Problems, Protocol, unparsed};
use hoptax_text::yaml::Placed;

use super::sizes::{self, Fault};
use super::{Imported, count, cycle, entries, field, items, names, number, problem_at, string};
use crate::size::graph::{CallSection, CallStep, GraphFile, OutboundSection, ServiceSection};

/// The share of requests that a service answers with an error.
const ERROR_RATE: &str = "errorRate";
/// Keys of services and defaults that have no equivalent in a graph.
const LEFT_OUT: [&str; 7] =
    [ERROR_RATE, "namespace", "cluster", "labels", "numRbacPolicies", "memoryUsage", "computeUsage"];

/// Returns true if a text is a topology of isotope. A graph file, unlike a topology, states its entry beside the services.
pub fn is_topology(text: &str) -> bool {
    let Ok(root) = serde_saphyr::from_str::<Placed>(text) else { return false };
    let services = field(&root, "services").map(items).unwrap_or_default();
    let is_of_isotope =
        |service: &Placed| ["isEntrypoint", "script"].iter().any(|key| field(service, key).is_some());
    let is_of_kind = field(&root, "kind").and_then(string) == Some("MockServiceGraph");
    field(&root, "entry").is_none() && (is_of_kind || services.iter().any(is_of_isotope))
}

/// Reads a topology. `name` is the file name in problems, and names the graph. `entry` is the service that requests from outside arrive at.
/// By default, it is the service that is marked as the entry, or else the only service that no other calls.
///
/// # Errors
/// All problems of the file.
pub fn read(name: &str, text: &str, entry: Option<&str>) -> Result<Imported, Problems> {
    let root: Placed =
        serde_saphyr::from_str(text).map_err(|error| Problems::new(name, vec![unparsed(text, &error)]))?;
    let mut reading = Reading::default();
    let graph = reading.graph(name, &root, entry);
    if reading.problems.is_empty() {
        Ok(Imported { graph, notes: reading.notes() })
    } else {
        Err(Problems::new(name, reading.problems))
    }
}

#[derive(Default)]
struct Reading<'a> {
    problems: Vec<Problem>,
    /// Keys that are left out, with the number of places.
    left_out: BTreeMap<String, usize>,
    unreached: Vec<String>,
    /// Sizes of requests by the service that they are sent to.
    request_bytes: BTreeMap<&'a str, Vec<SizeOfCalls>>,
    /// The entry, if the topology does not state it.
    assumed_entry: Option<String>,
    /// Lines of sleeps that are concurrent with calls.
    beside_calls: Vec<u64>,
    /// True if some service has the default size of responses, because it states none.
    has_default_size: bool,
}

/// Values of a service that does not state its own.
#[derive(Default)]
struct Defaults<'a> {
    protocol: Option<Protocol>,
    request_bytes: Option<u64>,
    response_bytes: Option<u64>,
    replicas: Option<u32>,
    script: Option<&'a Placed>,
}

impl<'a> Reading<'a> {
    fn problem(&mut self, node: &Placed, message: impl Into<String>) {
        self.problems.push(problem_at(node, message.into()));
    }

    fn graph(&mut self, name: &str, root: &'a Placed, entry: Option<&str>) -> GraphFile {
        let mut defaults = Defaults::default();
        for (key, value) in entries(root) {
            match key {
                "defaults" | "default" => defaults = self.defaults(value),
                "services" | "apiVersion" | "kind" => {}
                other => self.problem(value, format!("unknown key `{other}` of a topology")),
            }
        }
        let listed = field(root, "services").map_or(&[][..], items);
        if listed.is_empty() {
            self.problem(root, "a topology needs a list `services` with at least one service");
        }
        let mut services: Vec<ServiceSection> =
            listed.iter().map(|node| self.service(node, &defaults)).collect();
        for service in &mut services {
            service.request_bytes =
                self.request_bytes.get(service.name.as_str()).and_then(|sizes| mean(sizes));
        }
        let entry = self.entry(root, listed, &services, entry);
        let known: Vec<String> = services.iter().map(|service| service.name.clone()).collect();
        self.unknown_services(listed, &defaults, &known);
        self.services_twice(listed);
        let reached = reached(&services, &entry);
        let is_reached = |service: &ServiceSection| reached.contains(&service.name);
        self.unreached =
            services.iter().filter(|service| !is_reached(service)).map(|one| one.name.clone()).collect();
        services.retain(is_reached);
        self.cycle(listed, &defaults, &services);
        let stem = name.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or_default();
        let name = if stem.is_empty() { "topology" } else { stem };
        GraphFile { name: name.to_owned(), entry, protocol: Protocol::Http1, services }
    }

    /// Returns sentences about assumptions, and about settings that a graph cannot express.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Each service has a sidecar that its own calls pass too; replicas became workers of one proxy, so memory is that of one."
                .to_owned(),
        ];
        if !self.left_out.is_empty() {
            let keys: Vec<String> =
                self.left_out.iter().map(|(key, times)| format!("`{key}` ({times})")).collect();
            notes.push(format!("Left out, as a graph cannot express them: {}.", keys.join(", ")));
        }
        if !self.unreached.is_empty() {
            let names = names(self.unreached.iter().map(String::as_str));
            notes.push(format!("Left out, as no request from the entry reaches them: {names}."));
        }
        if let Some(entry) = &self.assumed_entry {
            notes.push(format!(
                "`{entry}` is the entry, as no other service calls it; --entry names another."
            ));
        }
        for (service, sizes) in &self.request_bytes {
            let mut different: Vec<u64> = sizes.iter().map(|size| size.bytes).collect();
            different.sort_unstable();
            different.dedup();
            if let (true, Some(mean)) = (different.len() > 1, mean(sizes)) {
                let different: Vec<String> = different.iter().map(u64::to_string).collect();
                notes.push(format!(
                    "Calls send {} bytes to `{service}`; the graph has one size for each service, here their mean of {mean}.",
                    different.join(" and ")
                ));
            }
        }
        if !self.beside_calls.is_empty() {
            let lines: Vec<String> = self.beside_calls.iter().map(u64::to_string).collect();
            notes.push(format!(
                "Left out: sleeps at the same time as calls, which matter only if they are longer than the calls (line {}).",
                lines.join(", ")
            ));
        }
        if self.has_default_size {
            notes.push(
                "Sizes that the topology does not state are those of `hoptax predict size`, not 0."
                    .to_owned(),
            );
        }
        notes
    }

    fn entry(
        &mut self,
        root: &Placed,
        listed: &[Placed],
        services: &[ServiceSection],
        given: Option<&str>,
    ) -> String {
        let known = || services.iter().map(|service| service.name.as_str());
        if let Some(given) = given {
            if !known().any(|name| name == given) {
                let hint = hoptax_text::nearest::hint(given, known());
                self.problem(
                    root,
                    format!("no service has the name `{given}`, which is meant as the entry{hint}"),
                );
            }
            return given.to_owned();
        }
        let is_entry =
            |node: &&Placed| field(node, "isEntrypoint").is_some_and(|node| node.value.to_value() == true);
        let entries: Vec<&Placed> = listed.iter().filter(is_entry).collect();
        let name = |node: &Placed| field(node, "name").and_then(string).unwrap_or_default().to_owned();
        match entries.as_slice() {
            [one] => return name(one),
            [] if listed.is_empty() => {}
            [] => {
                let calls = services.iter().flat_map(|service| &service.calls).flat_map(CallStep::calls);
                let called: Vec<&str> = calls.map(|call| call.service.as_str()).collect();
                let uncalled: Vec<&str> = known().filter(|name| !called.contains(name)).collect();
                if let [only] = uncalled.as_slice() {
                    self.assumed_entry = Some((*only).to_owned());
                    return (*only).to_owned();
                }
                let candidates = if uncalled.is_empty() { known().collect() } else { uncalled };
                let message = format!(
                    "no service has `isEntrypoint: true`, and a graph has one entry: name it with --entry, one of {}",
                    names(candidates.into_iter())
                );
                self.problem(root, message);
            }
            [first, second, ..] => self.problem(
                second,
                format!(
                    "`{}` is a second entry point, and a graph has one: name it with --entry, such as `{}`",
                    name(second),
                    name(first)
                ),
            ),
        }
        String::new()
    }

    fn defaults(&mut self, node: &'a Placed) -> Defaults<'a> {
        let mut defaults = Defaults::default();
        for (key, value) in entries(node) {
            match key {
                "type" => defaults.protocol = self.protocol(value),
                "requestSize" => defaults.request_bytes = self.bytes(value),
                "responseSize" => defaults.response_bytes = self.bytes(value),
                "numReplicas" => defaults.replicas = self.replicas(value),
                "script" => defaults.script = Some(value),
                _ => self.other(key, value, "`defaults`"),
            }
        }
        defaults
    }

    /// A key without an equivalent in a graph, or an unknown key.
    fn other(&mut self, key: &str, value: &Placed, of: &str) {
        if key == ERROR_RATE {
            let share = number(value).filter(|share| (0.0..=1.0).contains(share));
            if share.or_else(|| string(value).and_then(sizes::share)).is_none() {
                self.problem(value, "`errorRate` must be a share such as `0.1%`, or a number from 0 to 1");
            }
        }
        if LEFT_OUT.contains(&key) {
            *self.left_out.entry(key.to_owned()).or_default() += 1;
        } else {
            self.problem(value, format!("unknown key `{key}` of {of}"));
        }
    }

    fn service(&mut self, node: &'a Placed, defaults: &Defaults<'a>) -> ServiceSection {
        let name = field(node, "name").and_then(string).unwrap_or_default();
        if name.is_empty() {
            self.problem(node, "a service needs a `name`");
        }
        let (mut protocol, mut replicas) = (defaults.protocol, defaults.replicas);
        let (mut response_bytes, mut script) = (defaults.response_bytes, defaults.script);
        for (key, value) in entries(node) {
            match key {
                "name" | "isEntrypoint" => {}
                "type" => protocol = self.protocol(value),
                "numReplicas" => replicas = self.replicas(value),
                "responseSize" => response_bytes = self.bytes(value),
                "script" => script = Some(value),
                _ => self.other(key, value, &format!("service `{name}`")),
            }
        }
        self.has_default_size |= response_bytes.is_none();
        let (calls, service_time_us) =
            script.map_or_else(Default::default, |script| self.script(script, defaults.request_bytes));
        ServiceSection {
            workers: replicas.unwrap_or(1),
            protocol: protocol.filter(|protocol| *protocol != Protocol::Http1),
            response_bytes,
            service_time_us,
            outbound: (!calls.is_empty()).then(OutboundSection::default),
            calls,
            ..ServiceSection::named(name)
        }
    }

    /// The calls of a script, and the time that it sleeps, us.
    fn script(&mut self, script: &'a Placed, request_bytes: Option<u64>) -> (Vec<CallStep>, f64) {
        let (mut calls, mut slept_us) = (Vec::new(), 0.0);
        for command in items(script) {
            if !items(command).is_empty() {
                let (mut together, mut sleeps) = (Vec::new(), Vec::new());
                for one in items(command) {
                    if let Some(call) = field(one, "call") {
                        together.extend(self.call(call, request_bytes));
                    } else if let Some(sleep) = field(one, "sleep") {
                        sleeps.extend(self.sleep(sleep).map(|us| (sleep.referenced.line(), us)));
                    } else {
                        let message =
                            "commands at the same time must be calls or sleeps: isotope allows no list there";
                        self.problem(one, message);
                    }
                }
                if together.is_empty() {
                    slept_us += sleeps.iter().map(|(_, us)| *us).fold(0.0, f64::max);
                } else {
                    self.beside_calls.extend(sleeps.iter().map(|(line, _)| *line));
                    calls.push(CallStep::Together(together));
                }
            } else if let Some(call) = field(command, "call") {
                calls.extend(self.call(call, request_bytes).map(CallStep::One));
            } else if let Some(sleep) = field(command, "sleep") {
                slept_us += self.sleep(sleep).unwrap_or_default();
            } else {
                self.problem(command, "a command is `call`, `sleep`, or a list of calls at the same time");
            }
        }
        (calls, slept_us)
    }

    /// A sleep, us.
    fn sleep(&mut self, node: &Placed) -> Option<f64> {
        let us = string(node).map_or(Err(Fault::Form), sizes::micros);
        match us {
            Ok(_) => {}
            Err(Fault::Form) => self.problem(node, "`sleep` must be a duration such as `10ms`"),
            Err(Fault::TooLarge) => {
                self.problem(node, "`sleep` is too long: isotope has durations of up to 292 years");
            }
        }
        us.ok()
    }

    fn call(&mut self, node: &'a Placed, request_bytes: Option<u64>) -> Option<CallSection> {
        let service = string(node).or_else(|| field(node, "service").and_then(string));
        let Some(service) = service else {
            self.problem(node, "`call` must be the name of a service, or a mapping with `service`");
            return None;
        };
        let (mut factor, mut bytes) = (1.0, request_bytes);
        for (key, value) in entries(node) {
            match key {
                "service" => {}
                "size" | "payloadSize" => bytes = self.bytes(value),
                "probability" => match number(value).filter(|percent| (0.0..=100.0).contains(percent)) {
                    // 0 is the same as no probability.
                    Some(percent) if percent > 0.0 => factor = percent / 100.0,
                    Some(_) => {}
                    None => self.problem(value, "`probability` must be a number from 0 to 100"),
                },
                "hostname" | "extra-header" => {
                    *self.left_out.entry(key.to_owned()).or_default() += 1;
                }
                other => self.problem(value, format!("unknown key `{other}` of a call")),
            }
        }
        if let Some(bytes) = bytes {
            self.request_bytes.entry(service).or_default().push(SizeOfCalls { bytes, calls: factor });
        }
        Some(CallSection { service: service.to_owned(), factor })
    }

    /// Calls of services that the topology does not have.
    fn unknown_services(&mut self, listed: &[Placed], defaults: &Defaults<'_>, known: &[String]) {
        let scripts = listed.iter().filter_map(|node| field(node, "script")).chain(defaults.script);
        for (call, name) in scripts.flat_map(calls) {
            if !known.iter().any(|known| known == name) {
                let hint = hoptax_text::nearest::hint(name, known.iter().map(String::as_str));
                self.problem(call, format!("no service has the name `{name}`{hint}"));
            }
        }
    }

    /// Services with the name of an earlier one.
    fn services_twice(&mut self, listed: &[Placed]) {
        let mut known = BTreeSet::new();
        for node in listed.iter().filter_map(|service| field(service, "name")) {
            if let Some(name) = string(node).filter(|name| !known.insert(*name)) {
                self.problem(node, format!("an earlier service has the name `{name}` too: rename one"));
            }
        }
    }

    /// Reports a call that leads back to a service that is already on the call path.
    fn cycle(&mut self, listed: &[Placed], defaults: &Defaults<'_>, services: &[ServiceSection]) {
        let Some(cycle) = cycle(services) else { return };
        let (Some(first), Some(last)) = (cycle.first(), cycle.last()) else { return };
        let caller = listed.iter().find(|node| field(node, "name").and_then(string) == Some(last));
        let script = caller.and_then(|node| field(node, "script")).or(defaults.script);
        let call = script.and_then(|script| calls(script).find(|(_, name)| name == first));
        if let Some((call, _)) = call {
            let others: Vec<String> =
                cycle.iter().skip(1).chain([first]).map(|name| format!("`{name}`")).collect();
            let way = others.join(", which calls ");
            let message = format!(
                "the call closes a cycle of services (`{first}` calls {way}), and a cycle has no rate"
            );
            self.problem(call, message);
        }
    }

    fn protocol(&mut self, node: &Placed) -> Option<Protocol> {
        match string(node) {
            Some("http") => Some(Protocol::Http1),
            Some("grpc") => Some(Protocol::Grpc),
            _ => {
                self.problem(node, "`type` must be `http` or `grpc`");
                None
            }
        }
    }

    fn bytes(&mut self, node: &Placed) -> Option<u64> {
        let of_text = || string(node).map_or(Err(Fault::Form), sizes::bytes);
        let bytes = number(node).map_or_else(of_text, sizes::of_number);
        match bytes {
            Ok(_) => {}
            Err(Fault::Form) => self.problem(node, "a size must be a number of bytes, or text such as `10k`"),
            Err(Fault::TooLarge) => self.problem(node, "the size is too large: it may be at most 8 PiB"),
        }
        bytes.ok()
    }

    fn replicas(&mut self, node: &Placed) -> Option<u32> {
        let replicas = count(node).filter(|replicas| *replicas <= 1_024);
        if replicas.is_none() {
            self.problem(node, "`numReplicas` must be a whole number from 1 to 1024");
        }
        replicas
    }
}

/// The calls of a script, each with the name of the service that is called.
fn calls(script: &Placed) -> impl Iterator<Item = (&Placed, &str)> {
    let single =
        |command| if items(command).is_empty() { std::slice::from_ref(command) } else { items(command) };
    let calls = items(script).iter().flat_map(single).filter_map(|command| field(command, "call"));
    calls.filter_map(|call| {
        let name = string(call).or_else(|| field(call, "service").and_then(string))?;
        Some((call, name))
    })
}

/// The size of the requests of calls.
struct SizeOfCalls {
    bytes: u64,
    /// The number of calls of this size, for each request to the caller.
    calls: f64,
}

/// The mean size of all calls.
fn mean(sizes: &[SizeOfCalls]) -> Option<u64> {
    let calls: f64 = sizes.iter().map(|size| size.calls).sum();
    let bytes: f64 = sizes.iter().map(|size| size.bytes as f64 * size.calls).sum();
    (calls > 0.0).then(|| (bytes / calls).round() as u64)
}

/// The names of the services that requests to `entry` can reach.
pub(super) fn reached(services: &[ServiceSection], entry: &str) -> Vec<String> {
    let mut reached = vec![entry.to_owned()];
    let mut next = 0;
    while let Some(name) = reached.get(next).cloned() {
        next += 1;
        let service = services.iter().find(|service| service.name == name);
        let calls = service.into_iter().flat_map(|service| &service.calls).flat_map(CallStep::calls);
        for call in calls {
            if !reached.contains(&call.service) {
                reached.push(call.service.clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests;
