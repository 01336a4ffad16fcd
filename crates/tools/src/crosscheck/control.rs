//! Server-side measurements of a run, and the response times of an ideal open loop.

use std::collections::BTreeSet;

use hoptax_origin::{Freeze, Queue, Served};
use hoptax_result::{Gaps, ToolNumbers};
use hoptax_stats::quantile;

/// One request and its response at the server. Times are nanoseconds of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) connection: u64,
    pub(crate) arrived_ns: u64,
    pub(crate) left_ns: u64,
    /// The plan of the response; none for servers other than the origin.
    pub(crate) planned: Option<Planned>,
}

/// The plan of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planned {
    /// A service time in the queue of the origin, nanoseconds.
    Service(u64),
    /// A delay, nanoseconds.
    Delay(u64),
}

impl From<Served> for Exchange {
    fn from(served: Served) -> Self {
        let planned = match served.service_ns {
            Some(service_ns) => Planned::Service(service_ns),
            None => Planned::Delay(served.departs_ns - served.arrived_ns),
        };
        Self {
            connection: served.connection,
            arrived_ns: served.arrived_ns,
            left_ns: served.written_ns,
            planned: Some(planned),
        }
    }
}

/// Rate and quantiles as measured at the server.
pub(crate) fn seen(exchanges: &[Exchange]) -> ToolNumbers {
    let times: Vec<f64> =
        exchanges.iter().map(|one| one.left_ns.saturating_sub(one.arrived_ns) as f64 / 1e3).collect();
    let first_ns = exchanges.iter().map(|one| one.arrived_ns).min().unwrap_or_default();
    let last_ns = exchanges.iter().map(|one| one.arrived_ns).max().unwrap_or_default();
    let seconds = last_ns.saturating_sub(first_ns) as f64 / 1e9;
    let rate = (seconds > 0.0).then(|| (exchanges.len() - 1) as f64 / seconds);
    ToolNumbers { rate, ..quantiles(&times) }
}

/// Response times of requests that arrive evenly at `rate`: the plans of all responses, in order of arrival, applied to an
/// ideal schedule. None if a plan is missing.
pub(crate) fn known(exchanges: &[Exchange], rate: f64, freeze: Option<Freeze>) -> Option<ToolNumbers> {
    let mut queue = Queue::default();
    let mut sorted = exchanges.to_vec();
    sorted.sort_by_key(|one| one.arrived_ns);
    let waits: Option<Vec<f64>> = sorted
        .iter()
        .enumerate()
        .map(|(number, one)| {
            let at_ns = (number as f64 * 1e9 / rate) as u64;
            let departs_ns = match one.planned? {
                Planned::Service(service_ns) => queue.take(at_ns, service_ns, freeze),
                Planned::Delay(delay_ns) => at_ns + delay_ns,
            };
            Some((departs_ns - at_ns) as f64 / 1e3)
        })
        .collect();
    Some(ToolNumbers { rate: Some(rate), ..quantiles(&waits?) })
}

fn quantiles(times_us: &[f64]) -> ToolNumbers {
    let at = |p: f64| quantile(times_us, p);
    ToolNumbers { rate: None, p50_us: at(0.5), p90_us: at(0.9), p99_us: at(0.99) }
}

/// The gaps between arrivals.
pub(crate) fn gaps(exchanges: &[Exchange], rate: Option<f64>) -> Gaps {
    let mut arrived: Vec<u64> = exchanges.iter().map(|one| one.arrived_ns).collect();
    arrived.sort_unstable();
    let gaps: Vec<f64> =
        arrived.iter().zip(arrived.iter().skip(1)).map(|(a, b)| (b - a) as f64 / 1e3).collect();
    if gaps.is_empty() {
        return Gaps::default();
    }
    let count = gaps.len() as f64;
    let mean_us = gaps.iter().sum::<f64>() / count;
    let variance = gaps.iter().map(|gap| (gap - mean_us).powi(2)).sum::<f64>() / count;
    Gaps {
        mean_us,
        p50_us: quantile(&gaps, 0.5).unwrap_or_default(),
        p99_us: quantile(&gaps, 0.99).unwrap_or_default(),
        error_p99_us: rate.and_then(|rate| {
            let errors: Vec<f64> = gaps.iter().map(|gap| (gap - 1e6 / rate).abs()).collect();
            quantile(&errors, 0.99)
        }),
        burst_share: gaps.iter().filter(|gap| **gap < mean_us / 10.0).count() as f64 / count,
        variation: if mean_us > 0.0 { variance.sqrt() / mean_us } else { 0.0 },
    }
}

/// Number of connections that carried a request.
pub(crate) fn connections(exchanges: &[Exchange]) -> u64 {
    exchanges.iter().map(|one| one.connection).collect::<BTreeSet<u64>>().len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(connection: u64, arrived_ms: u64, planned: Planned) -> Exchange {
        let arrived_ns = arrived_ms * 1_000_000;
        Exchange { connection, arrived_ns, left_ns: arrived_ns + 1_000_000, planned: Some(planned) }
    }

    #[test]
    fn ideal_response_times_do_not_depend_on_a_generator_that_pauses_during_a_freeze() {
        // Ten requests in 100 ms and a service time of 1 ms; the server freezes from 20 to 70 ms, and the generator pauses.
        let arrived = [0, 10, 70, 71, 72, 73, 74, 75, 80, 90];
        let exchanges: Vec<Exchange> =
            arrived.iter().map(|at| exchange(*at % 2, *at, Planned::Service(1_000_000))).collect();
        let freeze = Freeze { after_ns: 20_000_000, length_ns: 50_000_000 };
        let known = known(&exchanges, 100.0, Some(freeze)).unwrap();
        let seen = seen(&exchanges);
        assert!(seen.p90_us.unwrap() < 1_001.0, "{seen:?}");
        // Requests planned at 20, 30, 40, 50 and 60 ms take from 51 down to 15 ms.
        assert!(known.p90_us.unwrap() > 40_000.0, "{known:?}");
        assert_eq!(connections(&exchanges), 2);
    }

    #[test]
    fn gaps_reveal_bursts() {
        let even: Vec<Exchange> =
            (0..100).map(|number| exchange(0, number * 10, Planned::Delay(0))).collect();
        let bursts: Vec<Exchange> =
            (0..100).map(|number| exchange(0, number / 10 * 100, Planned::Delay(0))).collect();
        let found = gaps(&even, Some(100.0));
        assert_eq!((found.variation, found.burst_share, found.error_p99_us), (0.0, 0.0, Some(0.0)));
        let found = gaps(&bursts, None);
        assert!(found.burst_share > 0.85 && found.variation > 2.0, "{found:?}");
        assert_eq!(gaps(&[], None), Gaps::default());
    }
}
