//! The first screen of every command: a snapshot of what it prints about real inputs and recorded results. Each command runs in a folder of its
//! test, and what depends on the machine is left out, so that a snapshot changes with the program alone.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hoptax_run::runner::FILES;
use hoptax_subject::envoy::release::PINNED_VERSION;

use crate::support::{Guarded, UNHURRIED, hoptax, install, origin, ran, root, run};

/// Lines of a screen that are kept, and its columns.
const LINES: usize = 40;
const COLUMNS: usize = 100;

/// Commands that print a result of a kind: the first screen of each kind is kept by `crates/report/tests/real_results/first_screens.rs`.
const RESULTS: [(&str, &str); 19] = [
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
    ("runs-history", "history"),
    ("convert-smp-run", "load"),
    ("convert-smp-meshmark", "meshmark"),
    ("lab-graph-run", "graph-run"),
    ("trust-calibrate", "calibration"),
    ("trust-crosscheck", "crosscheck"),
];

/// Commands whose screen is a text that other snapshots keep whole.
const TEXTS: [(&str, &str); 6] = [
    ("functions", "crates/cli/tests/program/snapshots/program__lists__functions.snap"),
    ("trust-checks", "crates/cli/tests/program/snapshots/program__lists__checks.snap"),
    ("lint-rules", "crates/cli/tests/program/snapshots/program__lists__rules.snap"),
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
const NO_SCREEN: [(&str, &str); 2] = [
    ("listeners-run", "it passes on what Envoy prints"),
    ("generate-completions", "it prints a script, which a shell reads"),
];

/// A listeners file, as the help of `hoptax listeners render` has it.
const LISTENERS: &str = "\
listeners:
  - name: search
    port: 6102
    timeout: 2s
    upstream: {address: search.example.org, port: 443, encryption: true}
";

/// A folder of a test.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with these recorded results.
    fn with_results(names: &[&str]) -> Self {
        let place = Self::new();
        for name in names {
            fs::copy(root().join("crates/report/recorded").join(name), place.path(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A command that runs in the folder, which has its store and its releases of Envoy.
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

    /// All that a command prints which listens until a signal ends it, with `PORT` for its port.
    fn printed_until_interrupt(&self, words: &[&str]) -> String {
        let mut command = self.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = Guarded(command.spawn().unwrap());
        let mut stdout = BufReader::new(server.0.stdout.take().unwrap());
        let mut text = String::new();
        stdout.read_line(&mut text).unwrap();
        server.signal("INT");
        stdout.read_to_string(&mut text).unwrap();
        let port: String =
            text.rsplit(':').next().unwrap().chars().take_while(char::is_ascii_digit).collect();
        assert!(!port.is_empty(), "{text}");
        text.replace(&port, "PORT")
    }
}

/// Keeps the first lines of a text for programs. `name` is that of the command's page of the manual, perhaps with an argument after a dot.
fn keep(name: &str, text: &str) {
    insta::assert_snapshot!(name, text.lines().take(LINES).collect::<Vec<&str>>().join("\n"));
}

/// Keeps the first lines of a text for people, which fit a terminal.
fn keep_screen(name: &str, text: &str) {
    // A long word, such as an address of a source, has a line of its own.
    let is_too_wide = |line: &&str| line.chars().count() > COLUMNS && line.split_whitespace().count() > 2;
    assert_eq!(text.lines().take(LINES).find(is_too_wide), None, "{name}: {text}");
    keep(name, text);
}

/// A text with `#` for each sequence of digits.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' if shown.ends_with('#') => {}
            '0'..='9' => shown.push('#'),
            other => shown.push(other),
        }
    }
    shown
}

/// The names of files in a folder, without this beginning and this end.
fn names_in(folder: &Path, begin: &str, end: &str) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.strip_prefix(begin)?.strip_suffix(end)?.to_owned())).collect()
}

