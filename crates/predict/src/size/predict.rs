//! Predicts the CPU time and memory of each proxy of a graph, from results of plain proxies and single functions.

use std::cmp::Reverse;

use hoptax_result::{
    Finding, Interval, SizeBody, SizeBottleneck, SizeLatency, SizePoint, SizeResult, SizeSource, SizedCall,
    SizedConnections, SizedFunction, SizedProxy, SizedService, StudyResult, Verdict,
};
use thiserror::Error;

use crate::size::busy::{Busy, Placed, Placement, Processors};
use crate::size::connections::Connections;
use crate::size::extrapolation::extrapolations;
use crate::size::flow::{Flow, flows};
use crate::size::graph::{Call, Called, Graph, Traffic};
use crate::size::kubernetes_resources::resources;
use crate::size::latency::latency;
use crate::size::learn::{Gap, Plain, Priced, Source};
use crate::size::measured_at::MeasuredAt;
use crate::size::memory::LearnedItems;
use crate::size::proxy::{FunctionOf, LearnedFlow, Proxy};
use crate::size::saved::Saved;
use crate::size::sharing::Sharing;
use crate::size::sum::Sum;
use crate::size::times::AllTimes;

/// Reason why there is no prediction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeError {
    /// The results do not state the CPU time of something in the graph.
    #[error(
        "the results do not state what the graph needs:\n  {}\nmeasure a study with these arms, and add its result with --from:\n  {}",
        .missing.join("\n  "), .arms.join("\n  ")
    )]
    Missing {
        /// The numbers that are missing, in words.
        missing: Vec<String>,
        /// Arms that measure them, as in a study file.
        arms: Vec<String>,
    },
    /// An interval includes zero, so nothing can be divided by it.
    #[error(
        "the results do not show that the proxy of `{service}` uses any CPU time: its interval includes 0; measure with more rounds"
    )]
    Imprecise {
        /// The service.
        service: String,
    },
}

/// Predicts the CPU time and memory of the proxies of `graph` at `rate` requests per second, which is above 0, from `results`. If several
/// results state a number, the first one counts.
///
/// **Method.** A request costs a proxy the CPU time of plain proxying with its protocol and sizes, plus that of each function, both at the
/// busy share of the proxy's workers, plus its part of a new connection (`connections`). All numbers are weighted sums of measured ones.
/// The time that proxies add to responses is simulated ([`latency()`]); it is left out, with the reason, if the results do not state
/// response times, or if a request makes too many calls.
///
/// # Errors
/// If the results do not state the CPU time of a plain proxy or a function of the graph, or state it too imprecisely.
pub fn size(graph: &Graph, rate: f64, results: &[StudyResult]) -> Result<SizeResult, SizeError> {
    size_on(graph, rate, results, Processors::Own)
}

