//! Computes the numbers of a result from its evidence.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{
    ArmLoad, ArmResult, Book, Bound, Bounds, Cost, CostMeasure, CostShare, CostShares, GeneratorUse, HopUse,
    HostUse, LoadSpec, Loop, ProxyUse, Reasons, ResponseCost, Sample, Slices, StudyPlan, StudyResult,
};
use hoptax_stats::{median, quantile_supported};

use super::bounds::Evidence;
use super::response::Round;
use super::samples::{Pairing, Rounds};
use super::speed::{Speed, speed};
use super::{borrowed, histogram, layers, once, parts, response, rules, share, signs, statuses, timeline};
use crate::measures::{self, Measure};
use crate::summary::times::{self, Times};

/// The quantiles of send lag that checks evaluate.
const LAGS: [f64; 3] = [0.5, 0.9, 0.99];

/// Computes every number of a result from its rounds, its plan, and its arms' descriptions. Findings and verdict are
/// left unchanged for the checks to fill.
pub fn fill(result: &mut StudyResult) {
    let rounds = std::mem::take(&mut result.rounds);
    let times = times::decode(&rounds, times::ALL.responses);
    let quiet = times::decode(&rounds, times::QUIET.responses);
    let all = Rounds { all: &rounds, times: &times, confidence: result.plan.quantile_confidence() };
    result.plan.rounds_completed = rounds.len() as u32;
    // The courses of a timeline have evidence of their own.
    let loads = result.plan.loads.iter().filter(|_| result.plan.timeline.is_none());
    result.generator = loads.map(|load| generator(&all, None, load)).collect();
    result.host = host(&all, result);
    let proxied: BTreeSet<String> =
        result.arms.iter().filter(|arm| !arm.hops.is_empty()).map(|arm| arm.id.clone()).collect();
    let speeds: BTreeMap<String, Speed> = result
        .plan
        .loads
        .iter()
        .filter_map(|load| Some((load.name.clone(), speed(&rounds, &load.name)?)))
        .collect();
    let study = Study { rounds: all, quiet: &quiet, result: &*result, speeds, proxied };
    let mut arms = result.arms.clone();
    for arm in &mut arms {
        let takes_part = |load: &&LoadSpec| all.samples(&arm.id, &load.name).next().is_some();
        arm.loads =
            result.plan.loads.iter().filter(takes_part).map(|load| arm_load(&study, arm, load)).collect();
    }
    borrowed::borrow(&mut arms, &result.plan, &all, &study.speeds);
    for arm in &mut arms {
        fill_arm(&study, arm);
    }
    fill_bounds(&mut arms, &Evidence::new(all, &quiet, &result.plan), &result.plan);
    let rule_costs = rules::costs(&all, &arms, result.plan.confidence);
    let names: Vec<&str> = arms.iter().map(|arm| arm.id.as_str()).collect();
    result.timelines = timeline::timelines(&rounds, &names, &result.plan);
    (result.arms, result.rule_costs, result.rounds) = (arms, rule_costs, rounds);
    signs::judge(result);
}

/// Sets the bounds of the numbers of all arms, whose numbers are already set.
fn fill_bounds(arms: &mut [ArmResult], evidence: &Evidence<'_>, plan: &StudyPlan) {
    let of_arm = |arm: &ArmResult, all: &[ArmResult]| -> Vec<Bounds> {
        let other = all.iter().find(|other| Some(&other.id) == arm.compared_with.as_ref());
        let of_load = |under: &ArmLoad| {
            let others = other.and_then(|other| other.under(&under.load));
            let load = plan.loads.iter().find(|load| load.name == under.load);
            load.map(|load| evidence.of_load(arm, under, others, load)).unwrap_or_default()
        };
        arm.loads.iter().map(of_load).collect()
    };
    let bounds: Vec<Vec<Bounds>> = arms.iter().map(|arm| of_arm(arm, arms)).collect();
    for (arm, bounds) in arms.iter_mut().zip(bounds) {
        arm.bounds = usual_bounds(arm, &bounds, plan);
        for (load, bounds) in arm.loads.iter_mut().zip(bounds) {
            load.bounds = bounds;
        }
    }
}

