#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::read::OfReport;
use super::{Body, Report};
use crate::older::Reader;
use crate::{Finding, HistoryBody, HistoryResult, LoadResult, Program, StudyResult, Verdict, sample};

const ENVELOPE: [&str; 5] = ["format", "program", "verdict", "findings", "environment"];

fn history() -> Value {
    let body = HistoryBody { number: "max_rate".to_owned(), significance: 0.01, series: Vec::new() };
    serde_json::to_value(HistoryResult::new((), body)).unwrap()
}

#[test]
fn the_fields_of_a_body_stand_beside_those_of_its_envelope() {
    let value = history();
    let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, [&ENVELOPE[..], &["number", "significance", "series"]].concat());
    assert_eq!((&value["environment"], &value["verdict"]), (&Value::Null, &json!("sound")));
    assert_eq!(HistoryResult::KIND, "history");
}

#[test]
fn a_file_without_a_field_of_the_envelope_with_an_unknown_field_or_of_another_format_is_refused() {
    let refused = |value: &Value| {
        let text = serde_json::to_string_pretty(value).unwrap();
        serde_json::from_str::<HistoryResult>(&text).unwrap_err().to_string()
    };
    for field in ENVELOPE {
        let mut value = history();
        value.as_object_mut().unwrap().remove(field);
        assert!(refused(&value).starts_with(&format!("missing field `{field}`")), "{}", refused(&value));
    }
    let mut value = history();
    value["colour"] = json!("red");
    assert!(refused(&value).starts_with("unknown field `colour`"), "{}", refused(&value));
    let mut value = history();
    value["significance"] = json!("high");
    assert!(refused(&value).ends_with("at line 11 column 24"), "{}", refused(&value));
    let mut value = history();
    value["format"] = json!("hoptax.history/1");
    let why = refused(&value);
    assert!(why.starts_with("its format is `hoptax.history/1`, and this hoptax"), "{why}");
    assert!(why.contains("reads `hoptax.history/2`: it is older than all that can be read"), "{why}");
    value["format"] = json!("hoptax.runs/2");
    let why = refused(&value);
    assert!(why.starts_with("its format is `hoptax.runs/2`, not `hoptax.history/2`"), "{why}");
}

#[test]
fn results_are_read_as_they_were_written() {
    let mut load = sample::load();
    // Keys that are numbers.
    load.statuses = [(200, 3), (503, 1)].into();
    let text = serde_json::to_string(&load).unwrap();
    assert_eq!(serde_json::from_str::<LoadResult>(&text).unwrap(), load);
    let study = sample::study("ours", "2026-11-01T00:00:00Z", 5.0);
    let text = serde_json::to_string(&study).unwrap();
    assert_eq!(serde_json::from_str::<StudyResult>(&text).unwrap(), study);
}

#[test]
fn a_file_whose_fields_have_another_order_is_the_same_result() {
    let mut load = sample::load();
    load.statuses = [(200, 3), (503, 1)].into();
    let value = serde_json::to_value(&load).unwrap();
    let mut fields: Vec<_> = value.as_object().unwrap().clone().into_iter().collect();
    for _ in 0..fields.len() {
        fields.rotate_left(1);
        let text = serde_json::to_string(&fields.iter().cloned().collect::<Map<_, _>>()).unwrap();
        assert_eq!(serde_json::from_str::<LoadResult>(&text).unwrap(), load, "{}", fields[0].0);
    }
}

#[test]
fn the_format_of_a_kind_is_its_own_in_any_version() {
    assert!(LoadResult::is_format(LoadResult::FORMAT) && LoadResult::is_format("hoptax.load/999"));
    for other in ["hoptax.loads/2", "hoptax.load", "xoptax.load/2", "load/2", "", StudyResult::FORMAT] {
        assert!(!LoadResult::is_format(other), "{other}");
    }
}

/// A kind of result in its third version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Artificial {
    /// Requests per second.
    rate_per_s: f64,
}

impl Body for Artificial {
    const FORMAT: &'static str = "hoptax.artificial/3";
    type Environment = ();

    fn subject(&self) -> String {
        "artificial".to_owned()
    }
}

/// The readers of its first two versions.
const READERS: &[Reader] = &[("hoptax.artificial/1", of_version_1), ("hoptax.artificial/2", of_version_2)];

/// Version 1 did not name the unit.
fn of_version_1(fields: &mut Map<String, Value>) {
    if let Some(rate) = fields.remove("rate") {
        fields.insert("rate_per_minute".to_owned(), rate);
    }
}

/// Version 2 had the rate per minute.
fn of_version_2(fields: &mut Map<String, Value>) {
    if let Some(rate) = fields.remove("rate_per_minute").as_ref().and_then(Value::as_f64) {
        fields.insert("rate_per_s".to_owned(), json!(rate / 60.0));
    }
}

/// The text of an artificial result with one field in its body.
fn artificial(version: u32, field: &str, value: f64) -> String {
    let mut all = history();
    for of_history in ["number", "significance", "series"] {
        all.as_object_mut().unwrap().remove(of_history);
    }
    all["format"] = json!(format!("hoptax.artificial/{version}"));
    all[field] = json!(value);
    all.to_string()
}

fn read(text: &str, readers: &'static [Reader]) -> Result<Report<Artificial>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_map(OfReport::<Artificial>::new(readers)).map_err(|error| error.to_string())
}

#[test]
fn a_file_of_an_older_version_is_read_by_one_reader_after_the_other() {
    let today = read(&artificial(3, "rate_per_s", 10.0), READERS).unwrap();
    assert_eq!(today.body, Artificial { rate_per_s: 10.0 });
    for (version, field) in [(1, "rate"), (2, "rate_per_minute")] {
        assert_eq!(read(&artificial(version, field, 600.0), READERS).unwrap(), today, "{version}");
        let without = read(&artificial(version, field, 600.0), &[]).unwrap_err();
        assert!(without.contains("reads `hoptax.artificial/3`: it is older"), "{without}");
        let skipped = read(&artificial(version, "rates", 600.0), READERS).unwrap_err();
        assert!(skipped.starts_with("unknown field `rates`"), "{skipped}");
    }
    let written = serde_json::to_value(&today).unwrap();
    assert_eq!(written["format"], json!("hoptax.artificial/3"));
    for (version, why) in [(0, "reads `hoptax.artificial/1` to"), (4, "a newer hoptax wrote it")] {
        let refused = read(&artificial(version, "rate", 600.0), READERS).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

/// A study as hoptax 99.1.0 writes it, if that has further fields; and the same without.
fn newer_study() -> (Value, StudyResult) {
    let mut study = sample::study("ours", "2026-11-01T00:00:00Z", 5.0);
    study.program.version = "99.1.0".to_owned();
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
    let mut load = sample::load();
    load.statuses = [(200, 3), (503, 1)].into();
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
