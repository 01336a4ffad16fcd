//! The first screen of every command is kept as a snapshot: here that of commands whose output depends on no machine and no recorded result,
//! elsewhere that of results, lists and pages. Each command of this file runs in a folder of its test.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hoptax_run::runner::FILES;

use crate::support::{Guarded, hoptax, install, ran, root};

/// Lines of a screen that are kept, and its columns.
const LINES: usize = 40;
const COLUMNS: usize = 100;

/// Commands that print a result, and the recorded one whose first screen `crates/report/tests/real_results/first_screens.rs` keeps.
const RESULTS: [(&str, &str); 27] = [
    ("study", "study"),
    ("price", "bill"),
    ("mesh", "study"),
    ("compare", "comparison"),
    ("gate", "gate"),
    ("load", "load"),
    ("find", "find"),
    ("lint", "lint"),
    ("listeners-check", "listeners-check"),
    ("predict-prices", "prices"),
    ("predict-size", "size"),
    ("predict-scale", "scale"),
    ("runs-list", "runs"),
    ("runs-show", "study"),
    ("runs-compare", "overlay"),
    ("runs-history", "history"),
    ("runs-merge", "load"),
    ("convert-import", "load"),
    ("convert-smp-run", "load"),
    ("convert-smp-meshmark", "meshmark"),
    ("lab-graph-run", "graph-run"),
    ("trust-calibrate", "calibration"),
    ("trust-crosscheck", "crosscheck"),
    ("trust-doctor", "doctor"),
    ("trust-checks", "checks"),
    ("functions", "functions"),
    ("lab-envoy-list", "envoy-releases"),
];

/// Commands whose screen is a text that is kept where it is made.
const TEXTS: [(&str, &str); 5] = [
    ("lint-rules", "crates/cli/tests/program/snapshots/program__lists__rules.snap"),
    (
        "listeners-render",
        "crates/listeners/tests/snapshots/\
         hoptax_listeners__rendering__catalogue__a_front_proxy_becomes_virtual_hosts.snap",
    ),
    (
        "listeners-status",
        "crates/supervisor/src/status/snapshots/hoptax_supervisor__status__page__tests__the_answer_comes_first.snap",
    ),
    (
        "lab-graph-isotope",
        "crates/predict/src/size/import/isotope/snapshots/\
         hoptax_predict__size__import__isotope__tests__a_topology_becomes_a_graph.snap",
    ),
    (
        "lab-graph-kubernetes",
        "crates/predict/src/size/import/kubernetes/snapshots/\
         hoptax_predict__size__import__kubernetes__tests__manifests_become_a_graph.snap",
    ),
];

/// Commands without a screen of their own, and why.
const NO_SCREEN: [(&str, &str); 5] = [
    ("listeners-run", "it passes on what Envoy prints"),
    ("convert-export", "it prints a file of another program"),
    ("convert-log", "it prints a row of numbers for each request"),
    ("generate-completions", "it prints a script, which a shell reads"),
    ("generate-pages", "it prints the number of files that it wrote, after it planned every study"),
];

/// A folder of a test, in which its commands run, with a store and releases of Envoy of their own.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = hoptax();
        command.current_dir(self.0.path()).args(words);
        command.env("XDG_DATA_HOME", self.path("data")).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    /// What a command prints, which must succeed, with `DIR` for the folder.
    fn printed(&self, words: &[&str]) -> String {
        let stdout = ran(&mut self.command(words)).succeeded().stdout;
        stdout.replace(self.0.path().to_str().unwrap(), "DIR")
    }

    /// All that a server prints until a signal ends it, with `PORT` for its port.
    fn printed_by_server(&self, words: &[&str]) -> String {
        let mut command = self.command(words);
        command.args(["--listen", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = Guarded(command.spawn().unwrap());
        let mut stdout = BufReader::new(server.0.stdout.take().unwrap());
        let mut text = String::new();
        stdout.read_line(&mut text).unwrap();
        server.signal("INT");
        stdout.read_to_string(&mut text).unwrap();
        let (_, behind) =
            text.split_once("127.0.0.1:").unwrap_or_else(|| panic!("{text}{}", server.stderr()));
        let port: String = behind.chars().take_while(char::is_ascii_digit).collect();
        text.replace(&format!(":{port}"), ":PORT")
    }
}

/// Keeps the first lines of what the command with this page of the manual prints for people, which fit a terminal.
fn keep(page: &str, text: &str) {
    let screen: Vec<&str> = text.lines().take(LINES).collect();
    // A long word, such as an address of a source, has a line of its own.
    let is_too_wide = |line: &&&str| line.chars().count() > COLUMNS && line.split_whitespace().count() > 2;
    assert_eq!(screen.iter().find(is_too_wide), None, "{page}: {text}");
    insta::assert_snapshot!(page, screen.join("\n"));
}

/// The names of files in a folder, without this beginning and this end.
fn names_in(folder: &Path, begin: &str, end: &str) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.strip_prefix(begin)?.strip_suffix(end)?.to_owned())).collect()
}

