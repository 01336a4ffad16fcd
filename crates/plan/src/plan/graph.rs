//! The plan of a service graph that runs as processes: its services, and two arms, one with all its proxies and one without any.

use std::collections::BTreeMap;

use hoptax_functions::{Composition, Proof};
use hoptax_result::ArmKind;

use super::chain::Chain;
use super::{Arm, CAPACITY_LOOP, CAPACITY_TURNS, Conditions, DIRECT, Load, PATIENCE, Plan, WARM_UP};
use crate::configurations::Configurations;

/// The id of the arm with all proxies.
const PROXIED: &str = "proxied";

/// A service graph to run.
#[derive(Clone, Debug)]
pub struct ServiceGraph {
    /// Its name.
    pub name: String,
    /// Its services, in the order of the file.
    pub services: Vec<PlannedService>,
    /// The index of the service that requests from outside arrive at.
    pub entry: usize,
    /// The requests from outside.
    pub request: PlannedRequest,
}

/// A service of a graph to run.
#[derive(Clone, Debug)]
pub struct PlannedService {
    /// Its name.
    pub name: String,
    /// Its proxy; none if it has none.
    pub proxy: Option<PlannedProxy>,
    /// The size of its responses, bytes.
    pub response_bytes: u64,
    /// Time that it takes itself, us.
    pub service_time_us: f64,
    /// Its calls, by step.
    pub calls: Vec<Vec<PlannedCall>>,
    /// Its place in the order in which services start: after all that it calls.
    pub start: usize,
}

/// A service with its proxy.
#[derive(Clone, Copy, Debug)]
pub struct ProxiedService<'g> {
    /// The index of the service in the graph.
    pub index: usize,
    /// The service.
    pub service: &'g PlannedService,
    /// Its proxy.
    pub proxy: &'g PlannedProxy,
}

/// The proxy of a service.
#[derive(Clone, Debug)]
pub struct PlannedProxy {
    /// Worker threads.
    pub workers: u32,
    /// Functions for requests to the service.
    pub inbound: Composition,
    /// Functions for its calls; none if they do not pass the proxy.
    pub outbound: Option<Composition>,
    /// Requests that it handles for each request to the entry.
    pub per_request: f64,
}

/// A call of a service.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// The index of the service that is called.
    pub service: usize,
    /// The name of that service.
    pub name: String,
    /// Calls for each request.
    pub factor: f64,
    /// Request of the call.
    pub request: PlannedRequest,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedRequest {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers besides those that frame it.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: String,
}

impl PlannedService {
    /// The services that it calls, each once, with their indexes.
    pub fn called(&self) -> Vec<(usize, &str)> {
        let mut called = Vec::new();
        for PlannedCall { service, name, .. } in self.calls.iter().flatten() {
            if !called.contains(&(*service, name.as_str())) {
                called.push((*service, name.as_str()));
            }
        }
        called
    }
}

impl ServiceGraph {
    /// The services with a proxy.
    pub fn proxies(&self) -> impl Iterator<Item = ProxiedService<'_>> {
        let all = self.services.iter().enumerate();
        all.filter_map(|(index, service)| {
            Some(ProxiedService { index, service, proxy: service.proxy.as_ref()? })
        })
    }

    /// The services with their indexes, each after all that it calls.
    pub fn in_starting_order(&self) -> Vec<(usize, &PlannedService)> {
        let mut all: Vec<(usize, &PlannedService)> = self.services.iter().enumerate().collect();
        all.sort_by_key(|(_, service)| service.start);
        all
    }

    /// True if a function calls the companion.
    pub fn asks_companion(&self) -> bool {
        self.proxies().any(|one| one.proxy.compositions().any(Composition::asks_companion))
    }

    /// Worker threads of all proxies.
    pub fn workers(&self) -> u32 {
        self.proxies().map(|one| one.proxy.workers).sum()
    }
}

impl PlannedProxy {
    /// Prefix of the names of its listeners and clusters for calls of the service.
    pub const OUTBOUND: &'static str = "outbound-";

    /// Its functions on both sides.
    pub fn compositions(&self) -> impl Iterator<Item = &Composition> {
        std::iter::once(&self.inbound).chain(&self.outbound)
    }

    /// Returns the statistics that show its functions at work, each with its function.
    pub fn proofs(&self) -> Vec<(String, Proof)> {
        let named = |functions: &Composition| -> Vec<(String, Proof)> {
            functions.proofs().into_iter().map(|(component, proof)| (component.name.clone(), proof)).collect()
        };
        let mut all = named(&self.inbound);
        for (of, proof) in self.outbound.as_ref().map(named).unwrap_or_default() {
            // The cluster behind calls has another name.
            let name = proof.name.replace("cluster.origin.", &format!("cluster.{}*.", Self::OUTBOUND));
            all.push((of, Proof { name, ..proof }));
        }
        all
    }
}

