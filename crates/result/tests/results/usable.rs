//! The sentence about what may be used of a load.

use hoptax_result::{
    Agent, AgentOutcome, Agents, Finding, Imported, LatencyBounds, Measured, Percentile, Severity,
    TimeBounds, Verdict, sample,
};

#[test]
fn a_sentence_says_what_may_be_used() {
    let mut load = sample::load();
    assert_eq!(load.usable(), "counts, rates and times are sound");
    load.latency.response.p99_us = None;
    load.latency.response.p99_9_us = None;
    load.bounds.response.p99_9_us = None;
    assert_eq!(
        load.usable(),
        "counts, rates, p50 and p90 are sound; p99 is only bounded; p99.9 is not known"
    );
    (load.latency.response.p50_us, load.latency.response.p90_us) = (None, None);
    load.bounds.response.p99_9_us = Some(TimeBounds::at_least(1.0));
    assert_eq!(load.usable(), "counts and rates are sound; times are only bounded");
    load.bounds.response = LatencyBounds::default();
    let rates = Finding::new("test", Severity::Warn, Measured::us(1.0, 0.0), String::new(), "");
    load.findings = vec![rates.bounding(&["rates"])];
    assert_eq!(load.usable(), "counts are sound; rates are only bounded; times are not known");
    load.verdict = Verdict::Void;
    assert!(load.usable().starts_with("no rate and no time can be used"));
}

#[test]
fn no_number_of_another_tool_is_called_sound() {
    let mut load = sample::load();
    let tool = "wrk".to_owned();
    let (unknown, ranges) = (Vec::new(), Vec::new());
    load.imported =
        Some(Imported { tool, unknown, ranges, answered: None, failed: None, answered_per_s: None });
    assert_eq!(load.usable(), "counts, rates and times are as the tool reports them");
}

#[test]
fn numbers_of_a_load_that_lacks_an_agent_are_those_of_the_others() {
    let mut load = sample::load();
    let agents = |second: AgentOutcome| {
        let of = |index, outcome| Agent { index, outcome, ..Agent::default() };
        let all =
            vec![of(Some(0), AgentOutcome::Merged), of(Some(1), second), of(None, AgentOutcome::Absent)];
        Some(Agents { all, ..Agents::default() })
    };
    load.agents = agents(AgentOutcome::Merged);
    assert_eq!(load.usable(), "counts, rates and times are sound");
    load.agents = agents(AgentOutcome::Died);
    assert_eq!(load.usable(), "counts, rates and times are those of 1 of 2 agents");
    load.latency.response.p99_us = None;
    assert_eq!(
        load.usable(),
        "counts, rates, p50, p90 and p99.9 are those of 1 of 2 agents; p99 is only bounded"
    );
}

#[test]
fn requested_percentiles_are_named_too() {
    let mut load = sample::load();
    load.percentiles = vec![Percentile { percentile: 99.99, ..Percentile::default() }];
    assert_eq!(load.usable(), "counts, rates, p50, p90, p99 and p99.9 are sound; p99.99 is not known");
}

#[test]
fn a_load_without_responses_has_no_times() {
    let mut load = sample::load();
    (load.latency.response.count, load.latency.service.count) = (0, 0);
    assert_eq!(load.usable(), "counts and rates are sound");
}
