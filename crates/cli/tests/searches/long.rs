//! Searches that take minutes: `make test-long`.
//!
//! What still guards them in `make test`: simulated searches and ratios (`crates/stats/tests/search_*.rs`), and shorter searches of servers
//! and arms in this folder.

use serde_json::{Value, json};

use crate::search_of_arms::{find, study_of_servers};
use crate::support::origin;

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn the_rates_and_the_ratio_of_two_servers_with_known_service_times_are_found() {
    // One request takes 2 ms or 4 ms, and the next waits: 500 or 250 requests per second. What a trial can queue grows with the
    // capacity, so the ratio is 2.
    let (_fast, fast) = origin(&["--default", "service=2ms"]);
    let (_slow, slow) = origin(&["--default", "service=4ms"]);
    let folder = tempfile::tempdir().unwrap();
    let study = study_of_servers(&folder, &fast, &slow);
    // Beside other tests, the generator may be late by a few milliseconds.
    let options = ["--slo", "p90<20ms", "--slo", "errors<0.1%", "--threshold", "own-lag-fail-us=20000"];
    let range = ["--arrivals", "uniform", "--min-rate", "200", "--max-rate", "600", "--budget", "60m"];
    let (code, result, stderr) = find(&study, &[&options[..], &range[..]].concat());
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
    let lines = stderr.lines().filter(|line| line.contains("/s for ") && line.contains("p90<20ms: ")).count();
    assert_eq!(lines, trials.len(), "{stderr}");
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
    let (code, result, stderr) = find(&study, &[&options[..], &strict].concat());
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
    assert!(stderr.contains("does not count (send-lag: "), "{stderr}");
    // Without it, both fail at the lowest rate, by themselves.
    let (code, result, stderr) = find(&study, &options);
    assert_eq!((code, &result["arms"][0]["found"]["state"]), (Some(1), &json!("minimum-failed")), "{stderr}");
}
