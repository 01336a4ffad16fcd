//! The time that the proxies of a graph add to the response time of a request, from a simulation of its calls.

use hoptax_checks::thresholds::Limits;
use hoptax_checks::vague::vague_level;
use hoptax_result::{AddedTime, Interval, ProxyLatency, SizeLatency};
use hoptax_stats::Weighted;

use crate::size::busy::Placed;
use crate::size::flow::calls;
use crate::size::graph::{Graph, Service};
use crate::size::proxy::Proxy;
use crate::size::saved::{Saved, saved};
use crate::size::simulation::{At, Simulated, all_at, intervals, walk};
use crate::size::times::{AllTimes, LeftOut, TAIL, Table, mean};
use crate::size::walk::requests_to_simulate;

/// Numbers of all proxies together come first: mean and tail. Each proxy also has its part of the slowest path.
const OF_ALL: usize = 2;
const OF_EACH: usize = 3;

/// Added time at a rate, and warnings about times that were measured only at other busy shares.
pub(crate) struct Latency<'a> {
    pub(crate) size: SizeLatency,
    pub(crate) extrapolations: Vec<String>,
    /// The time that each function adds; empty if the graph has too many functions.
    pub(crate) saved: Vec<Saved<'a>>,
}

/// Returns the time that the proxies of `graph` add to the response time of a request to its entry, at `rate` requests per second.
/// `placed` has the proxies of those services of the graph that have one, in the order of the graph.
///
/// **Method.** A request passes proxies and services along its calls. Concurrent calls of a step take as long as the slowest of them, and
/// steps follow each other. Each pass of a proxy takes a time drawn from the times that the proxy adds at its busy share, independently of
/// all other passes. If proxies share processors, concurrent calls reach them at the same time: each waits for the passes of the calls
/// before it. A pass is assumed to use half of its CPU time on the way to the service, and half on the way back. The added time is the
/// difference between the request and the same request without the times of proxies. Mean and quantile are those of many such requests,
/// simulated with a fixed seed: the quantile of a sum is not the sum of quantiles.
///
/// **Interval.** The simulation is repeated with the same random numbers and each round of a result left out
/// ([`jackknife`](hoptax_stats::jackknife)); the intervals of several results are combined as independent ones.
///
/// # Errors
/// The reason why there is no number.
pub(crate) fn latency<'a>(
    graph: &Graph,
    placed: Placed<'_, 'a>,
    rate: f64,
    times: &mut AllTimes<'_, '_>,
) -> Result<Latency<'a>, String> {
    let Placed { proxies, placement } = placed;
    let sharing = placement.sharing.as_ref().map(|sharing| (sharing.arm(), times.sharing(sharing)));
    let unknown = match &sharing {
        Some((arm, None)) => Some(format!(
            "the results do not state response times of `{}`: what sharing processors adds to them is left out",
            arm.id
        )),
        _ => None,
    };
    let sharing = sharing.and_then(|(_, times)| times);
    let (at, beyond) = all_at(placed, rate, None, sharing.as_ref(), times)?;
    let extrapolations = unknown.into_iter().chain(beyond).collect();
    let has_tail = |one: &At| {
        one.flows.iter().all(|flow| flow.per_request <= 0.0 || times.table().has_tail(&flow.added))
    };
    let have_tails: Vec<bool> = at.iter().map(has_tail).collect();
    let passes: f64 = at.iter().flat_map(|one| &one.flows).map(|flow| flow.per_request).sum();
    let requests = requests_to_simulate(passes, calls(graph))?;
    let saved = saved(graph, placed, &at, requests, times, |without, times| {
        all_at(placed, rate, Some(without), sharing.as_ref(), times).map(|(at, _)| at)
    });
    let numbers = |left_out: LeftOut| simulated(&graph.services, &at, times.table(), left_out, requests);
    let intervals = intervals(numbers, &times.rounds()).ok_or("the results have too few rounds")?;
    let added = |from: usize, has_tail: bool| {
        Some(AddedTime {
            mean_us: Some(*intervals.get(from)?),
            p99_us: intervals.get(from + 1).copied().filter(|_| has_tail),
        })
    };
    let of_proxy = |(number, (proxy, one)): (usize, (&Proxy<'_>, &At))| {
        let from = OF_ALL + number * OF_EACH;
        let added = added(from, have_tails.get(number).copied().unwrap_or_default())?;
        let critical_path_us = *intervals.get(from + 2)?;
        Some(ProxyLatency {
            service: proxy.service.name.clone(),
            busy_share: one.busy,
            added,
            critical_path_us,
            wide: wide(&added, Some(critical_path_us)),
            is_extrapolated: one.is_extrapolated,
        })
    };
    let of_proxies = proxies.iter().zip(&at).enumerate().map(of_proxy);
    let size = || {
        let added = added(0, have_tails.iter().all(|has_tail| *has_tail))?;
        Some(SizeLatency {
            added,
            wide: wide(&added, None),
            is_extrapolated: at.iter().any(|one| one.is_extrapolated),
            proxies: of_proxies.collect::<Option<_>>()?,
        })
    };
    let size = size().ok_or("the results have too few rounds")?;
    Ok(Latency { size, extrapolations, saved })
}

