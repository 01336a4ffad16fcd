//! The first screen of a real result of each kind, as `tools/record-results` recorded it: a snapshot, and what a reader who has never
//! seen the program must find on it within seconds: the answer with its interval, a table that fits, and a next step.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hoptax_report::Style;
use hoptax_report::document::Document;
use hoptax_report::documents::{self, KINDS, Overlaid};
use hoptax_report::kind::Kind;
use hoptax_report::render::{json, terminal};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Columns of a screen.
const COLUMNS: usize = 100;
/// Lines of a screen, the answer and the table among them.
const LINES: usize = 40;
/// Lines of the table, with its heading and what it has no room for.
const TABLE: usize = 30;
/// Lines of the answer.
const ANSWER: usize = 6;
/// Sentences of the answer that may have its interval: the bold one, and the next.
const BEGINNING: usize = 2;
/// Bytes of a recorded file.
const BYTES: usize = 150_000;

/// Further results of a kind, whose first screens are kept, too: each its name, its kind, and what it has beside the first of that kind.
const FURTHER: &[(&str, &str, &str)] = &[
    ("study-with-profile", "study", "CPU time by frame, and a number that was published before"),
    ("load-with-agents", "load", "the agents that sent it together"),
];

/// Kinds whose answer is no estimate, and why it has neither an interval nor a bound.
const EXACT: &[(&str, &str)] = &[
    ("runs", "a list of what is stored"),
    ("lint", "a fault is there or not"),
    ("listeners-check", "each promise is kept or broken"),
    ("doctor", "a kind of measurements is possible, limited or not possible"),
    ("functions", "a list of what can be measured"),
    ("checks", "a list of what judges results"),
    ("envoy-releases", "a list of what is installed"),
];

/// Kinds whose pages draw nothing, and why.
const NOT_DRAWN: &[(&str, &str)] = &[
    ("runs", "a list of what is stored"),
    ("lint", "a finding is a sentence about a place of a file"),
    ("listeners-check", "a promise is kept, broken or not tried: its table is the picture"),
    ("doctor", "a kind of measurements is possible, limited or not possible: its table is the picture"),
    ("functions", "a list of what can be measured"),
    ("checks", "a list of what judges results"),
    ("envoy-releases", "a list of what is installed"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded")
}

/// A recorded result.
struct Recorded {
    /// The name of its file, without the ending.
    name: &'static str,
    kind: &'static Kind,
    text: String,
}

/// The recorded results.
fn recorded() -> Vec<Recorded> {
    let of_kind = |name: &str| KINDS.iter().find(|kind| kind.name == name).unwrap();
    let further = FURTHER.iter().map(|&(name, kind, _)| (name, of_kind(kind)));
    let all = KINDS.iter().map(|kind| (kind.name, kind)).chain(further);
    let read = |(name, kind): (&'static str, &'static Kind)| {
        let text = fs::read_to_string(folder().join(format!("{name}.json"))).ok()?;
        Some(Recorded { name, kind, text })
    };
    all.filter_map(read).collect()
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

/// The document as the command of `tools/record-results` prints it.
fn document(recorded: &Recorded) -> Document {
    let (kind, text) = (recorded.kind, recorded.text.as_str());
    let from = ["runs/parts".to_owned()];
    match recorded.name {
        "study" => documents::study_of(&read(text), "edge.yaml", "runs/edge")
            .in_folder("runs/edge".as_ref(), "report.html"),
        "study-with-profile" => documents::study_of(&read(text), "token.yaml", "runs/token")
            .in_folder("runs/token".as_ref(), "report.html"),
        "sittings" => documents::of_text(text, |_| true).unwrap().shown_by("runs/edge-sittings.json"),
        "bill" | "comparison" | "studies-comparison" | "gate" => {
            let folder = format!("runs/{}", kind.name);
            documents::of_text(text, |_| false).unwrap().in_folder(folder.as_ref(), "report.html")
        }
        "find-arms" => {
            let search = "hoptax find --slo 'p99<5ms' --arms baseline,jwt edge.yaml".to_owned();
            let study = "hoptax study edge.yaml".to_owned();
            documents::find_arms_of(&read(text), &documents::SearchedArms { search, study })
        }
        "scale" => documents::scale_of(&read(text), "runs/connections"),
        "size" => documents::size_of(&read(text), "shop.yaml", None, &from, true),
        "size-check" => documents::size_check_of(&read(text), "runs/parts"),
        "graph-run" => documents::graph_run_of(&read(text), "shop.yaml", &from),
        "meshmark" => documents::meshmark_of(&read(text), "runs/parts"),
        _ => documents::of_text(text, |_| false).unwrap(),
    }
}

fn screen(document: &Document) -> String {
    terminal::screen(document, Style { width: COLUMNS as u16, colour: false })
}

/// Faults of the first screen of a document; empty if there are none.
fn problems(kind: &str, document: &Value, screen: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = screen.trim_start_matches('\n').split("\n\n").collect();
    if let Some(line) = screen.lines().find(|line| line.chars().count() > COLUMNS) {
        problems.push(format!("a line is wider than {COLUMNS} columns: {line}"));
    }
    let answer: Vec<&str> = document["answer"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let printed = parts[0].split_whitespace().collect::<Vec<&str>>().join(" ");
    if !answer.first().is_some_and(|first| printed.starts_with(first.trim_end_matches('.'))) {
        problems.push(format!("it does not begin with its answer: {printed}"));
    }
    let is_exact = EXACT.iter().any(|(name, _)| *name == kind);
    if !is_exact && !answer.iter().take(BEGINNING).any(|sentence| has_range(sentence)) {
        problems.push(format!("no interval and no bound in the first {BEGINNING} sentences: {printed}"));
    }
    let table = if document["table"].is_null() { "" } else { parts.get(2).copied().unwrap_or_default() };
    for (what, text, most) in
        [("answer", parts[0], ANSWER), ("table", table, TABLE), ("screen", screen, LINES)]
    {
        let lines = text.lines().count();
        if lines > most {
            problems.push(format!("the {what} has {lines} lines, more than {most}"));
        }
    }
    let next = screen.rsplit_once("\nnext: ").map_or("", |(_, next)| next);
    let is_last = next.lines().skip(1).all(|line| line.starts_with("  ") || line.starts_with("page: "));
    if !next.starts_with("hoptax ") || !is_last {
        problems.push(format!("it does not end with a next step: {next}"));
    }
    problems
}

/// Returns true if a sentence states a number with an interval, `12.0 ±0.3` or `11.7 to 12.3`, or with a bound, `≥ 12`, `at most 12`.
fn has_range(sentence: &str) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let is_number = |place: usize| {
        words.get(place).is_some_and(|word| {
            let word = word.trim_matches(|c: char| "(),.;:+-%".contains(c)).replace(',', "");
            word.trim_end_matches("/s").parse::<f64>().is_ok()
        })
    };
    words.iter().enumerate().any(|(place, word)| match (place.checked_sub(1), *word) {
        (Some(before), "to") => is_number(before) && is_number(place + 1),
        (Some(before), word) if word.starts_with('±') => {
            is_number(before) && word.chars().nth(1).is_some_and(|first| first.is_ascii_digit())
        }
        (_, "≥" | "≤") => is_number(place + 1),
        (Some(before), "least" | "most") => words[before].ends_with("at") && is_number(place + 1),
        (Some(before), "than") => words[before] == "less" && is_number(place + 1),
        _ => false,
    })
}

#[test]
fn every_kind_has_a_recorded_result() {
    let of_kinds: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let files: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".json").to_owned())
        .collect();
    let all: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    let further = FURTHER.iter().map(|(name, _, _)| *name);
    let expected: BTreeSet<&str> = of_kinds.iter().copied().chain(further).collect();
    assert_eq!(all, expected, "record it with tools/record-results");
    assert!(EXACT.iter().all(|(name, why)| of_kinds.contains(name) && !why.is_empty()));
    assert!(FURTHER.iter().all(|(_, kind, what)| of_kinds.contains(kind) && !what.is_empty()));
}

