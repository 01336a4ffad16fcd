//! The values of slices that count, combined by pair of processes into costs and by round into levels.

use std::collections::BTreeMap;

use hoptax_result::{Disturbance, Interval, Sample, StudyRound};
use hoptax_stats::{CostAtLevel, costs_by_round, mean_over_rounds, median, paired_cost_of_copies};

use super::speed::Factors;
use super::times::Times;
use crate::measures::{Measure, column};

/// The evidence, and the confidence of intervals computed from it.
#[derive(Clone, Copy)]
pub(super) struct Rounds<'a> {
    pub(super) all: &'a [StudyRound],
    /// Response times by round, within a round by arm and load.
    pub(super) times: &'a [Times],
    pub(super) confidence: f64,
}

/// Two arms whose slices of one block are compared in a measure.
#[derive(Clone, Copy)]
pub(super) struct Pairing<'a> {
    /// The id of the arm whose cost is computed.
    pub(super) arm: &'a str,
    /// The id of the arm that it is compared with.
    pub(super) other: &'a str,
    /// The name of the load.
    pub(super) load: &'a str,
    /// The measure that is compared.
    pub(super) measure: &'a Measure,
    /// The divisors of the values before the comparison; none to compare them as measured.
    pub(super) factors: Option<&'a Factors>,
}

impl<'a> Pairing<'a> {
    /// Compares values as measured.
    pub(super) fn new(arm: &'a str, other: &'a str, load: &'a str, measure: &'a Measure) -> Self {
        Self { arm, other, load, measure, factors: None }
    }
}

/// The value of one slice that counts.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// Its position in its sample.
    index: usize,
    block: u32,
    copy: u32,
    value: f64,
}

