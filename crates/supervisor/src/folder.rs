//! The folder of a supervisor, and the shared memory of its Envoys. A supervisor removes both when it ends, and the next one removes what
//! killed supervisors left.
//!
//! A supervisor locks its folder, and records shared memory in it before creating the memory. A folder that is not locked has no supervisor
//! and no Envoy, because the kernel kills Envoys together with their supervisor.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hoptax_subject::envoy::process::{BASE_ID, shared_memory};
use hoptax_subject::envoy::shared_memory::BaseId;
use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

/// Prefix of the names of folders.
const PREFIX: &str = "hoptax-listeners-";
/// The file with the process id of the supervisor. A folder without this file is about to be locked.
const OWNER: &str = "supervisor";

/// The folder of a supervisor. It is removed when dropped, together with the shared memory recorded in it.
#[derive(Debug)]
pub(crate) struct Folder {
    path: TempDir,
    /// Holds the lock.
    _lock: File,
    bases: BTreeMap<u64, BaseId>,
}

impl Folder {
    /// Creates a folder inside another one.
    ///
    /// # Errors
    /// When it cannot be created or locked.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::open(folder.path())?;
        // A supervisor that looks for leftovers holds the lock briefly, so wait for it.
        flock(&lock, FlockOperation::LockExclusive)?;
        fs::write(folder.path().join(OWNER), std::process::id().to_string())?;
        Ok(Self { path: folder, _lock: lock, bases: BTreeMap::new() })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        self.path.path()
    }

    /// The base id with this number, chosen on first use.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub(crate) fn base(&mut self, number: u64) -> io::Result<BaseId> {
        if let Some(base) = self.known_base(number) {
            return Ok(base);
        }
        let base = BaseId::unused();
        let folder = self.of_base(number);
        fs::create_dir(&folder)?;
        fs::write(folder.join(BASE_ID), base.number().to_string())?;
        self.bases.insert(number, base);
        Ok(base)
    }

    /// The base id with this number, if it has been chosen.
    pub(crate) fn known_base(&self, number: u64) -> Option<BaseId> {
        self.bases.get(&number).copied()
    }

    /// Removes the shared memory of a base id that no process uses any more.
    pub(crate) fn forget(&mut self, number: u64) {
        if self.bases.remove(&number).is_some() {
            remove_memory(&self.of_base(number));
        }
    }

    fn of_base(&self, number: u64) -> PathBuf {
        self.path().join(format!("base-{number}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for base in folders_in(self.path()) {
            remove_memory(&base);
        }
    }
}

/// Removes the folders and shared memory of supervisors that are no longer running. Returns the folders.
pub(crate) fn remove_left(parent: &Path) -> Vec<PathBuf> {
    let left = folders_in(parent).into_iter().filter(|folder| remove_if_left(folder).unwrap_or_default());
    left.collect()
}

fn remove_if_left(folder: &Path) -> io::Result<bool> {
    let is_named =
        folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    // Ignore folders of other users, which could name shared memory that is not theirs.
    if !is_named || fs::symlink_metadata(folder)?.uid() != geteuid().as_raw() {
        return Ok(false);
    }
    let lock = File::open(folder)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    if !folder.join(OWNER).exists() {
        return Ok(false);
    }
    for base in folders_in(folder) {
        remove_memory(&base);
    }
    fs::remove_dir_all(folder).map(|()| true)
}

/// The subfolders of a folder, without symbolic links.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn remove_memory(base: &Path) {
    if let Some(memory) = shared_memory(base) {
        // It may never have been created.
        let _ = fs::remove_file(memory);
    }
    let _ = fs::remove_dir_all(base);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the memory of an Envoy.
    fn with_memory(parent: &Path) -> (Folder, PathBuf) {
        let mut folder = Folder::create(parent).unwrap();
        let memory = folder.base(1).unwrap().memory();
        fs::write(&memory, "").unwrap();
        (folder, memory)
    }

    #[test]
    fn what_a_killed_supervisor_left_is_removed_and_nothing_of_one_that_runs() {
        let parent = tempfile::tempdir().unwrap();
        let (running, memory) = with_memory(parent.path());
        let (killed, left) = with_memory(parent.path());
        // The same without a lock, as a kill leaves it.
        let path = parent.path().join("hoptax-listeners-killed");
        fs::create_dir_all(path.join("base-1")).unwrap();
        for name in [OWNER.to_owned(), format!("base-1/{BASE_ID}")] {
            fs::copy(killed.path().join(&name), path.join(&name)).unwrap();
        }
        drop(killed);
        fs::write(&left, "").unwrap();
        // One that is about to be locked, and one of somebody else.
        let early = parent.path().join("hoptax-listeners-early");
        let other = parent.path().join("other");
        for path in [&early, &other] {
            fs::create_dir(path).unwrap();
        }
        fs::write(other.join(OWNER), "").unwrap();
        assert_eq!(remove_left(parent.path()), std::slice::from_ref(&path));
        assert!(!path.exists() && !left.exists());
        assert!(early.exists() && other.exists() && running.path().exists() && memory.exists());
        assert!(remove_left(parent.path()).is_empty());
    }

    #[test]
    fn a_folder_is_removed_with_its_memory() {
        let parent = tempfile::tempdir().unwrap();
        let (mut folder, memory) = with_memory(parent.path());
        assert_eq!(folder.base(1).unwrap().memory(), memory);
        folder.forget(1);
        assert!(!memory.exists() && folder.known_base(1).is_none());
        let second = folder.base(2).unwrap().memory();
        fs::write(&second, "").unwrap();
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists() && !second.exists());
    }
}