/// Like [`size()`], for proxies on these processors.
///
/// **Method.** If several proxies share a processor, a request waits while the processor works for any of them, so it waits as long as at a
/// single proxy that is as busy as all of them together (one queue; L. Kleinrock, *Queueing Systems* 1, 1975). The CPU cost of sharing is
/// that of a measured chain of plain proxies (`sharing`), if possible with the requests that the entry receives. It is left out if no
/// result has such a chain. The bottleneck, and the savings from turning a function off, are computed for each proxy by itself.
///
/// # Errors
/// As [`size()`].
pub fn size_on(
    graph: &Graph,
    rate: f64,
    results: &[StudyResult],
    processors: Processors,
) -> Result<SizeResult, SizeError> {
    let sources: Vec<Source<'_>> =
        results.iter().enumerate().map(|(number, result)| Source::new(number, result)).collect();
    let mut proxies = learn(graph, &sources)?;
    let sharing = match processors {
        Processors::Own => None,
        Processors::Shared(_) => {
            let entry = graph.services.first();
            entry.and_then(|entry| Sharing::learn(&sources, &entry.traffic))
        }
    };
    let placement = Placement { processors, sharing };
    let in_order = Placed { proxies: &proxies, placement: &placement };
    let latency = latency(graph, in_order, rate, &mut AllTimes::new(&sources));
    proxies.sort_by_key(|proxy| proxy.service.place);
    let placed = Placed { proxies: &proxies, placement: &placement };
    let mut sized = Vec::new();
    let mut functions = Vec::new();
    for (number, (proxy, busy)) in proxies.iter().zip(placed.busy(rate)).enumerate() {
        let imprecise = || SizeError::Imprecise { service: proxy.service.name.clone() };
        sized.push(sized_proxy(proxy, &placement, rate, busy).ok_or_else(imprecise)?);
        for function in proxy.functions() {
            let sized = sized_function(placed, number, busy, rate, function);
            functions.push(sized.ok_or_else(imprecise)?);
        }
    }
    functions.sort_by(|one, other| other.cores.estimate.total_cmp(&one.cores.estimate));
    let (Some(cores), Some(bottleneck)) = (all_cores(&proxies, &placement, rate), bottleneck(&sized)) else {
        return Err(SizeError::Imprecise { service: graph.name.clone() });
    };
    let mut extrapolations = extrapolations(&proxies, &sized, &placement, &sources);
    let (latency, no_latency) = match latency {
        Ok(found) => {
            extrapolations.extend(found.extrapolations);
            for function in &mut functions {
                let is_it = |saved: &&Saved<'_>| {
                    let (side, called) = saved.function;
                    saved.service == function.service
                        && side == function.side
                        && called.text == function.function
                };
                let saved = found.saved.iter().find(is_it);
                function.saved_mean_us = saved.map(|saved| saved.mean_us);
                function.saved_mean_is_extrapolated = saved.is_some_and(|saved| saved.is_extrapolated);
            }
            (Some(in_order_of_file(found.size, &proxies)), None)
        }
        Err(reason) => (None, Some(reason)),
    };
    // The findings of the sources are about arms of several studies, so only their verdicts are kept.
    let used_results = placement.sources(&proxies).into_iter().filter_map(|number| sources.get(number));
    let of_source = |source: &Source<'_>| source.result.as_source(&format!("`{}`", source.result.name));
    let mut findings: Vec<Finding> = used_results.filter_map(of_source).collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let sources = used(&sources, &proxies, &placement);
    let verdict = sources.iter().map(|source| source.verdict).max().unwrap_or(Verdict::Sound);
    let memory: Option<Vec<Interval>> = sized.iter().map(|proxy| proxy.memory_bytes).collect();
    let body = SizeBody {
        graph: graph.name.clone(),
        rate,
        confidence: results.iter().map(|result| result.plan.confidence).fold(1.0, f64::min),
        sources,
        latency,
        no_latency,
        money: None,
        extrapolations,
        proxies: sized,
        functions,
        cores,
        memory_bytes: memory.and_then(|memory| Interval::sum_of_dependent(&memory)),
        curve: curve(&proxies, &placement, bottleneck.rate.estimate),
        bottleneck,
        services: services(graph),
    };
    Ok(SizeResult::new((), body).judged(verdict, findings))
}

/// The services of a graph with their calls.
fn services(graph: &Graph) -> Vec<SizedService> {
    let call = |call: &Call| SizedCall { service: graph.called(call).name.clone(), per_request: call.factor };
    let services = graph.services.iter().map(|service| SizedService {
        service: service.name.clone(),
        has_proxy: service.has_proxy,
        calls: service.calls.iter().map(call).collect(),
    });
    services.collect()
}

/// Sorts latencies into the order of the file.
fn in_order_of_file(mut latency: SizeLatency, proxies: &[Proxy<'_>]) -> SizeLatency {
    latency.proxies.sort_by_key(|one| proxies.iter().position(|proxy| proxy.service.name == one.service));
    latency
}

/// The rates at which the cores of all proxies are listed, as shares of the rate at which the first proxy is fully busy.
const CURVE: [f64; 6] = [0.05, 0.1, 0.25, 0.5, 0.75, 1.0];

/// The cores of all proxies at shares of the rate `highest`.
fn curve<'a>(proxies: &[Proxy<'a>], placement: &Placement<'a>, highest: f64) -> Vec<SizePoint> {
    let point = |share: f64| {
        Some(SizePoint { rate: share * highest, cores: all_cores(proxies, placement, share * highest)? })
    };
    CURVE.into_iter().filter_map(point).collect()
}

/// The cores of all proxies at `rate` requests per second to the entry.
fn all_cores<'a>(proxies: &[Proxy<'a>], placement: &Placement<'a>, rate: f64) -> Option<Interval> {
    let mut cores = Sum::default();
    for (proxy, busy) in proxies.iter().zip(placement.busy(proxies, rate, None)) {
        cores.add_all(1.0, &placement.cores(proxy, rate, busy, None));
    }
    cores.interval()
}