#[test]
fn recorded_results_are_small_valid_and_name_no_path_of_their_machine() {
    for Recorded { name, kind, text } in recorded() {
        assert_eq!((kind.read)(&text).unwrap().kind, kind.name);
        assert!(text.len() <= BYTES, "{name} has {} bytes", text.len());
        for path in ["/tmp/", "/root/", "/home/", "/work/"] {
            assert!(!text.contains(path), "{name} contains `{path}`");
        }
    }
}

#[test]
fn the_first_screen_of_each_kind() {
    for recorded in recorded() {
        let screen = screen(&document(&recorded));
        insta::assert_snapshot!(recorded.name, screen);
    }
}

/// A document of several results, which `hoptax runs compare` prints.
#[test]
fn the_first_screen_of_loads_beside_each_other() {
    let all = recorded();
    let run = |number: i64, name: &str| {
        let load = all.iter().find(|recorded| recorded.name == name).unwrap();
        Overlaid::read(number, &load.text).unwrap()
    };
    let screen = screen(&documents::overlay(&[run(1, "load"), run(2, "load-with-agents")]));
    assert!(screen.lines().count() <= LINES, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= COLUMNS), "{screen}");
    insta::assert_snapshot!("overlay", screen);
}

#[test]
fn every_first_screen_begins_with_its_answer_fits_and_ends_with_a_next_step() {
    let mut all = Vec::new();
    for recorded in recorded() {
        let document = document(&recorded);
        let as_json = serde_json::from_str(&json::text(&document).unwrap()).unwrap();
        let found = problems(recorded.kind.name, &as_json, &screen(&document));
        all.extend(found.into_iter().map(|problem| format!("{}: {problem}", recorded.name)));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// A page has no command line that it was asked for by: its next command comes from the result alone.
#[test]
fn the_page_of_every_kind_has_a_next_command() {
    for Recorded { name, text, .. } in recorded() {
        let document = json::text(&documents::of_text(&text, |_| true).unwrap()).unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        let command = document["next"]["command"].as_str().unwrap_or_default();
        assert!(command.starts_with("hoptax "), "{name}: {command:?}");
        assert!(document["next"]["purpose"].as_str().is_some_and(|purpose| !purpose.is_empty()), "{name}");
    }
}

#[test]
fn every_kind_has_a_chart_or_a_reason_for_none() {
    for recorded in recorded() {
        let kind = recorded.kind.name;
        let document: Value = serde_json::from_str(&json::text(&document(&recorded)).unwrap()).unwrap();
        let plots = document["plots"].as_array().unwrap();
        let mut blocks = plots.iter().flat_map(|plot| plot["blocks"].as_array().unwrap());
        let is_drawn = blocks.any(|block| block.get("chart").is_some());
        let why_not = NOT_DRAWN.iter().find(|(name, _)| *name == kind);
        assert_eq!(is_drawn, why_not.is_none(), "{}: {why_not:?}", recorded.name);
    }
}

#[test]
fn the_recorded_study_with_a_profile_has_a_flame_graph_of_each_arm_with_differences() {
    let all = recorded();
    let study = all.iter().find(|recorded| recorded.name == "study-with-profile").unwrap();
    let document: Value = serde_json::from_str(&json::text(&document(study)).unwrap()).unwrap();
    let sections = ["plots", "sections"].into_iter().flat_map(|part| document[part].as_array().unwrap());
    let mut blocks = sections.flat_map(|section| section["blocks"].as_array().unwrap());
    let arms = blocks.find_map(|block| block["chart"]["flame"]["arms"].as_array()).unwrap();
    assert_eq!(arms.len(), 2);
    let compared = arms.iter().find(|arm| arm["compared_with"].is_string()).unwrap();
    let frames = compared["frames"].as_array().unwrap();
    let is_supported = |frame: &Value| frame["whole"]["added"]["is_near_zero"] == false;
    assert!(frames.len() > 20, "{} frames", frames.len());
    assert!(frames.iter().any(is_supported), "a colour of {} frames", frames.len());
    assert_eq!(frames[0]["whole"]["share"], "100.0 %");
}

#[test]
fn each_fault_of_a_first_screen_is_found() {
    const SOUND: &str = "
`jwt` adds 34.7 ±1.1 us of CPU time.

cost of each arm:

arm  CPU us
jwt    34.7

sound: CPU time is sound
next: hoptax study edge.yaml --again   measures another sitting
page: runs/edge/report.html
";
    let document =
        |answer: &str| serde_json::json!({"answer": [answer, "A second", "A third, 1 to 2"], "table": {}});
    let found = |screen: &str| problems("study", &document("`jwt` adds 34.7 ±1.1 us of CPU time"), screen);
    assert_eq!(found(SOUND), Vec::<String>::new());
    let row = "jwt    34.7\n";
    for (screen, expected) in [
        (SOUND.replace("sound: CPU", &format!("sound: {}CPU", "word ".repeat(20))), "wider than 100"),
        (format!("\nAfter 5 rounds.\n{SOUND}"), "does not begin with its answer"),
        (SOUND.replace(row, &row.repeat(30)), "the table has 31 lines"),
        (SOUND.replace("sound:", &format!("{}sound:", "a note\n".repeat(40))), "the screen has"),
        (SOUND.replace("of CPU time.", "of CPU time.\n".repeat(7).trim_end()), "the answer has"),
        (SOUND.replace("next: ", "later: "), "does not end with a next step"),
        (
            SOUND.replace("next: hoptax study edge.yaml", "next: measure more"),
            "does not end with a next step",
        ),
        (SOUND.replace("page:", "and more:"), "does not end with a next step"),
    ] {
        let problems = found(&screen);
        assert!(problems.len() == 1 && problems[0].contains(expected), "{expected}: {problems:?}");
    }
    // An interval in the third sentence is too late.
    let vague = SOUND.replace("34.7 ±1.1 us", "34.7 us");
    let found = |kind: &str| problems(kind, &document("`jwt` adds 34.7 us of CPU time"), &vague);
    let of_study = found("study");
    assert!(of_study.len() == 1 && of_study[0].contains("no interval and no bound"), "{of_study:?}");
    assert!(found("runs").is_empty());
}

#[test]
fn intervals_and_bounds_are_told_from_other_numbers() {
    for sentence in [
        "takes 46.0 ±0.5 us",
        "+133.3 ±2.1 %",
        "10,000 (9,000 to 12,000) requests",
        "from +39.0 to +41.0",
        "costs ≥ 12 us",
        "is at least 1,200 requests/s",
        "(at most 16 connections)",
        "less than 2.0 requests/s",
        "1,000/s to 2,000/s",
    ] {
        assert!(has_range(sentence), "{sentence}");
    }
    for sentence in [
        "takes 46.0 us",
        "3 runs, the newest of 2026-11-23",
        "± a little",
        "adds to 3",
        "12 of 14",
        "at least one",
    ] {
        assert!(!has_range(sentence), "{sentence}");
    }
}
