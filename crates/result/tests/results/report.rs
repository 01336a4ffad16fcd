//! The envelope of results.

use hoptax_result::{Body, HistoryBody, HistoryResult, LoadResult, StudyResult};
use serde_json::{Value, json};

const ENVELOPE: [&str; 5] = ["format", "program", "verdict", "findings", "environment"];

/// A small result of this program.
pub(crate) fn history() -> Value {
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
fn the_fields_of_a_file_are_read_as_its_text_is_and_errors_name_no_place() {
    let fields = |value: &Value| value.as_object().unwrap().clone();
    let mut value = history();
    let read = HistoryResult::from_fields(fields(&value)).unwrap();
    assert_eq!(read, HistoryBody::from_text(&value.to_string()).unwrap());
    value.as_object_mut().unwrap().remove("verdict");
    let why = HistoryResult::from_fields(fields(&value)).unwrap_err().to_string();
    assert_eq!(why, "missing field `verdict`");
}

#[test]
fn the_format_of_a_kind_is_its_own_in_any_version() {
    assert!(LoadResult::is_format(LoadResult::FORMAT) && LoadResult::is_format("hoptax.load/999"));
    for other in ["hoptax.loads/2", "hoptax.load", "xoptax.load/2", "load/2", "", StudyResult::FORMAT] {
        assert!(!LoadResult::is_format(other), "{other}");
    }
}

#[test]
fn results_are_read_as_they_were_written() {
    use hoptax_result::sample;

    let load = load_with_keys_that_are_numbers();
    let text = serde_json::to_string(&load).unwrap();
    assert_eq!(serde_json::from_str::<LoadResult>(&text).unwrap(), load);
    let study = sample::study("ours", "2026-11-01T00:00:00Z", 5.0);
    let text = serde_json::to_string(&study).unwrap();
    assert_eq!(serde_json::from_str::<StudyResult>(&text).unwrap(), study);
}

#[test]
fn a_file_whose_fields_have_another_order_is_the_same_result() {
    use serde_json::Map;

    let load = load_with_keys_that_are_numbers();
    let value = serde_json::to_value(&load).unwrap();
    let mut fields: Vec<(String, Value)> = value.as_object().unwrap().clone().into_iter().collect();
    for _ in 0..fields.len() {
        fields.rotate_left(1);
        let rotated: Map<String, Value> = fields.iter().cloned().collect();
        let text = Value::Object(rotated).to_string();
        assert_eq!(serde_json::from_str::<LoadResult>(&text).unwrap(), load, "{}", fields[0].0);
    }
}

pub(crate) fn load_with_keys_that_are_numbers() -> LoadResult {
    let mut load = hoptax_result::sample::load();
    load.statuses = [(200, 3), (503, 1)].into();
    load
}
