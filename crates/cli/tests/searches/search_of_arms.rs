//! `hoptax find --arms`: on origins whose capacity is known, and on real Envoy.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Guarded, checked, hoptax, is_alive, run};

const LOADS: &str = "loads:\n  - {name: full, loop: closed, connections: 4}\n  - {name: fixed-rate, loop: open, rate: 200, connections: 8}\n";

/// Writes a study of two servers that already run, and of a proxy that is not searched.
pub(crate) fn study_of_servers(folder: &tempfile::TempDir, fast: &str, slow: &str) -> String {
    let path = folder.path().join("study.yaml");
    let arms = format!(
        "arms:\n  - baseline\n  - {{name: slow, url: '{slow}'}}\n  - {{name: fast, url: '{fast}'}}\n"
    );
    fs::write(&path, format!("name: servers\n{arms}{LOADS}")).unwrap();
    path.display().to_string()
}

/// Searches the arms `slow` and `fast` of a study: exit code, result and stderr.
pub(crate) fn find(study: &str, options: &[&str]) -> (Option<i32>, Value, String) {
    let ran =
        run(["find", "--json", "-", "--arms", "slow,fast", study].into_iter().chain(options.iter().copied()));
    let result = if ran.stdout.is_empty() { Value::Null } else { checked("find-arms", &ran.stdout) };
    (ran.code, result, ran.stderr)
}

#[test]
fn an_interrupt_ends_all_processes_of_a_search_and_keeps_its_trials() {
    let folder = tempfile::tempdir().unwrap();
    let (json, temporary) = (folder.path().join("found.json"), folder.path().join("tmp"));
    fs::create_dir(&temporary).unwrap();
    // Trials are as long as such times need to settle: some seconds here.
    let finding = hoptax()
        .args("find --slo p50<4ms --arms baseline,lua,direct --min-rate 50 --max-rate 51".split(' '))
        .args(["--json", json.to_str().unwrap(), "quick"])
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut finding = Guarded(finding.unwrap());
    let mut seen = Vec::new();
    let mut lines = BufReader::new(finding.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let is_trial = |line: &String| line.starts_with("search   baseline");
    assert!(lines.by_ref().inspect(|line| seen.push(line.clone())).any(|line| is_trial(&line)), "{seen:?}");
    let children = finding.children();
    assert!(children.len() >= 3, "two proxies and an origin: {children:?}");
    finding.signal("INT");
    lines.for_each(drop);
    assert_eq!(finding.0.wait().unwrap().code(), Some(130));
    assert!(children.iter().all(|child| !is_alive(*child)), "{children:?}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    let result = checked("find-arms", &fs::read_to_string(json).unwrap());
    assert_eq!((&result["ended_by"], result["arms"].as_array().unwrap().len()), (&json!("interrupt"), 3));
    let trials = result["trials"].as_array().unwrap();
    assert!(trials.iter().any(|one| one["arm"] == "baseline" && one["trial"]["answered"].as_u64() > Some(0)));
    // All requests of the study carry the parts that any of its functions needs.
    assert_eq!((&result["study"], &result["load"]), (&json!("quick"), &json!("in-use")));
}

#[test]
fn objectives_on_cpu_time_are_about_the_proxies_of_each_arm() {
    // A generator is never this punctual, and the CPU time of a proxy does not depend on it.
    let late = ["--threshold", "own-lag-fail-us=0", "--threshold", "own-lag-fail-share=0"];
    let range = ["--min-rate", "50", "--max-rate", "51"].into_iter().chain(late);
    let options = ["find", "--slo", "cpu_us<0.001", "--arms", "baseline,lua", "--json", "-", "quick"];
    let ran = run(options.into_iter().chain(range));
    // No proxy answers a request in a nanosecond.
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let result = checked("find-arms", &ran.stdout);
    for (arm, name) in result["arms"].as_array().unwrap().iter().zip(["baseline", "lua"]) {
        assert_eq!(
            (&arm["arm"], &arm["found"]["state"]),
            (&json!(name), &json!("minimum-failed")),
            "{result:#}"
        );
        let trials = result["trials"].as_array().unwrap().iter().filter(|one| one["arm"] == name);
        let cpu_us: Vec<f64> =
            trials.map(|one| one["trial"]["account"]["cpu_us"].as_f64().unwrap()).collect();
        assert!(!cpu_us.is_empty() && cpu_us.iter().all(|us| (1.0..100_000.0).contains(us)), "{cpu_us:?}");
    }
}

#[test]
fn a_dry_run_states_the_arms_and_how_long_it_takes_and_starts_nothing() {
    let options = ["find", "--slo", "p99<5ms", "--arms", "lua,baseline", "--dry-run", "quick"];
    let ran = run(options).succeeded();
    for expected in
        ["lua, baseline; ratios to the first", "`in-use`, on 32 connections", "at most 10m", "6, each with"]
    {
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
    let careful = run(options.into_iter().chain(["--preset", "careful", "--budget", "4h"]));
    assert!(
        careful.stdout.contains("at most 4h") && careful.stdout.contains("2 % wide"),
        "{}",
        careful.stdout
    );
}

#[test]
fn what_a_search_on_arms_cannot_do_is_refused_with_the_reason() {
    for (options, expected) in [
        (vec!["--arms", "baseline,luaa", "quick"], "did you mean `lua`?"),
        (vec!["--arms", "baseline", "quick"], "name at least two"),
        (vec!["--arms", "baseline,lua", "http://127.0.0.1:1/"], "give a study file instead of"),
        (vec!["--arms", "baseline,lua", "quikc"], "did you mean `quick`?"),
        (vec!["--arms", "baseline,lua", "quick", "scale"], "give one study file"),
        (
            vec!["--arms", "baseline,lua", "-c", "16", "--sweep", "quick"],
            "the study states requests, connections and servers",
        ),
        (vec!["--arms", "baseline,direct", "--slo", "cpu<80%", "quick"], "arm `direct` has neither a proxy"),
        (vec!["--arms", "baseline,lua", "--min-rate", "0.5", "quick"], "must be at least 1"),
        (
            vec!["--arms", "baseline,lua", "--min-rate", "9", "--max-rate", "8", "--dry-run", "quick"],
            "must be below the highest",
        ),
        (vec!["--arms", "never,plain", "keepalive-race"], "observes a timeline"),
        (vec!["--dry-run", "http://127.0.0.1:1/"], "--arms"),
        (vec!["mine.yaml"], "name the arms to search, such as `--arms baseline,lua`"),
    ] {
        run(["find", "--slo", "p99<5ms"].into_iter().chain(options.iter().copied())).fails(2, expected);
    }
}
