//! Verdicts on searches.

use hoptax_result::{FindState, FoundGoal, Verdict};

#[test]
fn a_search_that_something_else_limited_is_void_without_a_rate_and_a_caution_with_one() {
    let goal = |state, rate| FoundGoal {
        objectives: Vec::new(),
        state,
        rate,
        upper_rate: None,
        estimate: rate,
        limited_by: Vec::new(),
    };
    let found = goal(FindState::Found, Some(900.0));
    for (state, rate, expected) in [
        (FindState::MaximumHeld, Some(2_000.0), Verdict::Sound),
        (FindState::Bounded, Some(900.0), Verdict::Sound),
        (FindState::MinimumFailed, None, Verdict::Sound),
        (FindState::GeneratorLimited, Some(900.0), Verdict::Caution),
        (FindState::Unfinished, None, Verdict::Void),
    ] {
        assert_eq!(Verdict::of_search(&[&goal(state, rate)], false), expected, "{state:?}");
    }
    assert_eq!(Verdict::of_search(&[&found], false), Verdict::Sound);
    assert_eq!(Verdict::of_search(&[&found], true), Verdict::Caution);
    assert_eq!(Verdict::of_search(&[&found, &goal(FindState::Unfinished, None)], false), Verdict::Caution);
    assert_eq!(Verdict::of_search(&[], true), Verdict::Void);
}