/// Learns the CPU time of each proxy from the results.
fn learn<'a>(graph: &'a Graph, sources: &[Source<'a>]) -> Result<Vec<Proxy<'a>>, SizeError> {
    let (mut missing, mut arms) = (Vec::new(), Vec::new());
    let mut note = |Gap { number, arm }: Gap| {
        if !missing.contains(&number) {
            missing.push(number);
        }
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    };
    let mut proxies = Vec::new();
    for (service, flows) in flows(graph) {
        let mut learned = Vec::new();
        for Flow { side, traffic, functions, per_request, requests_per_connection } in flows {
            let plain: Option<Plain<'a>> = sources
                .iter()
                .find_map(|source| source.plain(traffic))
                .or_else(|| sources.iter().find_map(|source| source.plain_between(traffic)));
            if plain.is_none() {
                let why = because(sources, |source| source.states_plain(traffic));
                let number = format!("plain proxying of {}{why}", in_words(traffic));
                note(Gap { number, arm: arm("baseline", traffic) });
            }
            let mut priced = Vec::new();
            for called in functions {
                match price(called, traffic, sources) {
                    Some(price) => priced.push((called, price)),
                    None => note(Gap {
                        number: unpriced(called, traffic, sources),
                        arm: arm(&called.text, traffic),
                    }),
                }
            }
            let connections = requests_per_connection
                .and_then(|requests| Connections::learn(requests, traffic, functions, sources, &mut note));
            let flow = |plain| LearnedFlow { side, per_request, plain, functions: priced, connections };
            learned.extend(plain.map(flow));
        }
        let plain = learned.first().map(|flow: &LearnedFlow<'_>| &flow.plain);
        let items = LearnedItems::learn(&service.items, plain, sources, &mut note);
        proxies.push(Proxy { service, flows: learned, items });
    }
    if missing.is_empty() { Ok(proxies) } else { Err(SizeError::Missing { missing, arms }) }
}

/// Returns a sentence saying that no result states the cost of a function, with the reason if a result measured it, or else with the
/// settings or protocols whose cost is known.
fn unpriced(called: &Called, traffic: &Traffic, sources: &[Source<'_>]) -> String {
    let mut why = because(sources, |source| source.states_function(called, traffic));
    if why.is_empty() {
        let stated: Vec<&str> = sources.iter().flat_map(|source| source.arms_of(&called.id)).collect();
        if !stated.is_empty() {
            why = format!(" (they state `{}`)", stated.join("`, `"));
        }
    }
    format!("the cost of `{}` for requests over {}{why}", called.text, traffic.protocol)
}

/// Returns the reason why the numbers of the first result that has such an arm do not count; empty if none has. `states_cpu_time` is none
/// for a result without such an arm.
fn because(sources: &[Source<'_>], states_cpu_time: impl Fn(&Source<'_>) -> Option<bool>) -> String {
    let found = sources.iter().find_map(|source| Some((source, states_cpu_time(source)?)));
    let Some((source, is_stated)) = found else { return String::new() };
    let why = if is_stated {
        "states its CPU time, but not how busy its proxies were, because all slices of some arm are set aside as disturbed: measure on a \
         quieter machine"
    } else if source.loads().next().is_some() {
        "measured it, and withholds its CPU time: `hoptax runs show` of it says why"
    } else {
        "measured it under loads at which arms are not equally busy: a load needs `loop: closed`, or `utilisation: 30%`"
    };
    format!(" (`{}` {why})", source.result.name)
}

/// Returns the cost that a function adds: measured with the same requests, or else with any requests of the same protocol.
fn price<'a>(called: &Called, traffic: &Traffic, sources: &[Source<'a>]) -> Option<Priced<'a>> {
    let mut found: Vec<Priced<'a>> =
        sources.iter().filter_map(|source| source.function(called, traffic)).collect();
    let same = found.iter().position(|priced| priced.is_same_traffic).unwrap_or_default();
    (!found.is_empty()).then(|| found.swap_remove(same))
}

/// Requests in words.
fn in_words(traffic: &Traffic) -> String {
    format!(
        "{} with bodies of {} bytes in requests and {} in responses",
        traffic.protocol, traffic.request_bytes, traffic.response_bytes
    )
}

/// An arm of a study file.
fn arm(function: &str, traffic: &Traffic) -> String {
    let usual = Traffic::new(&traffic.protocol, None, None);
    let mut at = vec![format!("protocol: {}", traffic.protocol)];
    if traffic.request_bytes != usual.request_bytes {
        at.push(format!("request_bytes: {}", traffic.request_bytes));
    }
    if traffic.response_bytes != usual.response_bytes {
        at.push(format!("response_bytes: {}", traffic.response_bytes));
    }
    format!("- {{function: \"{function}\", at: {{{}}}}}", at.join(", "))
}

