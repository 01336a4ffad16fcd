//! Reads the runs of the store, and keeps the results of loads in it.

use std::path::PathBuf;

use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_result::{RunsBody, RunsResult};
use hoptax_session::store::{self, Filter};
use hoptax_session::{Failure, Say, Update};

use crate::problem::Problem;

/// Tells whoever started the server what happens to the store.
pub type Tell = fn(Update<'_>);

/// The source of runs that this server measured.
const SOURCE: &str = "hoptax serve";

/// The runs of a store.
#[derive(Clone, Debug)]
pub(crate) struct History {
    store: PathBuf,
    tell: Tell,
}

impl History {
    pub(crate) fn new(store: PathBuf, tell: Tell) -> Self {
        Self { store, tell }
    }

    /// All runs, the latest first; none without a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn runs(&self) -> Result<RunsResult, Problem> {
        let runs = if self.store.exists() {
            store::with(&self.store, |store| store.list(&Filter::default()), &self.tell)
                .map_err(Problem::internal)?
        } else {
            Vec::new()
        };
        Ok(RunsResult::new((), RunsBody { runs }))
    }

    /// The result of a run, as it is stored.
    ///
    /// # Errors
    /// When there is no such run, or it has none; and when the store cannot be read.
    pub(crate) fn result(&self, run: i64) -> Result<String, Problem> {
        let found = if self.store.exists() {
            store::with(&self.store, |store| store.result(run), &self.tell).map_err(Problem::internal)?
        } else {
            None
        };
        found.ok_or_else(|| Problem::not_found(format!("there is no run {run}, or it has no result")))
    }

    /// The document of the result of a run.
    ///
    /// # Errors
    /// As [`Self::result`], and when another version of hoptax wrote it.
    pub(crate) fn document(&self, run: i64) -> Result<Document, Problem> {
        let text = self.result(run)?;
        let document = documents::of_text(&text)
            .map_err(|why| Problem::internal(format!("run {run} cannot be shown: {why}")))?;
        Ok(document.shown_by(run))
    }

    /// Keeps the result of a load, and returns its run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep(&self, result: &str, say: Say<'_>) -> Result<i64, Failure> {
        store::with_new(&self.store, |store| store.put_result(result, SOURCE), say)
    }
}

/// The number of a run or a job in an address; none for any other text, so that no address names a file.
pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(number::<i64>("12"), Some(12));
        for text in
            ["", "-1", "+1", " 1", "1.0", "1e3", "../1", "99999999999999999999", "nightly", "1/result"]
        {
            assert_eq!(number::<i64>(text), None, "{text}");
        }
    }
}
