//! Verdicts on searches, and the findings that are their reasons.

use hoptax_result::{
    Body, FastestMode, FindBody, FindEnd, FindEvidence, FindState, FoundGoal, ModesOfLoad, Verdict, sample,
};

fn goal(state: FindState, rate: Option<f64>) -> FoundGoal {
    FoundGoal {
        objectives: vec!["p99<5ms".to_owned()],
        state,
        rate,
        upper_rate: None,
        estimate: rate,
        limited_by: Vec::new(),
    }
}

/// The verdict on a search for these goals, whose fastest mode the generator may hide, and the ids of its findings.
fn judged(goals: Vec<FoundGoal>, is_mode_hidden: bool) -> (Verdict, Vec<String>) {
    let hidden = FastestMode {
        mode: None,
        limit_us: None,
        loads: vec![ModesOfLoad {
            rate: None,
            answered_rate: 100.0,
            modes: Vec::new(),
            does_not_count: vec!["send-lag".to_owned()],
        }],
    };
    let body = FindBody {
        ended_by: FindEnd::Complete,
        fastest_mode: is_mode_hidden.then_some(hidden),
        goals,
        evidence: FindEvidence { preset: "quick".to_owned(), width: 0.04, confidence: 0.95 },
        arrivals: "poisson".to_owned(),
        min_rate: 1.0,
        max_rate: 2_000.0,
        closed_loop_rate: 1_000.0,
        budget_s: 300.0,
        deciding_budget_s: None,
        took_s: 20.0,
        trials: Vec::new(),
        sweep: None,
        plan: sample::load().body.plan,
    };
    (body.verdict(), body.own_findings().into_iter().map(|finding| finding.id).collect())
}

#[test]
fn a_search_that_something_else_limited_is_void_without_a_rate_and_a_caution_with_one() {
    for (state, rate, expected) in [
        (FindState::MaximumHeld, Some(2_000.0), Verdict::Sound),
        (FindState::Bounded, Some(900.0), Verdict::Sound),
        (FindState::MinimumFailed, None, Verdict::Sound),
        (FindState::GeneratorLimited, Some(900.0), Verdict::Caution),
        (FindState::Unfinished, None, Verdict::Void),
    ] {
        let (verdict, findings) = judged(vec![goal(state, rate)], false);
        assert_eq!(verdict, expected, "{state:?}");
        assert_eq!(findings.is_empty(), expected == Verdict::Sound, "{state:?}: {findings:?}");
    }
    let found = || goal(FindState::Found, Some(900.0));
    assert_eq!(judged(vec![found()], false), (Verdict::Sound, Vec::new()));
    assert_eq!(judged(vec![found()], true), (Verdict::Caution, vec!["unknown-mode".to_owned()]));
    let (verdict, findings) = judged(vec![found(), goal(FindState::Unfinished, None)], false);
    assert_eq!((verdict, findings), (Verdict::Caution, vec!["unsettled".to_owned()]));
    assert_eq!(judged(Vec::new(), true), (Verdict::Void, vec!["unknown-mode".to_owned()]));
}
