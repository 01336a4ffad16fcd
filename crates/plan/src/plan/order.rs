//! The random orders of a study, all derived from its seed.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::{Arm, Load, NumberedLoad, Plan, Subject};

/// One pass over all subjects under one load.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The load.
    pub load: NumberedLoad<'a>,
    /// Its number among the blocks of this load and round, from 0.
    pub number: u32,
    /// The subjects, in the order in which they are measured.
    pub subjects: Vec<Subject<'a>>,
}

/// The blocks of round `round`. Loads alternate, so that no load always comes first in a round. Each block has
/// its own order of subjects.
pub fn blocks(plan: &Plan, round: u32) -> Vec<Block<'_>> {
    let mut random = random(plan.seed, round, 1);
    let max_blocks = plan.loads.iter().map(|load| load.blocks).max().unwrap_or(0);
    let mut blocks = Vec::new();
    for number in 0..max_blocks {
        for load in plan.numbered_loads().filter(|load| number < load.blocks) {
            let mut subjects: Vec<Subject<'_>> =
                plan.subjects().filter(|subject| subject.arm.takes_part(&load)).collect();
            subjects.shuffle(&mut random);
            blocks.push(Block { load, number, subjects });
        }
    }
    blocks
}

/// A course of a timeline: an arm under a load.
#[derive(Clone, Copy, Debug)]
pub struct PlannedCourse<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The index of the arm in the plan, by which records name it.
    pub arm_number: usize,
    /// The load.
    pub load: &'a Load,
}

/// The courses of a timeline, in the order in which round `round` observes them.
pub fn courses(plan: &Plan, round: u32) -> Vec<PlannedCourse<'_>> {
    let of_arm =
        |(arm_number, arm)| plan.loads.iter().map(move |load| PlannedCourse { arm, arm_number, load });
    let mut courses: Vec<PlannedCourse<'_>> = plan.arms.iter().enumerate().flat_map(of_arm).collect();
    courses.shuffle(&mut random(plan.seed, round, 3));
    courses
}

/// Puts the subjects of a plan, which are in the order of the plan, into the order in which round `round` starts their processes.
pub fn shuffle<T>(plan: &Plan, round: u32, subjects: &mut [T]) {
    subjects.shuffle(&mut random(plan.seed, round, 2));
}

/// The random choices in a round of a search.
#[derive(Clone, Debug)]
pub struct Draws(SmallRng);

impl Draws {
    /// Returns the choices of round `round`.
    pub fn in_round(plan: &Plan, round: u32) -> Self {
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
