//! The proxies of a graph at the rate of a prediction, simulated requests that pass them, and intervals of the simulated numbers.

use hoptax_result::{Interval, counted, percent};
use hoptax_stats::{jackknife, sum_of_independent};

use crate::size::busy::{Busy, Placed, Placement, Processors, Without, left_out};
use crate::size::graph::Service;
use crate::size::measured_at::{MeasuredAt, NEARLY, apart};
use crate::size::proxy::{FunctionOf, LearnedFlow, Proxy};
use crate::size::times::{AllTimes, FlowTimes, Formula, LeftOut, SourceRounds, Values, measured_at};
use crate::size::walk::{Found, Walk};

/// The requests of a flow at the rate of a prediction.
pub(crate) struct FlowAt {
    /// Their number for each request to the entry.
    pub(crate) per_request: f64,
    /// The time that the proxy adds to each of them.
    pub(crate) added: Formula,
}

/// A proxy at the rate of a prediction.
pub(crate) struct At {
    pub(crate) busy: f64,
    /// The requests to its service, then those of each call that passes it.
    pub(crate) flows: Vec<FlowAt>,
    /// Time for which a pass on its way to a service makes passes of other proxies wait, us.
    pub(crate) ahead_us: f64,
    pub(crate) is_extrapolated: bool,
}

/// Returns all proxies at the rate of a prediction, without the given function, if any, and a sentence about each proxy whose busy share is
/// beyond the measured ones.
pub(crate) fn all_at<'a>(
    placed: Placed<'_, 'a>,
    rate: f64,
    without: Without<'a>,
    sharing: Option<&FlowTimes>,
    times: &mut AllTimes<'_, '_>,
) -> Result<(Vec<At>, Vec<String>), String> {
    let Placed { proxies, placement } = placed;
    let (mut at, mut extrapolations) = (Vec::new(), Vec::new());
    let busy = placement.busy(proxies, rate, without);
    for (number, (proxy, busy)) in proxies.iter().zip(busy).enumerate() {
        if let Processors::Shared(count) = placement.processors
            && busy.processors >= 1.0
        {
            let processors = counted(count.into(), "processor");
            return Err(format!("all proxies share {processors}: too few for the rate"));
        }
        let without = left_out(without, number);
        let ahead_us = ahead_us(proxy, placement, rate, busy, without);
        let (mut one, extrapolation) = at_busy_share(proxy, busy, ahead_us, without, sharing, times)?;
        let has_others = placement.processors != Processors::Own && busy.part < 1.0 - NEARLY;
        one.is_extrapolated |= has_others && sharing.is_none();
        at.push(one);
        extrapolations.extend(extrapolation);
    }
    Ok((at, extrapolations))
}

/// Returns the time for which a pass of a proxy on its way to a service makes passes of other proxies wait, us: half of its CPU time.
fn ahead_us<'a>(
    proxy: &Proxy<'a>,
    placement: &Placement<'a>,
    rate: f64,
    busy: Busy,
    without: Option<FunctionOf<'a>>,
) -> f64 {
    let passes = rate * proxy.per_request();
    match placement.processors {
        Processors::Shared(count) if passes > 0.0 => {
            let cores = placement.cores(proxy, rate, busy, without).estimate();
            0.5 * 1e6 * cores / passes / f64::from(count)
        }
        _ => 0.0,
    }
}

