//! Children and waits that the tests of this crate share.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use crate::child::{Child, ChildSpec};

/// A script for the shell, which writes to `log` in this folder.
pub(crate) fn shell(folder: &Path, script: &str) -> ChildSpec {
    ChildSpec {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: Vec::new(),
        log: folder.join("log"),
        processors: Vec::new(),
    }
}

/// Waits until it holds, however long that takes.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the end of a child.
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    wait_until(|| child.ended().unwrap().is_some());
    child.ended().unwrap().unwrap()
}

/// Runs an ignored test of this crate in a process of its own, in which no other test has children.
pub(crate) fn run_alone(test: &str) {
    let output =
        Command::new(std::env::current_exe().unwrap()).args([test, "--exact", "--ignored"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
