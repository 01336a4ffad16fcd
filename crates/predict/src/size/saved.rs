//! The time that a request would save if one function of a graph's proxies were switched off.

use hoptax_result::{Interval, SizedFunction};

use crate::size::busy::Placed;
use crate::size::graph::Graph;
use crate::size::proxy::FunctionOf;
use crate::size::simulation::{At, intervals, walk};
use crate::size::times::{AllTimes, LeftOut, mean};

/// Simulated requests for each function. Both sides of the difference use the same random numbers, so a difference of means needs fewer
/// requests than a quantile.
const REQUESTS: usize = 10_000;

/// The time that a function adds to a request to the entry.
pub(crate) struct Saved<'a> {
    /// The service whose proxy performs the function.
    pub(crate) service: &'a str,
    pub(crate) function: FunctionOf<'a>,
    /// The mean over requests, us.
    pub(crate) mean_us: Interval,
    /// True if a proxy without the function is outside the busy shares at which response times were measured.
    pub(crate) is_extrapolated: bool,
}

/// Returns, for each function, the mean time that the proxies add with it, minus the mean time without it. `at` has the proxies with all
/// functions, and `at_without` computes them without one function of one proxy. Empty if the graph has more functions than
/// [`SizedFunction::MOST_SWITCHED`], or if one cannot be simulated.
///
/// **Method.** The simulation of `latency`. The proxy without the function is less busy, so its other work takes less time too. The
/// interval is the jackknife interval of the difference: each round is left out on both sides.
pub(crate) fn saved<'a>(
    graph: &Graph,
    placed: Placed<'_, 'a>,
    at: &[At],
    requests: usize,
    times: &mut AllTimes<'_, '_>,
    at_without: impl Fn((usize, FunctionOf<'a>), &mut AllTimes<'_, '_>) -> Result<Vec<At>, String>,
) -> Vec<Saved<'a>> {
    let proxies = placed.proxies.iter().enumerate();
    let functions: Vec<(usize, FunctionOf<'a>)> = proxies
        .flat_map(|(number, proxy)| proxy.functions().into_iter().map(move |function| (number, function)))
        .collect();
    if functions.is_empty() || functions.len() > SizedFunction::MOST_SWITCHED {
        return Vec::new();
    }
    let others = functions.iter().map(|without| at_without(*without, times)).collect::<Result<Vec<_>, _>>();
    let Ok(others) = others else { return Vec::new() };
    let times = &*times;
    let requests = requests.min(REQUESTS);
    let numbers = |left_out: LeftOut| -> Vec<f64> {
        let all = std::iter::once(at).chain(others.iter().map(Vec::as_slice));
        let formulas = all.flatten().flat_map(|one| &one.flows).map(|flow| &flow.added);
        let values = times.table().values(formulas, left_out);
        let mean_us = |at: &[At]| mean(&walk(&graph.services, at, &values, requests).found.added);
        let with = mean_us(at);
        others.iter().map(|other| with - mean_us(other)).collect()
    };
    let found = intervals(numbers, &times.rounds()).unwrap_or_default();
    let saved = |(((number, function), other), mean_us): ((&(usize, FunctionOf<'a>), &Vec<At>), Interval)| {
        let service = placed.proxies.get(*number)?.service.name.as_str();
        let is_extrapolated = other.iter().any(|proxy| proxy.is_extrapolated);
        Some(Saved { service, function: *function, mean_us, is_extrapolated })
    };
    functions.iter().zip(&others).zip(found).filter_map(saved).collect()
}
