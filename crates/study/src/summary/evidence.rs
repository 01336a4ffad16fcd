//! The evidence beside the numbers: books, slices, and what generator, proxies and host did.

use std::collections::BTreeMap;

use hoptax_result::{Book, GeneratorUse, HostUse, ProxyUse, Slices};
use hoptax_stats::median;

use super::pairs::{Measure, values};
use crate::plan::Plan;
use crate::record::{GeneratorRecord, RoundRecord, SliceRecord};

/// The quantile of send lag that the checks judge.
const LAG: f64 = 0.99;

fn slices_of(rounds: &[RoundRecord], arm: usize) -> impl Iterator<Item = &SliceRecord> {
    rounds.iter().flat_map(|round| &round.slices).filter(move |slice| slice.arm == arm)
}

/// How many slices of an arm count.
pub(super) fn slices(rounds: &[RoundRecord], arm: usize) -> Slices {
    let mut slices = Slices::default();
    for round in rounds {
        // Whether a measurement counts, by what was planned.
        let mut planned: BTreeMap<(usize, u32, u32), bool> = BTreeMap::new();
        for slice in round.slices.iter().filter(|slice| slice.arm == arm) {
            *planned.entry((slice.load, slice.block, slice.copy)).or_default() |= !slice.set_aside;
            *(if slice.set_aside { &mut slices.set_aside } else { &mut slices.used }) += 1;
        }
        slices.lost += planned.values().filter(|counts| !**counts).count() as u64;
    }
    slices
}

/// Share of the answers of an arm under an open loop that came within so many nanoseconds. None without answers.
pub(super) fn share_below(rounds: &[RoundRecord], load: usize, arm: usize, ns: u64) -> Option<f64> {
    let (mut below, mut all) = (0, 0);
    for round in rounds {
        let responses = round.response(load, arm);
        below += responses.count_between(0, ns);
        all += responses.len();
    }
    (all > 0).then(|| below as f64 / all as f64)
}

/// All requests of an arm.
pub(super) fn book(rounds: &[RoundRecord], arm: usize) -> Book {
    slices_of(rounds, arm).fold(Book::default(), |mut sum, slice| {
        sum.add(&slice.book);
        sum
    })
}

/// Failed requests of an arm by kind.
pub(super) fn failures(rounds: &[RoundRecord], arm: usize) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (kind, count) in rounds.iter().filter_map(|round| round.failures.get(&arm)).flatten() {
        *sum.entry(kind.clone()).or_default() += count;
    }
    sum
}

/// How busy a proxy was under the closed loop, and without a load. None without a closed loop.
pub(super) fn proxy_use(plan: &Plan, rounds: &[RoundRecord], arm: usize) -> Option<ProxyUse> {
    let is_closed = |slice: &&SliceRecord| plan.loads.get(slice.load).is_some_and(|load| load.open.is_none());
    let (mut cpu_ns, mut recorded_s) = (0.0, 0.0);
    for slice in slices_of(rounds, arm).filter(is_closed).filter(|slice| !slice.set_aside) {
        cpu_ns += slice.proxy_cpu_ns as f64;
        recorded_s += slice.recorded_s;
    }
    let (idle_ns, idle_wall_ns) = rounds
        .iter()
        .filter_map(|round| round.idle.get(&arm))
        .fold((0.0, 0.0), |(cpu, wall), idle| (cpu + idle.cpu_ns as f64, wall + idle.wall_ns as f64));
    (recorded_s > 0.0).then(|| ProxyUse {
        core_share: cpu_ns / 1e9 / recorded_s,
        idle_us_per_second: if idle_wall_ns > 0.0 { idle_ns / 1e3 / (idle_wall_ns / 1e9) } else { 0.0 },
    })
}

/// What the generator did under each load.
pub(super) fn generator(plan: &Plan, rounds: &[RoundRecord]) -> Vec<GeneratorUse> {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    plan.loads
        .iter()
        .enumerate()
        .map(|(index, load)| {
            let used = rounds.iter().filter_map(|round| round.generator.get(&index)).fold(
                GeneratorRecord::default(),
                |mut sum, one| {
                    sum.cpu_ns += one.cpu_ns;
                    sum.run_delay_ns += one.run_delay_ns;
                    sum.wall_ns += one.wall_ns;
                    sum.busy_ticks += one.busy_ticks;
                    sum.total_ticks += one.total_ticks;
                    sum
                },
            );
            let mut own_lag = hoptax_load::histogram();
            rounds
                .iter()
                .filter_map(|round| round.own_lag.get(&index))
                .for_each(|one| one.add_to(&mut own_lag));
            GeneratorUse {
                load: load.name.clone(),
                own_lag_p99_us: (!own_lag.is_empty()).then(|| own_lag.value_at_quantile(LAG) as f64 / 1e3),
                core_share: share(used.cpu_ns, used.wall_ns),
                processors_share: share(used.busy_ticks, used.total_ticks),
                run_delay_share: share(used.run_delay_ns, used.wall_ns),
            }
        })
        .collect()
}

/// What the host took, and whether the baseline changed.
pub(super) fn host(plan: &Plan, rounds: &[RoundRecord], neighbour_weight: Option<f64>) -> HostUse {
    let (steal, total) =
        rounds.iter().fold((0, 0), |sum, round| (sum.0 + round.steal.0, sum.1 + round.steal.1));
    let (mut delay_s, mut wall_s) = (0.0, 0.0);
    let mut handovers_ns = Vec::new();
    for slice in rounds.iter().flat_map(|round| &round.slices).filter(|slice| !slice.set_aside) {
        handovers_ns.extend(slice.handover_ns);
        delay_s += slice.proxy_run_delay_ns as f64 / 1e9;
        wall_s += slice.wall_s;
    }
    HostUse {
        steal_share: if total == 0 { 0.0 } else { steal as f64 / total as f64 },
        handover_ns: median(&handovers_ns),
        waited_s: rounds.iter().map(|round| round.waited_ns as f64 / 1e9).sum(),
        proxy_run_delay_share: if wall_s > 0.0 { delay_s / wall_s } else { 0.0 },
        drift_share: drift(plan, rounds),
        neighbour_weight,
    }
}

/// The baseline's CPU time per request in the last third of the rounds over that in the first third, less one.
fn drift(plan: &Plan, rounds: &[RoundRecord]) -> Option<f64> {
    let third = rounds.len() / 3;
    let level = |rounds: &[RoundRecord]| {
        let all: Vec<f64> = rounds
            .iter()
            .flat_map(|round| values(plan, round, 0, Measure::CpuUsPerRequest).into_values())
            .collect();
        median(&all)
    };
    let (first, last) = (rounds.get(..third)?, rounds.get(rounds.len() - third..)?);
    let (first, last) = (level(first)?, level(last)?);
    (first > 0.0).then(|| last / first - 1.0)
}