/// The names of the times whose intervals are too wide for their estimates to be used, by the rule for levels of a study ([`vague_level`]).
fn wide(added: &AddedTime, critical_path_us: Option<Interval>) -> Vec<String> {
    let times =
        [("mean_us", added.mean_us), ("p99_us", added.p99_us), ("critical_path_us", critical_path_us)];
    let is_vague = |time: Interval| vague_level(&time, &Limits::default()).is_some();
    let vague = times.into_iter().filter(|(_, time)| time.is_some_and(is_vague));
    vague.map(|(name, _)| name.to_owned()).collect()
}

/// The numbers of all proxies and of each, us.
fn simulated(services: &[Service], at: &[At], table: &Table, left_out: LeftOut, requests: usize) -> Vec<f64> {
    let formulas = at.iter().flat_map(|one| &one.flows).map(|flow| &flow.added);
    let values = table.values(formulas, left_out);
    let Simulated { found, added } = walk(services, at, &values, requests);
    let mut numbers = vec![mean(&found.added), tail(found.added)];
    let ways = services.iter().zip(&added).zip(&found.critical);
    let of_proxies = ways.filter(|((service, _), _)| service.has_proxy);
    for (one, ((_, added), critical)) in at.iter().zip(of_proxies) {
        let parts =
            || one.flows.iter().zip(added).map(|(flow, values)| Weighted::new(flow.per_request, values));
        let all: f64 = parts().map(|part| part.weight).sum();
        let of_mean: f64 = parts().map(|part| part.weight / all * mean(part.value)).sum();
        numbers.extend([of_mean, tail_of_mixture(parts()), *critical]);
    }
    numbers
}

/// The tail of equally likely values: half-way between the neighbours of the quantile. NaN without values.
pub(crate) fn tail(mut values: Vec<f64>) -> f64 {
    let above = (TAIL * values.len() as f64).round() as usize;
    if above >= values.len() {
        return values.into_iter().reduce(f64::max).unwrap_or(f64::NAN);
    }
    let (below, at, _) = values.select_nth_unstable_by(above, f64::total_cmp);
    f64::midpoint(below.iter().copied().reduce(f64::max).unwrap_or(*at), *at)
}

