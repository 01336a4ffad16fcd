//! Samples of a result from slices: the values of their measures.

use std::collections::BTreeMap;

use hoptax_judge::measures::{self, Measure, hop_cpu};
use hoptax_result::{LimitPeriods, LoadResult, Sample};

use crate::measured::Slice;
use crate::plan::{Arm, IN_USE, Plan, SATURATION};

/// The sample of a slice at the planned rate.
pub(super) fn sample(plan: &Plan, slice: &Slice) -> Sample {
    let load = &slice.load;
    let histograms = load.histograms.as_ref();
    let limits: Vec<Option<LimitPeriods>> = slice.proxies.iter().map(|used| used.as_ref()?.limit).collect();
    Sample {
        values: values(plan.asked.rate, slice),
        responses: histograms.and_then(|all| all.response.clone()),
        own_lag: histograms.and_then(|all| all.own_lag.clone()),
        limits: if limits.iter().any(Option::is_some) { vec![limits] } else { Vec::new() },
        ..answers(&plan.arms[slice.arm], IN_USE, slice.began_s, load)
    }
}

/// The sample of a slice at saturation: its rate, and the part of the caller in it.
pub(super) fn sample_at_saturation(plan: &Plan, slice: &Slice) -> Sample {
    Sample {
        values: known(of_caller(&slice.load)),
        ..answers(&plan.arms[slice.arm], SATURATION, slice.began_s, &slice.load)
    }
}

/// A sample with the requests of a slice and their answers alone.
fn answers(arm: &Arm, load_name: &str, began_s: f64, load: &LoadResult) -> Sample {
    Sample {
        arm: arm.id.clone(),
        load: load_name.to_owned(),
        began_s: vec![began_s],
        block: vec![0],
        copy: vec![0],
        set_aside: vec![Vec::new()],
        slowdown: vec![None],
        book: load.book,
        failures: load.failures.clone(),
        reasons: load.reasons.clone(),
        ..Sample::default()
    }
}

/// Answers per second.
fn rate(load: &LoadResult) -> Option<f64> {
    let (answered, seconds) = (load.book.answered as f64, load.recorded_s);
    (answered > 0.0 && seconds > 0.0).then(|| answered / seconds)
}

/// The values of measures, without unknown ones.
fn known(values: impl IntoIterator<Item = (Measure, Option<f64>)>) -> BTreeMap<String, Vec<Option<f64>>> {
    let known = values.into_iter().filter(|(_, value)| value.is_some());
    known.map(|(measure, value)| (measure.id.to_string(), vec![value])).collect()
}

/// The values that the caller knows in any slice.
fn of_caller(load: &LoadResult) -> [(Measure, Option<f64>); 5] {
    let generator = &load.generator;
    let workers = generator.workers.len().max(1) as f64;
    let of_worker =
        |seconds: f64| (generator.wall_seconds > 0.0).then(|| seconds / generator.wall_seconds / workers);
    [
        (measures::RATE, rate(load)),
        (measures::WALL, Some(load.recorded_s)),
        (measures::RECORDED, Some(load.recorded_s)),
        (measures::GENERATOR_CORE, of_worker(generator.cpu_seconds)),
        (measures::GENERATOR_RUN_DELAY, of_worker(generator.run_delay_us / 1e6)),
    ]
}

/// The values of the measures of a slice at the planned rate.
fn values(planned_rate: f64, slice: &Slice) -> BTreeMap<String, Vec<Option<f64>>> {
    let load = &slice.load;
    let answered = load.book.answered as f64;
    let rate = rate(load);
    // Converts a share of a processor to us per request.
    let us = |share: f64| rate.map(|rate| share * 1e6 / rate);
    // Zero without proxies.
    let share: Option<f64> = slice.proxies.iter().try_fold(0.0, |sum, used| Some(sum + used.as_ref()?.share));
    let (proxies, origin) = (share.and_then(us), slice.origin.and_then(|used| us(used.share)));
    let generator_us = (answered > 0.0).then(|| load.generator.cpu_seconds * 1e6 / answered);
    let together: Option<f64> = [proxies, origin].into_iter().sum();
    let hops = slice.proxies.iter().enumerate();
    let of_hops = hops.map(|(number, used)| (hop_cpu(number), used.and_then(|used| us(used.share))));
    let of_costs = [
        (measures::CPU, proxies),
        (measures::ORIGIN_CPU, origin),
        (measures::TOGETHER_CPU, together),
        (measures::GENERATOR_CPU, generator_us),
        (measures::ALL_CPU, [together, generator_us].into_iter().sum()),
        (measures::PLANNED_RATE, Some(planned_rate)),
        (measures::RESPONSE_P50, load.latency.response.p50_us),
        (measures::PROXY_CORE, share.filter(|_| !slice.proxies.is_empty())),
    ];
    known(of_hops.chain(of_costs).chain(of_caller(load)))
}