/// Selects the bounds for an arm from those of its loads: for each measure, the bounds under its usual load.
fn usual_bounds(arm: &ArmResult, bounds: &[Bounds], plan: &StudyPlan) -> Bounds {
    let of_load = |(under, bounds): (&ArmLoad, &Bounds)| {
        let is_usual =
            |bound: &&Bound| plan.usual_load_name(&arm.id, bound.measure) == Some(under.load.as_str());
        bounds.0.iter().filter(is_usual).cloned().collect::<Vec<Bound>>()
    };
    Bounds(arm.loads.iter().zip(bounds).flat_map(of_load).collect())
}

/// The inputs of an arm's numbers.
struct Study<'a> {
    rounds: Rounds<'a>,
    /// Response times of quiet slices by round, within a round by arm and load.
    quiet: &'a [Times],
    result: &'a StudyResult,
    /// The machine's speed, by load.
    speeds: BTreeMap<String, Speed>,
    /// The arms with proxies.
    proxied: BTreeSet<String>,
}

fn fill_arm(study: &Study<'_>, arm: &mut ArmResult) {
    let (rounds, plan) = (&study.rounds, &study.result.plan);
    let name = |load: Option<&LoadSpec>| load.map(|load| load.name.clone()).unwrap_or_default();
    let (cpu_load, rate_load, response_load) = (
        name(plan.cpu_load_of(&arm.id)),
        name(plan.rate_load_of(&arm.id)),
        name(plan.response_load_of(&arm.id)),
    );
    let has_proxy = !arm.hops.is_empty();
    arm.rounds = rounds.all.len() as u32;
    arm.slices = slices(rounds, &arm.id);
    // Borrows the list of loads alone, because other fields of the arm are written meanwhile.
    let numbers_under = |load: &str| arm.loads.iter().find(|one| one.load == load);
    let (cpu, responses) = (numbers_under(&cpu_load), numbers_under(&response_load));
    arm.cpu_us_per_request = cpu.and_then(|load| load.cpu_us_per_request);
    arm.companion_cpu_us_per_request = cpu.and_then(|load| load.companion_cpu_us_per_request);
    arm.max_rate = numbers_under(&rate_load).filter(|_| has_proxy).and_then(|load| load.rate);
    arm.response_us = responses.map(|load| load.response_us.clone()).unwrap_or_default();
    arm.cost = Cost {
        cpu_us_per_request: cpu.and_then(|load| load.cost.cpu_us_per_request),
        cpu_share: cpu.and_then(|load| load.cost.cpu_share),
        response_us: responses.map(|load| load.cost.response_us.clone()).unwrap_or_default(),
        over_1_ms_share: responses.and_then(|load| load.cost.over_1_ms_share),
        max_rate: numbers_under(&rate_load).and_then(|load| load.cost.max_rate),
        shares: shares_of_usual(responses, numbers_under(&rate_load))
            .chain(share::of_rounds(rounds, arm))
            .collect(),
        of_rounds: once::costs(rounds, arm),
        uncertain_signs: Vec::new(),
    };
    arm.responses = responses.map_or(0, |load| load.responses);
    let samples: Vec<&Sample> =
        rounds.all.iter().flat_map(|round| &round.samples).filter(|sample| sample.arm == arm.id).collect();
    arm.book = samples.iter().fold(Book::default(), |mut sum, sample| {
        sum.add(&sample.book);
        sum.add(&sample.set_aside_book);
        sum
    });
    arm.failures = failures(samples.into_iter());
    let courses = rounds.all.iter().flat_map(|round| &round.courses).filter(|course| course.arm == arm.id);
    courses.for_each(|course| arm.book.add(&course.book));
    let rounds_of_arm = || rounds.all.iter().filter_map(|round| round.arms.get(&arm.id));
    let unproven: BTreeSet<String> = rounds_of_arm().flat_map(|round| round.unproven.clone()).collect();
    arm.unproven = unproven.into_iter().collect();
    arm.capacity = rounds_of_arm().find_map(|round| round.capacity);
    arm.proxy_use = numbers_under(&rate_load).and_then(|load| {
        let (core_share, processors_busy_share) = (load.proxy_core_share?, load.proxy_processors_busy_share);
        Some(ProxyUse { core_share, processors_busy_share })
    });
    let hop = |(number, hop): (usize, &HopUse)| HopUse {
        name: hop.name.clone(),
        cpu_us_per_request: rounds.level(&arm.id, &cpu_load, &measures::hop_cpu(number)),
        of_rounds: once::levels(rounds, &arm.id, number),
    };
    arm.hops = arm.hops.iter().enumerate().map(hop).collect();
    // The reference arm must have been profiled under the same load: under another load, it spends its time on other layers.
    let compared_with = arm.compared_with.as_deref();
    let compared_with = compared_with.filter(|other| name(plan.cpu_load_of(other)) == cpu_load);
    arm.layers = layers::layers(rounds, &arm.id, compared_with, &cpu_load);
    arm.top_down = layers::top_down(rounds, &arm.id);
    arm.profiler_share = layers::profiler_share(rounds, &arm.id, &cpu_load);
}

