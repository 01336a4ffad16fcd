//! Imports run folders and result files into a store, and the rounds of a study while it runs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run_files::{MANIFEST, RESULT, STUDY, round_file};
use crate::store::describe::{self, Described};
use crate::store::folder::{self, Contents, RunFile};
use crate::store::{Store, StoreError};

/// The outcome of importing one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its number in the store.
    pub run: i64,
    /// True if the store did not have it before.
    pub is_new: bool,
    /// Files that were left out.
    pub left_out: Vec<String>,
    /// Files whose secrets were masked.
    pub redacted: Vec<String>,
}

impl Imported {
    /// A message about the import of `from`.
    pub fn described(&self, from: &Path) -> String {
        let new = if self.is_new { "" } else { " (already stored)" };
        let mut text = format!("run {}{new}: {}", self.run, from.display());
        if !self.redacted.is_empty() {
            text += &format!("; secrets masked in {}", self.redacted.join(", "));
        }
        if !self.left_out.is_empty() {
            text += &format!("; left out: {} logs and other files", self.left_out.len());
        }
        text
    }
}

/// A run as it was read, before it is put into a store.
pub(super) struct ReadRun {
    /// Where it comes from.
    source: String,
    described: Described,
    contents: Contents,
}

/// Reads a run folder, either with its result or with the complete rounds of a killed study.
///
/// # Errors
/// When the folder is not a run folder or cannot be read.
pub(super) fn read_folder(folder: &Path) -> Result<ReadRun, StoreError> {
    let contents = folder::read(folder)?;
    Ok(ReadRun { source: absolute(folder), described: described(folder, &contents)?, contents })
}

/// Reads a result file without the other files of its folder.
///
/// # Errors
/// When it is not a readable result.
pub(super) fn read_file(file: &Path) -> Result<ReadRun, StoreError> {
    let not_a_run = |why: String| StoreError::NotARun { path: file.to_owned(), why };
    if fs::metadata(file).is_ok_and(|metadata| metadata.len() == 0) {
        return Err(not_a_run("it is empty".to_owned()));
    }
    let Some(document) = folder::read_result(file)? else {
        return Err(not_a_run("it is not text in UTF-8, or it holds a private key".to_owned()));
    };
    let described = describe::result(&document.text).map_err(not_a_run)?;
    let contents = Contents { documents: vec![document], ..Contents::default() };
    Ok(ReadRun { source: absolute(file), described, contents })
}

impl Store {
    /// Imports a run folder, either with its result or with the complete rounds of a killed study.
    ///
    /// # Errors
    /// When the folder is not a run folder or cannot be read, or the store cannot be written.
    pub(crate) fn import_folder(&mut self, folder: &Path) -> Result<Imported, StoreError> {
        self.import(read_folder(folder)?)
    }

    /// Like [`Self::import_folder`], for a temporary folder. `source` describes where the run comes from.
    ///
    /// # Errors
    /// When the folder is not a run folder or cannot be read, or the store cannot be written.
    pub fn put_folder(&mut self, folder: &Path, source: &str) -> Result<Imported, StoreError> {
        self.import(ReadRun { source: source.to_owned(), ..read_folder(folder)? })
    }

    /// Imports the text of a result, and returns the number of the run; `source` describes where the result comes from.
    ///
    /// # Errors
    /// When it is not a readable result, or the store cannot be written.
    pub fn put_result(&mut self, text: &str, source: &str) -> Result<i64, StoreError> {
        let described =
            describe::result(text).map_err(|why| StoreError::NotARun { path: PathBuf::from(source), why })?;
        let document = RunFile { path: RESULT.to_owned(), text: text.to_owned(), is_redacted: false };
        self.put(&described, source, &[document])
    }

    /// Imports the rounds `first..end` of a running study, with its study file and manifest, in one transaction. Rounds are
    /// counted from 0, and all rounds before `end` are complete.
    ///
    /// # Errors
    /// When its folder cannot be read, or the store cannot be written.
    pub(crate) fn add_rounds(&mut self, folder: &Path, first: u32, end: u32) -> Result<i64, StoreError> {
        let rounds: Vec<String> = (first..end).map(round_file).collect();
        let paths: Vec<&str> =
            [STUDY, MANIFEST].into_iter().chain(rounds.iter().map(String::as_str)).collect();
        let contents = folder::read_some(folder, &paths)?;
        let manifest = contents.text(MANIFEST).unwrap_or_default();
        let described = describe::unfinished(manifest, end)
            .map_err(|why| StoreError::NotARun { path: folder.to_owned(), why })?;
        Ok(self.import(ReadRun { source: absolute(folder), described, contents })?.run)
    }

