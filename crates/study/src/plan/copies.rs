//! The number of copies of each arm in a round.
//!
//! A process keeps a level of CPU time of its own for as long as it lives, and the level of a reference arm enters the
//! cost of every arm compared with it. Copies of the reference arm average several levels. With one control and `k`
//! treatments, the control is best observed `sqrt(k)` times as often as each treatment (C. W. Dunnett, "A multiple
//! comparison procedure for comparing several treatments with a control", Journal of the American Statistical
//! Association 50, 1955, 1096-1121).

use super::Arm;

/// One copy of an arm, with its own processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The index of the arm in the plan.
    pub arm: usize,
    /// The number of the copy, from 0.
    pub copy: u32,
}

/// All copies of all arms, in the order of the arms.
pub(super) fn subjects(arms: &[Arm]) -> Vec<Subject> {
    let copies_of = |arm: usize| (0..copies(arms, arm)).map(move |copy| Subject { arm, copy });
    (0..arms.len()).flat_map(copies_of).collect()
}

/// The number of copies of an arm. An arm without a proxy has no process of its own, so it has one.
pub(super) fn copies(arms: &[Arm], arm: usize) -> u32 {
    if !arms.get(arm).is_some_and(Arm::has_proxy) {
        return 1;
    }
    let compared = arms.iter().filter(|other| other.compared_with == Some(arm)).count();
    (compared as f64).sqrt().round().max(1.0) as u32
}