/// The tail of a mixture of distributions with these weights.
fn tail_of_mixture<'a>(parts: impl Iterator<Item = Weighted<&'a Vec<f64>>>) -> f64 {
    let values_of =
        |part: Weighted<&'a Vec<f64>>| part.value.iter().map(move |value| Weighted::new(part.weight, *value));
    let mut values: Vec<Weighted<f64>> = parts.flat_map(values_of).collect();
    values.sort_by(|one, other| one.value.total_cmp(&other.value));
    let all: f64 = values.iter().map(|one| one.weight).sum();
    let mut below = 0.0;
    let reaches = |one: &&Weighted<f64>| {
        below += one.weight;
        below >= TAIL * all
    };
    values.iter().find(reaches).or(values.last()).map_or(f64::NAN, |one| one.value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hoptax_result::CountedTime;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand_distr::{Distribution, Exp1, StandardNormal};

    use super::*;
    use crate::size::graph::tests::graph;
    use crate::size::simulation::FlowAt;
    use crate::size::times::{Formula, SourceRounds};

    #[test]
    fn the_tail_has_one_value_of_a_hundred_above_it() {
        let values: Vec<f64> = (1..=1_000).map(f64::from).collect();
        assert!((tail(values.iter().rev().copied().collect()) - 990.5).abs() < 1e-9);
        assert!(tail(Vec::new()).is_nan());
        assert!((tail(vec![3.0, 1.0]) - 3.0).abs() < 1e-9);
        let high: Vec<f64> = values.iter().map(|value| value + 1_000.0).collect();
        // One value of twenty comes from the high distribution, so its upper fifth is the tail of all.
        let mixed = tail_of_mixture([Weighted::new(19.0, &values), Weighted::new(1.0, &high)].into_iter());
        assert!((mixed - 1_800.0).abs() <= 1.0, "{mixed}");
    }

    #[test]
    fn a_time_whose_interval_is_wider_than_half_of_it_is_named_as_a_bound() {
        let about = |half_width| Some(Interval::around(100.0, half_width));
        let added = AddedTime { mean_us: about(49.0), p99_us: about(51.0) };
        assert_eq!(wide(&added, Some(Interval::around(-3.0, 1.0))), ["p99_us", "critical_path_us"]);
        assert!(wide(&AddedTime { p99_us: None, ..added }, about(49.0)).is_empty());
    }

    const ROUNDS: usize = 12;
    const RESPONSES: usize = 1_200;
    const CONFIDENCE: f64 = 0.95;

    /// Response times in a round, us, at two significant digits: exponential times above a minimum, with random levels of the round and of
    /// the process.
    fn round(
        (least, mean): (f64, f64),
        level: f64,
        responses: usize,
        random: &mut Xoshiro256PlusPlus,
    ) -> Vec<CountedTime> {
        let of_process: f64 = StandardNormal.sample(random);
        let level = level * (0.02 * of_process).exp();
        let mut counts = BTreeMap::new();
        for _ in 0..responses {
            let beyond: f64 = Exp1.sample(random);
            let ns = 1e3 * level * (least + mean * beyond);
            let bucket = 10_f64.powf(ns.log10().floor() - 1.0);
            *counts.entry((ns / bucket).round() as u64 * bucket as u64).or_insert(0) += 1;
        }
        counts.into_iter().map(|(ns, count)| CountedTime { ns, count }).collect()
    }

    /// A study of a plain proxy, of one with a function, and of no proxy, with the time that each of them adds.
    fn simulated_study(
        table: &mut Table,
        source: usize,
        (rounds, responses): (usize, usize),
        random: &mut Xoshiro256PlusPlus,
    ) -> [Formula; 2] {
        let mut arms: [Vec<Vec<CountedTime>>; 3] = Default::default();
        for _ in 0..rounds {
            let of_round: f64 = StandardNormal.sample(random);
            for (arm, times) in arms.iter_mut().zip([(20.0, 10.0), (90.0, 110.0), (120.0, 170.0)]) {
                arm.push(round(times, (0.03 * of_round).exp(), responses, random));
            }
        }
        let [direct, plain, function] = arms.map(|rounds| table.simulated(source, rounds));
        let added = |whole: &Formula| {
            let mut added = Formula::default();
            added.add_all(1.0, whole);
            added.add_all(-1.0, &direct);
            added
        };
        [added(&plain), added(&function)]
    }

    /// Two concurrently called proxies from one study, behind a proxy from another study.
    fn numbers_of_study(
        (rounds, responses): (usize, usize),
        random: &mut Xoshiro256PlusPlus,
        requests: usize,
    ) -> (Table, impl Fn(&Table, LeftOut) -> Vec<f64> + use<>) {
        let graph = graph(
            "
name: fan-out
entry: front
services:
  - {name: front, calls: [[{service: one}, {service: other}]]}
  - {name: one}
  - {name: other}
",
        );
        let mut table = Table::default();
        let [front, _] = simulated_study(&mut table, 0, (rounds, responses), random);
        let [one, other] = simulated_study(&mut table, 1, (rounds, responses), random);
        let at: Vec<At> = [front, one, other]
            .into_iter()
            .map(|flow| At {
                busy: 0.5,
                flows: vec![FlowAt { per_request: 1.0, added: flow }],
                ahead_us: 0.0,
                is_extrapolated: false,
            })
            .collect();
        (table, move |table, left_out| simulated(&graph.services, &at, table, left_out, requests))
    }

    /// Returns for each number the share of studies whose interval covers the truth, which is the result of a study with very many rounds.
    fn coverage(studies: u32, true_rounds: usize) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(733);
        let (table, numbers) = numbers_of_study((true_rounds, 400), &mut random, 500 * true_rounds);
        let truth = numbers(&table, None);
        drop(table);
        let mut covered = vec![0; truth.len()];
        for _ in 0..studies {
            let (table, numbers) = numbers_of_study((ROUNDS, RESPONSES), &mut random, 60_000);
            let rounds = [0, 1].map(|source| SourceRounds { source, count: ROUNDS, confidence: CONFIDENCE });
            let intervals = intervals(|left_out| numbers(&table, left_out), &rounds).unwrap();
            for (covered, (interval, truth)) in covered.iter_mut().zip(intervals.iter().zip(&truth)) {
                *covered += u32::from(interval.contains(*truth));
            }
        }
        covered.iter().map(|covered| f64::from(*covered) / f64::from(studies)).collect()
    }

    /// A few studies can only detect intervals that are far too narrow. `long` tests the coverage.
    #[test]
    fn intervals_cover_the_truth_in_most_of_a_few_studies() {
        let shares = coverage(4, 200);
        assert!(shares.iter().all(|share| *share > 0.6), "{shares:?}");
    }

    mod long {
        use super::*;

        #[test]
        #[ignore = "takes minutes: run by `make test-long`"]
        fn intervals_cover_the_truth_as_often_as_they_state() {
            let shares = coverage(200, 2_000);
            // Four standard errors of a share of 95 % in this many studies are 6.2 %.
            assert!(shares.iter().all(|share| (0.885..=1.0).contains(share)), "{shares:?}");
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert!((0.925..=0.985).contains(&mean), "{shares:?}");
        }
    }
}
