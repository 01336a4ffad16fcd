//! The workflows for GitHub and GitLab in `packaging/ci` call what the repository has, and the recipes of package managers name the archives
//! that a release has. Nothing here runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::support::root;

/// All commands of a workflow: the texts of `run` and of the lists `script`.
fn commands(value: &Value) -> Vec<String> {
    let texts = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().filter_map(|one| Some(one.as_str()?.to_owned())).collect(),
        _ => Vec::new(),
    };
    match value {
        Value::Object(keys) => {
            keys.iter()
                .flat_map(|(key, value)| {
                    if ["run", "script"].contains(&key.as_str()) { texts(value) } else { commands(value) }
                })
                .collect()
        }
        Value::Array(all) => all.iter().flat_map(commands).collect(),
        _ => Vec::new(),
    }
}

/// The targets of `make` and the scripts of `tools/` in a command.
fn called(command: &str) -> (Vec<&str>, Vec<&str>) {
    let words: Vec<&str> = command.split_whitespace().collect();
    let targets = words.windows(2).filter(|pair| pair[0] == "make").map(|pair| pair[1]).collect();
    let tools = words.into_iter().filter(|word| word.starts_with("tools/")).collect();
    (targets, tools)
}

#[test]
fn workflows_call_targets_and_tools_that_there_are_and_test_gate_and_publish() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for file in ["github.yml", "gitlab.yml"] {
        let text = fs::read_to_string(root().join("packaging/ci").join(file)).unwrap();
        let workflow: Value = serde_saphyr::from_str(&text).unwrap();
        let commands = commands(&workflow);
        let mut targets = BTreeSet::new();
        for command in &commands {
            let (of_make, tools) = called(command);
            for tool in tools {
                assert!(root().join(tool).is_file(), "{file}: no {tool}");
            }
            targets.extend(of_make);
        }
        for target in &targets {
            assert!(makefile.contains(&format!("\n{target}:")), "{file}: no target {target}");
        }
        let weekly = ["test-cluster", "book-commands", "release-twice"];
        let each_time = ["test", "book", "release", "release-check"];
        for target in weekly.into_iter().chain(each_time) {
            assert!(targets.contains(target), "{file} does not call `make {target}`");
        }
        assert!(text.contains("schedule"), "{file} has no weekly jobs");
        assert!(text.contains("cpu>+10%"), "{file} has no gate");
    }
}

#[test]
fn commands_are_found_at_any_depth() {
    let workflow = serde_json::json!({"jobs": {"a": {"steps": [{"run": "sudo make b"}]}, "c": {"script": ["tools/d e"]}}});
    let commands = commands(&workflow);
    assert_eq!(commands, ["sudo make b", "tools/d e"]);
    assert_eq!(called(&commands[0]), (vec!["b"], vec![]));
    assert_eq!(called(&commands[1]), (vec![], vec!["tools/d"]));
}

/// The name of an archive without its ending.
fn archive(version: &str, processor: &str) -> String {
    format!("hoptax-{version}-{processor}-linux")
}

#[test]
fn formula_flake_and_binstall_name_the_archives_of_a_release() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let (script, manifest) = (read("tools/release-files"), read("crates/cli/Cargo.toml"));
    assert!(script.contains(&format!("name={}\n", archive("$version", "$1"))));
    let of_binstall = archive("{ version }", "{ target-arch }");
    assert!(manifest.contains(&format!("/{of_binstall}.tar.gz\"")), "{of_binstall}");
    assert!(manifest.contains(&format!("bin-dir = \"{of_binstall}/")), "{of_binstall}");
    let (formula, flake) = (read("packaging/hoptax.rb.in"), read("packaging/flake.nix.in"));
    for processor in ["x86_64", "aarch64"] {
        assert!(formula.contains(&format!("/{}.tar.gz\"", archive("@VERSION@", processor))), "{processor}");
        assert!(flake.contains(&format!("{processor}-linux = ")), "{processor}");
    }
    assert!(flake.contains("/hoptax-@VERSION@-${system}.tar.gz\""));
    for recipe in [formula, flake] {
        let places: BTreeSet<&str> = recipe.split('@').skip(1).step_by(2).collect();
        assert_eq!(places, BTreeSet::from(["FOLDER", "SHA256-AARCH64", "SHA256-X86_64", "VERSION"]));
        for place in places {
            assert!(script.contains(&format!("s|@{place}@|")), "no release fills @{place}@");
        }
    }
}

/// The packages of a lock file by their names: version and names of dependencies.
fn locked(file: &str) -> BTreeMap<String, (String, Vec<String>)> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let package = |block: &str| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.map(|line| line.trim_end_matches('"').to_owned())
        };
        let dependency = |line: &str| Some(line.strip_prefix(" \"")?.split(['"', ' ']).next()?.to_owned());
        (value("name").unwrap(), (value("version").unwrap(), block.lines().filter_map(dependency).collect()))
    };
    text.split("[[package]]").skip(1).map(package).collect()
}

/// The bill of materials has crates of both workspaces by name and version. It would list a crate that no program has.
#[test]
fn crates_that_the_filters_share_with_the_program_have_its_versions() {
    let (of_filters, of_program) =
        (locked("filters/Cargo.lock"), fs::read_to_string(root().join("Cargo.lock")));
    let of_program = of_program.unwrap();
    let mut left = vec!["hoptax-tasks"];
    let mut seen = BTreeSet::new();
    while let Some(name) = left.pop() {
        let (version, dependencies) = &of_filters[name];
        assert!(
            of_program.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")),
            "filters/Cargo.lock has {name} {version}, and Cargo.lock does not: run `cargo update --precise` in filters"
        );
        left.extend(dependencies.iter().map(String::as_str).filter(|name| seen.insert(*name)));
    }
    assert!(seen.contains("sha2") && seen.contains("itoa"), "{seen:?}");
}
