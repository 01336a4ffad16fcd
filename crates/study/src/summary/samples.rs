//! The values of slices that count, and how they are put together: by pair into costs, by round into levels.

use hoptax_result::{Interval, Sample, StudyRound};
use hoptax_stats::{mean_over_rounds, median, paired_cost};

use super::response::Times;
use crate::measure::Measure;

/// The evidence, and the confidence of what is drawn from it.
#[derive(Clone, Copy)]
pub(super) struct Rounds<'a> {
    pub(super) all: &'a [StudyRound],
    /// Response times by round, and in it by arm and load.
    pub(super) times: &'a [Times],
    pub(super) confidence: f64,
}

/// One value of a slice that counts.
#[derive(Clone, Copy, Debug)]
struct Value {
    block: u32,
    value: f64,
}

/// Whether values are as measured, or at the speed that the machine usually had in the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speed {
    AsMeasured,
    Usual,
}

impl<'a> Rounds<'a> {
    /// The samples of an arm under a load, with the place of their round.
    pub(super) fn samples(&self, arm: &str, load: &str) -> impl Iterator<Item = (usize, &'a Sample)> {
        self.all.iter().enumerate().filter_map(move |(number, round)| {
            let is_it = |sample: &&Sample| sample.arm == arm && sample.load == load;
            Some((number, round.samples.iter().find(is_it)?))
        })
    }

    /// The values of an arm, by round.
    fn values(&self, arm: &str, load: &str, measure: &Measure, speed: Speed) -> Vec<Vec<Value>> {
        let mut by_round = vec![Vec::new(); self.all.len()];
        for (number, sample) in self.samples(arm, load) {
            if let Some(values) = by_round.get_mut(number) {
                *values = counting(sample, measure, speed);
            }
        }
        by_round
    }

    /// The level of an arm: the median of each round's slices, and the mean of these over rounds.
    pub(super) fn level(&self, arm: &str, load: &str, measure: &Measure) -> Option<Interval> {
        let of_round =
            |values: &Vec<Value>| median(&values.iter().map(|one| one.value).collect::<Vec<f64>>());
        let rounds = self.values(arm, load, measure, Speed::AsMeasured);
        mean_over_rounds(&rounds.iter().filter_map(of_round).collect::<Vec<f64>>(), self.confidence)
    }

    /// What an arm costs against another: `compare` of all pairs of a slice of the one and a slice of the other, whichever of its
    /// copies, of the same block. A mean of the copies would keep what disturbed one of them, which the estimate over pairs
    /// discards on both sides alike.
    pub(super) fn cost(
        &self,
        (arm, other): (&str, &str),
        load: &str,
        (measure, speed): (&Measure, Speed),
        compare: impl Fn(f64, f64) -> f64,
    ) -> Option<Interval> {
        let own = self.values(arm, load, measure, speed);
        let others = self.values(other, load, measure, speed);
        let pairs = |(own, others): (&Vec<Value>, &Vec<Value>)| -> Vec<f64> {
            let of_slice = |one: &Value| {
                let block = one.block;
                let value = one.value;
                let compare = &compare;
                others
                    .iter()
                    .filter(move |other| other.block == block)
                    .map(move |other| compare(value, other.value))
            };
            own.iter().flat_map(of_slice).collect()
        };
        let rounds: Vec<Vec<f64>> = own.iter().zip(&others).map(pairs).collect();
        paired_cost(&rounds, self.confidence)
    }

    /// The mean of a share over all slices of a load that count, weighted by their time; none without any.
    pub(super) fn share(&self, load: &str, measure: &Measure) -> Option<f64> {
        let of = |samples: &mut dyn Iterator<Item = &Sample>| {
            let (mut sum, mut seconds) = (0.0, 0.0);
            for sample in samples {
                let wall = column(sample, &crate::measure::WALL);
                for ((value, wall), by) in column(sample, measure).zip(wall).zip(&sample.set_aside) {
                    if let Some((value, wall)) = value.zip(wall).filter(|_| !measure.is_spoilt_by(by)) {
                        sum += value * wall;
                        seconds += wall;
                    }
                }
            }
            (seconds > 0.0).then(|| sum / seconds)
        };
        of(&mut self.all.iter().flat_map(|round| &round.samples).filter(|sample| sample.load == load))
    }

    /// All values of a measure in slices that count.
    pub(super) fn all_values(&self, measure: &Measure) -> Vec<f64> {
        let samples = self.all.iter().flat_map(|round| &round.samples);
        samples.flat_map(|sample| counting(sample, measure, Speed::AsMeasured)).map(|one| one.value).collect()
    }
}

/// The column of a measure; one without values where the sample has none.
pub(super) fn column<'a>(
    sample: &'a Sample,
    measure: &Measure,
) -> impl Iterator<Item = Option<f64>> + use<'a> {
    let values = sample.values.get(measure.id).map_or([].as_slice(), Vec::as_slice);
    (0..sample.block.len()).map(|place| values.get(place).copied().flatten())
}

/// The values of a sample that count.
fn counting(sample: &Sample, measure: &Measure, speed: Speed) -> Vec<Value> {
    let mut values = Vec::new();
    let places = sample.block.iter().zip(&sample.set_aside).zip(&sample.slowdown);
    for (value, ((block, by), slowdown)) in column(sample, measure).zip(places) {
        if let Some(value) = value.filter(|_| !measure.is_spoilt_by(by)) {
            let factor = if speed == Speed::Usual { slowdown.unwrap_or(1.0) } else { 1.0 };
            values.push(Value { block: *block, value: value / factor });
        }
    }
    values
}

/// How long the slices of a sample that count for everything were recorded, seconds.
pub(super) fn seconds(sample: &Sample) -> f64 {
    let recorded = column(sample, &crate::measure::RECORDED).zip(&sample.set_aside);
    recorded.filter(|(_, by)| by.is_empty()).filter_map(|(seconds, _)| seconds).sum()
}
