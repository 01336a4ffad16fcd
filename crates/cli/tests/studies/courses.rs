//! Studies that observe courses over time, in their short form, on real Envoy.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::smoke::outcome;
use crate::support::study::StudyFolder;
use crate::support::{Guarded, hoptax, is_alive, run, wait_until};

/// All courses of an arm: one per load and round.
pub(crate) fn courses<'a>(result: &'a serde_json::Value, arm: &str) -> Vec<&'a serde_json::Value> {
    let rounds = result["rounds"].as_array().unwrap().iter();
    let all = rounds.flat_map(|round| round["courses"].as_array().unwrap());
    all.filter(|course| course["arm"] == arm).collect()
}

/// The result of a study, whose verdict depends on the machine.
fn measured(text: &str) -> serde_json::Value {
    let study = StudyFolder::new(text);
    let ran = study.run();
    assert!(matches!(ran.code, Some(0 | 4)), "{}", ran.stderr);
    study.result()
}

/// Answers with an error of a server over all courses of an arm.
fn server_errors(result: &serde_json::Value, arm: &str) -> u64 {
    let intervals =
        courses(result, arm).into_iter().flat_map(|course| course["intervals"].as_array().unwrap());
    intervals.filter_map(|interval| interval["failures"]["status-5xx"].as_u64()).sum()
}

#[test]
fn every_request_to_an_origin_that_is_slow_fails_or_is_silent_has_an_end() {
    let Ok(result) = outcome("slow-upstream") else { return };
    for arm in result["arms"].as_array().unwrap() {
        let courses = courses(&result, arm["id"].as_str().unwrap());
        assert_eq!(courses.len(), 1, "one for each round");
        for course in courses {
            let [book, intervals] = [&course["book"], &course["intervals"]];
            let ended = intervals.as_array().unwrap().iter().map(|one| {
                let failed: u64 = one["failures"]
                    .as_object()
                    .map_or(0, |kinds| kinds.values().map(|count| count.as_u64().unwrap()).sum());
                one["answered"].as_u64().unwrap() + failed
            });
            let sent = book["sent"].as_u64().unwrap();
            assert!(sent > 0 && ended.sum::<u64>() == sent, "{course:#}");
            assert_eq!(course["events"].as_array().unwrap().len(), 6);
        }
    }
}

/// Time limits are far above the stalls of a busy machine: retries that ran out of time would be errors of the server, too.
#[test]
fn an_origin_that_fails_is_seen_by_callers_unless_requests_are_retried() {
    let text = "name: errors
rounds: 2
observe: timeline
interval: 500ms
arms:
  - {name: plain, functions: [balance/round-robin]}
  - {name: retries, functions: [balance/round-robin, \"timeout/route{timeout_ms=60000}\", \"retry/policy{per_try_ms=20000}\"]}
events:
  - {at: 500ms, origin: 2, status: 503}
  - {at: 1500ms, origin: 2, recovers: true}
loads:
  - {name: steady, loop: open, rate: 100, arrivals: uniform, connections: 16, slice: 2s}
";
    let result = measured(text);
    // A retry may come to the same origin again.
    let [plain, retries] = ["plain", "retries"].map(|arm| server_errors(&result, arm));
    assert!(plain > 20 && plain > 2 * retries, "{plain} {retries}");
}

#[test]
fn a_hot_restart_loses_no_request_and_a_broken_one_keeps_the_old_process() {
    // Some connections are kept over the restarts, and others are opened while they happen: ten per second.
    let text = "name: restarts
rounds: 2
observe: timeline
interval: 500ms
arms: [baseline, {function: baseline, at: {protocol: http2}}]
events: [{at: 500ms, restart: hot}, {at: 4500ms, restart: broken}]
loads:
  - {name: steady, loop: open, rate: 200, arrivals: uniform, connections: 16, requests_per_connection: 20, slice: 5s}
";
    let result = measured(text);
    for arm in result["arms"].as_array().unwrap() {
        for course in courses(&result, arm["id"].as_str().unwrap()) {
            let events = course["events"].as_array().unwrap();
            assert_eq!(events.len(), 2, "{course:#}");
            assert_eq!(events[0]["generations_bytes"].as_array().unwrap().len(), 2, "{course:#}");
            let intervals = course["intervals"].as_array().unwrap();
            assert!(intervals.iter().all(|interval| interval["failures"].is_null()), "{course:#}");
            assert!(intervals.last().unwrap()["answered"].as_u64() > Some(0), "{course:#}");
        }
    }
}

#[test]
fn nothing_stays_after_a_kill_during_a_hot_restart() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = hoptax();
    command.args(["study", "hot-restart", "--smoke", "--out"]).arg(&out);
    let study = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut study = Guarded(study);
    let base_ids = || {
        let arms = fs::read_dir(out.join("arms")).into_iter().flatten().flatten();
        arms.filter_map(|arm| fs::read_to_string(arm.path().join("base-id")).ok()).collect::<Vec<_>>()
    };
    let memory = || {
        let ids = base_ids().into_iter().filter_map(|id| id.trim().parse::<u64>().ok());
        let paths = ids.map(|id| format!("/dev/shm/envoy_shared_memory_{}", id * 10));
        paths.filter(|path| Path::new(path).exists()).collect::<Vec<_>>()
    };
    wait_until("an Envoy with generations", || !memory().is_empty());
    let children = study.children();
    study.0.kill().unwrap();
    study.0.wait().unwrap();
    wait_until("the end of all processes", || !children.iter().any(|child| is_alive(*child)));
    let memory = memory();
    assert!(!memory.is_empty(), "Envoy leaves its shared memory behind");
    let cleaned = run(["runs", "cleanup", out.to_str().unwrap()]).succeeded();
    for path in memory {
        assert!(cleaned.stdout.contains(&path) && !Path::new(&path).exists(), "{path}: {}", cleaned.stdout);
    }
}