#[test]
fn every_command_has_a_first_screen_that_a_test_keeps() {
    let manual = tempfile::tempdir().unwrap();
    run(["generate", "man", manual.path().to_str().unwrap()]).succeeded();
    let commands = names_in(manual.path(), "hoptax-", ".1");
    let here =
        names_in(&root().join("crates/cli/tests/program/snapshots"), "program__first_screens__", ".snap");
    let of_result = |kind: &str| {
        format!(
            "crates/report/tests/real_results/snapshots/hoptax_report__real_results__first_screens__{kind}.snap"
        )
    };
    let elsewhere = RESULTS.iter().map(|(name, kind)| (*name, of_result(kind)));
    let elsewhere: Vec<(&str, String)> =
        elsewhere.chain(TEXTS.iter().map(|(name, file)| (*name, (*file).to_owned()))).collect();
    for (name, file) in &elsewhere {
        assert!(root().join(file).is_file(), "{name}: {file}");
    }
    assert!(NO_SCREEN.iter().all(|(_, why)| !why.is_empty()));

    let kept_here = here.iter().map(|name| name.split('.').next().unwrap_or(name));
    let kept: BTreeSet<&str> = kept_here
        .chain(elsewhere.iter().map(|(name, _)| *name))
        .chain(NO_SCREEN.iter().map(|(name, _)| *name))
        .collect();
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
    let listening = ["--listen", "127.0.0.1:0"];
    for (name, words) in [
        ("lab-origin", vec!["lab", "origin"]),
        ("lab-agent", vec!["lab", "agent", "--allow-target", "127.0.0.1:1", "--deadline", "1h"]),
        ("serve", vec!["serve"]),
    ] {
        keep_screen(name, &place.printed_until_interrupt(&[&words[..], &listening].concat()));
    }
}

#[test]
fn the_lab_names_the_files_that_it_made() {
    let place = Place::new();
    keep_screen("lab-certs", &place.printed(&["lab", "certs", "lab"]));
    for version in ["1.2.3", PINNED_VERSION] {
        let program = place.path("cache/hoptax/envoy").join(version).join("envoy");
        install(&program, &format!("echo 'envoy  version: c/{version}/Clean/RELEASE/B'"));
    }
    keep_screen("lab-envoy-install", &place.printed(&["lab", "envoy", "install", "1.2.3", "--offline"]));
    let list = place.printed(&["lab", "envoy", "list"]);
    keep_screen("lab-envoy-list", &list.replace(PINNED_VERSION, "PINNED"));
}

/// Rows of the diagnosis whose outcome is the same on every machine without an Envoy and without a calibration.
const CERTAIN: [&str; 5] = [
    "CPU costs of functions and configurations",
    "response times that proxies add",
    "maximum rates of proxies",
    "profiles: layers and flame graphs",
    "the generator's own error",
];

#[test]
fn the_diagnosis_has_a_row_for_each_kind_of_measurement() {
    let place = Place::new();
    let mut doctor = place.command(&["trust", "doctor"]);
    let shown = ran(doctor.env("PATH", place.path("bin")).env("HOPTAX_OFFLINE", "1"));
    assert_eq!(shown.code, Some(3), "{}", shown.stderr);
    let (answer, rest) = shown.stdout.split_once("\n\n").unwrap();
    let answer = answer.split_whitespace().collect::<Vec<&str>>().join(" ");
    let (heading, rest) = rest.split_once("\n\n").unwrap();
    let (table, rest) = rest.split_once("\n\n").unwrap();
    let (machine, found) = answer.split_once("), ").unwrap();
    assert!(machine.starts_with("On this machine (") && machine.contains("Linux"), "{answer}");
    assert!(found.starts_with("of 8 kinds of measurements, "), "{answer}");
    // The other rows depend on the machine.
    let rows = table.lines().enumerate().map(|(number, line)| {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let is_certain = number == 0 || CERTAIN.contains(&cells[0]);
        assert!(number == 0 || ["yes", "limited", "no"].contains(&cells[1]), "{line}");
        if is_certain { cells.join(" | ") } else { format!("{} | ...", cells[0]) }
    });
    let rows: Vec<String> = rows.collect();
    let (_, next) = rest.rsplit_once("next: ").unwrap();
    let next = next.split_whitespace().take(3).collect::<Vec<&str>>().join(" ");
    assert!(shown.stdout.lines().count() <= LINES, "{}", shown.stdout);
    keep_screen("trust-doctor", &format!("{heading}\n{}\nnext: {next}", rows.join("\n")));
}

