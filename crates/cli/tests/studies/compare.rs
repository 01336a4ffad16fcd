//! `hoptax compare` on real Envoy.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::study::arm;
use crate::support::{Guarded, checked, hoptax, is_alive, origin, ran, root, run, wait_until};

/// The beginning of the first filter of the fixture.
const SCRIPT: &str = "                  - name: envoy.filters.http.lua\n";
/// A filter that delays each request.
pub(crate) const DELAY: &str = "                  - name: envoy.filters.http.fault
                    typed_config:
                      \"@type\": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
                      delay: {fixed_delay: 0.02s, percentage: {numerator: 100}}
";

/// The fixture with the delay. A comparison chooses its slices, and requests that wait leave the processors to other tests.
fn delayed() -> String {
    let given = fs::read_to_string(root().join("crates/cli/tests/fixtures/given.yaml")).unwrap();
    let delayed = given.replacen(SCRIPT, &format!("{DELAY}{SCRIPT}"), 1);
    assert!(delayed.contains(DELAY));
    delayed
}

#[test]
fn two_configurations_and_a_second_copy_of_the_first_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let given = delayed().replace("0.02s", "0.05s");
    // Two scripts that differ, and neither takes milliseconds.
    fs::write(folder.path().join("old.yaml"), given.replace("1, 100000 do", "1, 1000 do")).unwrap();
    fs::write(folder.path().join("new.yaml"), given.replace("1, 100000 do", "1, 100 do")).unwrap();
    let out = folder.path().join("out");
    let mut command = hoptax();
    command.current_dir(folder.path()).args(["compare", "old.yaml", "new.yaml"]);
    let ran = ran(command.args(["--rounds", "2", "--json", "-", "--out", "out"]));
    let comparison = checked("comparison", &ran.stdout);
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(out.join("comparison.json")).unwrap()).unwrap();
    assert_eq!(comparison, kept);
    assert_eq!((&comparison["reference"]["arm"], &comparison["margin_share"]), (&"A".into(), &0.02.into()));
    let subjects = comparison["subjects"].as_array().unwrap();
    let arms: Vec<&Value> = subjects.iter().map(|subject| &subject["subject"]["arm"]).collect();
    assert_eq!(arms, ["B", "A-again"], "{}", ran.stderr);
    let subject = |arm: &str| subjects.iter().find(|subject| subject["subject"]["arm"] == arm).unwrap();
    assert_eq!((&subject("A-again")["is_same"], &subject("B")["is_same"]), (&true.into(), &false.into()));
    let result = result(&out);
    let part = &subject("B")["differences"]["parts"][0];
    assert_eq!((&part["kind"], &part["name"]), (&"HTTP filter".into(), &"envoy.filters.http.lua".into()));
    assert!(part["place"].as_str().unwrap().starts_with("new.yaml:"), "{part}");
    let field = part["fields"][0].as_str().unwrap();
    assert!(field.starts_with("typed_config.") && !part.to_string().contains("100 do"), "{part}");
    for id in ["A", "B", "A-again"] {
        assert_eq!(arm(&result, id)["failures"], serde_json::json!({}), "{id}: {}", ran.stderr);
    }
    assert_eq!(arm(&result, "A-again")["kind"], "same");
    let reached = |id: &str| arm(&result, id)["answer"]["reached_origin"].clone();
    assert_eq!(["A", "B"].map(reached), [10, 10], "both were tried");
    assert!(has_cpu_time(&result, "A"));
    // The CPU time and memory of proxies are compared without a word.
    assert!(!ran.stderr.contains("are not compared"), "{}", ran.stderr);
}

/// The result of the study of a comparison.
fn result(out: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(out.join("result.json")).unwrap()).unwrap()
}

/// Returns true if CPU time of an arm was counted in the first round, also if a busy machine leaves it withheld.
fn has_cpu_time(result: &Value, id: &str) -> bool {
    let samples = result["rounds"][0]["samples"].as_array().unwrap().iter();
    let of_arm = samples.filter(|sample| sample["arm"] == id);
    let values = of_arm.flat_map(|sample| sample["values"]["cpu_us_per_request"].as_array().unwrap());
    values.filter_map(Value::as_f64).any(|cpu_us| cpu_us > 0.0)
}

