//! The scripts of the GitHub action and of the job for GitLab, on real Envoy.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::{Ran, install, ran, root, run};

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
    // The cost of the candidate is ten times that of the old configuration.
    write("edge.yaml", &STUDY.replace("rounds: 4", "rounds: 3"));
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
pub(crate) fn run_script(script: &str, folder: &tempfile::TempDir, environment: &[(String, String)]) -> Ran {
    let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    ran(Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .current_dir(folder.path())
        .env("PATH", path)
        .envs(environment.iter().cloned()))
}

/// Asserts that the gate failed, or that a busy machine left its limit unknown.
pub(crate) fn failed(ran: &Ran, junit: &str) {
    assert!(matches!(ran.code, Some(1 | 4)), "{ran:?}");
    assert!(junit.contains("classname=\"ours\""), "{junit}");
    assert_eq!(ran.code == Some(1), junit.contains("<failure"), "{junit}");
}

/// Outcome of the action on a project.
pub(crate) struct Gated {
    pub(crate) ran: Ran,
    /// The names of the temporary files that it left.
    pub(crate) temporary: Vec<String>,
    /// The texts of its files, by their paths.
    files: BTreeMap<String, String>,
}

impl Gated {
    /// The text of a file.
    pub(crate) fn read(&self, path: &str) -> &str {
        self.files.get(path).unwrap_or_else(|| panic!("no {path}: {:?}", self.ran))
    }
}

/// The action on a project, run once for all tests of this program. Its program writes the result and the run folder, too.
pub(crate) fn gated() -> &'static Gated {
    static GATED: OnceLock<Gated> = OnceLock::new();
    GATED.get_or_init(|| {
        let folder = project();
        let program = folder.path().join("bin/gate");
        let hoptax = env!("CARGO_BIN_EXE_hoptax");
        install(&program, &format!("exec '{hoptax}' \"$@\" --out out --json gate.json"));
        let ran = run_action(&folder, &program.display().to_string());
        let entries = fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let paths = ["summary.md", "gate.xml", "gate.sarif", "gate.json", "out/gate.json"];
        let read = |path: &str| Some((path.to_owned(), fs::read_to_string(folder.path().join(path)).ok()?));
        Gated {
            ran,
            temporary: names.filter(|name| name.starts_with(".hoptax")).collect(),
            files: paths.into_iter().filter_map(read).collect(),
        }
    })
}

/// Runs the step of the action.
fn run_action(folder: &tempfile::TempDir, program: &str) -> Ran {
    let step = &yaml("action.yml")["runs"]["steps"][0];
    let input = |name: &str| match name {
        "study" => "edge.yaml",
        "candidate" => "config=new.yaml",
        "fail-on" => "cpu>+3%\n\ncpu<-90%\n",
        "program" => program,
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
    run_script(step["run"].as_str().unwrap(), folder, &environment)
}

#[test]
fn the_action_summarises_the_gate_and_fails_with_it() {
    let gated = gated();
    failed(&gated.ran, gated.read("gate.xml"));
    let summary = gated.read("summary.md");
    assert!(summary.contains("cpu>+3%") && summary.contains("cpu&lt;-90%"), "{summary}");
    assert!(serde_json::from_str::<Value>(gated.read("gate.sarif")).unwrap()["runs"].is_array());
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
