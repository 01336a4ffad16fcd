//! Definition of a kind of result: its format, its schema, and its document. The list of all kinds is in [`documents`].
//!
//! [`documents`]: crate::documents

use hoptax_result::{Body, Environment, Finding, Machine, Program, Report, Verdict};
use schemars::Schema;
use serde_json::Result;

use crate::document::Document;

/// Returns true for the name of a built-in study, which is enough to measure it again.
pub type IsBuiltIn<'a> = &'a dyn Fn(&str) -> bool;

/// A kind of result file, for programs that read a file without knowing its kind.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name and version of its format.
    pub format: &'static str,
    /// Name of the kind: the format without its version.
    pub name: &'static str,
    /// The JSON Schema of its files.
    pub schema: fn() -> Schema,
    /// Reads the fields that every result file has.
    ///
    /// # Errors
    /// When the text is not of this kind.
    pub read: fn(&str) -> Result<Head>,
    /// Reads a file and writes it again.
    #[cfg(test)]
    pub(crate) again: fn(&str) -> Result<serde_json::Value>,
    /// Reads a file: its verdict with its findings, and those that its body alone leads to.
    #[cfg(test)]
    pub(crate) judged: fn(&str) -> Result<[Judged; 2]>,
    /// Reads a file and makes its document. The next step of a study that is built in measures it again by its name.
    ///
    /// # Errors
    /// When the text is not of this kind.
    pub document: fn(&str, IsBuiltIn<'_>) -> Result<Document>,
}

/// A verdict and its findings.
#[cfg(test)]
pub(crate) type Judged = (Verdict, Vec<Finding>);

/// Fields that result files of all kinds have.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The name of its kind.
    pub kind: &'static str,
    /// The program that wrote it.
    pub program: Program,
    /// Its verdict.
    pub verdict: Verdict,
    /// The machine, if it was measured.
    pub environment: Option<Environment>,
    /// Its subject, in one line.
    pub subject: String,
}

impl Kind {
    /// The kind of results with the body `T`. `document` makes a document from a file.
    pub(crate) const fn with_body<T: Body>(document: fn(&str, IsBuiltIn<'_>) -> Result<Document>) -> Self {
        Self {
            format: T::FORMAT,
            name: Report::<T>::KIND,
            schema: || schemars::schema_for!(Report<T>),
            read: head::<T>,
            #[cfg(test)]
            again: |text| serde_json::to_value(T::from_text(text)?),
            #[cfg(test)]
            judged: judged::<T>,
            document,
        }
    }
}

impl Head {
    /// The fields of a result that was read.
    pub(crate) fn from_report<T: Body>(report: &Report<T>) -> Self {
        Self {
            kind: Report::<T>::KIND,
            verdict: report.verdict,
            environment: report.environment.environment().cloned(),
            subject: report.body.subject(),
            program: report.program.clone(),
        }
    }
}

#[cfg(test)]
fn judged<T: Body>(text: &str) -> Result<[Judged; 2]> {
    let Report { verdict, findings, environment, body, .. } = T::from_text(text)?;
    let by_itself = Report::new(environment, body);
    Ok([(verdict, findings), (by_itself.verdict, by_itself.findings)])
}

fn head<T: Body>(text: &str) -> Result<Head> {
    Ok(Head::from_report(&T::from_text(text)?))
}

/// Reads a file, and makes its document with `of`.
pub(crate) fn document<T: Body>(text: &str, of: impl FnOnce(&Report<T>) -> Document) -> Result<Document> {
    let report = T::from_text(text)?;
    let mut document = of(&report);
    // The first screen does not show informational findings, but a reader must know that the file contains more.
    let is_of_newer = |finding: &&Finding| finding.id == Finding::NEWER_FILE;
    document.notes.extend(report.findings.iter().filter(is_of_newer).map(|finding| finding.message.clone()));
    Ok(document)
}
