//! Thresholds of checks in commands that run a study of their own, and in dry runs.

use crate::support::run;

#[test]
fn commands_that_run_a_study_pass_thresholds_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for command in [
        ["compare", "jwt", "lua", "--out", out].as_slice(),
        &["gate", "quick", "--candidate", "envoy=1.40.0", "--fail-on", "cpu>+3%", "--out", out],
        &["price", "envoy.yaml", "--out", out],
        &["predict", "prices", "--here"],
    ] {
        // The study names it before anything is measured.
        let given = ["--threshold", "no-such-threshold=1"];
        let ran = run(command.iter().chain(&given).copied());
        assert_eq!(ran.code, Some(2), "{command:?}: {}", ran.stderr);
        let expected = "there is no threshold `no-such-threshold`";
        assert!(ran.stderr.contains(expected), "{command:?}: {}", ran.stderr);
    }
}

#[test]
fn a_dry_run_refuses_what_the_study_would_refuse_and_all_of_it_at_once() {
    let thresholds = ["--threshold", "no-such=1", "--threshold", "none-either=2"];
    let wrong = ["study", "quick", "--envoy", "no-such-envoy"].into_iter().chain(thresholds);
    for more in [&["--dry-run"][..], &[]] {
        let ran = run(wrong.clone().chain(more.iter().copied()));
        for expected in
            ["no threshold `no-such`", "no threshold `none-either`", "no program `no-such-envoy` on PATH"]
        {
            ran.fails(2, expected);
        }
    }
    // A folder that the study could not use.
    run(["study", "quick", "--dry-run", "--out", "/proc/x"]).fails(3, "cannot create the folder `/proc/x`");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("result.json"), "{}").unwrap();
    let with_result = folder.path().to_str().unwrap();
    run(["study", "quick", "--dry-run", "--out", with_result]).fails(2, "holds a result.json");
    // What a machine lacks is no wrong input.
    run(["study", "quick", "--dry-run", "--envoy", "no-such-envoy"]).fails(3, "no program `no-such-envoy`");
}