/// Selects the shares of costs from those under the loads of response time and of the rate.
fn shares_of_usual(responses: Option<&ArmLoad>, rate: Option<&ArmLoad>) -> impl Iterator<Item = CostShare> {
    CostShares::measures().filter_map(move |measure| {
        let load = if measure == CostMeasure::MaxRate { rate } else { responses };
        load?.cost.shares.get(measure).copied()
    })
}

/// Computes the numbers of an arm under one load.
fn arm_load(study: &Study<'_>, arm: &ArmResult, load: &LoadSpec) -> ArmLoad {
    let rounds = &study.rounds;
    let (id, name) = (arm.id.as_str(), load.name.as_str());
    let other = arm.compared_with.as_deref();
    let is_open = load.loop_ == Loop::Open;
    let has_proxy = !arm.hops.is_empty();
    let level = |measure: &Measure| rounds.level(id, name, measure);
    let has_network = study.result.arms.iter().any(|arm| arm.network().is_some());
    // Where connections are kept, an occasional reconnect is not a rate.
    let new_connections = |measure: &Measure| load.requests_per_connection.and_then(|_| level(measure));
    // A kind that never occurred has no rate, rather than one of zero with an interval of zero width.
    let handshakes = |measure: &Measure| new_connections(measure).filter(|rate| rate.estimate > 0.0);
    let rate_ratio =
        |other| rounds.cost(Pairing::new(id, other, name, &measures::RATE), |own, other| own / other);
    let times = response::rounds(rounds.times, id, other, name);
    let has_quiet = |arm: &str| rounds.samples(arm, name).any(|sample| sample.quiet.is_some());
    let quiet_of = |other: Option<&str>| response::rounds(study.quiet, id, other, name);
    let is_quiet = is_open && has_quiet(id);
    let quiet_levels = if is_quiet { quiet_of(None) } else { Vec::new() };
    let compares_quiet = is_quiet && other.is_some_and(has_quiet);
    let quiet_costs = if compares_quiet { quiet_of(other) } else { Vec::new() };
    let samples: Vec<&Sample> = rounds.samples(id, name).collect();
    let book = samples.iter().fold(Book::default(), |mut sum, sample| {
        sum.add(&sample.book);
        sum
    });
    ArmLoad {
        load: load.name.clone(),
        planned_rate: level(&measures::PLANNED_RATE).map(|rate| rate.estimate),
        rate: level(&measures::RATE),
        rate_ratio: other.and_then(rate_ratio),
        connections_per_second: new_connections(&measures::CONNECTED),
        full_handshakes_per_second: handshakes(&measures::FULL_HANDSHAKES),
        resumed_handshakes_per_second: handshakes(&measures::RESUMED_HANDSHAKES),
        proxy_core_share: clean_mean(rounds, id, name, &measures::PROXY_CORE).filter(|_| has_proxy),
        proxy_busy_share: clean_mean(rounds, id, name, &measures::PROXY_BUSY).filter(|_| has_proxy),
        proxy_processors_busy_share: clean_mean(rounds, id, name, &measures::PROXY_PROCESSORS)
            .filter(|_| has_proxy),
        generator: Some(generator(rounds, Some(id), load)),
        cpu_us_per_request: has_proxy.then(|| level(&measures::CPU)).flatten(),
        parts: parts::level(rounds, id, name),
        added_parts: other.and_then(|other| parts::added(rounds, id, other, name)),
        origin_cpu_us_per_request: level(&measures::ORIGIN_CPU),
        companion_cpu_us_per_request: arm.asks_companion.then(|| level(&measures::COMPANION_CPU)).flatten(),
        together_cpu_us_per_request: level(&measures::TOGETHER_CPU),
        all_cpu_us_per_request: has_network.then(|| level(&measures::ALL_CPU)).flatten(),
        received_packets_per_request: level(&measures::RECEIVED_PACKETS),
        link_bytes_per_request: study.result.plan.link.and_then(|_| level(&measures::LINK_BYTES)),
        response_us: if is_open {
            ResponseCost {
                p50: level(&measures::RESPONSE_P50),
                ..response::levels(&times, &quiet_levels, rounds.confidence)
            }
        } else {
            ResponseCost::default()
        },
        cost: other.map(|other| cost(study, arm, other, load, [&times, &quiet_costs])).unwrap_or_default(),
        bounds: Bounds::default(),
        statuses: statuses::statuses(rounds, id, name),
        admitted_ratio: level(&measures::ADMITTED),
        within_1_ms_share: response::share_within(&times, 1_000_000),
        over_10_ms_share: response::share_within(&times, 10_000_000).map(|share| 1.0 - share),
        cost_p99_half_width_us: other
            .filter(|_| is_open)
            .and_then(|_| response::p99_half_width(&times, rounds.confidence)),
        cost_quiet_p99_half_width_us: response::p99_half_width(&quiet_costs, rounds.confidence),
        quiet_share: is_quiet.then(|| {
            let all = response::responses(&times);
            if all == 0 { 0.0 } else { response::responses(&quiet_levels) as f64 / all as f64 }
        }),
        quiet_effective_responses: is_quiet.then(|| response::effective(&quiet_levels)),
        responses: response::responses(&times),
        book,
        failures: failures(samples.iter().copied()),
        reasons: samples.iter().fold(Reasons::default(), |mut all, sample| {
            all.merge(&sample.reasons);
            all
        }),
    }
}

