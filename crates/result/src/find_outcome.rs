//! What a search found as a whole: the worst of what it found for its goals or its arms.

use crate::{FastestMode, FindArmsBody, FindBody, FindEnd, FindState, FoundArm};

/// What a search found as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindOutcome {
    /// A rate for everything that was asked for, or that it holds at the highest rate.
    Found,
    /// Objectives that do not hold at the lowest rate.
    MinimumFailed,
    /// Less than was asked for, because something other than the server limited it, or the time.
    Unknown,
    /// It was interrupted.
    Interrupted,
}

impl FindBody {
    /// Its outcome. A fastest mode that the generator hid counts like a rate that the generator could not produce.
    pub fn outcome(&self) -> FindOutcome {
        let unknown = self.fastest_mode.as_ref().and_then(FastestMode::unknown);
        let states = self.goals.iter().map(|goal| goal.state);
        of_states(self.ended_by, states.chain(unknown.map(|_| FindState::GeneratorLimited)))
    }
}

impl FindArmsBody {
    /// Its outcome. A ratio that is not known is less than was asked for, unless an arm held at the highest rate.
    pub fn outcome(&self) -> FindOutcome {
        of_arms(self.ended_by, &self.arms)
    }
}

fn of_arms(ended_by: FindEnd, arms: &[FoundArm]) -> FindOutcome {
    let has_no_ratio = |arm: &FoundArm| {
        matches!(arm.found.state, FindState::Found | FindState::Bounded) && arm.no_ratio.is_some()
    };
    let holds_at_maximum = |arm: &FoundArm| arm.found.state == FindState::MaximumHeld;
    match of_states(ended_by, arms.iter().map(|arm| arm.found.state)) {
        FindOutcome::Found if arms.iter().any(has_no_ratio) && !arms.iter().any(holds_at_maximum) => {
            FindOutcome::Unknown
        }
        outcome => outcome,
    }
}

/// The outcome of a search with these states.
fn of_states(ended_by: FindEnd, states: impl Iterator<Item = FindState>) -> FindOutcome {
    let states: Vec<FindState> = states.collect();
    let any = |state: FindState| states.contains(&state);
    if ended_by == FindEnd::Interrupt {
        FindOutcome::Interrupted
    } else if any(FindState::GeneratorLimited) || any(FindState::Unfinished) {
        FindOutcome::Unknown
    } else if any(FindState::MinimumFailed) {
        FindOutcome::MinimumFailed
    } else {
        FindOutcome::Found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FoundGoal;

    #[test]
    fn the_worst_state_decides_and_an_interrupt_comes_first() {
        use FindState::{Bounded, Found, GeneratorLimited, MaximumHeld, MinimumFailed, Unfinished};
        let of = |states: &[FindState]| of_states(FindEnd::Budget, states.iter().copied());
        assert_eq!(of(&[Found, MaximumHeld, Bounded]), FindOutcome::Found);
        assert_eq!(of(&[Found, MinimumFailed]), FindOutcome::MinimumFailed);
        assert_eq!(of(&[MinimumFailed, GeneratorLimited]), FindOutcome::Unknown);
        assert_eq!(of(&[Unfinished]), FindOutcome::Unknown);
        let interrupted = of_states(FindEnd::Interrupt, [MinimumFailed].into_iter());
        assert_eq!(interrupted, FindOutcome::Interrupted);
    }

    #[test]
    fn a_ratio_that_is_not_known_is_missing_unless_an_arm_holds_at_the_highest_rate() {
        let arm = |state: FindState, no_ratio: Option<&str>| FoundArm {
            arm: "a".to_owned(),
            found: FoundGoal {
                objectives: Vec::new(),
                state,
                estimate: None,
                rate: None,
                upper_rate: None,
                limited_by: Vec::new(),
            },
            min_rate: 1.0,
            max_rate: 9.0,
            closed_loop_rate: 9.0,
            round_rates: Vec::new(),
            ratio: None,
            no_ratio: no_ratio.map(str::to_owned),
        };
        let of = |arms: &[FoundArm]| of_arms(FindEnd::Complete, arms);
        let (first, without) = (arm(FindState::Found, None), arm(FindState::Bounded, Some("no round")));
        assert_eq!(of(std::slice::from_ref(&first)), FindOutcome::Found);
        assert_eq!(of(&[first.clone(), without.clone()]), FindOutcome::Unknown);
        let highest = arm(FindState::MaximumHeld, Some("its rate is not bounded"));
        assert_eq!(of(&[first, without, highest]), FindOutcome::Found);
    }
}
