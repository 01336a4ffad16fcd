//! Puts a running study into the store, round by round.

use std::path::{Path, PathBuf};

use crate::arguments::StudyArguments;
use crate::exit::Failure;
use crate::{print, stored};

/// The store of a study, if it is to be stored. The store is opened for each round, so that it is free meanwhile. Its errors never
/// end a study: the folder has everything.
#[derive(Debug)]
pub(super) struct Recorder {
    store: Option<PathBuf>,
    folder: PathBuf,
    /// The first round that is not in the store yet.
    next: u32,
}

impl Recorder {
    /// Opens the store that the arguments or the environment name, to learn before the first round whether it can be used.
    /// Without either, nothing is stored.
    pub(super) fn open(arguments: &StudyArguments, folder: &Path) -> Result<Self, Failure> {
        let store = match &arguments.store {
            Some(given) => Some(stored::path(given.as_deref())?),
            None if arguments.smoke => None,
            None => stored::of_environment(),
        };
        if let Some(path) = &store {
            stored::with_new(path, |_| Ok(()))?;
        }
        Ok(Self { store, folder: folder.to_owned(), next: 0 })
    }

    /// Stores the rounds up to this one. If that fails, they are stored with a later round.
    pub(super) fn add_round(&mut self, round: u32) {
        let Some(path) = &self.store else { return };
        let end = round + 1;
        match stored::with_new(path, |store| store.add_rounds(&self.folder, self.next, end)) {
            Ok(_) => self.next = end,
            Err(error) => self.report(&error),
        }
    }

    /// Stores the result.
    pub(super) fn finish(self) {
        let Some(path) = &self.store else { return };
        match stored::with_new(path, |store| store.import_folder(&self.folder)) {
            Ok(imported) => print::note(&format!("stored as run {} in {}", imported.run, path.display())),
            Err(error) => self.report(&error),
        }
    }

    fn report(&self, error: &Failure) {
        print::error(&format!(
            "{error}\nthe study goes on in its folder; `hoptax runs import {}` stores it later",
            self.folder.display()
        ));
    }
}
