//! Files of a newer hoptax.

use hoptax_result::{Finding, LoadResult, Program, StudyResult, Verdict, sample};
use serde_json::{Value, json};

use crate::report::load_with_keys_that_are_numbers;

/// A study as hoptax 99.1.0 writes it, if that has further fields; and the same without.
fn newer_study() -> (Value, StudyResult) {
    let mut study = sample::study("ours", "2026-11-01T00:00:00Z", 5.0);
    "99.1.0".clone_into(&mut study.program.version);
    let mut value = serde_json::to_value(&study).unwrap();
    for place in ["", "/program", "/plan", "/arms/0", "/arms/1", "/environment"] {
        value.pointer_mut(place).unwrap()["colour"] = json!({"red": 1});
    }
    (value, study)
}

#[test]
fn fields_that_a_newer_program_added_are_left_out_and_a_note_says_so() {
    let (value, study) = newer_study();
    let mut read: StudyResult = serde_json::from_str(&value.to_string()).unwrap();
    let note = read.findings.pop().unwrap();
    assert_eq!(read, study);
    assert_eq!((note.id.as_str(), note.value), (Finding::NEWER_FILE, 5.0));
    assert!(note.message.starts_with("hoptax 99.1.0 wrote this result"), "{}", note.message);
    let places = "`arms[].colour`, `colour`, `environment.colour`, `plan.colour`, `program.colour`";
    assert!(note.message.ends_with(places), "{}", note.message);
    assert!(note.advice.contains("hoptax 99.1.0 or a later one"), "{}", note.advice);
    assert_eq!((note.withholds, read.verdict), (false, Verdict::Sound), "a note withholds nothing");
}

#[test]
fn a_file_of_a_newer_program_without_further_fields_has_no_note() {
    let mut load = load_with_keys_that_are_numbers();
    load.program.version = "99.1.0".to_owned();
    let text = serde_json::to_string(&load).unwrap();
    assert_eq!(serde_json::from_str::<LoadResult>(&text).unwrap(), load);
}

#[test]
fn unknown_fields_of_this_program_and_unknown_words_of_a_newer_one_are_refused() {
    let refused =
        |value: &Value| serde_json::from_str::<StudyResult>(&value.to_string()).unwrap_err().to_string();
    let (mut value, _) = newer_study();
    value["verdict"] = json!("splendid");
    let why = refused(&value);
    assert!(why.starts_with("hoptax 99.1.0 wrote it, and this hoptax") && why.contains("splendid"), "{why}");
    assert!(why.contains("use hoptax 99.1.0 or a later one"), "{why}");
    let (mut value, _) = newer_study();
    value["program"] = serde_json::to_value(Program::this()).unwrap();
    assert!(refused(&value).starts_with("unknown field `colour`"), "{}", refused(&value));
}
