//! Reads a report: in one pass a file of today's format and of this program or an older one, and by its fields any other file.
//!
//! `flatten` of serde would buffer each file, which loses the positions of errors, refuses maps whose keys are numbers, and cannot refuse
//! unknown fields.

use std::collections::BTreeSet;
use std::fmt::{Formatter, Result as FmtResult};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::newer::{leave_out_unknown, newer_file};
use super::{Body, Report};
use crate::older::{READERS, Reader};
use crate::version::to_today;
use crate::{Finding, Program, Verdict};

impl<'de, T: Body> Deserialize<'de> for Report<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfReport::<T>::new(READERS))
    }
}

impl<T: Body> Report<T> {
    /// Reads the text of a result as serde does, with these readers of older versions of its format in place of those of hoptax: for
    /// tests of formats that have older versions.
    ///
    /// # Errors
    /// When the text is no result of this kind, or one of a version that is not read.
    pub fn read_by(text: &str, readers: &'static [Reader]) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let report = deserializer.deserialize_map(OfReport::<T>::new(readers))?;
        deserializer.end()?;
        Ok(report)
    }
}

impl<T: Body> Report<T> {
    /// The result that has these fields, read as its text is: serde makes no further code for its types. Errors name no place.
    ///
    /// # Errors
    /// As of a text.
    pub fn from_fields(fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        T::from_text(&Value::Object(fields).to_string())
            .map_err(|error| serde_json::Error::custom(without_place(&error)))
    }
}

/// Reads a report.
struct OfReport<T> {
    /// Readers of older versions.
    readers: &'static [Reader],
    body: PhantomData<T>,
}

impl<T: Body> OfReport<T> {
    fn new(readers: &'static [Reader]) -> Self {
        Self { readers, body: PhantomData }
    }

    /// The report that has these fields.
    fn of_fields(&self, mut fields: Map<String, Value>) -> Result<Report<T>, serde_json::Error> {
        let missing = <serde_json::Error as Error>::missing_field;
        let format: String =
            serde_json::from_value(fields.remove("format").ok_or_else(|| missing("format"))?)?;
        let version = fields.get("program").and_then(version).map(str::to_owned);
        to_today(self.readers, &format, T::FORMAT, version.as_deref(), &mut fields)
            .map_err(serde_json::Error::custom)?;
        let newer = version.filter(|version| Program::is_newer(version));
        let left_out = if newer.is_some() { leave_out_unknown::<T>(&mut fields) } else { BTreeSet::new() };
        let program = fields.remove("program").ok_or_else(|| missing("program"))?;
        let program = serde_json::from_value(program)?;
        // As text: a further way to read would add code for all types of results to the program.
        let text = Value::Object(fields).to_string();
        let report = serde_json::Deserializer::from_str(&text)
            .deserialize_map(OfRest::<T> { program, body: PhantomData })
            .map_err(|error| without_place(&error));
        let Some(version) = newer else { return report.map_err(serde_json::Error::custom) };
        let mut report: Report<T> = report.map_err(|why| {
            serde_json::Error::custom(format_args!(
                "hoptax {version} wrote it, and this hoptax {} cannot read it: {why}; use hoptax {version} or a later one",
                Program::this().version
            ))
        })?;
        report.findings.extend(newer_file(&version, &left_out));
        Ok(report)
    }
}

/// An error in a text that is not that of the file.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// The version of a program.
fn version(program: &Value) -> Option<&str> {
    program.get("version")?.as_str()
}

impl<'de, T: Body> Visitor<'de> for OfReport<T> {
    type Value = Report<T>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FmtResult {
        write!(formatter, "a result of the format `{}`", T::FORMAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Report<T>, A::Error> {
        let mut fields = Map::new();
        // Every hoptax writes these first. They decide how the others are read.
        for name in ["format", "program"] {
            let Some(key) = map.next_key::<String>()? else { break };
            let is_expected = key == name;
            fields.insert(key, map.next_value()?);
            if !is_expected {
                break;
            }
        }
        let is_of_today = fields.get("format").and_then(Value::as_str) == Some(T::FORMAT);
        let program =
            fields.get("program").filter(|program| !version(program).is_some_and(Program::is_newer));
        if let Some(program) = program.filter(|_| is_of_today) {
            let program = Program::deserialize(program).map_err(A::Error::custom)?;
            return of_this_program(map, program);
        }
        while let Some((key, value)) = map.next_entry()? {
            fields.insert(key, value);
        }
        self.of_fields(fields).map_err(A::Error::custom)
    }
}

/// Reads the fields of a report whose format and program were read.
struct OfRest<T> {
    program: Program,
    body: PhantomData<T>,
}

impl<'de, T: Body> Visitor<'de> for OfRest<T> {
    type Value = Report<T>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FmtResult {
        write!(formatter, "fields of a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Report<T>, A::Error> {
        of_this_program(map, self.program)
    }
}

/// Reads the fields of a report but its format and its program; no others may be there.
fn of_this_program<'de, T: Body, A: MapAccess<'de>>(map: A, program: Program) -> Result<Report<T>, A::Error> {
    let mut envelope = Envelope::<T> { verdict: None, findings: None, environment: None };
    let body = T::deserialize(MapAccessDeserializer::new(OfBody { map, envelope: &mut envelope }))?;
    let missing = A::Error::missing_field;
    Ok(Report {
        program,
        verdict: envelope.verdict.ok_or_else(|| missing("verdict"))?,
        findings: envelope.findings.ok_or_else(|| missing("findings"))?,
        environment: envelope.environment.ok_or_else(|| missing("environment"))?,
        body,
    })
}

/// Fields of an envelope that were read.
struct Envelope<T: Body> {
    verdict: Option<Verdict>,
    findings: Option<Vec<Finding>>,
    environment: Option<T::Environment>,
}

/// The fields of a body. Those of the envelope among them are kept.
struct OfBody<'a, A, T: Body> {
    map: A,
    envelope: &'a mut Envelope<T>,
}

impl<'de, A: MapAccess<'de>, T: Body> MapAccess<'de> for OfBody<'_, A, T> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            match key.as_str() {
                "verdict" => self.envelope.verdict = Some(self.map.next_value()?),
                "findings" => self.envelope.findings = Some(self.map.next_value()?),
                "environment" => self.envelope.environment = Some(self.map.next_value()?),
                _ => return seed.deserialize(key.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
