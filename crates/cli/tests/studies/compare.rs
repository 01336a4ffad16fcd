//! `hoptax compare` on real Envoy.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Guarded, checked, hoptax, is_alive, origin, ran, root, run, wait_until};

#[test]
fn configurations_and_servers_that_already_run_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = root().join("crates/cli/tests/fixtures/given.yaml");
    // Two scripts that differ, and neither takes milliseconds.
    let given = fs::read_to_string(fixture).unwrap();
    fs::write(folder.path().join("old.yaml"), given.replace("1, 100000 do", "1, 1000 do")).unwrap();
    fs::write(folder.path().join("new.yaml"), given.replace("1, 100000 do", "1, 100 do")).unwrap();
    let (server, url) = origin(&[]);
    let named = format!("{url}/+pid={}", server.0.id());
    let out = folder.path().join("out");
    let subjects = ["old.yaml", "new.yaml", &named, &url];
    let mut command = hoptax();
    command.current_dir(folder.path()).arg("compare").args(subjects);
    let ran = ran(command.args(["--rounds", "2", "--json", "-", "--out", "out"]));
    let comparison = checked("comparison", &ran.stdout);
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(out.join("comparison.json")).unwrap()).unwrap();
    assert_eq!(comparison, kept);
    assert_eq!((&comparison["reference"]["arm"], &comparison["margin_share"]), (&"A".into(), &0.02.into()));
    let subjects = comparison["subjects"].as_array().unwrap();
    let arms: Vec<&Value> = subjects.iter().map(|subject| &subject["subject"]["arm"]).collect();
    assert_eq!(arms, ["B", "C", "D", "A-again"], "{}", ran.stderr);
    let subject = |arm: &str| subjects.iter().find(|subject| subject["subject"]["arm"] == arm).unwrap();
    assert_eq!((&subject("A-again")["is_same"], &subject("B")["is_same"]), (&true.into(), &false.into()));
    let result: Value = serde_json::from_str(&fs::read_to_string(out.join("result.json")).unwrap()).unwrap();
    let of = |id: &str| result["arms"].as_array().unwrap().iter().find(|arm| arm["id"] == id).unwrap();
    assert_eq!((&of("A-again")["kind"], &of("C")["kind"]), (&"same".into(), &"external".into()));
    assert_eq!(subject("D")["differences"], Value::Null);
    let part = &subject("B")["differences"]["parts"][0];
    assert_eq!((&part["kind"], &part["name"]), (&"HTTP filter".into(), &"envoy.filters.http.lua".into()));
    assert!(part["place"].as_str().unwrap().starts_with("new.yaml:"), "{part}");
    let field = part["fields"][0].as_str().unwrap();
    assert!(field.starts_with("typed_config.") && !part.to_string().contains("100 do"), "{part}");
    for id in ["A", "B", "C", "D", "A-again"] {
        assert_eq!(of(id)["failures"], serde_json::json!({}), "{id}: {}", ran.stderr);
    }
    assert_eq!(["A", "B"].map(|id| &of(id)["answer"]["reached_origin"]), [10, 10], "both were tried");
    // The CPU time and memory of a server are compared if its process is named. On a busy machine, CPU time may be withheld; memory
    // never is.
    let note = format!("the CPU time and memory of {url} are not compared");
    assert!(
        ran.stderr.contains(&note) && ran.stderr.matches("are not compared").count() == 1,
        "{}",
        ran.stderr
    );
    assert_eq!(of("C")["subject"]["account"], format!("pid {}", server.0.id()));
    let measures = |arm: &str| -> Vec<&str> {
        let all = subject(arm)["measures"].as_array().unwrap().iter();
        all.map(|one| one["measure"].as_str().unwrap()).collect()
    };
    assert!(measures("C").contains(&"memory_bytes"), "{comparison:#}");
    assert!(
        !measures("D").iter().any(|measure| ["cpu_us", "memory_bytes"].contains(measure)),
        "{comparison:#}"
    );
    let counted = |id: &str| {
        let samples = result["rounds"][0]["samples"].as_array().unwrap().iter();
        let of_arm = samples.filter(|sample| sample["arm"] == id);
        let values = of_arm.flat_map(|sample| sample["values"]["cpu_us_per_request"].as_array().unwrap());
        values.filter_map(Value::as_f64).any(|cpu_us| cpu_us > 0.0)
    };
    assert_eq!(["A", "C", "D"].map(counted), [true, true, false]);
    assert!(is_alive(server.0.id()));
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
    let children = running.children();
    assert!(children.len() >= 2, "a proxy and an origin: {children:?}");
    running.signal("TERM");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert!(children.iter().all(|child| !is_alive(*child)), "{children:?}");
}

