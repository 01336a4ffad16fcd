//! Studies that observe a timeline, in their short form, on real Envoy.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::smoke::outcome;
use crate::support::{Guarded, checked, hoptax, is_alive, ran, run, wait_until};

/// All courses of an arm: one per load and round.
fn courses<'a>(result: &'a serde_json::Value, arm: &str) -> Vec<&'a serde_json::Value> {
    let rounds = result["rounds"].as_array().unwrap().iter();
    let all = rounds.flat_map(|round| round["courses"].as_array().unwrap());
    all.filter(|course| course["arm"] == arm).collect()
}

/// Sum of a kind of failures over all intervals of courses.
fn failures(courses: &[&serde_json::Value], kind: &str) -> u64 {
    let intervals = courses.iter().flat_map(|course| course["intervals"].as_array().unwrap());
    intervals.filter_map(|interval| interval["failures"][kind].as_u64()).sum()
}

#[test]
fn an_origin_that_fails_is_seen_by_callers_unless_requests_are_retried() {
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
    let failed = |arm: &str| failures(&courses(&result, arm), "status-5xx");
    // A retry of a request to a silent origin may come to the same one again.
    assert!(failed("plain") > 2 * failed("retries"), "{} {}", failed("plain"), failed("retries"));
}

#[test]
fn a_proxy_that_reuses_connections_which_origins_close_loses_requests_to_the_race_only() {
    let Ok(result) = outcome("keepalive-race") else { return };
    for course in courses(&result, "never") {
        let answered: u64 =
            course["intervals"].as_array().unwrap().iter().map(|one| one["answered"].as_u64().unwrap()).sum();
        // Forty requests per second for a second, most of them on connections that were not idle for long.
        assert!(answered > 20, "{course:#}");
    }
}

#[test]
fn a_hot_restart_loses_no_request_and_a_broken_configuration_leaves_the_old_process_serving() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("study.yaml"), folder.path().join("out"));
    // Some connections are kept over the restarts, and others are opened while they happen.
    let study = "name: restarts
rounds: 2
observe: timeline
interval: 500ms
arms: [baseline, {function: baseline, at: {protocol: http2}}]
events: [{at: 500ms, restart: hot}, {at: 4500ms, restart: broken}]
loads:
  - {name: steady, loop: open, rate: 500, arrivals: uniform, connections: 16, requests_per_connection: 50, slice: 5s}
";
    fs::write(&file, study).unwrap();
    let ran = ran(hoptax().arg("study").arg(&file).arg("--out").arg(&out));
    assert!(matches!(ran.code, Some(0 | 4)), "{}", ran.stderr);
    let result = checked("study", &fs::read_to_string(out.join("result.json")).unwrap());
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
fn a_balancer_of_connections_leaves_a_restarted_proxy_without_requests() {
    // This needs haproxy.
    let Ok(result) = outcome("l4-imbalance") else { return };
    for arm in ["unlimited", "at-most-1000"] {
        for course in courses(&result, arm) {
            let restart = &course["events"][0];
            assert_eq!(restart["generations_bytes"].as_array().unwrap().len(), 1, "{course:#}");
            let restart_s = restart["planned_s"].as_f64().unwrap();
            let is_before = |sample: &&serde_json::Value| sample["at_s"].as_f64().unwrap() < restart_s + 0.01;
            let (before, after): (Vec<_>, Vec<_>) =
                course["spread"].as_array().unwrap().iter().partition(is_before);
            let received = |samples: &[&serde_json::Value]| {
                let of = |proxy| {
                    samples.iter().map(|sample| sample["values"][proxy].as_u64().unwrap()).sum::<u64>()
                };
                ["proxy", "proxy-2"].map(of)
            };
            assert!(received(&before).iter().all(|requests| *requests > 0), "{course:#}");
            let [one, restarted] = received(&after);
            assert!(one > restarted, "{course:#}");
        }
    }
    let shares = &result["timelines"][0]["points"][0]["shares"];
    assert_eq!(shares.as_object().unwrap().len(), 2, "{shares}");
}

#[test]
fn every_connection_belongs_to_a_worker_as_envoy_counts_them() {
    let Ok(result) = outcome("worker-balance") else { return };
    let mut several = 0;
    for course in
        result["rounds"].as_array().unwrap().iter().flat_map(|round| round["courses"].as_array().unwrap())
    {
        let workers = course["workers"].as_array().map_or(&[][..], Vec::as_slice);
        several += usize::from(workers.len() > 1);
        // Envoy's own statistic; connections that it closes after a number of requests are in none.
        let last = course["spread"].as_array().unwrap().last().unwrap()["values"].as_object().unwrap();
        let mut counted: Vec<u64> =
            last.values().filter_map(serde_json::Value::as_u64).filter(|count| *count > 0).collect();
        let mut found: Vec<u64> =
            workers.iter().map(|worker| worker["connections"].as_u64().unwrap()).collect();
        counted.sort_unstable();
        found.sort_unstable();
        let is_kept = !course["arm"].as_str().unwrap().contains("connection-reuse");
        assert!(!is_kept || found.is_empty() || found == counted, "{course:#}");
    }
    assert!(several > 4, "{several} courses with several workers");
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
    let cleaned = run(["runs", "cleanup", out.to_str().unwrap()]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
    for path in memory {
        assert!(cleaned.stdout.contains(&path) && !Path::new(&path).exists(), "{path}: {}", cleaned.stdout);
    }
}
