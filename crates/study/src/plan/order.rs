//! The random orders of a study, all derived from its seed.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::Plan;

/// One pass over all subjects under one load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The index of the load in the plan.
    pub load: usize,
    /// Its number among the blocks of this load and round, from 0.
    pub number: u32,
    /// The indexes of the subjects, in the order in which they are measured.
    pub subjects: Vec<usize>,
}

/// The blocks of round `round`. Loads alternate, so that no load always comes first in a round. Each block has
/// its own order of subjects.
pub fn blocks(plan: &Plan, round: u32) -> Vec<Block> {
    let mut random = random(plan.seed, round, 1);
    let max_blocks = plan.loads.iter().map(|load| load.blocks).max().unwrap_or(0);
    let mut blocks = Vec::new();
    for number in 0..max_blocks {
        for (load, spec) in plan.loads.iter().enumerate().filter(|(_, spec)| number < spec.blocks) {
            let mut subjects: Vec<usize> = plan.subjects_under(spec).collect();
            subjects.shuffle(&mut random);
            blocks.push(Block { load, number, subjects });
        }
    }
    blocks
}

/// The arms and loads of a timeline, by their indexes, in the order in which round `round` observes them.
pub fn courses(plan: &Plan, round: u32) -> Vec<(usize, usize)> {
    let loads = 0..plan.loads.len();
    let mut courses: Vec<(usize, usize)> =
        (0..plan.arms.len()).flat_map(|arm| loads.clone().map(move |load| (arm, load))).collect();
    courses.shuffle(&mut random(plan.seed, round, 3));
    courses
}

/// The order in which round `round` starts the processes of the subjects.
pub fn shuffled(plan: &Plan, round: u32) -> Vec<usize> {
    let mut subjects: Vec<usize> = (0..plan.subjects.len()).collect();
    subjects.shuffle(&mut random(plan.seed, round, 2));
    subjects
}

/// The random choices in a round of a search.
#[derive(Clone, Debug)]
pub struct Draws(SmallRng);

impl Draws {
    /// Those of round `round`.
    pub fn of(plan: &Plan, round: u32) -> Self {
        Self(random(plan.seed, round, 4))
    }

    /// An order of `count` arms.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(&mut self.0);
        order
    }

    /// A number from 0 to 1, uniformly.
    pub fn part(&mut self) -> f64 {
        self.0.random()
    }
}

/// An independent random stream for each round and purpose.
fn random(seed: u64, round: u32, purpose: u64) -> SmallRng {
    // SmallRng's seeding mixes all bits of the seed, so adjacent seeds give unrelated streams.
    SmallRng::seed_from_u64(seed ^ (u64::from(round) << 32) ^ (purpose << 56))
}
