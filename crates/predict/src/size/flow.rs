//! Flows: the number of requests of each kind that each proxy of a graph handles.

use hoptax_result::SizeSide;

use crate::size::graph::{Called, Graph, Service, Traffic};

/// Requests of one kind that a proxy handles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flow<'a> {
    pub(crate) side: SizeSide,
    pub(crate) traffic: &'a Traffic,
    pub(crate) functions: &'a [Called],
    /// Requests for each request to the entry of the graph.
    pub(crate) per_request: f64,
    /// Requests on each connection; none if connections are kept.
    pub(crate) requests_per_connection: Option<u32>,
}

/// The requests to each service for each request to the entry, which is the first service.
fn requests(graph: &Graph) -> Vec<f64> {
    let mut requests = vec![0.0; graph.services.len()];
    if let Some(entry) = requests.first_mut() {
        *entry = 1.0;
    }
    // A service comes after all services that call it, so its number is complete when it is reached.
    for (index, service) in graph.services.iter().enumerate() {
        let own = requests[index];
        for call in &service.calls {
            requests[call.service] += own * call.factor;
        }
    }
    requests
}

/// Average number of calls that a request to the entry causes, including itself. A call that only some requests make is drawn for every
/// request, so it counts as one if its factor is below 1.
pub(crate) fn calls(graph: &Graph) -> f64 {
    let of_services = graph.services.iter().zip(requests(graph)).map(|(service, per_request)| {
        per_request * service.calls.iter().map(|call| call.factor.max(1.0)).sum::<f64>()
    });
    1.0 + of_services.sum::<f64>()
}

/// Returns the flows of each proxy with its service: requests to the service, then, if they pass the proxy, each of its calls.
pub(crate) fn flows(graph: &Graph) -> Vec<(&Service, Vec<Flow<'_>>)> {
    let with_proxy = graph.services.iter().zip(requests(graph)).filter(|(service, _)| service.has_proxy);
    with_proxy.map(|(service, per_request)| (service, of_proxy(graph, service, per_request))).collect()
}

/// The services of a graph by their indexes in the file, each after all services that call it, with the number of requests that its proxy
/// handles for each request to the entry: 0 without a proxy.
pub fn requests_by_proxy(graph: &Graph) -> Vec<(usize, f64)> {
    let handled = |(service, per_request): (&Service, f64)| {
        let flows = if service.has_proxy { of_proxy(graph, service, per_request) } else { Vec::new() };
        (service.place, flows.iter().map(|flow| flow.per_request).sum::<f64>())
    };
    graph.services.iter().zip(requests(graph)).map(handled).collect()
}

/// Returns the flows of the proxy of a service that gets `per_request` requests for each request to the entry.
fn of_proxy<'a>(graph: &'a Graph, service: &'a Service, per_request: f64) -> Vec<Flow<'a>> {
    let mut flows = vec![Flow {
        side: SizeSide::Inbound,
        traffic: &service.traffic,
        functions: &service.inbound,
        per_request,
        requests_per_connection: service.requests_per_connection,
    }];
    if let Some(functions) = &service.outbound {
        for call in &service.calls {
            let called = graph.called(call);
            flows.push(Flow {
                side: SizeSide::Outbound,
                traffic: &called.traffic,
                functions,
                per_request: per_request * call.factor,
                // The service keeps its connections to its own proxy.
                requests_per_connection: None,
            });
        }
    }
    flows
}
