//! Puts run folders and result files into a store, and the rounds of a study while it runs.

use std::fs;
use std::path::Path;

use crate::describe::{self, Described, MANIFEST, RESULT, ROUNDS, STUDY};
use crate::folder::{self, Contents};
use crate::{Document, Store, StoreError};

/// The outcome of importing one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its number in the store.
    pub run: i64,
    /// Whether the store did not have it before.
    pub is_new: bool,
    /// Files that were left out.
    pub left_out: Vec<String>,
    /// Files whose secrets were masked.
    pub redacted: Vec<String>,
}

impl Store {
    /// Puts a run folder in, as far as it is: with its result, or the complete rounds of a study that was killed.
    ///
    /// # Errors
    /// When the folder is not that of a run, or cannot be read; or the store cannot be written.
    pub fn import_folder(&mut self, folder: &Path) -> Result<Imported, StoreError> {
        let contents = folder::read(folder)?;
        let described = described(folder, &contents)?;
        self.import(folder, &described, contents)
    }

    /// Puts the file of a result in, without other files of its folder.
    ///
    /// # Errors
    /// When it is not a result that can be read, or the store cannot be written.
    pub fn import_file(&mut self, file: &Path) -> Result<Imported, StoreError> {
        let parent = file.parent().unwrap_or(Path::new(""));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut contents = folder::read_some(parent, &[&name])?;
        let not_a_run = |why: String| StoreError::NotARun { path: file.to_owned(), why };
        let Some(document) = contents.documents.first_mut() else {
            return Err(not_a_run("it is no JSON text, or holds a private key".to_owned()));
        };
        RESULT.clone_into(&mut document.path);
        let described = describe::result(&document.text).map_err(not_a_run)?;
        self.import(file, &described, contents)
    }

    /// Puts the rounds `first..end` of a running study in, with its study file and manifest, in one transaction. Rounds are
    /// counted from 0, and all up to `end` are complete.
    ///
    /// # Errors
    /// When its folder cannot be read, or the store cannot be written.
    pub fn add_rounds(&mut self, folder: &Path, first: u32, end: u32) -> Result<i64, StoreError> {
        let rounds: Vec<String> = (first..end).map(|round| format!("{ROUNDS}/{round}.json")).collect();
        let paths: Vec<&str> =
            [STUDY, MANIFEST].into_iter().chain(rounds.iter().map(String::as_str)).collect();
        let contents = folder::read_some(folder, &paths)?;
        let manifest = contents.text(MANIFEST).unwrap_or_default();
        let described = describe::unfinished(manifest, end)
            .map_err(|why| StoreError::NotARun { path: folder.to_owned(), why })?;
        Ok(self.import(folder, &described, contents)?.run)
    }

    fn import(
        &mut self,
        source: &Path,
        described: &Described,
        contents: Contents,
    ) -> Result<Imported, StoreError> {
        let Contents { documents, left_out } = contents;
        let is_new = self.find(described)?.is_none();
        let absolute = fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
        let run = self.put(described, &absolute.to_string_lossy(), &documents)?;
        let redacted = documents.into_iter().filter(|one| one.is_redacted).map(|one| one.path).collect();
        Ok(Imported { run, is_new, left_out, redacted })
    }
}

impl Contents {
    fn text(&self, path: &str) -> Option<&str> {
        self.documents.iter().find(|one| one.path == path).map(|one| one.text.as_str())
    }

    fn rounds(&self) -> impl Iterator<Item = &Document> {
        self.documents
            .iter()
            .filter(|one| one.path.strip_prefix(ROUNDS).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// The description of a run folder: by its result, or else by its manifest.
fn described(folder: &Path, contents: &Contents) -> Result<Described, StoreError> {
    let not_a_run = |why: String| StoreError::NotARun { path: folder.to_owned(), why };
    if let Some(text) = contents.text(RESULT) {
        return describe::result(text).map_err(|why| not_a_run(format!("{RESULT}: {why}")));
    }
    let Some(manifest) = contents.text(MANIFEST) else {
        return Err(not_a_run(format!("it has neither {RESULT} nor {MANIFEST}")));
    };
    let rounds = contents.rounds().count() as u32;
    if rounds == 0 {
        return Err(not_a_run("the study ended before its first round was complete".to_owned()));
    }
    describe::unfinished(manifest, rounds).map_err(|why| not_a_run(format!("{MANIFEST}: {why}")))
}
