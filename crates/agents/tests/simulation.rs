//! Many agents as tasks of one process, against one controller.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod simulated;

use hoptax_load::encoded::decode;
use hoptax_load::histogram;
use hoptax_result::{Agent, AgentOutcome, LoadResult};

use simulated::{Simulated, alone, instants, p99_of_bursts_us, response_us};

/// The response times of these instants.
fn times(all: &[u64]) -> hdrhistogram::Histogram<u64> {
    let mut times = histogram();
    for instant in all {
        times.record(response_us(*instant) * 1_000).unwrap();
    }
    times
}

fn response(result: &LoadResult) -> hdrhistogram::Histogram<u64> {
    decode(result.histograms.as_ref().unwrap().response.as_ref().unwrap()).unwrap()
}

fn outcomes(result: &LoadResult) -> Vec<&Agent> {
    result.agents.as_ref().unwrap().all.iter().collect()
}

/// Runs a load of so many agents, whose sum has to be that of one generator.
fn compare(agents: u32) {
    let _alone = alone();
    let load = Simulated::new(agents);
    let (sent, _, lines) = load.run(true);
    let result = sent.unwrap().result;
    let whole = instants(&load, 0, 1);
    assert_eq!(whole.len(), 10_000);
    assert_eq!((result.book.sent, result.book.answered), (10_000, 10_000));
    assert_eq!(response(&result), times(&whole));
    assert_eq!(result.merged.as_ref().unwrap().runs.len(), agents as usize);
    assert!(outcomes(&result).iter().all(|agent| agent.outcome == AgentOutcome::Merged));
    assert!(result.rate.target.is_some_and(|rate| (rate - 2_500.0).abs() < 1e-6));
    assert_eq!(result.plan.connections, 2 * agents);
    assert!(!lines.is_empty());
}

#[test]
fn agents_have_the_counts_and_the_times_of_one_generator() {
    compare(7);
}

#[test]
fn an_agent_that_is_lost_is_said_at_once_and_the_others_are_exact() {
    let _alone = alone();
    let load = Simulated { lost: Some((1, 3)), ..Simulated::new(3) };
    let (sent, said, _) = load.run(true);
    let result = sent.unwrap().result;
    assert!(said.iter().any(|text| text.starts_with("agent `agent-0001` died: ")), "{said:?}");
    let [first, lost, last] = outcomes(&result)[..] else { panic!("{result:?}") };
    assert_eq!((first.outcome, last.outcome), (AgentOutcome::Merged, AgentOutcome::Merged));
    assert_eq!(lost.outcome, AgentOutcome::Died);
    // The others are agents 0 and 2 of the schedule.
    let mut rest = [instants(&load, 0, 3), instants(&load, 2, 3)].concat();
    rest.sort_unstable();
    assert_eq!(result.book.answered, rest.len() as u64);
    assert_eq!(response(&result), times(&rest));
    let known = instants(&load, 1, 3).into_iter().filter(|instant| *instant < 3_000_000_000).count() as u64;
    assert_eq!((lost.sent, lost.known_until_s), (Some(known), Some(3.0)));
    let ids: Vec<&str> = result.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(ids.contains(&"agent-lost") && !ids.contains(&"runs-left-out"), "{ids:?}");
}

#[test]
fn nothing_is_sent_if_an_agent_cannot_prepare_its_share() {
    let _alone = alone();
    let load = Simulated { fails: Some(2), ..Simulated::new(4) };
    let why = load.run(false).0.unwrap_err().to_string();
    assert_eq!(why, "nothing was sent: agent `agent-0002` failed: cannot connect to 127.0.0.1:1");
}

#[test]
fn clocks_that_are_off_spread_a_burst_and_lower_its_times() {
    // A burst of 1,000 requests takes the server 50 ms.
    let p99_us = |offset_ms: u64| p99_of_bursts_us(1_000, 50_000, offset_ms * 1_000_000);
    let [exact, one, ten, hundred] = [0, 1, 10, 100].map(p99_us);
    assert!(one < exact && one > exact * 9 / 10, "{one} {exact}");
    assert!(ten < one && ten > exact / 3, "{ten} {one}");
    assert!(hundred < exact / 10, "{hundred} {exact}");
}

/// The same as above with as many agents as a cluster has. The test of a few guards it in `make test`.
mod long {
    #[test]
    #[ignore = "takes minutes: run by `make test-long`"]
    fn a_thousand_agents_have_the_counts_and_the_times_of_one_generator() {
        super::compare(1_000);
    }
}
