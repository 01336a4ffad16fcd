//! Turns the records of rounds into the evidence of a result: names instead of indexes, disturbances of slices, and the
//! machine's speed around each.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_plan::disturbance::Rule;
use hoptax_plan::plan::{Arm, Load, Plan};
use hoptax_plan::quiet;
use hoptax_plan::record::{RoundRecord, SliceRecord, Times};
use hoptax_result::{
    ArmRound, Capacity, Disturbance, Environment, QuietRule, QuietSlices, Sample, StudyRound,
};

use super::{histogram, limits, speed};
use crate::measures;

/// The evidence of all rounds.
pub(super) struct Evidence {
    pub(super) rounds: Vec<StudyRound>,
    /// The rule by which slices were set aside, in words.
    pub(super) rule: String,
    /// The share of its neighbours' deviation that a slice has in common with them, under the load of the study's CPU times; none if it
    /// cannot be estimated.
    pub(super) neighbour_weight: Option<f64>,
}

/// Evidence that classifies slices as quiet.
#[derive(Clone, Copy)]
pub(super) struct Quiet<'a> {
    pub(super) rule: QuietRule,
    pub(super) environment: &'a Environment,
}

/// Turns records into evidence. Without a rule, no slice counts as quiet.
pub(super) fn evidence(plan: &Plan, records: &[RoundRecord], quiet: Option<Quiet<'_>>) -> Evidence {
    let rule = Rule::from_rounds(records, plan.link.is_some());
    let judged: Vec<Vec<Judged<'_>>> = records.iter().map(|record| judge(record, &rule)).collect();
    let rounds = records.iter().zip(&judged);
    let mut rounds: Vec<StudyRound> =
        rounds.map(|(record, judged)| round(plan, record, judged, quiet)).collect();
    let loads: Vec<String> = plan.loads.iter().map(|load| load.name.clone()).collect();
    let usual = plan.cpu_load().map(|load| load.load.name.as_str());
    let neighbour_weight = speed::note(&mut rounds, &loads, usual);
    Evidence { rounds, rule: rule.text(), neighbour_weight }
}

/// A slice, by its index in the record, and its disturbances.
struct Judged<'a> {
    number: usize,
    slice: &'a SliceRecord,
    by: Vec<Disturbance>,
}

impl Judged<'_> {
    /// Returns true if the slice counts for some measures.
    fn counts(&self) -> bool {
        !self.by.iter().any(|disturbance| disturbance.invalidates_cpu_time())
    }

    /// Returns true if the slice counts for all measures.
    fn is_clean(&self) -> bool {
        self.by.is_empty()
    }
}

fn judge<'a>(record: &'a RoundRecord, rule: &Rule) -> Vec<Judged<'a>> {
    let slices = record.slices.iter().enumerate().zip(rule.disturbances(record));
    slices.map(|((number, slice), by)| Judged { number, slice, by }).collect()
}

fn round(plan: &Plan, record: &RoundRecord, judged: &[Judged<'_>], quiet: Option<Quiet<'_>>) -> StudyRound {
    let mut samples = Vec::new();
    for (arm_number, arm) in plan.arms.iter().enumerate() {
        for (load_number, load) in plan.loads.iter().enumerate() {
            let is_of_arm = |one: &&Judged<'_>| one.slice.arm == arm_number && one.slice.load == load_number;
            let slices: Vec<&Judged<'_>> = judged.iter().filter(is_of_arm).collect();
            if !slices.is_empty() {
                let mut sample = sample(record, arm, load, &slices);
                let quiet = quiet.filter(|quiet| quiet::applies(arm, load, quiet.environment));
                sample.quiet = quiet.map(|quiet| quiet_slices(record, &slices, quiet.rule));
                samples.push(sample);
            }
        }
    }
    StudyRound {
        round: record.round,
        began_at: record.began_at.clone(),
        ended_at: record.ended_at.clone(),
        boot_id: record.boot_id.clone(),
        waited_s: record.waited_ns as f64 / 1e9,
        ticks: record.steal.1,
        steal_ticks: record.steal.0,
        samples,
        courses: record.courses.clone(),
        arms: plan
            .arms
            .iter()
            .enumerate()
            .map(|(number, arm)| (arm.id.clone(), arm_round(record, number)))
            .collect(),
    }
}

fn arm_round(record: &RoundRecord, arm: usize) -> ArmRound {
    ArmRound {
        memory_bytes: record.memory_bytes.get(&arm).cloned().unwrap_or_default(),
        start_cpu_us: record.start_cpu_us.get(&arm).cloned().unwrap_or_default(),
        opened: record.opened.get(&arm).copied(),
        traffic: record.traffic.get(&arm).cloned().unwrap_or_default(),
        unproven: record.unproven.get(&arm).cloned().unwrap_or_default(),
        profile: record.profiles.get(&arm).cloned(),
        capacity: capacity(record, arm),
    }
}

/// The capacity of an arm for the first use of connections. Its busy share is the least over all uses, since each capacity is that of the
/// proxy only if its own closed loop kept the proxy busy.
fn capacity(record: &RoundRecord, arm: usize) -> Option<Capacity> {
    let of_uses: Vec<Capacity> =
        record.capacities.values().filter_map(|of_arms| of_arms.get(&arm)).copied().collect();
    let closed_busy_share = of_uses.iter().filter_map(|one| one.closed_busy_share).reduce(f64::min);
    of_uses.first().map(|first| Capacity { closed_busy_share, ..*first })
}

/// The indices of the measurements that count, one of each slice; for a repeated slice, the last one. Otherwise a slice that was repeated
/// because another arm of its block was disturbed would count twice in sums.
fn last_of_each<'a>(slices: &[&Judged<'a>], counts: impl Fn(&Judged<'a>) -> bool) -> BTreeSet<usize> {
    let counting = slices.iter().filter(|one| counts(one));
    let last: BTreeMap<(u32, u32), usize> =
        counting.map(|one| ((one.slice.block, one.slice.copy), one.number)).collect();
    last.into_values().collect()
}

