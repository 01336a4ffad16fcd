//! Imports everything at the given paths into a store: run folders, folders that contain them, and result files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run_files::MANIFEST;
use crate::store::import::{ReadRun, read_file, read_folder};
use crate::store::{Imported, Store, StoreError, describe, folder};

/// Outcome for one run at a path.
#[derive(Debug)]
pub(crate) struct PathImported {
    /// The given path, or that of a run folder inside it.
    pub(crate) path: PathBuf,
    /// The imported run, or the problem with the path.
    pub(crate) outcome: Result<Imported, StoreError>,
}

/// A store that is opened, or created, when the first run is put into it: paths without a run create none.
struct OnDemand<'a> {
    path: &'a Path,
    opened: Option<Store>,
}

impl OnDemand<'_> {
    /// The open store.
    fn store(&mut self) -> Result<&mut Store, StoreError> {
        let store = match self.opened.take() {
            Some(store) => store,
            None => Store::open(self.path)?,
        };
        Ok(self.opened.insert(store))
    }

    /// Puts a run into the store, if it could be read. A problem with the run is returned as the outcome.
    fn put(&mut self, run: Result<ReadRun, StoreError>) -> Result<Result<Imported, StoreError>, StoreError> {
        match separated(run)? {
            Ok(run) => separated(self.store()?.import(run)),
            Err(problem) => Ok(Err(problem)),
        }
    }
}

/// Imports all results and runs at these paths into the store in a file, as far as possible. Creates the store when there is a run for it.
///
/// # Errors
/// When the store cannot be used.
pub(crate) fn import_all(store: &Path, paths: &[PathBuf]) -> Result<Vec<PathImported>, StoreError> {
    let mut store = OnDemand { path: store, opened: None };
    let mut outcomes = Vec::new();
    for given in paths {
        outcomes.extend(import_one(&mut store, given)?);
    }
    Ok(outcomes)
}

/// Imports the result or the runs at a path. A problem with the path is returned as an outcome, so that the other paths are still imported.
fn import_one(store: &mut OnDemand<'_>, given: &Path) -> Result<Vec<PathImported>, StoreError> {
    let one = |outcome: Result<Imported, StoreError>| vec![PathImported { path: given.to_owned(), outcome }];
    if given.is_file() {
        // Resolve links: the study file of a result is beside the linked file.
        let run = match given.canonicalize() {
            Ok(file) => read_file(&file),
            Err(source) => Err(StoreError::File { what: "read", path: given.to_owned(), source }),
        };
        return Ok(one(store.put(run)?));
    }
    let mut found = match separated(folder::runs_in(given))? {
        Ok(found) if found.is_empty() => {
            let why = "there is no run folder in it".to_owned();
            return Ok(one(Err(StoreError::NotARun { path: given.to_owned(), why })));
        }
        Ok(found) => found,
        Err(problem) => return Ok(one(Err(problem))),
    };
    // Runs have ascending numbers, as their starts have in lists. A run without a manifest has no known start, and comes first.
    found.sort_by_cached_key(|run| describe::started_at(&fs::read_to_string(run.join(MANIFEST)).ok()?));
    let imported = found.into_iter().map(|run| {
        let outcome = store.put(read_folder(&run))?;
        Ok(PathImported { path: run, outcome })
    });
    imported.collect()
}

/// Separates problems of one run from problems of the store, which affect all runs.
fn separated<T>(outcome: Result<T, StoreError>) -> Result<Result<T, StoreError>, StoreError> {
    match outcome {
        Err(problem @ (StoreError::NotARun { .. } | StoreError::File { .. })) => Ok(Err(problem)),
        outcome => outcome.map(Ok),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use hoptax_result::sample;

    use super::*;
    use crate::run_files::RESULT;
    use crate::store::database::tests::study_text;

    #[test]
    fn the_numbers_of_runs_are_in_the_order_of_their_starts() {
        let folder = tempfile::tempdir().unwrap();
        for (name, day) in [("a", 2), ("b", 3), ("c", 1)] {
            let (manifest, result) = study_text(name, &format!("2026-11-0{day}T00:00:00Z"), 5.0);
            let run = folder.path().join("runs").join(name);
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join(MANIFEST), manifest).unwrap();
            fs::write(run.join(RESULT), result).unwrap();
        }
        let path = folder.path().join("store.sqlite");
        import_all(&path, &[folder.path().join("runs")]).unwrap();
        let store = Store::open(&path).unwrap();
        let names = [1, 2, 3].map(|run| store.run(run).unwrap().name);
        assert_eq!(names, ["c", "a", "b"]);
    }

    #[test]
    fn a_path_that_does_not_exist_keeps_no_other_out_and_a_link_to_a_result_is_imported() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |path: &str, study: &str| {
            let result = sample::study(study, "2026-11-01T00:00:00Z", 5.0);
            fs::write(at(path), serde_json::to_string(&result).unwrap()).unwrap();
        };
        fs::create_dir(at("good")).unwrap();
        write("good/result.json", "one");
        write("other.json", "two");
        symlink(at("other.json"), at("link")).unwrap();
        let paths = [at("good"), at("typo"), at("link")];
        let outcomes = import_all(&at("store.sqlite"), &paths).unwrap();
        let given: Vec<&Path> = outcomes.iter().map(|one| one.path.as_path()).collect();
        assert_eq!(given, paths.iter().map(PathBuf::as_path).collect::<Vec<_>>());
        assert!(outcomes[0].outcome.is_ok() && outcomes[2].outcome.is_ok(), "{outcomes:?}");
        assert!(matches!(outcomes[1].outcome, Err(StoreError::File { .. })), "{outcomes:?}");
    }

    #[test]
    fn paths_without_a_run_create_no_store() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("other.json"), "{}").unwrap();
        fs::create_dir(at("empty")).unwrap();
        let outcomes = import_all(&at("data/store.sqlite"), &[at("other.json"), at("empty"), at("typo")]);
        assert!(outcomes.unwrap().iter().all(|one| one.outcome.is_err()));
        assert!(!at("data").exists());
    }
}
