//! The scripts of the GitHub action and of the job for GitLab, on real Envoy.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use crate::support::{root, run};

const STUDY: &str = r"
name: edge
rounds: 4
arms:
  - {name: ours, hops: [{config: old.yaml}]}
loads:
  - {name: saturation, loop: closed, connections: 8, blocks: 2, slice: 100ms}
";

/// A folder with a study, and a candidate that costs far more than any limit permits. `hoptax` is in its `bin`.
pub(crate) fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let given = fs::read_to_string(root().join("crates/cli/tests/fixtures/given.yaml")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("edge.yaml", STUDY);
    write("old.yaml", &given.replace("1, 100000 do", "1, 10 do"));
    // About a millisecond, so that a slice ends soon after its time.
    write("new.yaml", &given.replace("1, 100000 do", "1, 10000 do"));
    fs::create_dir(folder.path().join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_hoptax"), folder.path().join("bin/hoptax")).unwrap();
    folder
}

pub(crate) fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(root().join(path)).unwrap()).unwrap()
}

/// Runs a script in a project, as these services do: it ends with the first command that fails.
pub(crate) fn run_script(
    script: &str,
    folder: &tempfile::TempDir,
    environment: &[(String, String)],
) -> (Option<i32>, String) {
    let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    let ran = Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .current_dir(folder.path())
        .env("PATH", path)
        .envs(environment.iter().cloned())
        .output()
        .unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

/// Asserts that the gate failed, or that a busy machine left its limit unknown.
pub(crate) fn failed(code: Option<i32>, stderr: &str, junit: &str) {
    assert!(matches!(code, Some(1 | 4)), "{code:?}: {stderr}");
    assert!(junit.contains("classname=\"ours\""), "{junit}");
    assert_eq!(code == Some(1), junit.contains("<failure"), "{junit}");
}

#[test]
fn the_action_summarises_the_gate_and_fails_with_it() {
    let folder = project();
    let step = &yaml("action.yml")["runs"]["steps"][0];
    let program = folder.path().join("bin/hoptax").display().to_string();
    let input = |name: &str| match name {
        "study" => "edge.yaml",
        "candidate" => "config=new.yaml",
        "fail-on" => "cpu>+3%\n\ncpu<-90%\n",
        "program" => &program,
        "until-decided" => "",
        other => panic!("the action has another input `{other}`"),
    };
    let of = |(name, value): (&String, &Value)| {
        let value = value.as_str().unwrap();
        let wanted = value.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}")).unwrap();
        (name.clone(), input(wanted).to_owned())
    };
    let mut environment: Vec<(String, String)> = step["env"].as_object().unwrap().iter().map(of).collect();
    let summary = folder.path().join("summary.md");
    environment.push(("GITHUB_STEP_SUMMARY".to_owned(), summary.display().to_string()));
    let (code, stderr) = run_script(step["run"].as_str().unwrap(), &folder, &environment);
    let read =
        |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_else(|_| panic!("{stderr}"));
    failed(code, &stderr, &read("gate.xml"));
    let summary = read("summary.md");
    assert!(summary.contains("cpu>+3%") && summary.contains("cpu&lt;-90%"), "{summary}");
    assert!(serde_json::from_str::<Value>(&read("gate.sarif")).unwrap()["runs"].is_array());
}

/// The words that the action passes on are those of `hoptax gate`.
#[test]
fn the_action_has_the_options_of_the_gate() {
    let help = run(["gate", "--help"]).stdout;
    for input in yaml("action.yml")["inputs"].as_object().unwrap().keys() {
        let is_option =
            help.contains(&format!("--{input} ")) || ["study", "program"].contains(&input.as_str());
        assert!(is_option, "{input}");
    }
}