#[test]
fn every_command_has_a_first_screen_that_a_test_keeps() {
    let place = Place::new();
    keep("generate-man", &place.printed(&["generate", "man", "man"]));
    let commands = names_in(&place.path("man"), "hoptax-", ".1");
    let here =
        names_in(&root().join("crates/cli/tests/program/snapshots"), "program__first_screens__", ".snap");
    let is_stale = |name: &&String| !include_str!("first_screens.rs").contains(&format!("\"{name}\""));
    assert_eq!(here.iter().find(is_stale), None, "no test compares this snapshot: remove it");

    let results = root().join("crates/report/tests/real_results/snapshots");
    let recorded = names_in(&results, "hoptax_report__real_results__first_screens__", ".snap");
    let not_recorded = RESULTS.iter().find(|(_, kind)| !recorded.contains(*kind));
    assert_eq!(not_recorded, None, "no such snapshot");
    let not_there = TEXTS.iter().find(|(_, file)| !root().join(file).is_file());
    assert_eq!(not_there, None, "no such snapshot");

    let elsewhere = [&RESULTS[..], &TEXTS, &NO_SCREEN].concat();
    let all: Vec<&str> =
        here.iter().map(String::as_str).chain(elsewhere.iter().map(|(name, _)| *name)).collect();
    let kept: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), kept.len(), "a command has two places: {all:?}");
    // Commands that only hold others print their help.
    let holds_others = |name: &str| commands.iter().any(|other| other.starts_with(&format!("{name}-")));
    let missing: Vec<&String> =
        commands.iter().filter(|name| !kept.contains(name.as_str()) && !holds_others(name)).collect();
    assert!(missing.is_empty(), "commands without a snapshot of their first screen: {missing:?}");
    let gone: Vec<&&str> = kept.iter().filter(|name| !commands.contains(**name)).collect();
    assert!(gone.is_empty(), "no commands: {gone:?}");
}

#[test]
fn servers_say_where_they_listen_and_nothing_else() {
    let place = Place::new();
    keep("lab-origin", &place.printed_by_server(&["lab", "origin"]));
    let agent = ["lab", "agent", "--allow-target", "127.0.0.1:1", "--deadline", "1h"];
    keep("lab-agent", &place.printed_by_server(&agent));
    keep("serve", &place.printed_by_server(&["serve"]));
}

#[test]
fn the_lab_names_the_files_that_it_made() {
    let place = Place::new();
    keep("lab-certs", &place.printed(&["lab", "certs", "lab"]));
    let program = place.path("cache/hoptax/envoy/1.2.3/envoy");
    install(&program, "echo 'envoy  version: c/1.2.3/Clean/RELEASE/B'");
    keep("lab-envoy-install", &place.printed(&["lab", "envoy", "install", "1.2.3", "--offline"]));
}

#[test]
fn what_the_program_knows_is_explained_by_name() {
    let place = Place::new();
    keep("functions-show", &place.printed(&["functions", "show", "jwt"]));
    keep("trust-checks-explain", &place.printed(&["trust", "checks", "explain", "send-lag"]));
    keep("lint-explain", &place.printed(&["lint", "explain", "rate-limit-off"]));
    keep("generate-schema", &place.printed(&["generate", "schema"]));
}

/// The listener in the help of `hoptax listeners render`, on its way there and back.
#[test]
fn a_configuration_of_envoy_becomes_a_list_of_listeners() {
    const LISTENERS: &str = "
listeners:
  - name: search
    port: 6102
    timeout: 2s
    upstream: {address: search.example.org, port: 443, encryption: true}
";
    let place = Place::new();
    fs::write(place.path("listeners.yaml"), LISTENERS).unwrap();
    let rendered = place.printed(&["listeners", "render", "listeners.yaml"]);
    fs::write(place.path("envoy.yaml"), rendered).unwrap();
    keep("listeners-import", &place.printed(&["listeners", "import", "envoy.yaml"]));
}

#[test]
fn runs_of_the_store_are_named_by_their_numbers() {
    let place = Place::new();
    let files = ["find.json", "gate.json", "lint.json"];
    for file in files {
        fs::copy(root().join("crates/report/recorded").join(file), place.path(file)).unwrap();
    }
    keep("runs-import", &place.printed(&[&["runs", "import"], &files[..]].concat()));
    keep("runs-label", &place.printed(&["runs", "label", "2", "nightly"]));
    keep("runs-export", &place.printed(&["runs", "export", "1", "exported"]));
    keep("runs-rm", &place.printed(&["runs", "rm", "2", "3"]));
    let compacted = place.printed(&["runs", "gc"]);
    keep("runs-gc", &compacted.replace(|letter: char| letter.is_ascii_digit(), "#"));
}

#[test]
fn what_a_killed_study_left_is_named_when_it_is_removed() {
    let place = Place::new();
    let left = place.path("runs/killed/arms/jwt").join(FILES);
    fs::create_dir_all(&left).unwrap();
    keep("runs-cleanup", &place.printed(&["runs", "cleanup"]));
    assert!(!left.exists());
}
