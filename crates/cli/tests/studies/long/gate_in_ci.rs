//! The job for GitLab, whose gate ends when it is decided.
//!
//! `make test` guards it by other tests: the action for GitHub (`gate_in_ci.rs`), and simulated decisions
//! (`crates/stats/tests/stopping_coverage.rs`).

use std::fs;

use crate::gate_in_ci::{failed, project, run_script, yaml};

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn the_job_for_gitlab_reports_its_limits() {
    let folder = project();
    let job = &yaml("docs/guide/gitlab-ci.yml")["gate"];
    let script: Vec<&str> =
        job["script"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    // A change as large as this one ends the gate long before its 15 minutes.
    let ran = run_script(&script.join("\n"), &folder, &[]);
    let report = job["artifacts"]["reports"]["junit"].as_str().unwrap();
    let junit = fs::read_to_string(folder.path().join(report)).unwrap_or_else(|_| panic!("{ran:?}"));
    failed(&ran, &junit);
    for path in job["artifacts"]["paths"].as_array().unwrap() {
        assert!(folder.path().join(path.as_str().unwrap()).is_dir(), "{path}");
    }
}
