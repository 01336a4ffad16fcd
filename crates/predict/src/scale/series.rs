//! The series of a study: its arms under closed loops, grouped by their properties other than the size.

use hoptax_result::{ArmKind, ArmLoad, ArmResult, LoadSpec, Loop, Sample, ScaleDimension, StudyResult};
use hoptax_stats::median;

use crate::scale::dimension::{self, Kind, Processors};

/// Answered requests per second, in the evidence of a study.
const RATE: &str = "rate";

/// An arm under a closed loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) size: u32,
    pub(crate) arm: &'a ArmResult,
    pub(crate) load: &'a LoadSpec,
    pub(crate) result: &'a ArmLoad,
}

impl Planned<'_> {
    /// The median rate of the slices that count, by round; None in a round without any.
    pub(crate) fn rates(&self, study: &StudyResult) -> Vec<Option<f64>> {
        let of_round = |samples: &Vec<Sample>| {
            let rates: Vec<f64> =
                samples.iter().filter(|one| self.is_of(one)).flat_map(|one| counting(one, RATE)).collect();
            median(&rates)
        };
        study.rounds.iter().map(|round| of_round(&round.samples)).collect()
    }

    /// The mean of a measure over the slices that count; None if there is none.
    pub(crate) fn mean(&self, study: &StudyResult, measure: &str) -> Option<f64> {
        let samples = study.rounds.iter().flat_map(|round| &round.samples).filter(|one| self.is_of(one));
        let values: Vec<f64> = samples.flat_map(|one| counting(one, measure)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    fn is_of(&self, sample: &Sample) -> bool {
        sample.arm == self.arm.id && sample.load == self.load.name
    }
}

/// The values of a measure in the slices that count for all measures.
fn counting<'a>(sample: &'a Sample, measure: &str) -> impl Iterator<Item = f64> + use<'a> {
    let values = sample.values.get(measure).map_or([].as_slice(), Vec::as_slice);
    values.iter().zip(&sample.set_aside).filter(|(_, by)| by.is_empty()).filter_map(|(value, _)| *value)
}

/// Points that differ only in their size.
#[derive(Debug)]
pub(crate) struct Series<'a> {
    pub(crate) name: String,
    /// Points by ascending size.
    pub(crate) points: Vec<Planned<'a>>,
}

impl Series<'_> {
    /// Its different sizes, ascending.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.points.iter().map(|point| point.size).collect();
        sizes.dedup();
        sizes
    }
}

/// All series of a study with at least two sizes. The A/A arm is left out, because it repeats another arm.
pub(crate) fn all(study: &StudyResult, over: ScaleDimension) -> Vec<Series<'_>> {
    let processors = Processors::new(&study.environment);
    let closed: Vec<&LoadSpec> = study.plan.loads.iter().filter(|load| load.loop_ == Loop::Closed).collect();
    let mut kinds: Vec<(Kind, Vec<Planned<'_>>)> = Vec::new();
    for arm in study.arms.iter().filter(|arm| arm.kind != ArmKind::Same) {
        for load in closed.iter().copied() {
            let Some(result) = arm.under(&load.name) else { continue };
            let Some((size, kind)) = dimension::size_and_kind(over, arm, load, processors) else { continue };
            let point = Planned { size, arm, load, result };
            match kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, points)) => points.push(point),
                None => kinds.push((kind, vec![point])),
            }
        }
    }
    let has_one_load = closed.len() < 2 || over == ScaleDimension::Connections;
    let series = kinds.into_iter().filter_map(|(_, mut points)| {
        points.sort_by_key(|point| point.size);
        let first = points.first()?;
        let name = dimension::name(over, first.arm);
        let name = if has_one_load { name } else { format!("{name} under {}", first.load.name) };
        Some(Series { name, points })
    });
    series.filter(|series| series.sizes().len() > 1).collect()
}
