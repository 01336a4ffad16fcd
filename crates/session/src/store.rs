//! The store: results of studies and loads in one SQLite file, with the files of their run folders. [`with_existing`] opens it, and
//! salvages it if it is damaged.
//!
//! A run is a row of the columns that lists need, the unchanged files of its folder, and its labels. The numbers of its result are also
//! rows, so that [`Store::series`] reads a number over many runs without parsing results. All rows are derived from the files
//! ([`describe`]), which are the source of truth.
//!
//! Each content is stored once, under its SHA-256, and verified whenever it is read: SQLite does not notice a changed byte in a value.
//! Secrets are left out ([`secrets`]). A damaged store is salvaged run by run ([`mod@salvage`]).

mod contents;
mod database;
mod describe;
mod error;
pub(crate) mod folder;
mod import;
mod labels;
mod list;
mod paths;
mod salvage;
mod schema;
mod secrets;
mod series;

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hoptax_result::counted;
use hoptax_text::command_line::path_word;

use crate::failure::Failure;
use crate::update::{Say, Update};

pub use database::{Compacted, Store};
pub use error::StoreError;
pub use folder::RunFile;
pub use import::Imported;
pub use list::{Filter, Latest, since};
pub(crate) use paths::{PathImported, import_all};
pub(crate) use secrets::has_secrets;

use salvage::{Salvaged, UNLISTED, salvage};

/// The environment variable with the path of the store.
const VARIABLE: &str = "HOPTAX_STORE";

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoRun { .. }
            | StoreError::SeveralRuns { .. }
            | StoreError::NotARun { .. }
            | StoreError::Foreign { .. }
            | StoreError::Folder { .. } => Self::bad_input(error),
            // The target folder for the files of a run contains other files.
            StoreError::File { ref source, .. } if source.kind() == ErrorKind::AlreadyExists => {
                Self::bad_input(error)
            }
            _ => Self::environment(error),
        }
    }
}

/// The store named by the environment, if any.
pub fn of_environment() -> Option<PathBuf> {
    variable(VARIABLE)
}

