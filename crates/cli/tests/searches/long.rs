//! Searches that take minutes: `make test-long`.
//!
//! `make test` guards searches by other tests: simulated searches and ratios (`crates/stats/tests/search_*.rs`), whole searches of a server
//! in virtual time with sweeps, fastest modes and interrupts (`crates/session/src/find/tests.rs`), and shorter searches of servers and arms
//! in this folder.

use std::fs;

use serde_json::{Value, json};

use crate::search_of_arms::{find as find_arms, study_of_servers};
use crate::search_of_server::{begin, find, is_send_late, is_trial};
use crate::support::{checked, origin};

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn the_capacity_of_a_server_with_a_known_service_time_is_found() {
    // One request takes 2 ms, and the next waits: 500 requests per second. Requests that are evenly spaced hardly wait below that; above,
    // the queue grows as long as a trial lasts.
    let (_origin, url) = origin(&["--default", "service=2ms"]);
    // Beside other tests, the generator may be late by a few milliseconds.
    let range = ["--min-rate", "400", "--max-rate", "700", "--threshold", "own-lag-fail-us=20000"];
    let options = ["--arrivals", "uniform", "--slo", "p90<20ms", "--slo", "errors<0.1%"];
    let (code, result, stderr) = find(&url, &[&range[..], &options].concat());
    let goal = &result["goals"][0];
    let state = goal["state"].as_str().unwrap();
    assert!(code == Some(0) && ["found", "bounded"].contains(&state), "{result:#}\n{stderr}");
    let [rate, estimate, upper] = ["rate", "estimate", "upper_rate"].map(|name| goal[name].as_f64().unwrap());
    assert!((470.0..=520.0).contains(&estimate) && rate < estimate && estimate < upper, "{goal:#}\n{stderr}");
    // Above, the last requests may wait for a connection until the end.
    assert_eq!((&goal["limited_by"][0], &result["arrivals"]), (&json!("p90<20ms"), &json!("uniform")));
    assert!(stderr.contains("uniform arrivals: about ") && stderr.contains(", at most 5m"), "{stderr}");
    let trials = result["trials"].as_array().unwrap();
    assert!(trials.iter().all(|trial| (400.0..=700.0).contains(&trial["rate"].as_f64().unwrap())));
    // The queue settles for 8 * 20 ms / (4 % * ln 10) before a trial counts.
    assert!(trials.iter().all(|trial| trial["warmup_s"] == json!(1.737)), "{result:#}");
    let lines = stderr.lines().filter(|line| is_trial(line, "p90<20ms"));
    assert_eq!(lines.count(), trials.len(), "{stderr}");
}

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn the_rates_and_the_ratio_of_two_servers_with_known_service_times_are_found() {
    // One request takes 2 ms or 4 ms, and the next waits: 500 or 250 requests per second. The queue of a trial can grow in proportion to
    // the capacity, so the ratio is 2.
    let (_fast, fast) = origin(&["--default", "service=2ms"]);
    let (_slow, slow) = origin(&["--default", "service=4ms"]);
    let folder = tempfile::tempdir().unwrap();
    let study = study_of_servers(&folder, &fast, &slow);
    // Beside other tests, the generator may be late by a few milliseconds.
    let options = ["--slo", "p90<20ms", "--slo", "errors<0.1%", "--threshold", "own-lag-fail-us=20000"];
    let range = ["--arrivals", "uniform", "--min-rate", "200", "--max-rate", "600", "--budget", "60m"];
    let (code, result, stderr) = find_arms(&study, &[&options[..], &range[..]].concat());
    assert_eq!(code, Some(0), "{result:#}\n{stderr}");
    let [slow, fast] = [0, 1].map(|arm| &result["arms"][arm]);
    assert_eq!((&slow["arm"], &fast["arm"]), (&json!("slow"), &json!("fast")));
    assert_eq!((&result["load"], &result["connections"]), (&json!("fixed-rate"), &json!(8)));
    for (arm, capacity) in [(slow, 250.0), (fast, 500.0)] {
        let rate = |name: &str| arm["found"][name].as_f64().unwrap();
        assert!((0.94 * capacity..=1.03 * capacity).contains(&rate("estimate")), "{arm:#}\n{stderr}");
        assert!(rate("upper_rate") > rate("rate"), "{arm:#}");
        // The last requests may wait for a connection until the end.
        assert_eq!(arm["found"]["limited_by"][0], "p90<20ms", "{arm:#}");
    }
    assert_eq!((&slow["ratio"], &slow["no_ratio"]), (&Value::Null, &Value::Null));
    let of = |name: &str| fast["ratio"][name].as_f64().unwrap();
    // An interval of 95 % would miss in one of twenty runs, and the machine is noisy: twice its width.
    let half_width = (of("high") - of("low")) / 2.0;
    assert!((of("estimate") - 2.0).abs() <= 2.0 * half_width.max(0.01), "{fast:#}\n{stderr}");
    assert!((1.8..2.2).contains(&of("estimate")), "{fast:#}");
    assert_eq!((&result["rounds"], &result["rounds_planned"]), (&json!(6), &json!(6)));
    assert_eq!(result["evidence"]["width"], json!(0.04));
    take_turns(result["trials"].as_array().unwrap(), &stderr);
}

