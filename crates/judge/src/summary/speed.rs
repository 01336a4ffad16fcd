//! The slowness of the machine around each slice, estimated from other arms.

use std::collections::BTreeMap;

use hoptax_result::StudyRound;
use hoptax_stats::{Observation, Slowdowns, slowdowns};

use crate::measures::{CPU, column};

/// The indexes of a slice: its round, its sample in the round, and its position in the sample.
type SliceIndex = (usize, usize, usize);

/// The estimate for one load.
pub(super) struct Speed {
    found: Slowdowns,
    /// The slice of each observation, in the same order.
    slices: Vec<SliceIndex>,
    /// The numbers of the arms in the observations.
    arms: BTreeMap<String, usize>,
}

/// The factor by which the machine was slower around each slice.
pub(super) type Factors = BTreeMap<SliceIndex, f64>;

/// Estimates the machine's speed under a load; loads are independent. None with too few arms.
pub(super) fn speed(rounds: &[StudyRound], load: &str) -> Option<Speed> {
    let mut arms = BTreeMap::new();
    let mut slices: Vec<(f64, SliceIndex, Observation)> = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        for (sample_index, sample) in
            round.samples.iter().enumerate().filter(|(_, sample)| sample.load == load)
        {
            let next = arms.len();
            let arm = *arms.entry(sample.arm.clone()).or_insert(next);
            let columns = sample.began_s.iter().zip(&sample.block).zip(&sample.set_aside);
            for (index, (value, ((began_s, block), by))) in column(sample, &CPU).zip(columns).enumerate() {
                // An arm without a proxy spends no CPU time and carries no information.
                let value = value.filter(|value| *value > 0.0 && !CPU.is_invalidated_by(by));
                if let Some(value) = value {
                    let observation = Observation { round: number, block: *block, arm, value };
                    slices.push((*began_s, (number, sample_index, index), observation));
                }
            }
        }
    }
    slices.sort_by(|a, b| (a.1.0, a.0).partial_cmp(&(b.1.0, b.0)).unwrap_or(std::cmp::Ordering::Equal));
    let observations: Vec<Observation> = slices.iter().map(|(_, _, observation)| *observation).collect();
    let slices = slices.into_iter().map(|(_, index, _)| index).collect();
    Some(Speed { found: slowdowns(&observations)?, slices, arms })
}

/// Stores with each slice how slow the machine was around it. Returns the weight of the neighbours under one load; none
/// if it cannot be estimated.
pub(super) fn note(rounds: &mut [StudyRound], loads: &[String], usual: Option<&str>) -> Option<f64> {
    let mut weight = None;
    let mut factors = Factors::new();
    // A load under which too few arms ran has no estimate.
    for (load, speed) in loads.iter().filter_map(|load| Some((load, speed(rounds, load)?))) {
        if Some(load.as_str()) == usual {
            weight = Some(speed.found.weight);
        }
        factors.extend(speed.slices.into_iter().zip(speed.found.factors));
    }
    for (number, round) in rounds.iter_mut().enumerate() {
        for (place, sample) in round.samples.iter_mut().enumerate() {
            for (index, slowdown) in sample.slowdown.iter_mut().enumerate() {
                // A slice that does not count has none.
                *slowdown = factors.get(&(number, place, index)).copied().or(*slowdown);
            }
        }
    }
    weight
}

impl Speed {
    /// The factors by which the slices of two arms are divided for their comparison; neither arm contributes to them.
    pub(super) fn between(&self, arm: &str, other: &str) -> Factors {
        let number = |arm: &str| self.arms.get(arm).copied();
        // An arm without CPU time has no observations; the other arm's own factors are used.
        let (Some(one), two) = (number(arm).or_else(|| number(other)), number(other)) else {
            return Factors::new();
        };
        let factors = self.found.between(one, two.unwrap_or(one));
        self.slices.iter().zip(factors).filter_map(|(index, factor)| Some((*index, factor?))).collect()
    }
}
