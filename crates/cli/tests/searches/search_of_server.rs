//! `hoptax find` against an origin whose capacity is known. More of its searches are in `long`, and in virtual time in
//! `crates/session/src/find/tests.rs`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Guarded, checked, hoptax, origin, run};

/// A search in a narrow range, so that it takes seconds.
pub(crate) fn find(url: &str, options: &[&str]) -> (Option<i32>, Value, String) {
    let ran = run(["find", "--json", "-"].into_iter().chain(options.iter().copied()).chain([url]));
    let result = if ran.stdout.is_empty() { Value::Null } else { checked("find", &ran.stdout) };
    (ran.code, result, ran.stderr)
}

#[test]
fn requests_are_independent_unless_other_arrivals_are_named() {
    let (_origin, url) = origin(&["--default", "delay=2ms"]);
    let range = ["--slo", "p50<1s", "--min-rate", "500", "--max-rate", "505", "--budget", "20s"];
    let (_, result, stderr) = find(&url, &range);
    assert_eq!(result["arrivals"], "poisson", "{stderr}");
}

#[test]
fn a_highest_rate_below_the_capacity_that_all_trials_hold_is_a_lower_bound_after_seconds() {
    let (_origin, url) = origin(&[]);
    // 5,300 requests without an error would decide after a trial, for which there is no time; 3,700 do when the time is over.
    let options = "--slo errors<0.1% --min-rate 100 --max-rate 600 --budget 14s --timeout 1s";
    let ran = run(["find"].into_iter().chain(options.split(' ')).chain([url.as_str()])).succeeded();
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("is at least 600 requests/s, the highest rate of the search"), "{text}");
    assert!(
        text.contains("hoptax find --slo 'errors<0.1%' --min-rate 100 --max-rate 2400 --timeout 1s "),
        "{text}"
    );
}

/// An origin that is slower than the objective of these options, which the next two tests tell apart from a generator that is the limit.
fn too_slow() -> (Guarded, String) {
    origin(&["--default", "delay=5ms"])
}

const NEVER_HELD: [&str; 6] = ["--slo", "p50<1ms", "--min-rate", "100", "--max-rate", "101"];

#[test]
fn objectives_that_never_hold_fail_at_the_lowest_rate() {
    let (_origin, url) = too_slow();
    let (code, result, stderr) = find(&url, &NEVER_HELD);
    assert_eq!((code, result["goals"][0]["state"].as_str()), (Some(1), Some("minimum-failed")), "{stderr}");
    assert_eq!(result["goals"][0]["rate"], Value::Null);
}

#[test]
fn a_generator_that_is_the_limit_tells_nothing_about_objectives() {
    let (_origin, url) = too_slow();
    // With this threshold, no generator is good enough.
    let strict = ["--threshold", "own-lag-fail-us=0", "--threshold", "own-lag-fail-share=0"];
    let (code, result, stderr) = find(&url, &[&NEVER_HELD[..], &strict[..]].concat());
    assert_eq!(
        (code, result["goals"][0]["state"].as_str()),
        (Some(4), Some("generator-limited")),
        "{stderr}"
    );
    assert!(is_send_late(&stderr), "{stderr}");
}

/// True if lines of progress say that a trial does not count by `send-lag`, alone or before other checks.
pub(crate) fn is_send_late(lines: &str) -> bool {
    [")", ", "].iter().any(|after| lines.contains(&format!("does not count (send-lag{after}")))
}

/// True if a line of progress is about a trial: one that does not count, or one with its outcome and the value of this objective.
pub(crate) fn is_trial(line: &str, objective: &str) -> bool {
    let is_of = |outcome: &str| line.contains(&format!("/s: {outcome}; {objective}: "));
    line.contains("/s: does not count (") || ["holds", "fails"].into_iter().any(is_of)
}