impl<'a> Rounds<'a> {
    /// The sample of an arm under a load in each round; none in a round without one.
    pub(super) fn by_round(&self, arm: &str, load: &str) -> impl Iterator<Item = Option<&'a Sample>> {
        let matches = move |sample: &&Sample| sample.arm == arm && sample.load == load;
        self.all.iter().map(move |round| round.samples.iter().find(matches))
    }

    /// The samples of an arm under a load.
    pub(super) fn samples(&self, arm: &str, load: &str) -> impl Iterator<Item = &'a Sample> {
        self.by_round(arm, load).flatten()
    }

    /// The values of an arm, by round, each divided by its factor if there are factors.
    fn values(
        &self,
        arm: &str,
        load: &str,
        measure: &Measure,
        factors: Option<&Factors>,
    ) -> Vec<Vec<Counted>> {
        let of_round = |(number, round): (usize, &StudyRound)| {
            let matches = |(_, sample): &(usize, &Sample)| sample.arm == arm && sample.load == load;
            let Some((place, sample)) = round.samples.iter().enumerate().find(matches) else {
                return Vec::new();
            };
            let factor = |index: usize| {
                factors.and_then(|factors| factors.get(&(number, place, index))).copied().unwrap_or(1.0)
            };
            counting(sample, measure, factor)
        };
        self.all.iter().enumerate().map(of_round).collect()
    }

    /// The level of an arm: the median of each round's slices, and the mean of these medians over rounds.
    pub(super) fn level(&self, arm: &str, load: &str, measure: &Measure) -> Option<Interval> {
        let medians = self.medians(arm, load, measure);
        mean_over_rounds(&medians.into_iter().flatten().collect::<Vec<f64>>(), self.confidence)
    }

    /// The median of each round's slices; none for a round without any that counts.
    pub(super) fn medians(&self, arm: &str, load: &str, measure: &Measure) -> Vec<Option<f64>> {
        let of_round =
            |values: &Vec<Counted>| median(&values.iter().map(|one| one.value).collect::<Vec<f64>>());
        self.values(arm, load, measure, None).iter().map(of_round).collect()
    }

    /// The cost of an arm against another: `compare` of a slice of each from the same block, separately for each pair
    /// of their processes ([`paired_cost_of_copies`]).
    pub(super) fn cost(&self, pairing: Pairing<'_>, compare: impl Fn(f64, f64) -> f64) -> Option<Interval> {
        paired_cost_of_copies(&self.pairs(pairing, compare), self.confidence)
    }

    /// The cost of an arm in each round, the number that [`Rounds::cost`] is the mean of, and the level of the other arm in that round, the
    /// median of its slices; none in a round without a pair. Both are as measured. None if a difference is not finite.
    pub(super) fn costs_at_levels(
        &self,
        arm: &str,
        other: &str,
        load: &str,
        measure: &Measure,
    ) -> Option<Vec<Option<CostAtLevel>>> {
        let pairs = self.pairs(Pairing::new(arm, other, load, measure), |own, other| own - other);
        let levels = self.medians(other, load, measure).into_iter();
        let both = costs_by_round(&pairs)?.into_iter().zip(levels);
        Some(both.map(|(cost, level)| Some(CostAtLevel { cost: cost?, level: level? })).collect())
    }

    /// The differences that [`Rounds::cost`] is computed from: by round, and within a round by pair of processes.
    pub(super) fn pairs(
        &self,
        pairing: Pairing<'_>,
        compare: impl Fn(f64, f64) -> f64,
    ) -> Vec<Vec<Vec<f64>>> {
        let Pairing { arm, other, load, measure, factors } = pairing;
        let own = self.values(arm, load, measure, factors);
        let others = self.values(other, load, measure, factors);
        let pairs = |(own, others): (&Vec<Counted>, &Vec<Counted>)| -> Vec<Vec<f64>> {
            let mut pairs: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
            for one in own {
                for other in others.iter().filter(|other| other.block == one.block) {
                    let pair = pairs.entry((one.copy, other.copy)).or_default();
                    pair.push(compare(one.value, other.value));
                }
            }
            pairs.into_values().collect()
        };
        own.iter().zip(&others).map(pairs).collect()
    }

    /// The mean of a share over all slices of a load that count, of one arm or of all, weighted by their duration; none without
    /// any.
    pub(super) fn share(&self, arm: Option<&str>, load: &str, measure: &Measure) -> Option<f64> {
        let of = |samples: &mut dyn Iterator<Item = &Sample>| {
            let (mut sum, mut seconds) = (0.0, 0.0);
            for sample in samples {
                let wall: Vec<Option<f64>> = column(sample, &crate::measures::WALL).collect();
                for one in last_of_each(sample, measure, |by| !measure.is_invalidated_by(by)) {
                    if let Some(wall) = wall[one.index] {
                        sum += one.value * wall;
                        seconds += wall;
                    }
                }
            }
            (seconds > 0.0).then(|| sum / seconds)
        };
        of(&mut self.of_load(arm, load))
    }

    /// The samples under a load, of one arm or of all.
    pub(super) fn of_load(&self, arm: Option<&str>, load: &str) -> impl Iterator<Item = &'a Sample> {
        let matches = move |sample: &&Sample| sample.load == load && arm.is_none_or(|arm| sample.arm == arm);
        self.all.iter().flat_map(|round| &round.samples).filter(matches)
    }

    /// All values of a measure in slices that count.
    pub(super) fn all_values(&self, measure: &Measure) -> Vec<f64> {
        let samples = self.all.iter().flat_map(|round| &round.samples);
        samples.flat_map(|sample| counting(sample, measure, |_| 1.0)).map(|one| one.value).collect()
    }
}

/// The values of a sample that count, each divided by the factor of its index.
fn counting(sample: &Sample, measure: &Measure, factor: impl Fn(usize) -> f64) -> Vec<Counted> {
    let counted = |one: Counted| Counted { value: one.value / factor(one.index), ..one };
    last_of_each(sample, measure, |by| !measure.is_invalidated_by(by)).map(counted).collect()
}

/// The values of a measure that count, one of each slice. A repeated slice contributes its last measurement that counts. So each block
/// keeps its weight, and the choice is unbiased, because only the host's readings decide how often a slice is repeated.
fn last_of_each(
    sample: &Sample,
    measure: &Measure,
    counts: impl Fn(&[Disturbance]) -> bool,
) -> impl Iterator<Item = Counted> {
    let columns = sample.block.iter().zip(&sample.copy).zip(&sample.set_aside);
    let mut last = BTreeMap::new();
    for (index, (value, ((&block, &copy), by))) in column(sample, measure).zip(columns).enumerate() {
        if let Some(value) = value.filter(|_| counts(by)) {
            last.insert((block, copy), Counted { index, block, copy, value });
        }
    }
    last.into_values()
}

/// The recorded time of the slices of a sample that count for all measures, seconds.
pub(super) fn seconds(sample: &Sample) -> f64 {
    last_of_each(sample, &crate::measures::RECORDED, <[Disturbance]>::is_empty).map(|one| one.value).sum()
}