    /// Imports a run that was read.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn import(&mut self, run: ReadRun) -> Result<Imported, StoreError> {
        let ReadRun { source, described, contents } = run;
        let Contents { mut documents, mut left_out } = contents;
        // Results that have fewer rounds than the folder, or are unreadable.
        left_out.extend(documents.extract_if(.., |one| described.is_outdated(&one.path)).map(|one| one.path));
        let is_new = self.find(&described)?.is_none();
        let run = self.put(&described, &source, &documents)?;
        let redacted = documents.into_iter().filter(|one| one.is_redacted).map(|one| one.path).collect();
        Ok(Imported { run, is_new, left_out, redacted })
    }
}

impl Contents {
    fn text(&self, path: &str) -> Option<&str> {
        self.documents.iter().find(|one| one.path == path).map(|one| one.text.as_str())
    }
}

/// The absolute path of a source.
fn absolute(source: &Path) -> String {
    let absolute = fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    absolute.to_string_lossy().into_owned()
}

/// The description of a run folder.
fn described(folder: &Path, contents: &Contents) -> Result<Described, StoreError> {
    let not_a_run = |why: String| StoreError::NotARun { path: folder.to_owned(), why };
    let rounds = contents.documents.iter().filter(|one| describe::is_round(&one.path)).count() as u32;
    if contents.text(RESULT).is_none() && contents.text(MANIFEST).is_some() && rounds == 0 {
        return Err(not_a_run("the study ended before its first round was complete".to_owned()));
    }
    describe::files(|path| contents.text(path), rounds).map_err(not_a_run)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::run_files::ROUNDS;
    use crate::store::database::tests::study_text;

    /// A run folder with a result of four rounds, and a store.
    fn folder_and_store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        fs::create_dir_all(run.join(ROUNDS)).unwrap();
        let (manifest, text) = study_text("ours", "2026-11-01T00:00:00Z", 5.0);
        fs::write(run.join(MANIFEST), manifest).unwrap();
        fs::write(run.join(RESULT), text).unwrap();
        for round in 0..4 {
            add_round(&run, round);
        }
        let mut store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        assert!(store.import_folder(&run).unwrap().is_new);
        assert_eq!(store.numbers().unwrap().len(), 2);
        (folder, store)
    }

    fn add_round(run: &Path, round: u32) {
        fs::write(run.join(round_file(round)), round.to_string()).unwrap();
    }

    #[test]
    fn a_file_without_a_result_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let key = "{\"a\": \"-----BEGIN PRIVATE KEY-----\"}";
        let cases: [(&str, &[u8], &str); 5] = [
            ("load", b"", "it is empty"),
            ("load.json", b"", "it is empty"),
            ("load", b"{}", "it is not a hoptax result ("),
            ("load.json", b"\xff", "it is not text in UTF-8, or it holds a private key"),
            ("load.json", key.as_bytes(), "it is not text in UTF-8, or it holds a private key"),
        ];
        for (name, text, expected) in cases {
            let file = folder.path().join(name);
            fs::write(&file, text).unwrap();
            let Err(StoreError::NotARun { why, .. }) = read_file(&file) else { panic!("{name}: {text:?}") };
            assert!(why.starts_with(expected), "{why}");
        }
    }

    #[test]
    fn a_result_is_imported_from_a_file_of_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let (_, text) = study_text("ours", "2026-11-01T00:00:00Z", 5.0);
        for name in [OsStr::new("nightly"), OsStr::new("nightly.JSON"), OsStr::from_bytes(b"n\xff.json")] {
            let file = folder.path().join(name);
            fs::write(&file, &text).unwrap();
            let run = read_file(&file).unwrap_or_else(|error| panic!("{name:?}: {error}"));
            assert_eq!(run.contents.text(RESULT), Some(text.as_str()));
        }
    }

    #[test]
    fn a_study_that_was_resumed_and_killed_has_neither_the_old_result_nor_its_numbers() {
        let (folder, mut store) = folder_and_store();
        let run = folder.path().join("run");
        add_round(&run, 4);
        let imported = store.import_folder(&run).unwrap();
        assert_eq!((imported.run, imported.left_out), (1, vec![RESULT.to_owned()]));
        let stored = store.run(1).unwrap();
        assert_eq!((stored.rounds, stored.verdict), (5, None));
        assert_eq!(store.result(1).unwrap(), None);
        assert!(store.numbers().unwrap().is_empty());
        assert_eq!(store.paths(1).unwrap().len(), 6, "the manifest and the rounds");
        store.verify().unwrap();
    }

    /// The recorded gate of another study, of this many rounds.
    fn gate(rounds: u32) -> String {
        let recorded = include_str!("../../../report/recorded/gate.json");
        let mut gate: serde_json::Value = serde_json::from_str(recorded).unwrap();
        gate["rounds"] = rounds.into();
        gate.to_string()
    }

    #[test]
    fn the_folder_of_a_gate_is_a_gate_with_the_numbers_of_its_study_until_it_is_outdated() {
        let (folder, mut store) = folder_and_store();
        let run = folder.path().join("run");
        let of_study = store.result(1).unwrap();
        fs::write(run.join("gate.json"), gate(4)).unwrap();
        assert_eq!(store.import_folder(&run).unwrap().run, 1, "it was imported as a study before");
        let stored = store.run(1).unwrap();
        assert_eq!((stored.kind.as_str(), stored.name.as_str()), ("gate", "edge-gate-gate"));
        assert_eq!(stored.rounds, 4);
        assert_eq!(store.result(1).unwrap(), Some(gate(4)));
        assert_eq!(store.measured(1).unwrap(), of_study);
        assert_eq!(store.numbers().unwrap().len(), 2);
        // The study was resumed since, and nothing judged it again.
        fs::write(run.join("gate.json"), gate(3)).unwrap();
        let imported = store.import_folder(&run).unwrap();
        assert_eq!((imported.run, imported.left_out), (1, vec!["gate.json".to_owned()]));
        let stored = store.run(1).unwrap();
        assert_eq!((stored.kind.as_str(), stored.name.as_str()), ("study", "ours"));
        assert_eq!(store.result(1).unwrap(), of_study);
        store.verify().unwrap();
    }

    #[test]
    fn results_of_all_commands_that_measure_a_study_state_its_kind_and_its_name() {
        let bill = include_str!("../../../report/recorded/bill.json");
        let comparison = include_str!("../../../report/recorded/comparison.json");
        let of_studies = include_str!("../../../report/recorded/studies-comparison.json");
        for (file, kind, name, text) in [
            ("bill.json", "bill", "envoy.yaml", bill),
            ("comparison.json", "comparison", "old.yaml and new.yaml", comparison),
            ("comparison.json", "studies-comparison", "old/study.yaml and new/study.yaml", of_studies),
        ] {
            let (folder, mut store) = folder_and_store();
            let run = folder.path().join("run");
            fs::write(run.join(file), text).unwrap();
            store.import_folder(&run).unwrap();
            let stored = store.run(1).unwrap();
            assert_eq!((stored.kind.as_str(), stored.name.as_str()), (kind, name));
            assert_eq!(store.result(1).unwrap().as_deref(), Some(text));
        }
    }

    #[test]
    fn an_older_copy_of_a_study_does_not_remove_its_result() {
        let (folder, mut store) = folder_and_store();
        let run = folder.path().join("run");
        fs::remove_file(run.join(RESULT)).unwrap();
        fs::remove_file(run.join(round_file(3))).unwrap();
        assert_eq!(store.import_folder(&run).unwrap().run, 1);
        let stored = store.run(1).unwrap();
        assert_eq!((stored.rounds, stored.verdict.is_some()), (4, true));
        assert!(store.result(1).unwrap().is_some());
        assert_eq!(store.numbers().unwrap().len(), 2);
    }

    #[test]
    fn a_folder_that_will_not_stay_is_stored_under_the_name_of_its_source() {
        let (folder, _) = folder_and_store();
        let mut other = Store::open(&folder.path().join("other.sqlite")).unwrap();
        let run = other.put_folder(&folder.path().join("run"), "a server").unwrap().run;
        assert_eq!(other.run(run).unwrap().source, "a server");
        let nothing = folder.path().join("nothing");
        fs::create_dir(&nothing).unwrap();
        assert!(matches!(other.put_folder(&nothing, "a server"), Err(StoreError::NotARun { .. })));
    }

    #[test]
    fn a_result_without_a_file_is_stored_under_its_source_and_other_texts_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        let text = serde_json::to_string(&hoptax_result::sample::load()).unwrap();
        let run = store.put_result(&text, "here").unwrap();
        assert_eq!(store.run(run).unwrap().source, "here");
        assert_eq!(store.result(run).unwrap(), Some(text));
        let refused = store.put_result("{}", "here").unwrap_err().to_string();
        assert!(refused.contains("`here` cannot be imported"), "{refused}");
    }
}