/// Asserts that arms take turns: the trials of one arm never get ahead of those of another that still searches.
fn take_turns(trials: &[Value], stderr: &str) {
    for round in [Value::Null, json!(1), json!(6)] {
        let arms: Vec<&str> = trials
            .iter()
            .filter(|one| one["round"] == round)
            .map(|one| one["arm"].as_str().unwrap())
            .collect();
        let count = |arm: &str, trials: &[&str]| trials.iter().filter(|one| **one == arm).count();
        let shorter = count("slow", &arms).min(count("fast", &arms));
        assert!(shorter >= 4, "{round}: {arms:?}");
        for turn in 1..=shorter {
            let so_far = &arms[..2 * turn];
            assert_eq!((count("slow", so_far), count("fast", so_far)), (turn, turn), "{round}: {arms:?}");
        }
    }
    let lines = stderr.lines().filter(|line| is_trial(line, "p90<20ms"));
    assert_eq!(lines.count(), trials.len(), "{stderr}");
}

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_limit_of_the_generator_is_not_that_of_an_arm_and_leaves_no_ratio() {
    let (_fast, fast) = origin(&["--default", "delay=5ms"]);
    let (_slow, slow) = origin(&["--default", "delay=6ms"]);
    let folder = tempfile::tempdir().unwrap();
    let study = study_of_servers(&folder, &fast, &slow);
    let options = ["--slo", "p50<1ms", "--min-rate", "100", "--max-rate", "101"];
    // With this threshold, no generator is good enough.
    let strict = ["--threshold", "own-lag-fail-us=0", "--threshold", "own-lag-fail-share=0"];
    let (code, result, stderr) = find_arms(&study, &[&options[..], &strict].concat());
    assert_eq!(code, Some(4), "{stderr}");
    for arm in result["arms"].as_array().unwrap() {
        assert_eq!(
            (&arm["found"]["state"], &arm["found"]["rate"]),
            (&json!("generator-limited"), &Value::Null)
        );
        assert_eq!(arm["ratio"], Value::Null);
    }
    assert_eq!(result["arms"][1]["no_ratio"], "the search found no rate of `slow`");
    assert_eq!(result["rounds"], 0);
    assert!(is_send_late(&stderr), "{stderr}");
    // Without it, both fail at the lowest rate, by themselves.
    let (code, result, stderr) = find_arms(&study, &options);
    assert_eq!((code, &result["arms"][0]["found"]["state"]), (Some(1), &json!("minimum-failed")), "{stderr}");
}

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_server_stays_in_its_fastest_mode_at_a_low_rate_and_not_at_one_that_crowds_it() {
    // Eight concurrent requests of 5 ms allow 1,600/s; those in a closed loop are all slow.
    // The two modes are far apart: beside other tests, single responses are late by milliseconds.
    let (_origin, url) = origin(&["--default", "delay=5ms&crowded=8:200ms"]);
    // The generator may be, too.
    let goal = ["--goal", "fastest-mode", "--threshold", "own-lag-fail-us=20000"];
    let range = ["--min-rate", "50", "--max-rate", "51"];
    let (code, result, stderr) = find(&url, &[&goal[..], &range[..]].concat());
    assert_eq!((code, result["goals"][0]["state"].as_str()), (Some(0), Some("maximum-held")), "{stderr}");
    let fastest = &result["fastest_mode"];
    let (peak_us, limit_us) = (fastest["mode"]["peak_us"].as_f64(), fastest["limit_us"].as_f64());
    assert!(peak_us.is_some_and(|us| (5_000.0..10_000.0).contains(&us)), "{fastest:#}");
    assert!(limit_us.is_some_and(|us| (15_000.0..150_000.0).contains(&us)), "{fastest:#}");
    let objective = result["goals"][0]["objectives"][0].as_str().unwrap();
    assert_eq!(objective, format!("p95<{}us", limit_us.unwrap().ceil()));
    let range = ["--min-rate", "2500", "--max-rate", "2550"];
    let (code, result, stderr) = find(&url, &[&goal[..], &range[..]].concat());
    assert_eq!((code, result["goals"][0]["state"].as_str()), (Some(1), Some("minimum-failed")), "{stderr}");
}

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_late_generator_hides_the_fastest_mode_and_a_single_mode_is_none() {
    let (_origin, url) = origin(&["--default", "delay=5ms&crowded=2:50ms"]);
    // With this threshold, no generator is good enough.
    let strict = ["--threshold", "own-lag-fail-us=0", "--threshold", "own-lag-fail-share=0"];
    let (code, result, stderr) = find(&url, &[&["--goal", "fastest-mode"][..], &strict[..]].concat());
    let loads = result["fastest_mode"]["loads"].as_array().unwrap();
    let reasons = loads.iter().flat_map(|load| load["does_not_count"].as_array().unwrap());
    let mut reasons = reasons.map(|reason| reason.as_str().unwrap());
    assert!(code == Some(4) && reasons.any(|one| one.starts_with("send-lag: ")), "{result:#}\n{stderr}");
    assert_eq!((&result["goals"], &result["trials"]), (&json!([]), &json!([])), "{stderr}");
    let (_origin, url) = origin(&["--default", "delay=20ms"]);
    let (code, result, stderr) = find(&url, &["--goal", "fastest-mode", "-c", "4"]);
    let fastest = &result["fastest_mode"];
    assert_eq!((code, &fastest["mode"]), (Some(0), &Value::Null), "{result:#}\n{stderr}");
    assert_eq!(fastest["loads"].as_array().map(Vec::len), Some(2), "{fastest:#}");
}

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_sweep_visits_rates_up_to_the_one_found_and_keeps_its_trials_when_interrupted() {
    let (_origin, url) = origin(&["--default", "delay=2ms"]);
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("found.json");
    let options = ["--slo", "p50<1s", "--min-rate", "500", "--max-rate", "505", "--sweep"];
    let (mut finding, mut lines) = begin(&options, &json, &url);
    assert!(lines.any(|line| line == "sweep up to 505 requests/s: about 1m 18s"));
    assert_eq!(lines.by_ref().filter(|line| line.contains("/s: p50 ")).take(12).count(), 12);
    finding.signal("INT");
    lines.for_each(drop);
    assert_eq!(finding.0.wait().unwrap().code(), Some(130));
    let result = checked("find", &fs::read_to_string(json).unwrap());
    assert_eq!(
        (&result["ended_by"], &result["goals"][0]["state"]),
        (&json!("interrupt"), &json!("maximum-held"))
    );
    let points = result["sweep"]["points"].as_array().unwrap();
    let rates: Vec<f64> = points.iter().map(|point| point["rate"].as_f64().unwrap()).collect();
    assert!(
        (1..=10).zip(&rates).all(|(step, rate)| (rate - 50.5 * f64::from(step)).abs() < 1e-9),
        "{rates:?}"
    );
    let tried =
        |point: &Value| ["trials", "excluded"].map(|key| point[key].as_u64().unwrap()).iter().sum::<u64>();
    let tried: Vec<u64> = points.iter().map(tried).collect();
    // A block visits each rate once, and the second has begun.
    assert!(tried.len() == 10 && tried.iter().all(|one| [1, 2].contains(one)), "{tried:?}");
    assert!(tried.iter().sum::<u64>() >= 12, "{tried:?}");
    assert_eq!(result["sweep"]["knee"], Value::Null);
}