/// A proxy at the busy share of the processors that its requests wait for, and a sentence if that share is beyond the measured ones.
fn at_busy_share(
    proxy: &Proxy<'_>,
    busy: Busy,
    ahead_us: f64,
    without: Option<FunctionOf<'_>>,
    sharing: Option<&FlowTimes>,
    times: &mut AllTimes<'_, '_>,
) -> Result<(At, Option<String>), String> {
    let name = &proxy.service.name;
    let others = 1.0 - busy.part;
    // Requests wait for all work of the processors. If there are more processors than needed, a worker may be busier than the processors.
    let busy = busy.own.max(busy.processors);
    if busy >= 1.0 {
        return Err(format!("`{name}` has too few workers for the rate, so its queue grows without limit"));
    }
    let flows = proxy.flows.iter().map(|flow| times.flow(flow, without));
    let flows = flows.collect::<Result<Vec<FlowTimes>, _>>()?;
    let MeasuredAt { least, most, only } = measured_at(flows.iter().chain(sharing));
    if busy > most + NEARLY {
        return Err(format!(
            "`{name}` is busy for {} of the time, and response times were measured up to {}: beyond that queues grow fast. Give it more \
             workers, or measure a study with a load such as `utilisation: 90%`",
            percent(busy, 0),
            percent(most, 0)
        ));
    }
    let is_extrapolated = MeasuredAt { least, most, only }.is_beyond(busy);
    let extrapolation = is_extrapolated.then(|| {
        let [busy, measured] = apart(busy, only.unwrap_or(least));
        format!(
            "`{name}` is busy for {busy} of the time, and its response times are those of proxies that are busy for {measured}"
        )
    });
    let at = |(flow, times): (&LearnedFlow<'_>, &FlowTimes)| {
        let mut added = times.at(busy);
        if let Some(sharing) = sharing {
            added.add_all(others, &sharing.at(busy));
        }
        FlowAt { per_request: flow.per_request, added }
    };
    let flows = proxy.flows.iter().zip(&flows).map(at).collect();
    Ok((At { busy, flows, ahead_us, is_extrapolated }, extrapolation))
}

/// Simulated requests, and the times that the proxies of services add to them.
pub(crate) struct Simulated {
    pub(crate) found: Found,
    /// Equally likely times, us: by service, then requests to the service and those of each of its calls.
    pub(crate) added: Vec<Vec<Vec<f64>>>,
}

/// Simulates requests that pass `at`, the proxies of those `services` that have one.
pub(crate) fn walk(services: &[Service], at: &[At], values: &Values, requests: usize) -> Simulated {
    let mut proxies = at.iter();
    let of_service = |service: &Service| service.has_proxy.then(|| proxies.next()).flatten();
    let of_services: Vec<Option<&At>> = services.iter().map(of_service).collect();
    let added_by = |one: Option<&At>| -> Vec<Vec<f64>> {
        let flows = one.iter().flat_map(|one| &one.flows);
        flows.map(|flow| values.sums(&flow.added)).collect()
    };
    let added: Vec<Vec<Vec<f64>>> = of_services.iter().copied().map(added_by).collect();
    let ahead: Vec<f64> = of_services.iter().map(|one| one.map_or(0.0, |one| one.ahead_us)).collect();
    let found = Walk::new(services, &added, &ahead).requests(requests);
    Simulated { found, added }
}

/// The numbers with their intervals.
pub(crate) fn intervals(
    numbers: impl Fn(LeftOut) -> Vec<f64>,
    rounds: &[SourceRounds],
) -> Option<Vec<Interval>> {
    let of_all = numbers(None);
    let mut deviations: Vec<Vec<Interval>> = vec![Vec::new(); of_all.len()];
    for SourceRounds { source, count, confidence } in rounds {
        let without: Vec<Vec<f64>> = (0..*count).map(|round| numbers(Some((*source, round)))).collect();
        for (place, deviations) in deviations.iter_mut().enumerate() {
            let number = |left_out: Option<usize>| {
                let of = left_out.map_or(Some(&of_all), |round| without.get(round));
                of.and_then(|numbers| numbers.get(place)).copied().unwrap_or(f64::NAN)
            };
            let half_width = jackknife(*count, number, *confidence)?.half_width();
            deviations.push(Interval::new(0.0, -half_width, half_width));
        }
    }
    let interval = |(estimate, deviations): (&f64, &Vec<Interval>)| {
        let around = sum_of_independent(deviations)?;
        Some(Interval::new(*estimate, estimate + around.low, estimate + around.high))
    };
    of_all.iter().zip(&deviations).map(interval).collect()
}