/// Among the slices that response times are taken from, those that are quiet.
fn quiet_slices(record: &RoundRecord, slices: &[&Judged<'_>], rule: QuietRule) -> QuietSlices {
    let clean = last_of_each(slices, Judged::is_clean);
    let quiet: Vec<usize> = slices
        .iter()
        .filter(|one| clean.contains(&one.number) && one.slice.is_quiet(&rule))
        .map(|one| one.number)
        .collect();
    let of = |times: &BTreeMap<usize, Times>| {
        histogram::merged(quiet.iter().filter_map(|number| times.get(number)))
    };
    QuietSlices { slices: quiet.len() as u32, responses: of(&record.responses), own_lag: of(&record.own_lag) }
}

fn sample(record: &RoundRecord, arm: &Arm, load: &Load, slices: &[&Judged<'_>]) -> Sample {
    let column = |measure: &measures::Measure| -> Vec<Option<f64>> {
        slices.iter().map(|one| measure.value(record, one.slice)).collect()
    };
    let hops = slices.iter().map(|one| one.slice.hops_cpu_ns.len()).max().unwrap_or(0);
    let measures = measures::ALL.iter().cloned().chain(measures::hop_cpus(hops));
    let columns = measures.map(|measure| (measure.id.to_string(), column(&measure)));
    let mut values: BTreeMap<String, Vec<Option<f64>>> =
        columns.filter(|(_, values)| values.iter().any(Option::is_some)).collect();
    if let Some(limit) = arm.limit().filter(|_| load.expect.len() > 1) {
        let numbered: Vec<(usize, &SliceRecord)> = slices.iter().map(|one| (one.number, one.slice)).collect();
        let admitted = limits::admitted(record, &numbered, limit);
        values.insert(measures::ADMITTED.id.to_string(), admitted);
    }
    let mut sample = Sample {
        arm: arm.id.clone(),
        load: load.name.clone(),
        began_s: slices.iter().map(|one| one.slice.began_s).collect(),
        block: slices.iter().map(|one| one.slice.block).collect(),
        copy: slices.iter().map(|one| one.slice.copy).collect(),
        set_aside: slices.iter().map(|one| one.by.clone()).collect(),
        slowdown: vec![None; slices.len()],
        values,
        ..Sample::default()
    };
    let counting = last_of_each(slices, Judged::counts);
    for one in slices {
        if counting.contains(&one.number) {
            sample.book.add(&one.slice.book);
            if let Some(counts) = one.slice.parts {
                *sample.parts.get_or_insert_default() += counts;
            }
            for (kind, count) in record.failures.get(&one.number).into_iter().flatten() {
                *sample.failures.entry(kind.clone()).or_default() += count;
            }
            if let Some(reasons) = record.reasons.get(&one.number) {
                sample.reasons.merge(reasons);
            }
        } else {
            sample.set_aside_book.add(&one.slice.book);
        }
    }
    let clean = last_of_each(slices, Judged::is_clean);
    sample.responses = histogram::merged(clean.iter().filter_map(|number| record.responses.get(number)));
    // The generator's own lag does not depend on delays of the proxy.
    sample.own_lag = histogram::merged(counting.iter().filter_map(|number| record.own_lag.get(number)));
    let mut by_status: BTreeMap<u16, Vec<&Times>> = BTreeMap::new();
    for (status, times) in clean.iter().filter_map(|number| record.by_status.get(number)).flatten() {
        by_status.entry(*status).or_default().push(times);
    }
    let statuses = by_status.into_iter();
    sample.statuses = statuses
        .filter_map(|(status, times)| Some((status, histogram::merged(times.into_iter())?)))
        .collect();
    sample
}
