//! How slow the machine was around each slice, as the other arms beside it tell.

use std::collections::BTreeMap;

use hoptax_result::StudyRound;
use hoptax_stats::{Observation, Slowdowns, slowdowns};

use super::samples::column;
use crate::measure::CPU;

/// A slice: its round, its sample in that, and its place in this.
type Place = (usize, usize, usize);

/// What was found about one load.
pub(super) struct Speed {
    found: Slowdowns,
    /// The slice of each observation.
    places: Vec<Place>,
    /// The numbers that arms go by in the observations.
    arms: BTreeMap<String, usize>,
}

/// By what factor the machine was slower around slices, by round, sample and place.
pub(super) type Factors = BTreeMap<Place, f64>;

/// How fast the machine was under a load: each has a speed of its own. None where too few arms can tell.
pub(super) fn speed(rounds: &[StudyRound], load: &str) -> Option<Speed> {
    let mut arms = BTreeMap::new();
    let mut slices: Vec<(f64, Place, Observation)> = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        for (place, sample) in round.samples.iter().enumerate().filter(|(_, sample)| sample.load == load) {
            let next = arms.len();
            let arm = *arms.entry(sample.arm.clone()).or_insert(next);
            let told = sample.began_s.iter().zip(&sample.block).zip(&sample.set_aside);
            for (index, (value, ((began_s, block), by))) in column(sample, &CPU).zip(told).enumerate() {
                // What spends nothing, for it has no proxy, says nothing.
                let value = value.filter(|value| *value > 0.0 && !CPU.is_spoilt_by(by));
                if let Some(value) = value {
                    let observation = Observation { round: number, block: *block, arm, value };
                    slices.push((*began_s, (number, place, index), observation));
                }
            }
        }
    }
    slices.sort_by(|a, b| (a.1.0, a.0).partial_cmp(&(b.1.0, b.0)).unwrap_or(std::cmp::Ordering::Equal));
    let observations: Vec<Observation> = slices.iter().map(|(_, _, observation)| *observation).collect();
    let places = slices.into_iter().map(|(_, place, _)| place).collect();
    Some(Speed { found: slowdowns(&observations)?, places, arms })
}

/// Notes with each slice how slow the machine was around it. Returns the weight of its neighbours in that under one load; none
/// where nothing can be said.
pub(super) fn note(rounds: &mut [StudyRound], loads: &[String], usual: Option<&String>) -> Option<f64> {
    let mut weight = None;
    for load in loads {
        let Some(speed) = speed(rounds, load) else { continue };
        if Some(load) == usual {
            weight = Some(speed.found.weight);
        }
        for ((round, sample, index), factor) in speed.places.into_iter().zip(speed.found.factors) {
            let samples = rounds.get_mut(round).and_then(|round| round.samples.get_mut(sample));
            if let Some(slowdown) = samples.and_then(|sample| sample.slowdown.get_mut(index)) {
                *slowdown = Some(factor);
            }
        }
    }
    weight
}

impl Speed {
    /// The factors that the slices of two arms are divided by when they are compared: neither has a say in them.
    pub(super) fn between(&self, arm: &str, other: &str) -> Factors {
        let number = |arm: &str| self.arms.get(arm).copied();
        // An arm that spends nothing is in no observation: the other's own factors do.
        let (Some(one), two) = (number(arm).or_else(|| number(other)), number(other)) else {
            return Factors::new();
        };
        let factors = self.found.between(one, two.unwrap_or(one));
        self.places.iter().zip(factors).filter_map(|(place, factor)| Some((*place, factor?))).collect()
    }
}
