//! Plans the processes of a graph from its file: the functions of each proxy, the calls of each service, and all requests.

use std::collections::BTreeMap;

use hoptax_functions::{
    Catalogue, Component, Composition, FilterOrder, Fragment, FunctionCall, REQUEST_PATH, Secured,
};
use hoptax_plan::file::{Positions, Problem, Problems, Protocol};
use hoptax_plan::plan::{
    PlannedCall, PlannedProxy, PlannedRequest, PlannedService, ServiceGraph, USUAL_BYTES,
};
use hoptax_predict::size::graph::{self, CallSection, GRAPH_FILE, Graph, GraphFile, ServiceSection};
use hoptax_predict::size::requests_by_proxy;

/// A graph to run.
#[derive(Clone, Debug)]
pub(crate) struct RunPlan {
    /// The graph, for a prediction.
    pub(crate) graph: Graph,
    /// Its services, as they are run.
    pub(crate) run: ServiceGraph,
}

/// Reads a graph file for a run. `name` is the file name in problems.
///
/// # Errors
/// All problems of the file, as for a prediction. If it has none, everything in it that cannot be run.
pub(crate) fn read(name: &str, text: &str, catalogue: &Catalogue) -> Result<RunPlan, Problems> {
    let graph = graph::read(name, text, catalogue)?;
    let (file, positions) = GRAPH_FILE.read(name, text)?;
    let mut planning = Planning { file: &file, positions: &positions, catalogue, problems: Vec::new() };
    let plan = planning.plan(graph);
    plan.filter(|_| planning.problems.is_empty()).ok_or_else(|| positions.problems(planning.problems))
}

/// A graph file whose names have been resolved.
struct Planning<'a> {
    file: &'a GraphFile,
    positions: &'a Positions,
    catalogue: &'a Catalogue,
    problems: Vec<Problem>,
}

/// The functions on both sides of a proxy.
type Sides = (Composition, Option<Composition>);

/// A service of the file with its place and the functions on both sides of its proxy.
#[derive(Clone, Copy)]
struct Sided<'a> {
    place: usize,
    section: &'a ServiceSection,
    inbound: &'a Composition,
    outbound: Option<&'a Composition>,
}

