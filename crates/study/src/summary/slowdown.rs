//! How slow the machine was around each slice, as its block and the slices beside it in time tell.

use hoptax_stats::{Observation, slowdowns};

use super::pairs::Measure;
use crate::plan::Plan;
use crate::record::RoundRecord;

/// Notes with each slice that has a cost in CPU time by what factor the machine was slower around it than usual in
/// the study. Returns the weight of its neighbours in that (see [`slowdowns`]), or none where nothing can be said.
pub(super) fn note(plan: &Plan, rounds: &mut [RoundRecord]) -> Option<f64> {
    let load = Measure::CpuUsPerRequest.usual_load(plan)?;
    let mut places = Vec::new();
    let mut observations = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        for (place, slice) in round.slices.iter().enumerate().filter(|(_, slice)| slice.load == load) {
            let value = Measure::CpuUsPerRequest.of(round, slice).filter(|value| *value > 0.0);
            if let Some(value) = value {
                places.push((number, place));
                observations.push(Observation { round: number, block: slice.block, arm: slice.arm, value });
            }
        }
    }
    let found = slowdowns(&observations)?;
    for ((number, place), factor) in places.into_iter().zip(found.factors) {
        if let Some(slice) = rounds.get_mut(number).and_then(|round| round.slices.get_mut(place)) {
            slice.slowdown = Some(factor);
        }
    }
    Some(found.weight)
}
