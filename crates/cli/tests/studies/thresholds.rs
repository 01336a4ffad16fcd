//! Thresholds of checks in commands that run a study of their own.

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
