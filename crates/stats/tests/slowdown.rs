//! How often the interval of a cost holds the true cost at the machine's usual speed, and how wide it is, when values are
//! first brought to that speed: simulated studies of few and many arms on a machine that wanders, and on one that does not.
//!
//! Every test is a fixed draw: its seed decides it, the clock and the machine do not.

use std::collections::BTreeMap;

use hoptax_stats::{Observation, median, paired_cost, slowdowns};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};

/// What the arm that others are compared with truly takes, microseconds.
const BASELINE_US: f64 = 20.0;

/// How much more the dearest arm truly takes, microseconds; the others are spread evenly below it.
const DEAREST_US: f64 = 20.0;

/// Standard deviation of the level that a process is born with, of a slice's own noise (Student's, three degrees of freedom,
/// before scaling), and of the machine's speed from round to round, as shares.
const LEVEL: f64 = 0.005;
const NOISE: f64 = 0.006;
const ROUND: f64 = 0.02;

/// A study to simulate.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    /// Arms that are compared with the first.
    arms: usize,
    rounds: usize,
    blocks: u32,
    /// Standard deviation of the machine's speed within a block, as a share, and its correlation from slice to slice: 0.02 and
    /// 0.85 are what a busy host was measured to do.
    wander: f64,
    correlation: f64,
}

const WANDERING: Scenario = Scenario { arms: 20, rounds: 10, blocks: 2, wander: 0.02, correlation: 0.85 };

struct Study {
    observations: Vec<Observation>,
    arms: usize,
    /// The machine's speed in the median block, as a logarithm.
    usual: f64,
}

fn cost_us(arm: usize, arms: usize) -> f64 {
    DEAREST_US * arm as f64 / arms as f64
}

impl Study {
    fn simulate(scenario: Scenario, rng: &mut Xoshiro256PlusPlus) -> Self {
        let Scenario { arms, rounds, blocks, wander, correlation } = scenario;
        let tails = StudentT::new(3.0).expect("3 is positive");
        let normal = |rng: &mut Xoshiro256PlusPlus| -> f64 { StandardNormal.sample(rng) };
        let copies = (arms as f64).sqrt().round() as usize;
        let mut observations = Vec::new();
        let mut blocks_speed = Vec::new();
        let mut speed = normal(rng);
        for round in 0..rounds {
            let of_round = ROUND * normal(rng);
            // One process for each place: the copies of the first arm, then one of each other.
            let processes: Vec<(usize, f64)> =
                (0..copies).map(|_| 0).chain(1..=arms).map(|arm| (arm, LEVEL * normal(rng))).collect();
            for block in 0..blocks {
                let mut order = processes.clone();
                order.shuffle(rng);
                let mut speeds = Vec::new();
                for (arm, level) in order {
                    speed = correlation * speed + (1.0 - correlation * correlation).sqrt() * normal(rng);
                    speeds.push(of_round + wander * speed);
                    let deviation = of_round + wander * speed + level + NOISE * tails.sample(rng);
                    // One slice in thirty is set aside.
                    if !rng.random_bool(1.0 / 30.0) {
                        let value = (BASELINE_US + cost_us(arm, arms)) * deviation.exp();
                        observations.push(Observation { round, block, arm, value });
                    }
                }
                blocks_speed.push(median(&speeds).expect("a block has slices"));
            }
        }
        let usual = median(&blocks_speed).expect("there are blocks");
        Self { observations, arms, usual }
    }

    /// The values at the machine's usual speed, and the weight that this took.
    fn at_usual_speed(&self) -> (Vec<f64>, f64) {
        let found = slowdowns(&self.observations).expect("there are two rounds");
        let values = self.observations.iter().zip(&found.factors).map(|(one, factor)| one.value / factor);
        (values.collect(), found.weight)
    }

    /// Of the intervals of all arms: how many hold the true cost, and the sum of their half-widths.
    fn judge(&self, values: &[f64]) -> (usize, f64) {
        let mut blocks: BTreeMap<(usize, u32), BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
        for (one, value) in self.observations.iter().zip(values) {
            blocks.entry((one.round, one.block)).or_default().entry(one.arm).or_default().push(*value);
        }
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let (mut held, mut half_widths) = (0, 0.0);
        for arm in 1..=self.arms {
            let mut rounds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
            for ((round, _), of_block) in &blocks {
                if let (Some(own), Some(baseline)) = (of_block.get(&arm), of_block.get(&0)) {
                    rounds.entry(*round).or_default().push(mean(own) - mean(baseline));
                }
            }
            let interval =
                paired_cost(&rounds.into_values().collect::<Vec<_>>(), 0.95).expect("rounds have pairs");
            held += usize::from(interval.contains(cost_us(arm, self.arms) * self.usual.exp()));
            half_widths += interval.half_width();
        }
        (held, half_widths)
    }
}

/// How the intervals of many studies did.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Share of the intervals at the usual speed that held the true cost, percent.
    coverage: f64,
    /// Their mean half-width over that of values as they were measured.
    width_ratio: f64,
    /// Mean weight.
    weight: f64,
}

fn record(scenario: Scenario) -> Record {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1937 + scenario.arms as u64);
    let studies = 6_000 / scenario.arms;
    let (mut raw, mut usual, mut weights) = ((0, 0.0), (0, 0.0), 0.0);
    for _ in 0..studies {
        let study = Study::simulate(scenario, &mut rng);
        let as_they_are: Vec<f64> = study.observations.iter().map(|one| one.value).collect();
        let (values, weight) = study.at_usual_speed();
        for (sum, values) in [(&mut raw, &as_they_are), (&mut usual, &values)] {
            let (held, half_widths) = study.judge(values);
            *sum = (sum.0 + held, sum.1 + half_widths);
        }
        weights += weight;
    }
    Record {
        coverage: 100.0 * usual.0 as f64 / (studies * scenario.arms) as f64,
        width_ratio: usual.1 / raw.1,
        weight: weights / studies as f64,
    }
}

#[test]
fn the_interval_holds_the_cost_from_three_arms_to_sixty_whether_the_machine_wanders_or_not() {
    for (arms, rounds) in [(3, 10), (8, 4), (8, 10), (20, 5), (20, 10), (60, 10)] {
        for wander in [0.0, 0.02] {
            let scenario = Scenario { arms, rounds, wander, ..WANDERING };
            let record = record(scenario);
            assert!((93.0..=97.0).contains(&record.coverage), "{record:?} in {scenario:?}");
            assert!(record.width_ratio < 0.9, "{record:?} in {scenario:?}");
        }
    }
}

#[test]
fn where_the_machine_wanders_many_arms_get_narrower_intervals() {
    let record = record(WANDERING);
    assert!(record.width_ratio < 0.8 && record.weight > 0.6, "{record:?}");
}

#[test]
fn where_slices_have_nothing_in_common_with_their_neighbours_those_have_no_weight() {
    let record = record(Scenario { correlation: 0.0, ..WANDERING });
    assert!(record.weight < 0.05, "{record:?}");
}
