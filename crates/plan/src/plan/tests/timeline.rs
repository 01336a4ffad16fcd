//! Timelines: events, intervals, and the settings that they exclude.

use std::time::Duration;

use super::*;
use crate::file::RestartWord;

const ARMS: &str = "arms: [baseline, {name: four, functions: [balance/round-robin]}]";

fn timeline(keys: &str) -> String {
    format!(
        "name: test\nobserve: timeline\n{ARMS}\n{keys}\nloads: [{{name: steady, loop: open, rate: 100, slice: 10s}}]\n"
    )
}

#[test]
fn events_are_planned_in_the_order_of_time() {
    let plan = planned(&timeline(
        "interval: 500ms\nobjective: 20ms\nevents:\n  - {at: 4s, restart: hot}\n  \
         - {at: 9s, proxy: gateway, restart: cold}\n  - {at: 0s, idle: 5s}\n  \
         - {at: 2s, origin: 1, slow: 500ms, status: 503}\n  - {at: 2s, origin: 1, silent: true}\n",
    ))
    .unwrap();
    let timeline = plan.timeline.unwrap();
    assert_eq!(
        (timeline.interval, timeline.objective),
        (Duration::from_millis(500), Some(Duration::from_millis(20)))
    );
    let shown: Vec<String> =
        timeline.events.iter().map(|event| format!("{:?} {}", event.at, event.change)).collect();
    assert_eq!(
        shown,
        [
            "0ns all origins idle 5000ms",
            "2s origin 1 delay 500ms, status 503",
            "2s origin 1 silent",
            "4s hot restart",
            "9s restart of gateway"
        ]
    );
    assert_eq!(timeline.events[3].change, Change::Restart { proxy: None, how: RestartWord::Hot });
    let phases: Vec<(u64, usize)> =
        timeline.phases().into_iter().map(|(at, changes)| (at.as_secs(), changes.len())).collect();
    assert_eq!(phases, [(0, 1), (2, 2), (4, 1), (9, 1)]);
    let chain = &plan.arms[0].chain;
    assert_eq!(timeline.restarts(chain, 0), [RestartWord::Hot, RestartWord::Cold]);
    assert!(timeline.restarts(chain, 1).is_empty());
}

#[test]
fn restarts_that_would_disturb_each_other_are_refused() {
    let close = timeline("interval: 500ms\nevents: [{at: 5500ms, restart: broken}, {at: 2s, restart: hot}]");
    insta::assert_snapshot!(problems(&close), @"test.yaml:5:10: a restart must be at least 4s after a hot one of the same proxy: it would end the process that still drains, with its requests in flight");
    assert!(planned(&close.replace("5500ms", "6s")).is_ok());
    let after = timeline("spread: a.*\nevents: [{at: 2s, restart: broken}, {at: 8s, restart: hot}]");
    insta::assert_snapshot!(problems(&after), @r"
    test.yaml:5:10: `spread` cannot be read after `restart: broken`, which closes the admin interface: remove one of the two
    test.yaml:5:37: only `restart: cold` can follow `restart: broken`: after a successor that failed, Envoy refuses all others
    ");
}

#[test]
fn a_cold_restart_may_follow_any_but_a_hot_one_that_drains() {
    let of = |events: &str| timeline(&format!("events: [{events}]"));
    for sound in [
        "{at: 2s, restart: broken}, {at: 3s, restart: cold}, {at: 4s, restart: hot}",
        "{at: 2s, restart: cold}, {at: 3s, restart: cold}",
    ] {
        assert!(planned(&of(sound)).is_ok(), "{sound}");
    }
    // The first proxy, once by its name.
    let close = of("{at: 2s, proxy: gateway, restart: hot}, {at: 3s, restart: cold}");
    insta::assert_snapshot!(problems(&close), @"test.yaml:4:50: a restart must be at least 4s after a hot one of the same proxy: it would end the process that still drains, with its requests in flight");
}

#[test]
fn restarts_of_different_proxies_may_be_close() {
    let events = "events: [{at: 2s, restart: hot}, {at: 3s, proxy: gateway, restart: hot}]";
    let with = |arm: &str| {
        let arms = format!("arms: [{{name: two, hops: [edge, gateway]}}, {arm}]");
        planned(&timeline(events).replace(ARMS, &arms))
    };
    with("{name: three, hops: [edge, gateway, inner]}").unwrap();
    let problems = with("baseline").unwrap_err().problems;
    assert_eq!(problems.len(), 1, "the gateway is the first proxy of one arm: {problems:?}");
}

#[test]
fn arms_of_a_timeline_are_compared_with_none_and_have_one_slice_per_round() {
    let plan = planned(&timeline("")).unwrap();
    assert!(plan.arms.iter().all(|arm| arm.compared_with.is_none()));
    assert_eq!((plan.subjects().count(), plan.slices_per_round()), (2, 2));
    let without_baseline = timeline("").replace("baseline, ", "direct, ");
    let ids: Vec<String> = planned(&without_baseline).unwrap().arms.into_iter().map(|arm| arm.id).collect();
    assert_eq!(ids, ["direct", "four"], "a baseline that nobody names has nothing to be compared with");
    let mut observed: Vec<usize> = courses(&plan, 3).iter().map(|course| course.arm_number).collect();
    observed.sort_unstable();
    assert_eq!(observed, [0, 1]);
    let alone = plan.alone(&plan.arms[1], &plan.loads[0]);
    assert_eq!((alone.arms.len(), alone.arms[0].id.as_str(), alone.subjects().count()), (1, "four", 1));
}

#[test]
fn every_problem_of_a_timeline_is_reported_at_its_place() {
    let text = "name: test
observe: timeline
interval: 1s
objective: soon
arms: [baseline, direct]
events:
  - {at: 20s, origin: 1, slow: 500ms}
  - {at: 500ms, silent: true}
  - {at: 2s}
  - {at: 2s, origin: 2, status: 503}
  - {at: 2s, silent: true, recovers: true}
  - {at: 2s, origin: 1, restart: hot}
  - {at: 2s, restart: hot}
  - {at: 2s, proxy: other, restart: cold}
  - {at: 2s, proxy: gateway, silent: true}
loads:
  - {name: saturation, loop: closed, slice: 10s}
  - {name: short, loop: open, slice: 100ms, blocks: 3}
  - {name: unstated, loop: open, rate: 10}
";
    insta::assert_snapshot!(problems(text));
    let long = timeline("interval: 1h\nevents: [{at: 2s, origin: 1, slow: 2h}]");
    insta::assert_snapshot!(problems(&long), @r"
    test.yaml:4:11: `interval` must be from 50ms to 1m
    test.yaml:5:10: `slow` and `idle` must be at most 1h
    ");
    let costs = timeline("interval: 1s\nevents: [{at: 2s, silent: true}]").replace("observe: timeline\n", "");
    insta::assert_snapshot!(problems(&costs), @r"
    test.yaml:3:11: `interval` belongs to a timeline: add `observe: timeline`, or remove it
    test.yaml:4:9: `events` belongs to a timeline: add `observe: timeline`, or remove it
    ");
}