/// Computes the costs of an arm under one load against the arm `other`, from the slices of both and their response times: those of all
/// slices and of quiet ones.
fn cost(
    study: &Study<'_>,
    arm: &ArmResult,
    other: &str,
    load: &LoadSpec,
    [times, quiet]: [&[Round<'_>]; 2],
) -> Cost {
    let (rounds, id, name) = (&study.rounds, arm.id.as_str(), load.name.as_str());
    let is_open = load.loop_ == Loop::Open;
    let has_proxy = !arm.hops.is_empty();
    // If the other side has no proxy, it has no CPU time to take a share of, and its rate is the generator's.
    let has_both = has_proxy && study.proxied.contains(other);
    // CPU time is compared at the machine's usual speed, all else as measured.
    let factors = study.speeds.get(name).map(|speed| speed.between(id, other));
    let cpu = |compare: fn(f64, f64) -> f64| {
        let factors = factors.as_ref();
        rounds.cost(Pairing { arm: id, other, load: name, measure: &measures::CPU, factors }, compare)
    };
    let difference =
        |measure: &Measure| rounds.cost(Pairing::new(id, other, name, measure), |own, other| own - other);
    let mut cost = Cost {
        // Without a proxy the CPU time is zero.
        cpu_us_per_request: if has_proxy { cpu(|own, other| own - other) } else { None },
        cpu_share: if has_both { cpu(|own, other| (own - other) / other) } else { None },
        response_us: if is_open {
            let tails = response::costs(times, quiet, rounds.confidence);
            ResponseCost { p50: difference(&measures::RESPONSE_P50), ..tails }
        } else {
            ResponseCost::default()
        },
        over_1_ms_share: if is_open { response::slow_share(times, rounds.confidence) } else { None },
        max_rate: if has_both && !is_open { difference(&measures::RATE) } else { None },
        ..Cost::default()
    };
    let compared = share::Compared { arm: id, other, load: name };
    cost.shares = share::of_load(rounds, compared, [times, quiet], &cost);
    cost
}

fn failures<'a>(samples: impl Iterator<Item = &'a Sample>) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (kind, count) in samples.flat_map(|sample| &sample.failures) {
        *sum.entry(kind.clone()).or_default() += count;
    }
    sum
}

/// The number of slices of an arm that count.
fn slices(rounds: &Rounds<'_>, arm: &str) -> Slices {
    let mut slices = Slices::default();
    for sample in rounds.all.iter().flat_map(|round| &round.samples).filter(|sample| sample.arm == arm) {
        // For each planned slice: whether a measurement counts for some measures, and whether one counts for all.
        let mut planned: BTreeMap<(u32, u32), (bool, bool)> = BTreeMap::new();
        for ((block, copy), by) in sample.block.iter().zip(&sample.copy).zip(&sample.set_aside) {
            let counts = planned.entry((*block, *copy)).or_default();
            counts.0 |= !by.iter().any(|disturbance| disturbance.invalidates_cpu_time());
            counts.1 |= by.is_empty();
            *(if by.is_empty() { &mut slices.used } else { &mut slices.set_aside }) += 1;
            for disturbance in by {
                *slices.set_aside_by.entry(*disturbance).or_default() += 1;
            }
        }
        slices.lost += planned.values().filter(|(something, _)| !something).count() as u64;
        slices.delayed +=
            planned.values().filter(|(something, everything)| *something && !everything).count() as u64;
    }
    slices
}