/// Starts a search that writes its result to `json`. Returns it with the lines of its stderr.
pub(crate) fn begin(
    options: &[&str],
    json: &Path,
    url: &str,
) -> (Guarded, impl Iterator<Item = String> + use<>) {
    let finding = hoptax()
        .arg("find")
        .args(options)
        .arg("--json")
        .args([json.to_str().unwrap(), url])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut finding = Guarded(finding.unwrap());
    let lines = BufReader::new(finding.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    (finding, lines)
}

#[test]
fn objectives_limit_processes_of_the_server() {
    let (server, url) = origin(&[]);
    let account = format!("pid={}", server.0.id());
    // Beside other tests, the generator may be late by a few milliseconds.
    let range = ["--min-rate", "200", "--max-rate", "204", "--threshold", "own-lag-fail-us=20000"];
    let range = [&range[..], &["--account", &account, "--each"]].concat();
    let (code, result, stderr) =
        find(&url, &[&range[..], &["--slo", "memory<64GiB", "--slo", "cpu_us<0.001"]].concat());
    let states = [0, 1].map(|goal| &result["goals"][goal]["state"]);
    assert_eq!((code, states), (Some(1), [&json!("maximum-held"), &json!("minimum-failed")]), "{stderr}");
    for trial in result["trials"].as_array().unwrap() {
        let account = &trial["account"];
        assert_eq!(account["processes"], format!("pid {}", server.0.id()));
        assert_eq!(trial["objectives"][0]["value"], account["memory_bytes"].as_f64().unwrap());
        assert_eq!(trial["objectives"][1]["value"], account["cpu_us"]);
        assert!(account["cpu_share"].as_f64() > Some(0.0), "{trial}");
    }
}

#[test]
fn searches_that_cannot_begin_are_refused_with_the_reason() {
    let (_origin, url) = origin(&[]);
    for (options, code, expected) in [
        (vec!["--slo", "p99>5ms"], 2, "with `<` or `<=`"),
        (vec!["--slo", "rate<100"], 2, "the search sets the rate"),
        (vec![], 2, "--slo"),
        (vec!["--goal", "objectives"], 2, "name an objective"),
        (vec!["--slo", "p99<5ms", "--min-rate", "0.5"], 2, "must be at least 1"),
        (
            vec!["--slo", "p99<5ms", "--min-rate", "20", "--max-rate", "10"],
            2,
            "set `--min-rate` and `--max-rate`",
        ),
        (vec!["--slo", "p99<5ms", "--budget", "1s"], 2, "raise it to `--budget "),
        (vec!["--slo", "cpu<80%"], 2, "--account process=envoy"),
        (vec!["--slo", "cpu<80%", "--account", "envoy"], 2, "`process=NAME`"),
        (vec!["--slo", "cpu<80%", "--account", "pid=4294967295"], 3, "no process matches `pid 4294967295`"),
    ] {
        let (found, _, stderr) = find(&url, &options);
        assert!(found == Some(code) && stderr.contains(expected), "{options:?}: {found:?} {stderr}");
    }
    let (code, _, stderr) = find("http://127.0.0.1:1/", &["--slo", "p99<5ms"]);
    assert_eq!(code, Some(3), "{stderr}");
}

#[test]
fn a_server_that_ends_during_a_search_leaves_what_was_known_by_then() {
    let (server, url) = origin(&["--default", "service=2ms"]);
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("found.json");
    // Trials are as long as such times need to settle: some seconds here.
    let objective = "p90<8ms";
    let options = ["--slo", objective, "--min-rate", "100", "--max-rate", "2000"];
    let (mut finding, mut lines) = begin(&options, &json, &url);
    assert_eq!(lines.by_ref().filter(|line| is_trial(line, objective)).take(3).count(), 3);
    drop(server);
    let last = lines.last().unwrap();
    assert_eq!(finding.0.wait().unwrap().code(), Some(3), "{last}");
    let result = checked("find", &fs::read_to_string(json).unwrap());
    assert_eq!(result["ended_by"], "failure");
    assert!(result["trials"].as_array().unwrap().len() >= 3 && last.contains("hoptax"), "{last}\n{result:#}");
}
