//! The number of copies of each arm in a round.
//!
//! A process keeps a level of CPU time of its own for as long as it lives, and the level of a reference arm enters the
//! cost of every arm compared with it. Copies of the reference arm average several levels. With one control and `k`
//! treatments, the control is best observed `sqrt(k)` times as often as each treatment (C. W. Dunnett, "A multiple
//! comparison procedure for comparing several treatments with a control", Journal of the American Statistical
//! Association 50, 1955, 1096-1121).

use super::{Arm, Plan};

/// One copy of an arm, with its own processes.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its index among the subjects of the plan.
    pub number: usize,
    /// The arm.
    pub arm: &'a Arm,
    /// The index of the arm in the plan, by which records name it.
    pub arm_number: usize,
    /// The number of the copy, from 0.
    pub copy: u32,
}

impl Plan {
    /// The copies of the arms that run in a round, in the order of the arms.
    pub fn subjects(&self) -> impl Iterator<Item = Subject<'_>> {
        let all = self.arms.iter().enumerate();
        let copies = all.flat_map(|(number, arm)| (0..arm.copies).map(move |copy| (number, arm, copy)));
        copies.enumerate().map(|(number, (arm_number, arm, copy))| Subject { number, arm, arm_number, copy })
    }
}

/// Decides the number of copies of each arm. An arm without a proxy has no process of its own, so it has one.
pub(super) fn decide(arms: &mut [Arm]) {
    let compared: Vec<Option<usize>> = arms.iter().map(|arm| arm.compared_with).collect();
    for (number, arm) in arms.iter_mut().enumerate().filter(|(_, arm)| arm.has_proxy()) {
        arm.copies = copies_for(compared.iter().filter(|other| **other == Some(number)).count());
    }
}

/// The number of copies of an arm that so many others are compared with.
pub fn copies_for(compared: usize) -> u32 {
    (compared as f64).sqrt().round().max(1.0) as u32
}