impl Plan {
    /// The plan of trials of `load` at the entry of a graph: the first arm has all proxies, and the second one none. Both get the same
    /// requests.
    pub fn of_graph(graph: ServiceGraph, load: Load, rounds: u32, seed: u64) -> Self {
        let PlannedRequest { target, headers, body, .. } = &graph.request;
        let conditions = Conditions {
            query: target.split_once('?').map(|(_, query)| query.to_owned()),
            headers: headers.iter().cloned().collect(),
            body: Some(body.clone().into_bytes()).filter(|body| !body.is_empty()),
            ..Conditions::default()
        };
        let arm = |id: &str, kind| Arm {
            chain: Chain::none(),
            ..Arm::plain(id.to_owned(), kind, None, &conditions)
        };
        Self {
            name: graph.name.clone(),
            summary: String::new(),
            seed,
            rounds,
            rounds_are_open: false,
            arms: vec![arm(PROXIED, ArmKind::Position), arm(DIRECT, ArmKind::Direct)],
            loads: vec![load],
            timeline: None,
            link: None,
            profile: false,
            published: Vec::new(),
            capacity_turns: CAPACITY_TURNS,
            capacity_loop: CAPACITY_LOOP,
            warm_up: WARM_UP,
            patience: PATIENCE,
            empty_repeats: 0,
            headers: BTreeMap::new(),
            configurations: Configurations::default(),
            is_searched: true,
            graph: Some(graph),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hoptax_load::Arrivals;

    use super::super::{Open, Rate, blocks};
    use super::*;
    use crate::request::Request;

    fn plan(request: PlannedRequest) -> Plan {
        plan_with(Vec::new(), request)
    }

    fn plan_with(services: Vec<PlannedService>, request: PlannedRequest) -> Plan {
        let graph = ServiceGraph { name: "one".to_owned(), services, entry: 0, request };
        let load = Load {
            name: "entry".to_owned(),
            open: Some(Open { rate: Rate::PerSecond(100.0), arrivals: Arrivals::Poisson }),
            connections: 32,
            requests_per_connection: None,
            resumption: None,
            expect: Vec::new(),
            caller: None,
            arms: None,
            blocks: 20,
            slice: Duration::from_secs(2),
        };
        Plan::of_graph(graph, load, 2, 1)
    }

    #[test]
    fn both_arms_get_the_requests_of_the_graph() {
        let header = ("accept-encoding".to_owned(), "gzip".to_owned());
        let posted = PlannedRequest {
            method: "POST".to_owned(),
            target: format!("{}?size=9", hoptax_functions::REQUEST_PATH),
            headers: vec![header],
            body: "xx".to_owned(),
        };
        let got = PlannedRequest {
            method: "GET".to_owned(),
            target: hoptax_functions::REQUEST_PATH.to_owned(),
            ..PlannedRequest::default()
        };
        for request in [posted, got] {
            let plan = plan(request.clone());
            for arm in &plan.arms {
                let sent = Request::new(&plan, arm, "a:1");
                assert_eq!(sent.url, format!("http://a:1{}", request.target));
                assert_eq!((sent.method, sent.headers), (request.method.clone(), request.headers.clone()));
                assert_eq!(sent.body, request.body.as_bytes());
            }
        }
    }

    #[test]
    fn each_proxy_of_a_graph_needs_an_open_file_besides_the_connections_to_its_entry() {
        let proxy =
            PlannedProxy { workers: 1, inbound: Composition::default(), outbound: None, per_request: 1.0 };
        let service = |number: usize| PlannedService {
            name: number.to_string(),
            proxy: Some(proxy.clone()).filter(|_| number > 0),
            response_bytes: 64,
            service_time_us: 0.0,
            calls: Vec::new(),
            start: number,
        };
        // Only one arm has connections at a time, with an epoll instance. The first service has no proxy.
        let files = |services: usize| {
            plan_with((0..services).map(service).collect(), PlannedRequest::default()).most_open_files()
        };
        assert_eq!((files(1), files(101)), (33, 133));
    }

    #[test]
    fn each_block_has_both_arms_in_random_order() {
        let plan = plan(PlannedRequest::default());
        let orders: Vec<Vec<usize>> = blocks(&plan, 0)
            .iter()
            .map(|block| block.subjects.iter().map(|subject| subject.arm_number).collect())
            .collect();
        assert_eq!(orders.len(), 20);
        for order in [vec![0, 1], vec![1, 0]] {
            assert!(orders.contains(&order), "{orders:?}");
        }
        assert!(orders.iter().all(|order| order.len() == 2), "{orders:?}");
    }
}
