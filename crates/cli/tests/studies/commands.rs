//! Studies with programs of the user and of other projects: an application and callers that are commands, and a front proxy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support;
use crate::support::{Guarded, hoptax, ran, wait_until};

/// An executable script.
fn install(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_application_and_callers_of_the_user_are_started_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    // Statuses from 200 to 299 mean that it is ready.
    let program = support::program().display();
    install(
        &folder.path().join("server"),
        &format!("exec '{program}' lab origin --listen \"$2:$1\" --default status=203"),
    );
    // Two calls that answered, and one that failed.
    install(&folder.path().join("call"), "sleep \"$2\"; echo 1500; echo failed; echo 2500; echo end 50000");
    let text = "name: commands
rounds: 2
application: {command: [./server, '{port}', '{host}'], ready: /health}
arms: [direct, baseline, same]
loads:
  - {name: saturation, loop: closed, connections: 4, blocks: 2, slice: 50ms}
  - {name: fixed-rate, loop: open, rate: 200, connections: 4, blocks: 1, slice: 100ms}
  - name: own
    loop: closed
    connections: 3
    blocks: 1
    slice: 50ms
    caller: {command: [./call, '{url}', '{seconds}', '{processes}']}
";
    fs::write(folder.path().join("study.yaml"), text).unwrap();
    let out = folder.path().join("out");
    let result = support::short_form(&folder.path().join("study.yaml"), &out);
    let arms = result["arms"].as_array().unwrap();
    let baseline = arms.iter().find(|arm| arm["id"] == "baseline").unwrap();
    assert_eq!(baseline["subject"]["application"], "./server {port} {host}");
    let samples = result["rounds"][0]["samples"].as_array().unwrap();
    let under =
        |load: &str| -> Vec<&Value> { samples.iter().filter(|sample| sample["load"] == load).collect() };
    for sample in under("saturation").into_iter().chain(under("fixed-rate")) {
        let book = if sample["book"]["answered"] == 0 { &sample["set_aside_book"] } else { &sample["book"] };
        assert!(book["answered"].as_u64() > Some(0) && book["failed"] == 0, "{sample}");
    }
    let own = under("own");
    assert!(!own.is_empty());
    for sample in own {
        let book = if sample["book"]["answered"] == 0 { &sample["set_aside_book"] } else { &sample["book"] };
        // A disturbed slice is repeated, and has its calls once more.
        let [answered, failed] = ["answered", "failed"].map(|outcome| book[outcome].as_u64().unwrap());
        assert!(failed > 0 && answered == 2 * failed, "{sample}");
    }
}

#[test]
fn an_application_is_asked_to_end_when_its_study_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let (program, ended) = (support::program().display(), folder.path().join("ended"));
    // As for a container, the processes that it started end only with its help.
    install(
        &folder.path().join("server"),
        &format!(
            "trap 'kill $child; touch {}; exit' TERM\n'{program}' lab origin --listen \"$2:$1\" &\nchild=$!\nwait",
            ended.display()
        ),
    );
    let text = "name: commands\nrounds: 1000\napplication: {command: [./server, '{port}', '{host}']}\narms: [baseline, same]\n\
                loads: [{name: saturation, loop: closed, connections: 4, blocks: 1, slice: 50ms}]\n";
    fs::write(folder.path().join("study.yaml"), text).unwrap();
    let out = folder.path().join("out");
    let mut command = hoptax();
    command.arg("study").arg(folder.path().join("study.yaml")).arg("--out").arg(&out);
    let running = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut running = Guarded(running.unwrap());
    wait_until("the first round", || out.join("rounds/0.json").exists());
    // Between rounds, processes end as well.
    let _ = fs::remove_file(&ended);
    running.signal("INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert!(ended.exists());
}

#[test]
fn a_front_proxy_that_is_missing_is_named_with_its_package_before_the_study_begins() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name: fronts
rounds: 2
arms:
  - subject: {position: direct}
  - subject: {position: gateway, proxy: caddy}
loads: [{name: saturation, loop: closed, connections: 4, blocks: 2, slice: 50ms}]
";
    fs::write(folder.path().join("study.yaml"), text).unwrap();
    let mut command = hoptax();
    command.env("PATH", folder.path()).arg("study").arg(folder.path().join("study.yaml"));
    let study = ran(command.arg("--out").arg(folder.path().join("out")));
    assert_eq!(study.code, Some(3), "{}", study.stderr);
    let words = "the study `fronts` cannot begin: it needs `caddy` of the package caddy";
    assert!(study.stderr.contains(words), "{}", study.stderr);
    assert!(!folder.path().join("out").exists());
}
