//! Files of older versions of a format, and their readers.

use hoptax_result::{Body, Reader, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::report::history;

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

    fn from_text(text: &str) -> Result<Report<Self>, serde_json::Error> {
        serde_json::from_str(text)
    }

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

/// Readers with a gap, and one of another kind in it.
const WITH_GAP: &[Reader] =
    &[("hoptax.artificial/2", nothing), ("hoptax.artificial/0", nothing), ("hoptax.other/1", nothing)];

fn nothing(_: &mut Map<String, Value>) {}

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
    Report::read_by(text, readers).map_err(|error| error.to_string())
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
    for (version, why) in [
        (0, "reads `hoptax.artificial/1` to `hoptax.artificial/3`: it is older than all that can be read"),
        (4, "a newer hoptax wrote it"),
    ] {
        let refused = read(&artificial(version, "rate", 600.0), READERS).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn versions_are_read_from_the_oldest_without_a_gap_in_the_readers() {
    for (version, is_read) in [(0, false), (1, false), (2, true), (3, true), (4, false)] {
        let found = read(&artificial(version, "rate_per_s", 10.0), WITH_GAP);
        assert_eq!(found.is_ok(), is_read, "{version}: {found:?}");
        if let Err(why) = found {
            assert!(why.contains("reads `hoptax.artificial/2` to `hoptax.artificial/3`"), "{why}");
        }
    }
}

#[test]
fn text_after_a_result_is_refused() {
    let text = artificial(3, "rate_per_s", 10.0) + "{}";
    assert!(read(&text, READERS).unwrap_err().starts_with("trailing characters"));
}
