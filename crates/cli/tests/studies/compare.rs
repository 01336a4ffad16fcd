//! `hoptax compare` on real Envoy.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Guarded, checked, hoptax, is_alive, origin, ran, root, run, wait_until};

#[test]
fn subjects_are_measured_side_by_side_and_compared_with_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out_text = out.to_str().unwrap();
    let ran = run([
        "compare",
        "baseline",
        "control/burn{us=80}",
        "--rounds",
        "3",
        "--out",
        out_text,
        "--json",
        "-",
    ]);
    let comparison = checked("comparison", &ran.stdout);
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(out.join("comparison.json")).unwrap()).unwrap();
    assert_eq!(comparison, kept);
    let reference = serde_json::json!({"arm": "A", "name": "baseline", "given": "baseline"});
    assert_eq!((&comparison["reference"], &comparison["margin_share"]), (&reference, &0.02.into()));
    let subjects = comparison["subjects"].as_array().unwrap();
    let of = |arm: &str| subjects.iter().find(|subject| subject["subject"]["arm"] == arm).unwrap();
    assert_eq!(
        (&of("A-again")["is_same"], &of("B")["is_same"]),
        (&true.into(), &false.into()),
        "{}",
        ran.stderr
    );
    let cpu =
        |arm: &str| of(arm)["measures"].as_array().unwrap().iter().find(|one| one["measure"] == "cpu_us");
    // On a busy machine, CPU time may be withheld or undecided, but 80 us never look equivalent.
    if let Some(burn) = cpu("B") {
        assert_ne!(burn["decision"], "equivalent", "{burn}");
        assert!(burn["difference"]["estimate"].as_f64() > Some(0.0), "{burn}");
    }
    assert_eq!(of("B")["subject"]["name"], "control/burn{us=80}");
}

#[test]
fn configurations_and_servers_that_already_run_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = root().join("crates/cli/tests/fixtures/given.yaml");
    let config = folder.path().join("old.yaml");
    // Two scripts that differ, and neither takes milliseconds.
    let given = fs::read_to_string(fixture).unwrap();
    fs::write(&config, given.replace("1, 100000 do", "1, 1000 do")).unwrap();
    fs::write(folder.path().join("new.yaml"), given.replace("1, 100000 do", "1, 100 do")).unwrap();
    let (origin, url) = origin(&[]);
    let out = folder.path().join("out");
    let arguments =
        ["compare", "old.yaml", "old.yaml", "new.yaml", &url, "--rounds", "2", "--json", "-", "--out", "out"];
    let ran = ran(hoptax().current_dir(folder.path()).args(arguments));
    let comparison = checked("comparison", &ran.stdout);
    let subjects = comparison["subjects"].as_array().unwrap();
    let arms: Vec<&Value> = subjects.iter().map(|subject| &subject["subject"]["arm"]).collect();
    assert_eq!(arms, ["B", "C", "D", "A-again"], "{}", ran.stderr);
    let result: Value = serde_json::from_str(&fs::read_to_string(out.join("result.json")).unwrap()).unwrap();
    let of = |id: &str| result["arms"].as_array().unwrap().iter().find(|arm| arm["id"] == id).unwrap();
    assert_eq!((&of("B")["kind"], &of("D")["kind"]), (&"same".into(), &"external".into()));
    let names: Vec<&Value> = subjects.iter().map(|subject| &subject["subject"]["name"]).collect();
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    assert_eq!(names, ["old#2", "new", address, "old again"]);
    let none = serde_json::json!({"parts": [], "is_order_different": false, "rest": []});
    assert_eq!((&subjects[0]["differences"], &subjects[2]["differences"]), (&none, &Value::Null));
    let part = &subjects[1]["differences"]["parts"][0];
    assert_eq!((&part["kind"], &part["name"]), (&"HTTP filter".into(), &"envoy.filters.http.lua".into()));
    assert!(part["place"].as_str().unwrap().starts_with("new.yaml:"), "{part}");
    let field = part["fields"][0].as_str().unwrap();
    assert!(field.starts_with("typed_config.") && !part.to_string().contains("100 do"), "{part}");
    for id in ["A", "B", "C", "D"] {
        assert_eq!(of(id)["failures"], serde_json::json!({}), "{id}: {}", ran.stderr);
    }
    drop(origin);
}

#[test]
fn a_subject_that_cannot_be_measured_is_refused_with_its_name() {
    let ran = run(["compare", "baseline", "jtw"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("unknown function `jtw`"), "{}", ran.stderr);
}

#[test]
fn a_signal_to_the_program_ends_its_study() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let child = hoptax()
        .args(["compare", "baseline", "lua", "--rounds", "25", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut running = Guarded(child.unwrap());
    wait_until("the first round", || fs::metadata(out.join("arms/baseline/admin-address")).is_ok());
    let [study] = running.children().try_into().unwrap();
    running.signal("TERM");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert!(!is_alive(study));
}
