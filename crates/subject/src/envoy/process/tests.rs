use std::os::unix::fs::PermissionsExt;

use super::super::bootstrap::Codec;
use super::*;

/// A proxy whose Envoy is a shell script.
fn scripted(folder: &Path, script: &str) -> ProxySpec {
    let program = folder.join("envoy");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    ProxySpec {
        envoy: Envoy { program, version: "1.40.0".to_owned() },
        directory: folder.to_owned(),
        source: ProxyPlan {
            admin_port: 0,
            listen: ([127, 0, 0, 1], 0).into(),
            origins: vec![([127, 0, 0, 1], 1).into()],
            fragment: None,
            codec: Codec::Http1,
            downstream: None,
            upstream: None,
            watched: None,
        }
        .into(),
        environment: BTreeMap::new(),
        flags: Vec::new(),
        workers: 3,
        processors: Vec::new(),
        generation: None,
    }
}

/// Without the option Envoy decides by the machine and the control group.
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
    assert!(arguments.lines().all(|line| line.contains("--concurrency 3 ")), "{arguments}");
}

#[test]
fn a_hanging_validation_times_out_or_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let spec = scripted(folder.path(), "exec sleep 1000");
    let check =
        |timeout, stop| spec.validate_within(timeout, &AtomicBool::new(stop)).unwrap_err().to_string();
    let error = check(Duration::from_millis(50), false);
    assert!(error.contains("timed out after") && error.contains("bootstrap.json"), "{error}");
    let error = check(VALIDATION_TIMEOUT, true);
    assert!(error.contains("interrupted"), "{error}");
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

#[test]
fn an_envoy_that_refuses_its_configuration_is_validated_for_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let explained = |script: &str| {
        let spec = scripted(folder.path(), script);
        let error = spec.start().unwrap().wait().unwrap_err();
        spec.explained(error, &AtomicBool::new(false)).to_string()
    };
    let refused = explained("case $2 in validate) echo no such filter;; *) echo others ;; esac; exit 1");
    assert!(refused.contains("rejects the configuration") && refused.contains("no such filter"), "{refused}");
    let crashed = explained("case $2 in validate) exit 0;; *) echo out of luck; exit 7 ;; esac");
    assert!(crashed.contains("the proxy exited") && crashed.contains("out of luck"), "{crashed}");
}

#[test]
fn the_reason_is_found_before_and_behind_the_message_that_was_refused() {
    let first = "error initializing: script load error\nnode {\n}";
    assert!(reason_of(first).starts_with("error initializing: script load error"));
    let message = "node {\n".repeat(100);
    let last = format!(
        "error initializing: goo.gle/debugproto\n{message}Proto constraint validation failed (weight: too small)\n"
    );
    assert_eq!(reason_of(&last), "Proto constraint validation failed (weight: too small)");
}