impl Planning<'_> {
    fn problem(&mut self, pointer: &str, message: String) {
        self.problems.push(self.positions.problem(pointer, message));
    }

    /// The plan; none if the problems prevent one.
    fn plan(&mut self, graph: Graph) -> Option<RunPlan> {
        let file = self.file;
        self.refuse_protocols();
        let mut sides: Vec<Sides> = Vec::new();
        for (place, section) in file.services.iter().enumerate() {
            sides.push(self.sides(place, section));
        }
        let all = sides.iter().flat_map(|(inbound, outbound)| std::iter::once(inbound).chain(outbound));
        let headers: BTreeMap<String, String> = all.flat_map(Composition::headers).collect();
        let all: Vec<Sided<'_>> = (0..)
            .zip(file.services.iter().zip(&sides))
            .map(|(place, (section, (inbound, outbound)))| Sided {
                place,
                section,
                inbound,
                outbound: outbound.as_ref(),
            })
            .collect();
        let named = |name: &str| all.iter().copied().find(|service| service.section.name == name);
        // Reading the graph has checked all names.
        let not_found =
            |name: &str| format!("`{name}` is not a service of the graph; this is a bug in hoptax");
        let Some(entry) = named(&file.entry) else {
            self.problem("/entry", not_found(&file.entry));
            return None;
        };
        let request = self.request(None, entry, &headers);
        // The list begins with the calling services.
        let handled = requests_by_proxy(&graph);
        let mut services = Vec::new();
        for &service in &all {
            let Sided { place, section, inbound, outbound } = service;
            let mut calls = Vec::new();
            for (step_place, step) in section.calls.iter().enumerate() {
                let mut planned = Vec::new();
                for CallSection { service: name, factor } in step.calls() {
                    let Some(called) = named(name) else {
                        self.problem(&format!("/services/{place}/calls/{step_place}"), not_found(name));
                        continue;
                    };
                    let request = self.request(Some(service), called, &headers);
                    let name = name.clone();
                    planned.push(PlannedCall { service: called.place, name, factor: *factor, request });
                }
                calls.push(planned);
            }
            let Some((start, (_, per_request))) =
                (0..).zip(handled.iter().rev()).find(|(_, (other, _))| *other == place)
            else {
                self.problem(&format!("/services/{place}"), not_found(&section.name));
                continue;
            };
            let own_bytes = section.response_bytes.or(inbound.response_bytes());
            let proxy = PlannedProxy {
                workers: section.workers,
                inbound: inbound.clone(),
                outbound: outbound.cloned(),
                per_request: *per_request,
            };
            services.push(PlannedService {
                name: section.name.clone(),
                proxy: section.proxy.then_some(proxy),
                response_bytes: own_bytes.unwrap_or(USUAL_BYTES),
                service_time_us: section.service_time_us,
                calls,
                start,
            });
        }
        let run = ServiceGraph { name: file.name.clone(), services, entry: entry.place, request };
        Some(RunPlan { graph, run })
    }

    fn refuse_protocols(&mut self) {
        let file = self.file;
        let refusal = |protocol: Protocol| {
            format!(
                "`hoptax lab graph run` sends HTTP/1.1 only, not `{}`: write `protocol: http1`",
                protocol.as_str()
            )
        };
        let is_used = file.services.iter().any(|service| service.protocol.is_none());
        if file.protocol != Protocol::Http1 && is_used {
            self.problem("/protocol", refusal(file.protocol));
        }
        for (place, service) in file.services.iter().enumerate() {
            if let Some(protocol) = service.protocol.filter(|protocol| *protocol != Protocol::Http1) {
                self.problem(&format!("/services/{place}/protocol"), refusal(protocol));
            }
        }
    }

    fn sides(&mut self, place: usize, section: &ServiceSection) -> Sides {
        let inbound = self.composition(&section.functions, &format!("/services/{place}/functions"));
        let outbound = section.outbound.as_ref().map(|outbound| {
            let pointer = format!("/services/{place}/outbound/functions");
            self.composition(&outbound.functions, &pointer)
        });
        let makes_calls = !section.calls.is_empty();
        for (index, component) in inbound.components().iter().enumerate().filter(|_| makes_calls) {
            if sends_http2(&Composition::one(component.clone())) {
                let message = format!(
                    "`{}` sends HTTP/2 to `{}`, which makes calls and therefore accepts HTTP/1.1 only: remove the function or the calls",
                    component.name, section.name
                );
                self.problem(&format!("/services/{place}/functions/{index}"), message);
            }
        }
        (inbound, outbound)
    }

    /// The functions on one side of a proxy; `pointer` is the place of their list.
    fn composition(&mut self, names: &[String], pointer: &str) -> Composition {
        let mut components = Vec::new();
        for (index, text) in names.iter().enumerate() {
            // Reading the graph has checked all functions.
            let call = FunctionCall::parse(text).ok();
            let known = call.and_then(|call| Some((call.to_string(), self.catalogue.resolve(&call).ok()?)));
            let Some((name, (function, knobs))) = known else {
                let message = format!("`{text}` is not a function; this is a bug in hoptax");
                self.problem(&format!("{pointer}/{index}"), message);
                continue;
            };
            let component = Component { name, function: function.clone(), knobs };
            if let Some(why) = obstacle(&component) {
                let message = format!("`{text}` cannot be run in a graph: {why}; remove it");
                self.problem(&format!("{pointer}/{index}"), message);
            }
            components.push(component);
        }
        Composition::new(components, FilterOrder::default()).unwrap_or_else(|conflicts| {
            for conflict in conflicts {
                let message = format!("{conflict}; remove one of them");
                self.problem(&format!("{pointer}/{}", conflict.index), message);
            }
            Composition::default()
        })
    }

    /// A request to the service `called`, from outside or from a service.
    fn request(
        &mut self,
        caller: Option<Sided<'_>>,
        called: Sided<'_>,
        headers: &BTreeMap<String, String>,
    ) -> PlannedRequest {
        let outbound = caller.and_then(|caller| caller.outbound);
        let passed: Vec<&Composition> = outbound.into_iter().chain([called.inbound]).collect();
        let functions = Composition::across(&passed).unwrap_or_else(|conflicts| {
            let place = caller.unwrap_or(called).place;
            for conflict in conflicts {
                let message = format!("calls pass both functions: {conflict}; remove one of them");
                self.problem(&format!("/services/{place}/outbound/functions"), message);
            }
            Composition::default()
        });
        let stated = called.section.request_bytes.filter(|bytes| *bytes > 0);
        let stated = stated.map(|bytes| "x".repeat(bytes as usize));
        let of_functions = functions.body().and_then(|body| String::from_utf8(body).ok());
        let body = of_functions.or(stated).unwrap_or_default();
        let query = functions.query().map_or_else(String::new, |query| format!("?{query}"));
        let own = functions.own_headers();
        PlannedRequest {
            method: if body.is_empty() { "GET" } else { "POST" }.to_owned(),
            target: format!("{REQUEST_PATH}{query}"),
            headers: headers.iter().chain(&own).map(|(name, value)| (name.clone(), value.clone())).collect(),
            body,
        }
    }
}

