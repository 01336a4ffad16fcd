//! Copies a running study into the store, round by round.

use std::path::{Path, PathBuf};

use hoptax_text::command_line::path_word;

use crate::failure::Failure;
use crate::store;
use crate::update::{Say, Update};

/// Copies the rounds of a study into a store, if there is one. It opens the store anew for each round, so that other processes can use it
/// in between. Errors of the store never end a study, because the run folder has everything.
pub(crate) struct Recorder<'a> {
    say: Say<'a>,
    store: Option<PathBuf>,
    folder: PathBuf,
    /// The first round that is not in the store yet.
    next: u32,
}

impl<'a> Recorder<'a> {
    /// Opens the store once, so that an unusable store is reported before the first round. Without a store, nothing is stored.
    pub(crate) fn open(store: Option<PathBuf>, folder: &Path, say: Say<'a>) -> Result<Self, Failure> {
        if let Some(path) = &store {
            store::with_existing_or_new(path, |_| Ok(()), say)?;
        }
        Ok(Self { say, store, folder: folder.to_owned(), next: 0 })
    }

    /// Stores the rounds up to this one. If that fails, they are stored together with a later round.
    pub(crate) fn add_round(&mut self, round: u32) {
        let Some(path) = &self.store else { return };
        let end = round + 1;
        match store::with_existing_or_new(
            path,
            |store| store.add_rounds(&self.folder, self.next, end),
            self.say,
        ) {
            Ok(_) => self.next = end,
            Err(error) => self.report(&error),
        }
    }

    /// Stores the result.
    pub(crate) fn finish(self) {
        if let Some(path) = &self.store {
            store::put_measured(path, &self.folder, self.say);
        }
    }

    fn report(&self, error: &Failure) {
        (self.say)(Update::Problem(&format!(
            "{error}\nthe study continues in its folder; `hoptax runs import {}` stores it later",
            path_word(&self.folder)
        )));
    }
}
