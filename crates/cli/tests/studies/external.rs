//! Arms that are servers which already run.

use std::fs;

use serde_json::{Value, json};

use crate::support::{checked, is_alive, origin, run};

const LOADS: &str = "loads:
  - {name: saturation, loop: closed, connections: 4, blocks: 2, slice: 50ms}
  - {name: fixed-rate, loop: open, rate: 200, connections: 4, blocks: 1, slice: 100ms}
";

#[test]
fn a_server_that_already_runs_is_measured_and_left_alone() {
    // Closed loops over connections that wait leave the processors to other tests.
    let (server, url) = origin(&["--default", "delay=5ms"]);
    let id = server.0.id();
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.yaml");
    let text = format!(
        "name: external\nrounds: 2\narms:\n  - baseline
  - {{name: known, url: '{url}/a?size=100', account: {{pid: {id}}}}}
  - {{name: again, url: '{url}/a?size=100', account: {{pid: {id}}}, compared_with: known}}
  - {{name: unknown, url: '{url}', request: {{method: POST, headers: {{x-a: b}}}}, compared_with: known}}\n{LOADS}"
    );
    fs::write(&study, text).unwrap();
    let out = folder.path().join("out");
    let ran = run(["study", study.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let result = fs::read_to_string(out.join("result.json")).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let result = checked("study", &result);
    assert!(is_alive(id));
    let arm = |id: &str| -> Value {
        let arms = result["arms"].as_array().unwrap();
        arms.iter().find(|arm| arm["id"] == id).unwrap().clone()
    };
    for id in ["known", "again", "unknown"] {
        let arm = arm(id);
        assert_eq!((&arm["failures"], &arm["unproven"]), (&json!({}), &json!([])), "{id}: {}", ran.stderr);
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{id}");
        assert_eq!(arm["answer"]["statuses"], json!({"200": 10}), "{id}");
        assert_eq!(arm["subject"]["application"], "external", "{id}");
        let findings = result["findings"].as_array().unwrap();
        let is_named = |finding: &&Value| finding["id"] == "not-restarted" && finding["arm"] == id;
        assert!(findings.iter().any(|finding| is_named(&finding)), "{id}: {findings:?}");
    }
    let findings = result["findings"].as_array().unwrap().iter();
    let without_account = findings.filter(|finding| finding["id"] == "no-account");
    assert_eq!(without_account.map(|finding| &finding["arm"]).collect::<Vec<_>>(), [&json!("unknown")]);
    assert_eq!((&arm("known")["kind"], &arm("again")["kind"]), (&json!("external"), &json!("same")));
    // With an account, the server has CPU time and memory in each round; without one, neither.
    let counted = |id: &str| {
        let samples = result["rounds"][0]["samples"].as_array().unwrap();
        let of_arm = samples.iter().filter(|sample| sample["arm"] == id);
        let values = of_arm.flat_map(|sample| sample["values"]["cpu_us_per_request"].as_array().unwrap());
        values.filter_map(Value::as_f64).any(|cpu_us| cpu_us > 0.0)
    };
    assert_eq!([counted("known"), counted("unknown")], [true, false]);
    // The evidence, because a finding about a busy machine may withhold the number over all rounds.
    let memory_bytes = |id: &str| -> Vec<Option<u64>> {
        let rounds = result["rounds"].as_array().unwrap().iter();
        rounds.map(|round| round["arms"][id]["memory_bytes"][0].as_u64()).collect()
    };
    let known_bytes = memory_bytes("known");
    assert!(known_bytes.len() == 2 && known_bytes.iter().all(|bytes| *bytes > Some(0)), "{known_bytes:?}");
    assert_eq!(memory_bytes("unknown"), [None, None]);
    assert_eq!(arm("known")["hops"][0]["name"], "external");
    assert_eq!(arm("unknown")["hops"], json!([]));
    assert_eq!(arm("known")["subject"]["account"], json!(format!("pid {id}")));
}

#[test]
fn a_server_that_does_not_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.yaml");
    let out = folder.path().join("out");
    let run_with = |arm: &str| {
        fs::write(&study, format!("name: external\nrounds: 2\narms:\n  - baseline\n  - {arm}\n{LOADS}"))
            .unwrap();
        run(["study", study.to_str().unwrap(), "--force", "--out", out.to_str().unwrap()])
    };
    let gone = run_with("{name: gone, url: 'http://127.0.0.1:1/'}");
    assert_eq!(gone.code, Some(3), "{}", gone.stderr);
    assert!(gone.stderr.contains("arm `gone`"), "{}", gone.stderr);
    let (_server, url) = origin(&[]);
    let unknown =
        run_with(&format!("{{name: unknown, url: '{url}', account: {{process: no-such-process}}}}"));
    assert_eq!(unknown.code, Some(3), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("no process matches `process no-such-process`"), "{}", unknown.stderr);
    for (arm, expected) in [
        ("{name: a, url: 'ftp://127.0.0.1/'}", "is not a URL such as `http://127.0.0.1:8080/`"),
        (
            "{name: a, url: 'http://127.0.0.1/', account: {user: me}}",
            "`account` must have exactly one key, which is one of `cgroup: PATH`",
        ),
        ("{name: a, url: 'http://127.0.0.1/', request: {path: /b}}", "the path of the request is in `url`"),
        ("{name: a, url: 'http://127.0.0.1/', at: {protocol: grpc}}", "does not support `protocol: grpc`"),
    ] {
        let refused = run_with(arm);
        assert_eq!(refused.code, Some(2), "{arm}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{arm}: {}", refused.stderr);
    }
}