/// The note about servers without processes comes before the study, which here does not begin.
#[test]
fn a_server_without_its_processes_has_a_note_and_no_difference_to_wait_for() {
    let (named, url, other) = ("http://127.0.0.1:1/+pid=1", "http://127.0.0.1:1", "http://127.0.0.1:2");
    for (subjects, expected) in [
        (&[named, url][..], url.to_owned()),
        (&[url, url], url.to_owned()),
        (&[url, other, url], format!("{url} and {other}")),
    ] {
        let ran = run(["compare", "--until-decided", "1m"].into_iter().chain(subjects.iter().copied()));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        let note = format!("the CPU time and memory of {expected} are not compared");
        let is_said_once = ran.stderr.matches("are not compared").count() == 1;
        assert!(ran.stderr.contains(&note) && is_said_once, "{}", ran.stderr);
        let refused = "`--until-decided` waits for differences in CPU time";
        assert!(ran.stderr.contains(refused), "{}", ran.stderr);
    }
}

#[test]
fn a_subject_that_cannot_be_measured_is_refused_with_its_name() {
    let unknown = run(["compare", "baseline", "jtw"]);
    unknown.fails(2, "unknown function `jtw`");
    assert_eq!(unknown.stderr, "hoptax: unknown function `jtw`; did you mean `jwt`?\n");
    let missing = "the configuration `/nowhere/old.yaml` does not exist";
    let ran = run(["compare", "/nowhere/old.yaml", "/nowhere/old.yaml+jtw"]);
    ran.fails(2, missing);
    assert!(ran.stderr.matches(missing).count() == 1 && ran.stderr.contains("`jtw`"), "{}", ran.stderr);
}

/// One of its subjects is a server that already runs, which it leaves alone.
#[test]
fn a_signal_to_the_program_ends_its_study() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (server, url) = origin(&[]);
    let named = format!("{url}/+pid={}", server.0.id());
    let child = hoptax()
        .args(["compare", &named, "lua", "--rounds", "25", "--out"])
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
    assert!(is_alive(server.0.id()));
}

/// Envoy refuses a configuration with an extension that is disabled, so the flag must have reached it.
#[test]
fn flags_of_a_subject_reach_its_envoy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let subject = "lua+flags=--disable-extensions envoy.filters.http/envoy.filters.http.lua";
    let ran = run(["compare", "lua", subject, "--rounds", "2", "--out", out.to_str().unwrap()]);
    ran.fails(3, "envoy.filters.http.lua");
    for (subject, expected) in [
        ("jwt+flags=--concurrency 2", "hoptax controls `--concurrency` itself: set `workers`"),
        ("jwt+env=A", "`env=NAME=VALUE`"),
    ] {
        run(["compare", "jwt", subject, "--out", out.to_str().unwrap()]).fails(2, expected);
    }
}

const LOADS: &str = "loads:
  - {name: saturation, loop: closed, connections: 8, blocks: 2, slice: 50ms}
";

