//! Writes the raw log of a load on its own thread, so that no worker waits for the disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::thread::{self, JoinHandle};

use hoptax_load::log::{self, MAGIC};

use crate::failure::Failure;

/// An open log file and its writer thread.
pub(super) struct LogFile {
    path: PathBuf,
    sender: SyncSender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl LogFile {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let mut file = File::create(path).map_err(|error| {
            Failure::environment(format!("cannot create the log `{}`: {error}", path.display()))
        })?;
        let (sender, pieces) = log::channel();
        let writer = thread::spawn(move || {
            file.write_all(MAGIC)?;
            pieces.iter().try_for_each(|piece| file.write_all(&piece))
        });
        Ok(Self { path: path.to_owned(), sender, writer })
    }

    pub(super) fn sender(&self) -> SyncSender<Vec<u8>> {
        self.sender.clone()
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        drop(self.sender);
        let written =
            self.writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer thread has panicked")));
        written.map_err(|error| {
            Failure::environment(format!("cannot write the log `{}`: {error}", self.path.display()))
        })
    }
}
