//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use hoptax_text::command_line::{path_option, path_word};
use rusqlite::ErrorCode;

use crate::run_files;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite failed.
    #[error("cannot use the store `{}`: {source}", path.display())]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// Its content is inconsistent; [`crate::store::with_existing`] salvages it.
    #[error("the store `{}` is damaged: {what}", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// A later version of hoptax wrote it.
    #[error(
        "the store `{}` has version {found}, but this hoptax reads versions up to {supported}: use the newer hoptax that wrote it, or \
         another file with --store",
        path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The latest version that can be read.
        supported: usize,
    },
    /// The file is not a store. It is never changed.
    #[error(
        "`{}` is not a store of hoptax: {what}; name another file with --store, or move this one away",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The kind of the file.
        what: String,
    },
    /// The path is that of a folder.
    #[error("`{}` is a folder: name a file, such as `{}`", path.display(), path.join("store.sqlite").display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// Another process has the store open, so it cannot be salvaged now.
    #[error("the store `{}` is damaged, and another hoptax uses it: run this again when that has ended", path.display())]
    InUse {
        /// The store.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot {what} `{}`: {source}", path.display())]
    File {
        /// The action: `read`, `write`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The lock file beside the store cannot be opened.
    #[error(
        "cannot open `{}`, the lock of the store beside it, which readers need, too: {source}; name a store in a folder that you can \
         write with --store, such as a copy",
        path.display()
    )]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path to import does not contain a run.
    #[error("`{}` cannot be imported: {why}", path.display())]
    NotARun {
        /// The folder or file.
        path: PathBuf,
        /// The kind of the file, or the parts that it lacks.
        why: String,
    },
    /// The store has no such run.
    #[error("the store `{}` has no run `{run}`{}", path.display(), way_to_run(path, run))]
    NoRun {
        /// The store.
        path: PathBuf,
        /// The number or label.
        run: String,
    },
    /// Several runs have the label.
    #[error("the label `{label}` has several runs ({runs}): name one of them by its number", runs = numbers(runs))]
    SeveralRuns {
        /// The label.
        label: String,
        /// The runs that have it.
        runs: Vec<i64>,
    },
}

/// The option that names the store in a command; empty for the default store.
fn option(path: &Path) -> String {
    path_option("--store", (!super::is_usual(path)).then_some(path))
}

/// What to do about a run that the store does not have, after its name. A path names no run of a store.
fn way_to_run(store: &Path, run: &str) -> String {
    let option = option(store);
    if run_files::is_path(run) {
        let file = path_word(Path::new(run));
        format!("; import it first: `hoptax runs import {file}{option}` prints its number")
    } else {
        format!(": `hoptax runs list{option}` lists the runs")
    }
}

fn numbers(runs: &[i64]) -> String {
    runs.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

fn is_short_read(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
}

impl StoreError {
    /// The error of SQLite for the store at `path`.
    pub(crate) fn new(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::Error;
        let path = path.to_owned();
        if let Error::FromSqlConversionFailure(..)
        | Error::InvalidColumnType(..)
        | Error::IntegralValueOutOfRange(..) = source
        {
            return Self::Damaged { path, what: source.to_string() };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, what: source.to_string() },
            // The file is truncated within a page.
            Some(ErrorCode::SystemIoFailure) if is_short_read(&source) => {
                Self::Damaged { path, what: "its end is missing".to_owned() }
            }
            Some(ErrorCode::NotADatabase) => Self::Foreign {
                path,
                what: "it is not an SQLite file, or its first page is damaged".to_owned(),
            },
            _ => Self::Sqlite { path, source },
        }
    }

    /// The error of a file.
    pub(crate) fn file(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { what, path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_lists_the_runs_names_a_store_that_is_not_the_usual_one() {
        let error = StoreError::NoRun { path: "/elsewhere/mine.sqlite".into(), run: "9".to_owned() };
        let text = error.to_string();
        assert!(text.ends_with("`hoptax runs list --store /elsewhere/mine.sqlite` lists the runs"), "{text}");
    }

    #[test]
    fn a_file_in_place_of_a_run_is_to_be_imported_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("l1.json");
        std::fs::write(&file, "{}").unwrap();
        let run = file.display().to_string();
        let text = StoreError::NoRun { path: "mine.sqlite".into(), run: run.clone() }.to_string();
        let expected = format!(
            "the store `mine.sqlite` has no run `{run}`; import it first: `hoptax runs import {run} --store mine.sqlite` prints its number"
        );
        assert_eq!(text, expected);
    }
}
