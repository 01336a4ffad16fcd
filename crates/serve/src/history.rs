//! Reads the runs of the store, stores the results of jobs, and labels runs.

use std::path::{Path, PathBuf};

use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_result::{RunsBody, RunsResult, StoredRun, Verdict};
use hoptax_session::export::{Format, text_formats_of, text_in};
use hoptax_session::store::{self, Latest, Store, StoreError};
use hoptax_session::{Failure, Update, results};

use crate::again;
use crate::labels::LabelChange;
use crate::problem::Problem;

/// Reports events of the store to the operator of the server.
pub type OnUpdate = fn(Update<'_>);

/// Maximum number of runs in a list. A longer page would open slowly; the API returns further pages, and `hoptax runs list` shows all runs.
pub(crate) const MAX_RUNS: u32 = 500;

/// The source of runs measured by this server.
const SOURCE: &str = "hoptax serve";

/// The runs of a store.
#[derive(Clone, Debug)]
pub(crate) struct History {
    store: PathBuf,
    on_update: OnUpdate,
}

/// The content of the page of a run.
pub(crate) struct PageOfRun {
    /// The document of its result.
    pub(crate) document: Document,
    /// The formats of other tools that the result can be converted to.
    pub(crate) formats: Vec<Format>,
    /// The URL fragment of the form with its settings; none if they are unknown.
    pub(crate) again: Option<String>,
    /// The run of the same study on the same machine before it; none without one.
    pub(crate) before: Option<StoredRun>,
}

impl History {
    pub(crate) fn new(store: PathBuf, on_update: OnUpdate) -> Self {
        Self { store, on_update }
    }

    /// Checks that results can be stored. Unlike the answers to clients, the failure names the store.
    ///
    /// # Errors
    /// When they cannot.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        store::check(&self.store, &self.on_update)
    }

    /// At most `limit` runs, the latest first, and the total number of runs. With `before`, only runs that follow this run in the list.
    /// None without a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn runs(&self, before: Option<i64>, limit: u32) -> Result<(RunsResult, u64), Problem> {
        let Latest { runs, count } = self.read(|store| store.latest(before, limit))?;
        Ok((RunsResult::new((), RunsBody { runs }), count))
    }

    /// The result of a run, as it is stored.
    ///
    /// # Errors
    /// When there is no such run or it has no result, and when the store cannot be read.
    pub(crate) fn result(&self, run: i64) -> Result<String, Problem> {
        let found = self.read(|store| store.result(run))?;
        found.ok_or_else(|| no_result(run))
    }

    /// The result of a run with the numbers that other runs can be compared with, and that can be converted to formats of other tools: of
    /// a bill, a comparison or a gate, that of its study.
    ///
    /// # Errors
    /// As [`Self::result`].
    pub(crate) fn measured(&self, run: i64) -> Result<String, Problem> {
        let found = self.read(|store| store.measured(run))?;
        found.ok_or_else(|| no_result(run))
    }

    /// Refuses runs whose results together exceed this size, before they are read. A run without a result has size zero.
    ///
    /// # Errors
    /// When they exceed it, and when the store cannot be read.
    pub(crate) fn check_size(&self, runs: &[i64], most_bytes: u64) -> Result<(), Problem> {
        let sizes: Vec<Option<u64>> =
            self.read(|store| runs.iter().map(|run| store.result_bytes(*run)).collect())?;
        let all_bytes: u64 = sizes.into_iter().flatten().sum();
        if all_bytes <= most_bytes {
            return Ok(());
        }
        let names: Vec<String> = runs.iter().map(i64::to_string).collect();
        Err(Problem::bad_input(format!(
            "`runs`: their results have {all_bytes} bytes, and at most {most_bytes} are read here: name fewer, or use `hoptax runs \
             compare {}` on the machine itself",
            names.join(" ")
        )))
    }

    /// The document of the result of a run.
    ///
    /// # Errors
    /// As [`Self::result`], and when it was written by a version of hoptax that cannot be read.
    pub(crate) fn document(&self, run: i64) -> Result<Document, Problem> {
        Ok(document_of(run, &self.result(run)?)?.shown_by(run))
    }

    /// The content of the page of a run.
    ///
    /// # Errors
    /// As [`Self::document`].
    pub(crate) fn page(&self, run: i64) -> Result<PageOfRun, Problem> {
        let result = self.result(run)?;
        // Results of other commands may not state all of their settings.
        let is_own = self.read(|store| Ok(store.run(run)?.source == SOURCE))?;
        let measured = self.read(|store| store.measured(run))?;
        Ok(PageOfRun {
            document: document_of(run, &result)?.shown_by(run),
            formats: measured.as_deref().map(text_formats_of).unwrap_or_default(),
            again: if is_own { again::address(&result) } else { None },
            before: self.read(|store| store.study_before(run))?,
        })
    }

    /// The result of a run in a format of other tools.
    ///
    /// # Errors
    /// As [`Self::document`], and when the result cannot be converted to this format.
    pub(crate) fn exported(&self, run: i64, format: Format) -> Result<String, Problem> {
        let result = self.measured(run)?;
        documents::kind_of_text(&result).map_err(|why| not_readable(run, &why))?;
        text_in(format, &result).map_err(|why| {
            Problem::not_found(format!("run {run} cannot be converted to `{}`: {why}", format.name()))
        })
    }

    /// Stores a result that is not in a file, and returns its run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep(&self, result: &str) -> Result<i64, Failure> {
        self.put(|store| store.put_result(result, SOURCE))
    }

    /// Stores the content of a run folder: its result, or its complete rounds. Returns its run; none if the folder is not a run folder.
    ///
    /// # Errors
    /// When the folder cannot be read, or the store cannot be written.
    pub(crate) fn keep_folder(&self, folder: &Path) -> Result<Option<i64>, Failure> {
        self.put(|store| match store.put_folder(folder, SOURCE) {
            Ok(imported) => Ok(Some(imported.run)),
            Err(StoreError::NotARun { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// The verdict on a run; none without a result.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn verdict(&self, run: i64) -> Result<Option<Verdict>, Failure> {
        self.put(|store| store.run(run)).map(|run| run.verdict)
    }

    /// Changes the labels of a run, and returns it; none if there is no such run.
    ///
    /// # Errors
    /// When the store cannot be read or written, or the run would have too many labels.
    pub(crate) fn label(&self, run: i64, change: &LabelChange) -> Result<Option<StoredRun>, Problem> {
        let labelled = self.read(|store| {
            let before = match store.run(run) {
                Err(StoreError::NoRun { .. }) => return Ok(None),
                found => found?.labels,
            };
            if let Err(why) = change.check_number(&before) {
                return Ok(Some(Err(Problem::bad_input(why))));
            }
            for label in &change.remove {
                store.unlabel(run, label)?;
            }
            for label in &change.add {
                store.label(run, label, change.is_only)?;
            }
            store.run(run).map(|labelled| Some(Ok(labelled)))
        })?;
        labelled.transpose()
    }

    fn put<T>(&self, work: impl FnMut(&mut Store) -> Result<T, StoreError>) -> Result<T, Failure> {
        store::with_existing_or_new(&self.store, work, &self.on_update).map_err(|failure| {
            self.report(&failure);
            Failure::environment(
                "the result is lost: the store cannot be written; the server's terminal says why",
            )
        })
    }

    /// Reads the store; returns the default if there is no store.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read<T: Default>(&self, work: impl FnMut(&mut Store) -> Result<T, StoreError>) -> Result<T, Problem> {
        if !self.store.exists() {
            return Ok(T::default());
        }
        store::with_existing(&self.store, work, &self.on_update).map_err(|failure| {
            self.report(&failure);
            Problem::internal("the store cannot be read: the server's terminal says why")
        })
    }

    /// Reports a failure to the operator of the server. It contains local paths, which clients must not see.
    fn report(&self, failure: &Failure) {
        (self.on_update)(Update::Problem(&failure.to_string()));
    }
}

/// The document of the text of a result.
///
/// # Errors
/// When it was written by a version of hoptax that cannot be read.
fn document_of(run: i64, text: &str) -> Result<Document, Problem> {
    results::document(text).map_err(|why| not_readable(run, &why))
}

/// The error for a run without a result.
fn no_result(run: i64) -> Problem {
    Problem::not_found(format!("there is no run {run}, or it has no result"))
}

/// The error for a run whose result was written by a version of hoptax that cannot be read.
pub(crate) fn not_readable(run: i64, why: &str) -> Problem {
    Problem::not_readable(format!(
        "run {run} cannot be shown: {why}; its address `result` has the stored result"
    ))
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_of_another_version_is_no_fault_of_this_machine() {
        let mut result = json!(sample::load());
        assert!(document_of(1, &result.to_string()).is_ok());
        result["format"] = json!("hoptax.load/999");
        let problem = document_of(12, &result.to_string()).unwrap_err();
        assert_eq!(problem.status.as_u16(), 501);
        assert!(problem.error.contains("run 12 cannot be shown: "), "{}", problem.error);
    }
}
