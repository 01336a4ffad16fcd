//! Studies with programs of the user and of other projects: an application and callers that are commands, and a front proxy.

use std::fs;

use serde_json::Value;

use crate::support;
use crate::support::study::{StudyFolder, arm};
use crate::support::{install, ran, wait_until};

#[test]
fn an_application_and_callers_of_the_user_are_started_and_measured() {
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
    let study = StudyFolder::new(text);
    // Statuses from 200 to 299 mean that it is ready.
    let program = support::program().display();
    install(
        &study.path("server"),
        &format!("exec '{program}' lab origin --listen \"$2:$1\" --default status=203"),
    );
    // Two calls that answered, and one that failed.
    install(&study.path("call"), "sleep \"$2\"; echo 1500; echo failed; echo 2500; echo end 50000");
    let result = study.short_form();
    assert_eq!(arm(&result, "baseline")["subject"]["application"], "./server {port} {host}");
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
    let text = "name: commands\nrounds: 1000\napplication: {command: [./server, '{port}', '{host}']}\narms: [baseline, same]\n\
                loads: [{name: saturation, loop: closed, connections: 4, blocks: 1, slice: 50ms}]\n";
    let study = StudyFolder::new(text);
    let (program, ended) = (support::program().display(), study.path("ended"));
    // As for a container, the processes that it started end only with its help.
    install(
        &study.path("server"),
        &format!(
            "trap 'kill $child; touch {}; exit' TERM\n'{program}' lab origin --listen \"$2:$1\" &\nchild=$!\nwait",
            ended.display()
        ),
    );
    let mut running = study.start();
    wait_until("the first round", || study.path("out/rounds/0.json").exists());
    // Between rounds, processes end as well.
    let _ = fs::remove_file(&ended);
    running.signal("INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert!(ended.exists());
}

#[test]
fn a_front_proxy_that_is_missing_is_named_with_its_package_before_the_study_begins() {
    let text = "name: fronts
rounds: 2
arms:
  - subject: {position: direct}
  - subject: {position: gateway, proxy: caddy}
loads: [{name: saturation, loop: closed, connections: 4, blocks: 2, slice: 50ms}]
";
    let study = StudyFolder::new(text);
    ran(study.command().env("PATH", study.folder.path()))
        .fails(3, "the study `fronts` cannot begin: it needs `caddy` of the package caddy");
    assert!(!study.out().exists());
}
