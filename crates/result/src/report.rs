//! The envelope that all result files share: their format, the program, the judgement, and the machine.
//!
//! In JSON, the fields of the body stand beside those of the envelope, so that a reader finds `arms` and `verdict` in one place. The
//! same holds in Rust: a report dereferences to its body.

mod newer;
mod read;

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use crate::{Environment, Finding, Measured, Program, Severity, Verdict, counted};

/// Part of a result that its kind defines: all fields but those of the envelope.
pub trait Body: Serialize + DeserializeOwned + JsonSchema {
    /// Name and version of the format of its files: `hoptax.NAME/VERSION`. A new version needs a reader of the one before (`older.rs`).
    const FORMAT: &'static str;

    /// The machine that it was measured on: [`Environment`], or `()` for results that are computed from files alone.
    type Environment: Machine;

    /// Reads the text of a result of this kind, as serde does. Each kind has the function itself (`read_in_this_crate!`), so that what serde
    /// makes for its types is compiled here, once: every crate that reads a result would otherwise compile that, and once more for its unit
    /// tests.
    ///
    /// # Errors
    /// When the text is no result of this kind, or one of a version that is not read.
    fn from_text(text: &str) -> Result<Report<Self>, serde_json::Error>;

    /// Returns its subject, as lists name it: a study, a URL, a graph.
    fn subject(&self) -> String;

    /// Returns the time that the measurement took, seconds; none if the body does not state it.
    fn duration_s(&self) -> Option<f64> {
        None
    }

    /// The findings that its own numbers lead to: the reasons of its verdict. Checks of a study or a load judge its report after that.
    fn own_findings(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// True if its own numbers answer nothing, for which it has a finding.
    fn is_void(&self) -> bool {
        false
    }

    /// The verdict that its own findings lead to.
    fn verdict(&self) -> Verdict {
        Verdict::from_findings(&self.own_findings(), self.is_void())
    }
}

/// [`Body::from_text`] of a kind of result.
macro_rules! read_in_this_crate {
    () => {
        fn from_text(text: &str) -> Result<crate::Report<Self>, serde_json::Error> {
            serde_json::from_str(text)
        }
    };
}
pub(crate) use read_in_this_crate;

/// Machine of a report: [`Environment`], or `()` for none.
pub trait Machine: Clone + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema {
    /// The machine, if there is one.
    fn environment(&self) -> Option<&Environment>;
}

impl Machine for Environment {
    fn environment(&self) -> Option<&Environment> {
        Some(self)
    }
}

impl Machine for () {
    fn environment(&self) -> Option<&Environment> {
        None
    }
}

/// A result with its envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Report<T: Body> {
    /// The program that made it.
    pub program: Program,
    /// The verdict that follows from the findings; of a result that is computed from others, their worst.
    pub verdict: Verdict,
    /// Findings of validity checks.
    pub findings: Vec<Finding>,
    /// The machine.
    pub environment: T::Environment,
    /// The rest.
    pub body: T,
}

impl<T: Body> Report<T> {
    /// Name and version of its format.
    pub const FORMAT: &'static str = T::FORMAT;
    /// Name of its kind, such as `study`: that of its format without the version.
    pub const KIND: &'static str = name_of(T::FORMAT);

    /// True if `format` is a version of its format, one that is not read among them.
    pub fn is_format(format: &str) -> bool {
        format.starts_with("hoptax.") && format.contains('/') && name_of(format) == Self::KIND
    }

    /// A result of this program, with the verdict and the findings of its body: no check has judged it yet, or none judges it.
    #[must_use]
    pub fn new(environment: T::Environment, body: T) -> Self {
        let (verdict, findings) = (body.verdict(), body.own_findings());
        Self { program: Program::this(), verdict, findings, environment, body }
    }

    /// The same with a judgement.
    #[must_use]
    pub fn judged(self, verdict: Verdict, findings: Vec<Finding>) -> Self {
        Self { verdict, findings, ..self }
    }

    /// The finding of a result that rests on this one, which `what` names; none if the verdict of this one is sound.
    pub fn as_source(&self, what: &str) -> Option<Finding> {
        let severity = match self.verdict {
            Verdict::Sound => return None,
            Verdict::Caution => Severity::Warn,
            Verdict::Void => Severity::Fail,
        };
        let weighing = || self.findings.iter().filter(|finding| finding.severity > Severity::Info);
        let count = weighing().count();
        let worst = weighing().find(|finding| finding.severity == Severity::Fail);
        let first = worst.or_else(|| weighing().next());
        let first = first.map_or_else(String::new, |finding| format!(", such as `{}`", finding.id));
        let message = format!(
            "{what}, on which this rests, has the verdict {}: {}{first}",
            self.verdict.as_str(),
            counted(count as u64, "finding")
        );
        let measured = Measured::count(count as f64, 0.0, "findings");
        let advice = "read its findings, which `hoptax runs show` prints; measure it again as they advise";
        Some(Finding::new(Finding::SOURCE_VERDICT, severity, measured, message, advice).keeping())
    }

    /// The same with the judgement of the result that it is computed from.
    #[must_use]
    pub fn judged_as<U: Body>(self, other: &Report<U>) -> Self {
        self.judged(other.verdict, other.findings.clone())
    }
}

/// The name of the kind in that of a format: without the program and the version.
const fn name_of(format: &str) -> &str {
    match format.split_at_checked("hoptax.".len()) {
        Some((_, name)) => {
            let (mut end, bytes) = (0, name.as_bytes());
            while end < bytes.len() && bytes[end] != b'/' {
                end += 1;
            }
            name.split_at(end).0
        }
        None => format,
    }
}

impl<T: Body> Deref for Report<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

impl<T: Body> DerefMut for Report<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.body
    }
}

/// The fields of a result file.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Fields<'a, T: Body> {
    /// Name and version of this format.
    format: FormatOf<T>,
    /// The program that made it.
    program: &'a Program,
    /// The verdict that follows from the findings; of a result that is computed from others, their worst.
    verdict: Verdict,
    /// Findings of validity checks.
    findings: &'a [Finding],
    /// The machine; null for a result that is computed from files alone.
    environment: &'a T::Environment,
    #[serde(flatten)]
    body: &'a T,
}

/// The format of a kind of result, as a value.
struct FormatOf<T>(PhantomData<T>);

impl<T: Body> Serialize for FormatOf<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(T::FORMAT)
    }
}

impl<T: Body> JsonSchema for FormatOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Format".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "const": T::FORMAT})
    }
}

impl<T: Body> Serialize for Report<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { program, verdict, findings, environment, body } = self;
        let format = FormatOf(PhantomData);
        Fields { format, program, verdict: *verdict, findings, environment, body }.serialize(serializer)
    }
}

impl<T: Body> JsonSchema for Report<T> {
    fn schema_name() -> Cow<'static, str> {
        T::FORMAT.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Fields::<'_, T>::json_schema(generator);
        if let Some(of_body) = T::json_schema(generator).remove("description") {
            schema.insert("description".to_owned(), of_body);
        }
        schema
    }
}