/// Envoy refuses a configuration with an extension that is disabled, so the flag must have reached it.
#[test]
fn flags_of_a_subject_reach_its_envoy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let subject = "lua+flags=--disable-extensions envoy.filters.http/envoy.filters.http.lua";
    let ran = run(["compare", "lua", subject, "--rounds", "2", "--out", out.to_str().unwrap()]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("envoy.filters.http.lua"), "{}", ran.stderr);
    for (subject, expected) in [
        ("jwt+flags=--concurrency 2", "hoptax controls `--concurrency` itself: set `workers`"),
        ("jwt+env=A", "`env=NAME=VALUE`"),
    ] {
        let ran = run(["compare", "jwt", subject, "--out", out.to_str().unwrap()]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

const LOADS: &str = "loads:
  - {name: saturation, loop: closed, connections: 8, blocks: 4, slice: 50ms}
";

#[test]
fn the_arms_of_study_files_are_compared_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let given = fs::read_to_string(root().join("crates/cli/tests/fixtures/given.yaml")).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("old/envoy.yaml", &given.replace("1, 100000 do", "1, 100 do"));
    write("new/envoy.yaml", &given.replace("1, 100000 do", "1, 1000 do"));
    let head = "rounds: 2\narms:\n  - baseline\n  - {name: ours, hops: [{config: envoy.yaml}]}\n";
    write("old/study.yaml", &format!("name: old\n{head}  - lua\n  - {{name: edge, envoy: 1.40.0}}\n{LOADS}"));
    let edge = "{name: edge, functions: ['control/burn{us=100}']}";
    write("new/study.yaml", &format!("name: new\n{head}  - lua\n  - {edge}\n  - cors\n{LOADS}"));
    let arguments = [
        "compare",
        "old/study.yaml",
        "new/study.yaml",
        "--json",
        "compare.json",
        "--out",
        "out",
        "--details",
    ];
    let ran = ran(hoptax().current_dir(folder.path()).args(arguments));
    let text =
        fs::read_to_string(folder.path().join("compare.json")).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let comparison = checked("studies-comparison", &text);
    let kept = fs::read_to_string(folder.path().join("out/comparison.json")).unwrap();
    assert_eq!(comparison, serde_json::from_str::<Value>(&kept).unwrap());
    assert_eq!(comparison["studies"], serde_json::json!(["old/study.yaml", "new/study.yaml"]));
    let left_out: Vec<&str> =
        comparison["left_out"].as_array().unwrap().iter().map(|one| one["arm"].as_str().unwrap()).collect();
    assert_eq!(left_out, ["cors", "lua"], "{comparison:#}");
    let [ours, edge] = comparison["arms"].as_array().unwrap().as_slice() else { panic!("{comparison:#}") };
    assert_eq!((&ours["arm"], &edge["arm"]), (&"ours".into(), &"edge".into()));
    let [other, again] = ours["comparison"]["subjects"].as_array().unwrap().as_slice() else {
        panic!("{ours:#}")
    };
    let part = &other["differences"]["parts"][0];
    let places = [&part["reference_place"], &part["place"]].map(|place| place.as_str().unwrap().to_owned());
    assert!(
        places[0].starts_with("old/envoy.yaml:") && places[1].starts_with("new/envoy.yaml:"),
        "{places:?}"
    );
    assert_eq!((&again["is_same"], &again["subject"]["arm"]), (&true.into(), &"ours.A-again".into()));
    let [burn] = edge["comparison"]["subjects"].as_array().unwrap().as_slice() else { panic!("{edge:#}") };
    let keys: Vec<&str> =
        burn["keys"].as_array().unwrap().iter().map(|one| one["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["envoy", "functions"]);
    let mut cpu = burn["measures"].as_array().unwrap().iter().filter(|one| one["measure"] == "cpu_us");
    // On a busy machine, CPU time may be withheld or undecided, but 100 us never look equivalent.
    if let Some(cpu) = cpu.next() {
        assert_ne!(cpu["decision"], "equivalent", "{cpu}");
        assert!(cpu["difference"]["estimate"].as_f64() > Some(0.0), "{cpu}");
    }
    for expected in
        ["`functions`: `control/burn{us=100}` only in", "arms not measured: `cors` (only in new/study.yaml)"]
    {
        assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    }
    let hidden = fs::read_dir(folder.path().join("old")).unwrap();
    assert_eq!(hidden.count(), 2, "the temporary study file is removed");
}

#[test]
fn study_files_that_cannot_be_compared_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let study = |loads: &str| format!("name: a\narms: [baseline, lua]\n{loads}");
    write("one.yaml", &study(LOADS));
    write("same.yaml", &study(LOADS));
    write("other.yaml", &study(&LOADS.replace("connections: 8", "connections: 9")));
    write("envoy.yaml", "static_resources: {}\n");
    for (subjects, expected) in [
        (
            ["one.yaml", "same.yaml"],
            "no arm of `one.yaml` has another to be compared with: `lua` (does not differ)",
        ),
        (["one.yaml", "other.yaml"], "`other.yaml` has other `loads` than `one.yaml`"),
        (["envoy.yaml", "one.yaml"], "`one.yaml` is a study file and `envoy.yaml` is not"),
        (["one.yaml", "same.yaml+1.39.3"], "nothing can be joined to a study file"),
    ] {
        let ran = ran(hoptax().current_dir(folder.path()).arg("compare").args(subjects));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}
