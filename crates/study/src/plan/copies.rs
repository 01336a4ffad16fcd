//! How many copies of an arm are alive in a round.
//!
//! A process keeps a level of its own for as long as it lives, and the level of an arm that others are compared with is in the
//! cost of each of them. Copies of it take the mean of several levels. Of one control and `k` treatments, the control is best
//! observed `sqrt(k)` times as often as each of them (C. W. Dunnett, "A multiple comparison procedure for comparing several
//! treatments with a control", Journal of the American Statistical Association 50, 1955, 1096-1121).

use super::Arm;

/// One copy of an arm, with processes of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The arm, by its number in the plan.
    pub arm: usize,
    /// Which of the arm's copies it is, from 0.
    pub copy: u32,
}

/// All copies of all arms, in the order of the arms.
pub(super) fn subjects(arms: &[Arm]) -> Vec<Subject> {
    let copies_of = |arm: usize| (0..copies(arms, arm)).map(move |copy| Subject { arm, copy });
    (0..arms.len()).flat_map(copies_of).collect()
}

/// Where there is no proxy, there is no process that only this arm has.
fn copies(arms: &[Arm], arm: usize) -> u32 {
    if !arms.get(arm).is_some_and(Arm::has_proxy) {
        return 1;
    }
    let compared = arms.iter().filter(|other| other.compared_with == Some(arm)).count();
    (compared as f64).sqrt().round().max(1.0) as u32
}