/// Returns the reason why a function cannot be run in a graph; None if it can.
fn obstacle(component: &Component) -> Option<&'static str> {
    let one = Composition::one(component.clone());
    if one.secured() != Secured::default() {
        Some("the processes of a graph connect without TLS")
    } else if one.upstreams() > 1 {
        Some("it distributes requests over several origins, but a service is one process")
    } else if one.workers().is_some() {
        Some("it sets the number of workers, which only `workers` of the service can do")
    } else if !one.application().is_empty() {
        Some("it sets flags of an application, but services are origins of hoptax")
    } else {
        None
    }
}

/// True if a proxy with these functions sends HTTP/2.
fn sends_http2(functions: &Composition) -> bool {
    functions.fragment().is_some_and(Fragment::uses_http2_to_origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = "
name: shop
entry: gateway
services:
  - name: gateway
    functions: [jwt]
    calls: [{service: cart, factor: 0.5}, [{service: stock}, {service: mail, factor: 2}]]
  - name: cart
    service_time_us: 800
    request_bytes: 10
    outbound: {functions: [access-log/json]}
    calls: [{service: stock, factor: 3}]
  - {name: stock, functions: [compress/gzip]}
  - {name: mail, proxy: false, response_bytes: 4096}
";

    fn plan(text: &str) -> Result<RunPlan, String> {
        read("shop.yaml", text, Catalogue::load().unwrap()).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_plan_has_the_requests_of_every_proxy_and_starts_what_is_called_first() {
        let plan = plan(SHOP).unwrap().run;
        let names: Vec<&str> =
            plan.in_starting_order().into_iter().map(|(_, service)| service.name.as_str()).collect();
        assert_eq!(names, ["stock", "cart", "mail", "gateway"]);
        let proxies: Vec<(&str, f64)> =
            plan.proxies().map(|one| (one.service.name.as_str(), one.proxy.per_request)).collect();
        // The proxy of the cart handles its own calls too: 0.5 requests and 1.5 calls.
        assert_eq!(proxies, [("gateway", 1.0), ("cart", 2.0), ("stock", 2.5)]);
        assert!((plan.workers(), plan.entry, plan.services[3].response_bytes) == (3, 0, 4096));
    }

    #[test]
    fn requests_have_what_the_functions_on_their_way_need() {
        let plan = plan(SHOP).unwrap().run;
        let has =
            |request: &PlannedRequest, header: &str| request.headers.iter().any(|(name, _)| name == header);
        assert!(has(&plan.request, "authorization"), "{:?}", plan.request);
        let cart = &plan.services[0].calls[0][0].request;
        assert_eq!((cart.method.as_str(), cart.body.as_str()), ("POST", "xxxxxxxxxx"));
        let stock = &plan.services[1].calls[0][0].request;
        assert!(has(stock, "accept-encoding") && stock.method == "GET", "{stock:?}");
        let function = plan.services[2].proxy.as_ref().unwrap().inbound.response_bytes();
        assert_eq!(Some(plan.services[2].response_bytes), function.or(Some(USUAL_BYTES)));
    }

    #[test]
    fn functions_of_both_sides_must_show_that_they_are_at_work() {
        let text = SHOP.replace("outbound: {functions: [access-log/json]}", "outbound: {functions: [rbac]}");
        let plan = plan(&text.replace("service_time_us: 800", "functions: [jwt]")).unwrap().run;
        let proofs = plan.services[1].proxy.as_ref().unwrap().proofs();
        let of = |name: &str| proofs.iter().filter(|(of, _)| of == name).count();
        assert!(of("jwt") > 0 && of("rbac") > 0, "{proofs:?}");
        assert!(proofs.iter().all(|(_, proof)| !proof.name.starts_with("cluster.origin.")), "{proofs:?}");
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_its_place_all_at_once() {
        let text = SHOP
            .replace("functions: [jwt]", "functions: [jwt, tls/terminate, balance/round-robin]")
            .replace("{name: mail, proxy: false", "{name: mail, protocol: grpc, proxy: false");
        let problems = plan(&text).unwrap_err();
        for words in ["shop.yaml:6:22", "without TLS", "several origins", "shop.yaml:14:28", "not `grpc`"] {
            assert!(problems.contains(words), "{words}: {problems}");
        }
        let problems = plan(&format!("protocol: http2\n{SHOP}")).unwrap_err();
        assert!(
            problems.contains("shop.yaml:1:11") && problems.contains("write `protocol: http1`"),
            "{problems}"
        );
    }
}
