//! The random orders of a study, all from its seed.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::Plan;

/// One pass over all arms under one load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The load, by its number in the plan.
    pub load: usize,
    /// Its number among the blocks of this load and round, from 0.
    pub number: u32,
    /// The arms, by their numbers, in the order in which they are visited.
    pub arms: Vec<usize>,
}

/// The blocks of round `round`. Loads take turns, so that no load has the start of a round to itself; each block
/// visits the arms in an order of its own.
pub fn blocks(plan: &Plan, round: u32) -> Vec<Block> {
    let mut random = random(plan.seed, round, 1);
    let most = plan.loads.iter().map(|load| load.blocks).max().unwrap_or(0);
    let mut blocks = Vec::new();
    for number in 0..most {
        for (load, spec) in plan.loads.iter().enumerate().filter(|(_, spec)| number < spec.blocks) {
            let takes_part = |(_, arm): &(usize, &super::Arm)| arm.takes_part(spec);
            let mut arms: Vec<usize> =
                plan.arms.iter().enumerate().filter(takes_part).map(|(index, _)| index).collect();
            arms.shuffle(&mut random);
            blocks.push(Block { load, number, arms });
        }
    }
    blocks
}

/// The arms in the order in which round `round` starts their processes.
pub fn shuffled(plan: &Plan, round: u32) -> Vec<usize> {
    let mut arms: Vec<usize> = (0..plan.arms.len()).collect();
    arms.shuffle(&mut random(plan.seed, round, 2));
    arms
}

/// A stream of its own for each round and purpose.
fn random(seed: u64, round: u32, purpose: u64) -> SmallRng {
    // SmallRng's seeding mixes all bits of the number, so that neighbours are unrelated.
    SmallRng::seed_from_u64(seed ^ (u64::from(round) << 32) ^ (purpose << 56))
}
