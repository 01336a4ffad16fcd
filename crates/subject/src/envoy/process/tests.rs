use std::os::unix::fs::PermissionsExt;

use super::*;

/// A proxy whose Envoy is a shell script.
pub(super) fn scripted(folder: &Path, script: &str) -> ProxySpec {
    let program = folder.join("envoy");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    ProxySpec {
        envoy: Envoy { program, version: "1.40.0".to_owned(), build: None },
        directory: folder.to_owned(),
        source: ProxyPlan::plain(([127, 0, 0, 1], 0).into(), vec![([127, 0, 0, 1], 1).into()]).into(),
        environment: BTreeMap::new(),
        flags: Vec::new(),
        workers: 3,
        processors: Vec::new(),
        generation: None,
    }
}

/// Without the option, the number of workers depends on the machine and the control group.
#[test]
fn every_run_of_envoy_sets_the_number_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    let spec = scripted(folder.path(), "echo \"$@\" >> \"$0.arguments\"");
    spec.configure().unwrap();
    spec.validate(&AtomicBool::new(false)).unwrap();
    let error = spec.start().unwrap().wait().unwrap_err();
    assert!(matches!(error, ProxyError::Ended { .. }), "{error}");
    let arguments = fs::read_to_string(folder.path().join("envoy.arguments")).unwrap();
    assert_eq!(arguments.lines().count(), 2, "{arguments}");
    assert!(arguments.lines().all(|line| format!("{line} ").contains("--concurrency 3 ")), "{arguments}");
}

#[test]
fn an_envoy_that_is_not_live_in_time_is_reported_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let starting = scripted(folder.path(), "exec sleep 1000").start().unwrap();
    let error = starting.wait_unless(&AtomicBool::new(true)).unwrap_err();
    assert!(matches!(error, ProxyError::Stuck { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("Envoy is not live after ") && text.contains("envoy.log` ends with:"), "{text}");
}

#[test]
fn an_envoy_that_exits_is_reported_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let ended =
        |script: &str| scripted(folder.path(), script).start().unwrap().wait().unwrap_err().to_string();
    let error = ended("echo out of luck; exit 7");
    assert!(error.contains("out of luck"), "{error}");
    // The next round appends to the same log file.
    let error = ended("kill -9 $$");
    assert!(error.contains("signal: 9") && !error.contains("out of luck"), "{error}");
}