#[test]
fn explanations_of_one_function_one_check_and_one_rule() {
    let place = Place::new();
    keep_screen("functions-show", &place.printed(&["functions", "show", "jwt"]));
    keep_screen("trust-checks-explain", &place.printed(&["trust", "checks", "explain", "send-lag"]));
    keep_screen("lint-explain", &place.printed(&["lint", "explain", "rate-limit-off"]));
    keep_screen("study.list", &place.printed(&["study", "list"]));
}

#[test]
fn what_is_generated_is_named() {
    let place = Place::new();
    keep_screen("generate-schema", &place.printed(&["generate", "schema"]));
    keep_screen("generate-man", &place.printed(&["generate", "man", "man"]));
    fs::create_dir(place.path("docs")).unwrap();
    fs::copy(root().join("docs/SUMMARY.md"), place.path("docs/SUMMARY.md")).unwrap();
    keep_screen("generate-pages", &without_numbers(&place.printed(&["generate", "pages", "docs"])));
}

#[test]
fn configurations_of_listeners_are_printed_both_ways() {
    let place = Place::new();
    fs::write(place.path("listeners.yaml"), LISTENERS).unwrap();
    let rendered = place.printed(&["listeners", "render", "listeners.yaml"]);
    fs::write(place.path("envoy.yaml"), &rendered).unwrap();
    keep("listeners-render", &rendered);
    keep("listeners-import", &place.printed(&["listeners", "import", "envoy.yaml"]));
}

#[test]
fn runs_of_the_store_are_named_by_their_numbers() {
    let place = Place::with_results(&["study.json", "load.json", "load-with-agents.json"]);
    let import = ["runs", "import", "study.json", "load.json", "load-with-agents.json"];
    keep_screen("runs-import", &place.printed(&import));
    keep_screen("runs-show", &place.printed(&["runs", "show", "1"]));
    keep_screen("runs-compare", &place.printed(&["runs", "compare", "2", "3"]));
    keep_screen("runs-label", &place.printed(&["runs", "label", "2", "nightly"]));
    keep_screen("runs-export", &place.printed(&["runs", "export", "1", "exported"]));
    keep_screen("runs-rm", &place.printed(&["runs", "rm", "2", "3"]));
    keep_screen("runs-gc", &without_numbers(&place.printed(&["runs", "gc"])));
}

#[test]
fn several_results_of_one_load_are_one() {
    let place = Place::with_results(&["load.json"]);
    let mut other: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(place.path("load.json")).unwrap()).unwrap();
    // That of a second generator with the same response times.
    other["plan"]["seed"] = 2.into();
    fs::write(place.path("other.json"), other.to_string()).unwrap();
    keep_screen("runs-merge", &place.printed(&["runs", "merge", "load.json", "other.json"]));
}

#[test]
fn what_a_killed_study_left_is_named_when_it_is_removed() {
    let place = Place::new();
    let left = place.path("runs/killed/arms/jwt").join(FILES);
    fs::create_dir_all(&left).unwrap();
    keep_screen("runs-cleanup", &place.printed(&["runs", "cleanup"]));
    assert!(!left.exists());
}

#[test]
fn results_are_converted_from_and_to_other_formats() {
    let place = Place::with_results(&["load.json"]);
    fs::copy(root().join("crates/tools/recorded/wrk.txt"), place.path("wrk.txt")).unwrap();
    keep_screen("convert-import", &place.printed(&["convert", "import", "wrk", "wrk.txt"]));
    keep("convert-export", &place.printed(&["convert", "export", "load.json", "--to", "hgrm"]));
}

#[test]
fn a_raw_log_is_a_table_with_a_row_for_each_request() {
    let place = Place::new();
    let (_origin, url) = origin(&[]);
    let load = ["load", "-n", "3", "-c", "1", "--warmup", "0s", "--log", "requests.log", &url];
    // Its verdict says nothing of its log.
    ran(&mut place.command(&[&load[..], &UNHURRIED].concat()));
    let log = place.printed(&["convert", "log", "requests.log"]);
    assert_eq!(log.lines().count(), 1 + 3, "{log}");
    keep("convert-log", &without_numbers(&log));
}
