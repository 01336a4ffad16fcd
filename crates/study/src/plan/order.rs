//! The random orders of a study, all from its seed.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::Plan;

/// One pass over all subjects under one load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The load, by its number in the plan.
    pub load: usize,
    /// Its number among the blocks of this load and round, from 0.
    pub number: u32,
    /// The subjects, by their numbers, in the order in which they are visited.
    pub subjects: Vec<usize>,
}

/// The blocks of round `round`. Loads take turns, so that no load has the start of a round to itself; each block
/// visits the subjects in an order of its own.
pub fn blocks(plan: &Plan, round: u32) -> Vec<Block> {
    let mut random = random(plan.seed, round, 1);
    let most = plan.loads.iter().map(|load| load.blocks).max().unwrap_or(0);
    let mut blocks = Vec::new();
    for number in 0..most {
        for (load, spec) in plan.loads.iter().enumerate().filter(|(_, spec)| number < spec.blocks) {
            let mut subjects: Vec<usize> = plan.subjects_under(spec).collect();
            subjects.shuffle(&mut random);
            blocks.push(Block { load, number, subjects });
        }
    }
    blocks
}

/// The subjects in the order in which round `round` starts their processes.
pub fn shuffled(plan: &Plan, round: u32) -> Vec<usize> {
    let mut subjects: Vec<usize> = (0..plan.subjects.len()).collect();
    subjects.shuffle(&mut random(plan.seed, round, 2));
    subjects
}

/// A stream of its own for each round and purpose.
fn random(seed: u64, round: u32, purpose: u64) -> SmallRng {
    // SmallRng's seeding mixes all bits of the number, so that neighbours are unrelated.
    SmallRng::seed_from_u64(seed ^ (u64::from(round) << 32) ^ (purpose << 56))
}
