//! The envelope of results.

use hoptax_result::{HistoryBody, HistoryResult};
use serde_json::{Value, json};

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
    assert!(why.starts_with("its format is `hoptax.history/1`, not `hoptax.history/2`"), "{why}");
}

#[cfg(feature = "sample")]
#[test]
fn results_are_read_as_they_were_written() {
    use hoptax_result::{LoadResult, StudyResult, sample};

    let mut load = sample::load();
    // Keys that are numbers.
    load.statuses = [(200, 3), (503, 1)].into();
    let text = serde_json::to_string(&load).unwrap();
    assert_eq!(serde_json::from_str::<LoadResult>(&text).unwrap(), load);
    let study = sample::study("ours", "2026-11-01T00:00:00Z", 5.0);
    let text = serde_json::to_string(&study).unwrap();
    assert_eq!(serde_json::from_str::<StudyResult>(&text).unwrap(), study);
}
