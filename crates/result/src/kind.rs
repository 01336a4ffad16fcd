//! All kinds of result files, for programs that read one without knowing its kind.

use schemars::Schema;
use serde::Deserialize;

use crate::report::name_of;
use crate::{
    BillBody, Body, CalibrationBody, ComparisonBody, CrosscheckBody, Environment, FindArmsBody, FindBody,
    GateBody, GraphRunBody, HistoryBody, LoadBody, Machine, MeshMarkBody, PricesBody, Program, Report,
    RunsBody, ScaleBody, SittingsBody, SizeBody, SizeCheckBody, StudiesComparisonBody, StudyBody, Verdict,
};

/// A kind of result file.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name and version of its format.
    pub format: &'static str,
    /// The JSON Schema of its files.
    pub schema: fn() -> Schema,
    /// Reads a file of it.
    ///
    /// # Errors
    /// When the text is none.
    pub read: fn(&str) -> serde_json::Result<Head>,
}

/// What every result file states, whatever its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The name of its kind.
    pub kind: &'static str,
    /// The program that made it.
    pub program: Program,
    /// Its verdict.
    pub verdict: Verdict,
    /// The machine, if it was measured.
    pub environment: Option<Environment>,
    /// What it is about.
    pub subject: String,
}

impl Kind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::of::<StudyBody>(),
        Self::of::<SittingsBody>(),
        Self::of::<BillBody>(),
        Self::of::<ComparisonBody>(),
        Self::of::<StudiesComparisonBody>(),
        Self::of::<GateBody>(),
        Self::of::<LoadBody>(),
        Self::of::<FindBody>(),
        Self::of::<FindArmsBody>(),
        Self::of::<ScaleBody>(),
        Self::of::<SizeBody>(),
        Self::of::<SizeCheckBody>(),
        Self::of::<GraphRunBody>(),
        Self::of::<MeshMarkBody>(),
        Self::of::<CalibrationBody>(),
        Self::of::<CrosscheckBody>(),
        Self::of::<PricesBody>(),
        Self::of::<RunsBody>(),
        Self::of::<HistoryBody>(),
    ];

    const fn of<T: Body>() -> Self {
        Self { format: T::FORMAT, schema: || schemars::schema_for!(Report<T>), read: read::<T> }
    }

    /// Its name: that of its format without the version.
    pub fn name(&self) -> &'static str {
        name_of(self.format)
    }

    /// The kind of a result file.
    ///
    /// # Errors
    /// Why it is none.
    pub fn of_text(text: &str) -> Result<&'static Self, String> {
        /// What all result files have.
        #[derive(Deserialize)]
        struct Format {
            format: String,
        }
        let found: Format =
            serde_json::from_str(text).map_err(|error| format!("it is no result of hoptax ({error})"))?;
        Self::ALL.iter().find(|kind| kind.format == found.format).ok_or_else(|| {
            let same = Self::ALL.iter().find(|kind| kind.name() == name_of(&found.format));
            match same {
                Some(kind) => format!(
                    "its format is `{}`, and this version of hoptax reads `{}`: use the hoptax that wrote it",
                    found.format, kind.format
                ),
                None => format!("its format is `{}`, which is not one of results", found.format),
            }
        })
    }
}

fn read<T: Body>(text: &str) -> serde_json::Result<Head> {
    let report: Report<T> = serde_json::from_str(text)?;
    Ok(Head {
        kind: Report::<T>::KIND,
        verdict: report.verdict,
        environment: report.environment.environment().cloned(),
        subject: report.body.subject(),
        program: report.program,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::{Value, json};

    use super::*;
    use crate::{HistoryResult, Verdict};

    const ENVELOPE: [&str; 5] = ["format", "program", "verdict", "findings", "environment"];

    fn history() -> Value {
        let body = HistoryBody { number: "max_rate".to_owned(), significance: 0.01, series: Vec::new() };
        serde_json::to_value(HistoryResult::new((), body)).unwrap()
    }

    #[test]
    fn every_kind_has_the_envelope_and_its_schema_says_so() {
        for kind in Kind::ALL {
            let schema = (kind.schema)().to_value();
            let required: Vec<&str> =
                schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            for field in ENVELOPE {
                assert!(required.contains(&field), "{}: {required:?}", kind.format);
                assert!(schema["properties"].get(field).is_some(), "{} lacks {field}", kind.format);
            }
            assert_eq!(schema["properties"]["format"]["const"], kind.format);
            assert_eq!(schema["title"], kind.format);
            assert_eq!(schema["additionalProperties"], false, "{}", kind.format);
            assert_eq!(
                kind.format,
                format!("hoptax.{}/{}", kind.name(), kind.format.split_once('/').unwrap().1)
            );
            // What reads it asks for the envelope, too.
            let text = format!("{{\"format\": \"{}\"}}", kind.format);
            assert_eq!(Kind::of_text(&text).unwrap().format, kind.format);
            assert!((kind.read)(&text).unwrap_err().to_string().contains("missing field"), "{text}");
        }
    }

    #[test]
    fn the_fields_of_a_body_stand_beside_those_of_its_envelope() {
        let value = history();
        let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, [&ENVELOPE[..], &["number", "significance", "series"]].concat());
        assert_eq!((&value["environment"], &value["verdict"]), (&Value::Null, &json!("sound")));
        let kind = Kind::of_text(&value.to_string()).unwrap();
        let head = (kind.read)(&value.to_string()).unwrap();
        assert_eq!((head.kind, head.subject.as_str(), head.verdict), ("history", "max_rate", Verdict::Sound));
        assert_eq!((head.program, head.environment), (Program::this(), None));
    }

    #[test]
    fn a_file_without_a_field_of_the_envelope_and_one_with_an_unknown_field_are_refused() {
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
    }

    #[test]
    fn a_file_of_another_format_is_refused_by_its_format() {
        let mut value = history();
        value["format"] = json!("hoptax.history/1");
        let why = Kind::of_text(&value.to_string()).unwrap_err();
        assert!(why.contains("`hoptax.history/1`") && why.contains("reads `hoptax.history/2`"), "{why}");
        let why = serde_json::from_str::<HistoryResult>(&value.to_string()).unwrap_err().to_string();
        assert!(why.starts_with("its format is `hoptax.history/1`, not `hoptax.history/2`"), "{why}");
        value["format"] = json!("elsewhere/1");
        assert!(Kind::of_text(&value.to_string()).unwrap_err().contains("not one of results"));
        assert!(Kind::of_text("[]").unwrap_err().starts_with("it is no result of hoptax"));
    }
}

#[cfg(all(test, feature = "sample"))]
mod sample_tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use crate::{LoadResult, StudyResult, sample};

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
}