/// The mean of a measure of an arm under a load over the slices that count for all measures. None without any.
fn clean_mean(rounds: &Rounds<'_>, arm: &str, load: &str, measure: &Measure) -> Option<f64> {
    let shares: Vec<f64> = rounds
        .samples(arm, load)
        .flat_map(|sample| {
            let values = crate::measures::column(sample, measure).zip(&sample.set_aside);
            values.filter(|(_, by)| by.is_empty()).filter_map(|(value, _)| value).collect::<Vec<f64>>()
        })
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Resource use and lag of the generator under a load, for one arm or for all.
fn generator(rounds: &Rounds<'_>, arm: Option<&str>, load: &LoadSpec) -> GeneratorUse {
    let share = |measure: &Measure| rounds.share(arm, &load.name, measure).unwrap_or(0.0);
    let own_lag = |source: times::Source| {
        let mut own_lag = hoptax_load::histogram();
        for sample in rounds.of_load(arm, &load.name) {
            for time in histogram::counts((source.own_lag)(sample)) {
                own_lag.saturating_record_n(time.ns, time.count);
            }
        }
        own_lag
    };
    let (all, quiet) = (own_lag(times::ALL), own_lag(times::QUIET));
    let at = |own_lag: &hdrhistogram::Histogram<u64>, quantile: f64| {
        let count = own_lag.len();
        // An arm with fewer requests has no such quantile of response time either, so the lag has nothing to affect.
        let is_known = if arm.is_some() { quantile_supported(count, quantile) } else { count > 0 };
        is_known.then(|| own_lag.value_at_quantile(quantile) as f64 / 1e3)
    };
    let [p50, p90, p99] = LAGS.map(|quantile| at(&all, quantile));
    GeneratorUse {
        load: load.name.clone(),
        own_lag_p50_us: p50,
        own_lag_p90_us: p90,
        own_lag_p99_us: p99,
        quiet_own_lag_p99_us: at(&quiet, 0.99),
        core_share: share(&measures::GENERATOR_CORE),
        processors_share: share(&measures::PROCESSORS_BUSY),
        run_delay_share: share(&measures::GENERATOR_RUN_DELAY),
    }
}

/// Stolen time, and drift of the baseline.
fn host(rounds: &Rounds<'_>, result: &StudyResult) -> HostUse {
    let (steal, total) =
        rounds.all.iter().fold((0, 0), |sum, round| (sum.0 + round.steal_ticks, sum.1 + round.ticks));
    let delays: Vec<f64> = result
        .plan
        .loads
        .iter()
        .filter_map(|load| rounds.share(None, &load.name, &measures::PROXY_RUN_DELAY))
        .collect();
    HostUse {
        steal_share: if total == 0 { 0.0 } else { steal as f64 / total as f64 },
        handover_ns: median(&rounds.all_values(&measures::HANDOVER)),
        waited_s: rounds.all.iter().map(|round| round.waited_s).sum(),
        proxy_run_delay_share: delays.into_iter().fold(0.0, f64::max),
        drift_share: drift(rounds, result),
        neighbour_weight: result.host.neighbour_weight,
    }
}

/// The baseline's CPU time per request in the last third of the rounds divided by that in the first third, less one.
fn drift(rounds: &Rounds<'_>, result: &StudyResult) -> Option<f64> {
    let third = rounds.all.len() / 3;
    let load = &result.plan.cpu_load_of(&result.plan.baseline)?.name;
    let level = |all: &[hoptax_result::StudyRound]| {
        let part = Rounds { all, ..*rounds };
        let values: Vec<f64> = part
            .samples(&result.plan.baseline, load)
            .flat_map(|sample| {
                let values = crate::measures::column(sample, &measures::CPU).zip(&sample.set_aside);
                values
                    .filter(|(_, by)| !measures::CPU.is_invalidated_by(by))
                    .filter_map(|(value, _)| value)
                    .collect::<Vec<f64>>()
            })
            .collect();
        median(&values)
    };
    let (first, last) = (rounds.all.get(..third)?, rounds.all.get(rounds.all.len() - third..)?);
    let (first, last) = (level(first)?, level(last)?);
    (first > 0.0).then(|| last / first - 1.0)
}
