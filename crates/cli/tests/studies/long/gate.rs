//! A gate whose reference are stored runs.
//!
//! `make test` guards it by other tests: the judgement of stored runs (`crates/judge/src/gate/stored.rs`), its simulated error rates
//! (`crates/stats/tests/stored_reference_coverage.rs`), and gates that measure their reference (`gate.rs`).

use std::fs;

use serde_json::Value;

use crate::gate::STUDY;
use crate::support::{checked, hoptax, ran, root};

/// Three stored runs are the reference. The new run calculates for each request, far beyond the differences between sittings.
///
/// On a busy machine, runs may be void: they are no reference, decide nothing, and are repeated a few times. If too few are left, the gate
/// must refuse to judge.
#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_gate_against_stored_runs_finds_a_large_change_and_stores_the_run() {
    let folder = tempfile::tempdir().unwrap();
    // Three rounds are too few for the cost of a short loop where others use the processors.
    let study = STUDY.replace("rounds: 4", "rounds: 6");
    let given = fs::read_to_string(root().join("crates/cli/tests/fixtures/given.yaml")).unwrap();
    fs::create_dir(folder.path().join("conf")).unwrap();
    fs::write(folder.path().join("edge.yaml"), study).unwrap();
    fs::write(folder.path().join("conf/old.yaml"), given.replace("1, 100000 do", "1, 10 do")).unwrap();
    let in_folder = |words: &[&str]| {
        let mut command = hoptax();
        command
            .current_dir(folder.path())
            .env("HOPTAX_STORE", folder.path().join("store.sqlite"))
            .args(words);
        ran(&mut command)
    };
    // Runs are compared if processors halt in all of them or in none, which is chosen for each by default.
    let gate =
        ["gate", "edge.yaml", "--never-halt", "never", "--reference", "nightly", "--fail-on", "cpu>+30%"];
    let gate = [&gate[..], &["--json", "gate.json", "--details"]].concat();
    let refused_with = |usable: usize| {
        let ran = in_folder(&gate);
        let expected = format!("has {usable}:");
        ran.fails(2, &expected);
    };
    let (mut usable, mut stored) = (0, 0);
    while usable < 3 && stored < 10 {
        let out = format!("out-{stored}");
        let ran = in_folder(&["study", "edge.yaml", "--never-halt", "never", "--out", &out, "--store"]);
        assert!(matches!(ran.code, Some(0 | 4)), "{}", ran.stderr);
        stored += 1;
        usable += usize::from(ran.code == Some(0));
        let listed: Value = serde_json::from_str(&in_folder(&["runs", "list", "--json"]).stdout).unwrap();
        // The latest comes first.
        in_folder(&["runs", "label", &listed["runs"][0]["run"].to_string(), "nightly"]).succeeded();
        if stored == 1 {
            refused_with(usable);
        }
    }
    if usable < 3 {
        eprintln!("this machine is too busy to judge: {usable} of {stored} runs are not void");
        // The variance of two runs has one degree of freedom: their interval holds almost any change.
        if usable < 2 {
            refused_with(usable);
        }
        return;
    }
    fs::write(folder.path().join("conf/old.yaml"), given).unwrap();
    let (ran, result) = loop {
        let ran = in_folder(&gate);
        stored += 1;
        let text = fs::read_to_string(folder.path().join("gate.json"));
        let result = checked("gate", &text.unwrap_or_else(|_| panic!("{}", ran.stderr)));
        if result["verdict"] != "void" {
            break (ran, result);
        }
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
        if stored >= 12 {
            eprintln!("this machine is too busy to judge: the gates are void");
            return;
        }
    };
    let limit = result["limits"].as_array().unwrap().iter().find(|limit| limit["arm"] == "ours").unwrap();
    let is_unknown = limit["change_share"].is_null();
    assert_eq!(limit["outcome"], if is_unknown { "unknown" } else { "failed" }, "{result:#}");
    // If only this number is withheld, the baseline is judged, and does not fail.
    assert!(if is_unknown { matches!(ran.code, Some(0 | 4)) } else { ran.code == Some(1) }, "{}", ran.stderr);
    assert_eq!(result["stored_reference"]["label"], "nightly");
    // Where lines break depends on the numbers.
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("stored runs labelled `nightly`"), "{}", ran.stdout);
    let listed = in_folder(&["runs", "list", "--json"]);
    let runs: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(runs["runs"].as_array().unwrap().len(), stored, "{runs:#}");
}