/// Configurations, functions, and a server that already runs, once with its processes and once without.
#[test]
fn the_arms_of_study_files_are_compared_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = origin(&["--default", "delay=5ms"]);
    let server_id = server.0.id();
    let given = delayed();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("old/envoy.yaml", &given.replace("1, 100000 do", "1, 100 do"));
    write("new/envoy.yaml", &given.replace("1, 100000 do", "1, 1000 do"));
    let head = "rounds: 2\narms:\n  - baseline\n  - {name: ours, hops: [{config: envoy.yaml}]}\n";
    let servers = format!(
        "  - {{name: mesh, url: '{url}/', account: {{pid: {server_id}}}}}\n  - {{name: bare, url: '{url}/'}}\n"
    );
    write(
        "old/study.yaml",
        &format!("name: old\n{head}  - lua\n  - {{name: edge, envoy: 1.40.0}}\n{servers}{LOADS}"),
    );
    let edge = "{name: edge, functions: ['control/burn{us=100}']}";
    let others = format!(
        "  - {{name: mesh, functions: [header-mutation]}}\n  - {{name: bare, url: '{url}/a?size=100'}}\n"
    );
    write("new/study.yaml", &format!("name: new\n{head}  - lua\n  - {edge}\n  - cors\n{others}{LOADS}"));
    let arguments = "compare old/study.yaml new/study.yaml --json compare.json --out out --details";
    let ran = ran(hoptax().current_dir(folder.path()).args(arguments.split(' ')));
    let text =
        fs::read_to_string(folder.path().join("compare.json")).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let comparison = checked("studies-comparison", &text);
    let kept = fs::read_to_string(folder.path().join("out/comparison.json")).unwrap();
    assert_eq!(comparison, serde_json::from_str::<Value>(&kept).unwrap());
    assert_eq!(comparison["studies"], serde_json::json!(["old/study.yaml", "new/study.yaml"]));
    let left_out: Vec<&str> =
        comparison["left_out"].as_array().unwrap().iter().map(|one| one["arm"].as_str().unwrap()).collect();
    assert_eq!(left_out, ["cors", "lua"], "{comparison:#}");
    let [ours, edge, mesh, bare] = comparison["arms"].as_array().unwrap().as_slice() else {
        panic!("{comparison:#}")
    };
    assert_eq!([ours, edge, mesh, bare].map(|one| one["arm"].clone()), ["ours", "edge", "mesh", "bare"]);
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
    // The CPU time and memory of a server are compared if its process is named. On a busy machine, CPU time may be withheld; memory
    // never is.
    let result = result(&folder.path().join("out"));
    for id in ["mesh.A", "mesh.B", "bare.A", "bare.B"] {
        assert_eq!(arm(&result, id)["failures"], serde_json::json!({}), "{id}: {}", ran.stderr);
    }
    assert_eq!(["mesh.A", "bare.B"].map(|id| arm(&result, id)["kind"].clone()), ["external"; 2]);
    assert_eq!(arm(&result, "mesh.A")["subject"]["account"], format!("pid {server_id}"));
    let measures = |subjects: &Value| -> Vec<String> {
        let [subject] = subjects.as_array().unwrap().as_slice() else { panic!("{subjects:#}") };
        assert_eq!(subject["differences"], Value::Null);
        let all = subject["measures"].as_array().unwrap().iter();
        all.map(|one| one["measure"].as_str().unwrap().to_owned()).collect()
    };
    let of_proxy = measures(&mesh["comparison"]["subjects"]);
    assert!(of_proxy.iter().any(|measure| measure == "memory_bytes"), "{mesh:#}");
    let of_server = measures(&bare["comparison"]["subjects"]);
    assert!(
        !of_server.iter().any(|measure| ["cpu_us", "memory_bytes"].contains(&measure.as_str())),
        "{bare:#}"
    );
    assert_eq!(["mesh.A", "mesh.B", "bare.A"].map(|id| has_cpu_time(&result, id)), [true, true, false]);
    assert!(is_alive(server_id));
    for expected in
        ["`functions`: `control/burn{us=100}` only in", "arms not measured: `cors` (only in new/study.yaml)"]
    {
        assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    }
    let hidden = fs::read_dir(folder.path().join("old")).unwrap();
    assert_eq!(hidden.count(), 2, "the temporary study file is removed");
}

#[test]
fn an_interrupted_comparison_is_continued_and_judged_with_the_same_subjects_alone() {
    let folder = tempfile::tempdir().unwrap();
    let loads = LOADS.replace("blocks: 2", "blocks: 1");
    for (name, function) in [("old", "lua"), ("new", "header-mutation"), ("other", "cors")] {
        let arms = format!("arms: [baseline, {{name: ours, functions: [{function}]}}]");
        let study = format!("name: {name}\nrounds: 25\n{arms}\n{loads}");
        fs::write(folder.path().join(format!("{name}.yaml")), study).unwrap();
    }
    let out = folder.path().join("a run");
    let compare = |second: &str, more: &[&str]| {
        let mut command = hoptax();
        command.current_dir(folder.path()).args(["compare", "old.yaml", second]).args(more);
        command
    };
    let mut command = compare("new.yaml", &["--out", "a run"]);
    let mut running = Guarded(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    wait_until("the first round", || fs::exists(out.join("rounds/0.json")).unwrap());
    running.signal("INT");
    let code = running.0.wait().unwrap().code();
    let stderr = running.stderr();
    assert_eq!(code, Some(130), "{stderr}");
    let continues = " rounds: `hoptax compare old.yaml new.yaml --resume 'a run'` continues it";
    assert!(stderr.contains("interrupted after ") && stderr.contains(continues), "{stderr}");
    assert!(!out.join("comparison.json").exists());
    let kept = fs::read_dir(out.join("rounds")).unwrap().count();
    ran(&mut compare("other.yaml", &["--resume", "a run"]))
        .fails(2, "--resume needs the same subjects as at its start");
    let rounds = (kept + 1).to_string();
    let ran = ran(&mut compare("new.yaml", &["--resume", "a run", "--rounds", &rounds]));
    let text = fs::read_to_string(out.join("comparison.json")).unwrap_or_else(|_| panic!("{}", ran.stderr));
    assert_eq!(checked("studies-comparison", &text)["arms"][0]["arm"], "ours");
    let plan = &result(&out)["plan"];
    assert_eq!(plan["rounds_completed"], kept + 1, "{}", ran.stderr);
    assert_eq!(plan["resumed_after_rounds"], serde_json::json!([kept]));
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
        (["one.yaml", "same.yaml+1.39.3"], "cannot add parts to a study file"),
    ] {
        ran(hoptax().current_dir(folder.path()).arg("compare").args(subjects)).fails(2, expected);
    }
}
