//! Predictions of memory.

use hoptax_predict::size::{SizeError, size};
use hoptax_result::{Finding, HopUse, Interval, Opened, RoundMeasure, StudyResult, Verdict};

use super::{additive, graph, is_near, study};

const GRAPH: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, connections: 1000, clusters: 200}
";

fn exactly(number: f64) -> Interval {
    Interval::new(number, number, number)
}

/// A plain proxy of 60 MB with 50 connections of 8 kB, to which 1,000 clusters add 5 MB.
fn measured() -> StudyResult {
    let mut result = study("[baseline, \"configuration/clusters{clusters=1000}\"]", additive);
    for arm in &mut result.arms {
        let of_rounds = [
            (RoundMeasure::MEMORY, Some(exactly(60e6))),
            (RoundMeasure::MEMORY_PER_CONNECTION, Some(exactly(8_000.0))),
        ];
        arm.hops = vec![HopUse { of_rounds: of_rounds.into_iter().collect(), ..HopUse::default() }];
        if arm.id != "baseline" {
            arm.cost.of_rounds.set(RoundMeasure::MEMORY, Some(exactly(5e6)));
        }
    }
    for round in &mut result.rounds {
        let opened = Opened { connections: 50, ..Opened::default() };
        round.arms.entry("baseline".to_owned()).or_default().opened = Some(opened);
    }
    result
}

#[test]
fn connections_and_clusters_add_what_each_of_them_added() {
    let sized = size(&graph(GRAPH), 1_000.0, &[measured()]).unwrap();
    let memory = sized.proxies[0].memory_bytes.unwrap();
    // 50 connections are in the 60 MB.
    assert!(is_near(memory.estimate, 60e6 + 950.0 * 8_000.0 + 200.0 * 5_000.0), "{memory:?}");
    let text = sized.extrapolations.join("\n");
    assert!(
        text.contains("the memory of 1000 connections of the proxy of `gateway` is extrapolated from 50"),
        "{text}"
    );
    assert!(!text.contains("clusters of the proxy"), "{text}");
}

#[test]
fn a_result_that_states_memory_alone_is_named_with_its_machine_and_verdict() {
    let mut first = measured();
    first.arms.retain(|arm| arm.id == "baseline");
    let mut second = measured();
    second.name = "second".to_owned();
    second.environment.cpu_model = "Other CPU".to_owned();
    second.verdict = Verdict::Caution;
    let text = GRAPH.replace("connections: 1000, ", "");
    let sized = size(&graph(&text), 1_000.0, &[first, second]).unwrap();
    let memory = sized.proxies[0].memory_bytes.unwrap();
    assert!(is_near(memory.estimate, 60e6 + 200.0 * 5_000.0), "{memory:?}");
    let studies: Vec<&str> = sized.sources.iter().map(|source| source.study.as_str()).collect();
    assert_eq!(studies, ["known", "second"]);
    let text = sized.extrapolations.join("\n");
    assert!(text.contains("different processors"), "{text}");
    let [finding] = sized.findings.as_slice() else { panic!("{:?}", sized.findings) };
    assert_eq!(finding.id, Finding::SOURCE_VERDICT);
    assert!(finding.message.starts_with("`second`, on which this rests, "), "{finding:?}");
}

#[test]
fn a_result_without_such_memory_names_the_arm_that_measures_it() {
    let lacks = study("[baseline, same]", additive);
    let Err(SizeError::Missing { missing, arms }) = size(&graph(GRAPH), 1_000.0, &[lacks]) else { panic!() };
    assert_eq!(missing, ["memory per connection", "memory per cluster"]);
    assert_eq!(arms, ["- baseline", "- \"configuration/clusters{clusters=1000}\""]);
}