/// The path of the store: the given path, that of the environment, or the default in the user's data directory (XDG Base Directory
/// Specification).
///
/// # Errors
/// Without a home directory.
pub fn path(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let data = || {
        let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")))?;
        Some(data.join("hoptax/store.sqlite"))
    };
    given.map(Path::to_owned).or_else(of_environment).or_else(data).ok_or_else(|| {
        Failure::environment(format!(
            "there is no home directory for the store: name a file with --store or {VARIABLE}"
        ))
    })
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Runs `work` on an existing store. Salvages a damaged store, and then repeats the work.
///
/// # Errors
/// When there is no store, or the work fails.
pub fn with_existing<T>(
    path: &Path,
    work: impl FnMut(&mut Store) -> Result<T, StoreError>,
    say: Say<'_>,
) -> Result<T, Failure> {
    if !path.exists() {
        return Err(Failure::bad_input(format!(
            "there is no store `{}` yet: `hoptax runs import DIR` and `hoptax study --store` create it; \
             `hoptax runs show PATH` prints a run folder or a result file without a store",
            path.display()
        )));
    }
    with_existing_or_new(path, work, say)
}

/// Runs `work` on a store, and creates the store if there is none.
///
/// # Errors
/// When the work fails.
pub fn with_existing_or_new<T>(
    path: &Path,
    mut work: impl FnMut(&mut Store) -> Result<T, StoreError>,
    say: Say<'_>,
) -> Result<T, Failure> {
    salvaging(path, || work(&mut Store::open(path)?), say)
}

/// Checks before anything is measured that results can be stored: in the store, or in its folder if there is none yet. Only the folder of
/// the default store, or of that of the environment, is created.
///
/// # Errors
/// When there is no such folder, or the store cannot be used or written.
pub fn check(path: &Path, say: Say<'_>) -> Result<(), Failure> {
    if path.exists() {
        return with_existing_or_new(path, Store::check_writable, say);
    }
    let folder = database::folder(path);
    if !folder.is_dir() && !is_usual(path) {
        return Err(Failure::bad_input(format!(
            "there is no folder `{}` for the store: create it, or name another file with --store",
            folder.display()
        )));
    }
    Ok(database::temporary(path).map(drop)?)
}

/// Returns true if this is the store of commands that name none.
fn is_usual(store: &Path) -> bool {
    path(None).is_ok_and(|usual| usual == store)
}

/// Runs `work`, which opens the store in this file if it needs one. Salvages a damaged store, and then repeats the work.
///
/// # Errors
/// When the work fails.
pub(crate) fn salvaging<T>(
    path: &Path,
    mut work: impl FnMut() -> Result<T, StoreError>,
    say: Say<'_>,
) -> Result<T, Failure> {
    match work() {
        Err(error @ StoreError::Damaged { .. }) => {
            say(Update::Problem(&error.to_string()));
            if let Some(salvaged) = salvage(path, SystemTime::now())? {
                say(Update::Note(&text(&salvaged)));
            }
            Ok(work()?)
        }
        outcome => Ok(outcome?),
    }
}

/// Puts a run folder that has its result into a store, and says the number of the run. An error of the store is said, with the command that
/// stores the folder later: the folder has everything.
pub fn put_measured(path: &Path, folder: &Path, say: Say<'_>) {
    match with_existing_or_new(path, |store| store.import_folder(folder), say) {
        Ok(imported) => say(Update::Note(&format!("stored as run {} in {}", imported.run, path.display()))),
        Err(error) => say(Update::Problem(&format!(
            "{error}\n`hoptax runs import {}` stores the run later",
            path_word(folder)
        ))),
    }
}

/// A message about the runs and files that were salvaged or lost.
fn text(salvaged: &Salvaged) -> String {
    let Salvaged { copy, runs, incomplete, lost } = salvaged;
    let runs = counted(*runs as u64, "run");
    let mut text = format!("a copy of it is `{}`; salvaged: {runs}", copy.display());
    for (run, files) in incomplete {
        let (perhaps, surely): (Vec<&str>, Vec<&str>) =
            files.iter().map(String::as_str).partition(|file| *file == UNLISTED);
        let surely = (!surely.is_empty()).then(|| format!("lost {}", surely.join(", ")));
        let perhaps = perhaps.first().map(|files| format!("perhaps lost {files}"));
        let both: Vec<String> = surely.into_iter().chain(perhaps).collect();
        text += &format!("\n  run {run} {}", both.join(", and "));
    }
    if !lost.is_empty() {
        let runs = if lost.len() == 1 { "run" } else { "runs" };
        let lost: Vec<String> = lost.iter().map(i64::to_string).collect();
        text += &format!("\n  lost: {runs} {}", lost.join(", "));
    }
    if incomplete.is_empty() && lost.is_empty() {
        text += ", and none is lost";
    } else {
        text += "\n`hoptax runs import DIR` imports runs again whose folders still exist";
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::failure::Kind;

    #[test]
    fn results_are_stored_in_a_folder_that_exists_and_in_a_store_that_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let checked = |path: &Path| check(path, &|_| ());
        let store = folder.path().join("store.sqlite");
        assert!(checked(&store).is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the first result creates it");
        let refused = checked(&folder.path().join("none/store.sqlite")).unwrap_err();
        assert_eq!(refused.kind, Kind::BadInput);
        assert!(refused.to_string().starts_with("there is no folder `"), "{refused}");
        // Nobody can create a file there.
        assert_eq!(checked(Path::new("/proc/store.sqlite")).unwrap_err().kind, Kind::Environment);
        drop(Store::open(&store).unwrap());
        assert!(checked(&store).is_ok());
        fs::set_permissions(&store, Permissions::from_mode(0o444)).unwrap();
        // Permissions do not bind root.
        assert_eq!(checked(&store).is_ok(), rustix::process::geteuid().is_root());
    }

    #[test]
    fn what_was_lost_is_named() {
        let mut salvaged =
            Salvaged { copy: "s.damaged-1".into(), runs: 3, incomplete: Vec::new(), lost: Vec::new() };
        assert!(text(&salvaged).ends_with("salvaged: 3 runs, and none is lost"));
        salvaged.runs = 1;
        assert!(text(&salvaged).ends_with("salvaged: 1 run, and none is lost"));
        salvaged.incomplete = vec![(2, vec!["result.json".to_owned()])];
        salvaged.lost = vec![4, 5];
        let named = text(&salvaged);
        assert!(named.contains("run 2 lost result.json\n") && named.contains("lost: runs 4, 5"), "{named}");
        let unlisted = UNLISTED.to_owned();
        salvaged.incomplete = vec![(2, vec![unlisted.clone()]), (3, vec!["a.json".to_owned(), unlisted])];
        salvaged.lost = vec![4];
        let named = text(&salvaged);
        let of_two = "run 2 perhaps lost files whose names are lost\n";
        let of_three = "run 3 lost a.json, and perhaps lost files whose names are lost\n";
        assert!(named.contains(of_two) && named.contains(of_three), "{named}");
        assert!(named.contains("lost: run 4\n"), "{named}");
    }
}