fn sized_proxy<'a>(
    proxy: &Proxy<'a>,
    placement: &Placement<'a>,
    rate: f64,
    busy: Busy,
) -> Option<SizedProxy> {
    let workers = f64::from(proxy.service.workers);
    let requests_per_second = rate * proxy.per_request();
    let cores = placement.cores(proxy, rate, busy, None).interval()?;
    let at_full_load = proxy.cores_alone(rate, 1.0, None).interval()?.times(1.0 / workers);
    // The rate is the reciprocal of the busy share, so the ends of the interval change places.
    let max_rate = (at_full_load.low > 0.0).then(|| {
        Interval::new(rate / at_full_load.estimate, rate / at_full_load.high, rate / at_full_load.low)
    })?;
    let memory_bytes = proxy.memory();
    let new_connections = match proxy.new_connections(rate) {
        Some((per_second, cpu_us)) => {
            let cpu_us_each = cpu_us.interval()?;
            Some(SizedConnections { per_second, cores: cpu_us_each.times(per_second / 1e6), cpu_us_each })
        }
        None => None,
    };
    Some(SizedProxy {
        kubernetes: resources(&cores, proxy.service.workers, memory_bytes.as_ref()),
        service: proxy.service.name.clone(),
        workers: proxy.service.workers,
        requests_per_second,
        cpu_us_per_request: cores.times(1e6 / requests_per_second),
        cores,
        busy_share: cores.times(1.0 / workers),
        max_rate,
        memory_bytes,
        new_connections,
        is_extrapolated: proxy.measured_at().is_beyond(busy.own.min(1.0))
            || placement.is_beyond(&busy, MeasuredAt::is_beyond),
    })
}

fn sized_function<'a>(
    placed: Placed<'_, 'a>,
    number: usize,
    busy: Busy,
    rate: f64,
    function: FunctionOf<'a>,
) -> Option<SizedFunction> {
    let Placed { proxies, placement } = placed;
    let (side, called) = function;
    let proxy = proxies.get(number)?;
    let requests_per_second = rate * proxy.per_request_of(side);
    let cores = proxy.cores_of(rate, busy.own, function).interval()?;
    let mut saved = placement.cores(proxy, rate, busy, None);
    let less_busy = placement.busy_of(proxies, number, rate, Some((number, function)))?;
    saved.add_all(-1.0, &placement.cores(proxy, rate, less_busy, Some(function)));
    Some(SizedFunction {
        service: proxy.service.name.clone(),
        function: called.text.clone(),
        side,
        requests_per_second,
        cpu_us_per_request: cores.times(1e6 / requests_per_second),
        cores,
        saved_cores: saved.interval()?,
        saved_memory_bytes: proxy.memory_of(function),
        saved_mean_us: None,
        saved_mean_is_extrapolated: false,
    })
}

fn bottleneck(proxies: &[SizedProxy]) -> Option<SizeBottleneck> {
    let first =
        proxies.iter().min_by(|one, other| one.max_rate.estimate.total_cmp(&other.max_rate.estimate))?;
    let overlaps =
        |other: &&SizedProxy| other.service != first.service && other.max_rate.low <= first.max_rate.high;
    Some(SizeBottleneck {
        service: first.service.clone(),
        rate: first.max_rate,
        or: proxies.iter().filter(overlaps).map(|other| other.service.clone()).collect(),
    })
}

/// The results from which something was learned.
fn used(sources: &[Source<'_>], proxies: &[Proxy<'_>], placement: &Placement<'_>) -> Vec<SizeSource> {
    let described = |number: usize| {
        let result = sources.get(number)?.result;
        let mut flows = proxies.iter().flat_map(|proxy| &proxy.flows);
        let busy_shares = flows.find(|flow| flow.plain.source == number);
        Some(SizeSource {
            study: result.name.clone(),
            started_at: result.environment.started_at.clone(),
            verdict: result.verdict,
            cpu_model: result.environment.cpu_model.clone(),
            proxy_version: result.environment.proxy_version.clone(),
            busy_shares: busy_shares.map(|flow| flow.plain.curve.busy_shares().collect()).unwrap_or_default(),
            has_rounds: !result.rounds.is_empty(),
        })
    };
    placement.sources(proxies).into_iter().filter_map(described).collect()
}
