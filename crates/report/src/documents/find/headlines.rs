//! The headline numbers of a search: the rate of each goal, the knee of a sweep, the rate of a closed loop for comparison, and the number
//! of trials that count.

use hoptax_result::{FastestMode, FindResult, FindState, FoundGoal, Sweep};

use super::{NO_KNEE, ended, highest, knee_rate};
use crate::headline::Headline;
use crate::quantity::{Form, Quantity};
use crate::table::Cell;

/// Maximum number of goals in the headlines; the others are in the answer and the notes.
const GOALS: usize = 2;
/// Maximum number of other headlines that leaves room for the rate of the closed loop.
const FEW: usize = 2;
/// The unit of rates.
const RATE: &str = "requests/s";

/// The headlines.
pub(super) fn headlines(result: &FindResult) -> Vec<Headline> {
    let mut all: Vec<Headline> = result.goals.iter().take(GOALS).map(|one| goal(one, result)).collect();
    if let Some(last) = all.last_mut().filter(|_| result.goals.len() > GOALS) {
        last.note = Some(format!("and {} more below", result.goals.len() - GOALS));
    }
    all.extend(result.fastest_mode.as_ref().map(fastest_mode));
    all.extend(result.sweep.as_ref().map(knee));
    if all.len() <= FEW {
        all.push(closed_loop(result));
    }
    let counting = result.trials.iter().filter(|trial| trial.generator_limits.is_empty()).count();
    let trials = Cell::words(format!("{counting} of {}", result.trials.len()));
    all.push(Headline::new("trials that count", trials, None));
    all
}

/// The highest rate of a goal: its interval, or the known end of it.
fn goal(goal: &FoundGoal, result: &FindResult) -> Headline {
    let number = highest(goal).unwrap_or_else(|| {
        let why = match goal.state {
            FindState::GeneratorLimited => "the generator was the limit".to_owned(),
            FindState::Unfinished => format!("the search {}", ended(result.ended_by)),
            FindState::Found | FindState::Bounded | FindState::MaximumHeld | FindState::MinimumFailed => {
                "no trial decides it".to_owned()
            }
        };
        Quantity::unknown(why, RATE)
    });
    Headline::number(format!("highest rate with {}", goal.objectives.join(" and ")), number, None)
}

/// The peak of the fastest mode, if there is more than one mode.
fn fastest_mode(found: &FastestMode) -> Headline {
    let value = match (&found.mode, found.unknown()) {
        (Some(mode), _) => Cell::Quantity(Quantity::point(mode.peak_us, "us", Form::Level)),
        (None, Some(why)) => Cell::Quantity(Quantity::unknown(why, "us")),
        (None, None) => Cell::words("the only mode"),
    };
    Headline::new("fastest mode of the response times", value, None)
}

/// The answered rate of the closed loop before the search.
fn closed_loop(result: &FindResult) -> Headline {
    let number = if result.closed_loop_rate > 0.0 {
        Quantity::point(result.closed_loop_rate, RATE, Form::Level)
    } else {
        Quantity::unknown("no request of it was answered", RATE)
    };
    Headline::number("answered in a closed loop", number, None)
}

/// The knee of the latency curve.
fn knee(sweep: &Sweep) -> Headline {
    Headline::number("knee", knee_rate(sweep).unwrap_or_else(|| Quantity::unknown(NO_KNEE, RATE)), None)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{SweepKnee, SweepPoint};

    use super::super::find;
    use super::super::tests::result;
    use super::*;
    use crate::headline::tests::texts;

    #[test]
    fn a_search_has_the_rate_of_its_goal_with_the_interval_and_the_trials_that_count() {
        let texts = texts(&find(&result(FindState::Found, Some(1_000.0), Some(1_200.0))));
        assert_eq!(
            texts,
            [
                "highest rate with p99<5ms: 1,095 ±105 requests/s",
                "answered in a closed loop: 1,000 requests/s",
                "trials that count: 5 of 6",
            ]
        );
    }

    #[test]
    fn a_rate_that_is_not_known_has_its_reason_and_one_that_is_bounded_its_end() {
        let first = |state, rate, upper| texts(&find(&result(state, rate, upper))).remove(0);
        let limited = first(FindState::GeneratorLimited, None, Some(1_300.0));
        assert_eq!(limited, "highest rate with p99<5ms: not known: the generator was the limit");
        let unfinished = first(FindState::Unfinished, None, None);
        assert!(unfinished.contains("not known: the search "), "{unfinished}");
        let held = first(FindState::MaximumHeld, Some(2_000.0), None);
        assert_eq!(held, "highest rate with p99<5ms: ≥ 2,000 requests/s");
    }

    #[test]
    fn goals_beyond_those_that_fit_are_counted() {
        let mut result = result(FindState::Found, Some(1_000.0), Some(1_200.0));
        result.goals = vec![result.goals[0].clone(); 20];
        let texts = texts(&find(&result));
        assert_eq!(texts.len(), GOALS + 2);
        assert!(texts[GOALS - 1].ends_with("(and 18 more below)"), "{texts:?}");
    }

    #[test]
    fn a_knee_is_a_rate_or_a_range_or_beyond_the_sweep_or_not_known() {
        let points = [100.0, 200.0].map(|rate| SweepPoint { rate, ..SweepPoint::default() }).to_vec();
        let text = |knee| {
            let mut result = result(FindState::Found, Some(1_000.0), Some(1_200.0));
            result.sweep =
                Some(Sweep { blocks: 2, trial_s: 1.0, confidence: 0.95, points: points.clone(), knee });
            texts(&find(&result)).remove(1)
        };
        let knee = |low_rate, high_rate| Some(SweepKnee { rate: low_rate, low_rate, high_rate });
        assert_eq!(text(knee(150.0, 150.0)), "knee: 150 requests/s");
        assert_eq!(text(knee(100.0, 150.0)), "knee: 100 to 150 requests/s");
        assert_eq!(text(knee(150.0, 200.0)), "knee: ≥ 150 requests/s");
        assert!(text(None).starts_with("knee: not known: fewer than two blocks"));
    }
}
