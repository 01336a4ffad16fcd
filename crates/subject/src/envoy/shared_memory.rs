//! The shared memory of Envoys that replace each other by hot restart: the base id that determines its name, and the mark that a starting
//! Envoy sets in it.
//!
//! An Envoy that starts marks the memory, and removes the mark once it serves and has told its predecessor to drain. An Envoy that finds
//! the mark exits with `previous envoy process is still initializing`. If an Envoy is killed while it starts, the mark stays, and no other
//! Envoy can start ([issue 33446](https://github.com/envoyproxy/envoy/issues/33446)) until it is removed here.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Factor between a base id and the number in the name of its memory.
const MEMORY_PER_BASE_ID: u64 = 10;
/// Number of base ids to choose from. The numbers in the names of their memories fit into 32 bits, as Envoy requires.
const BASE_IDS: u64 = 400_000_000;
/// The supported version of the memory layout, unchanged since Envoy 1.8 (`HOT_RESTART_VERSION` in `hot_restart_impl.h`). The layout is:
/// size, version, two locks, and the mark in the last eight bytes.
const VERSION: u64 = 11;
/// The smallest and the largest size of the memory, bytes. The size of a lock differs between architectures.
const SIZES: std::ops::RangeInclusive<u64> = 32..=4096;
/// The mark of a starting Envoy.
const STARTING: u64 = 1;

/// Base id that Envoys which replace each other share (`--base-id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseId(u32);

impl BaseId {
    /// A base id that no Envoy on this machine uses. Envoy could choose one itself (`--use-dynamic-base-id`), but if it were killed before
    /// it has written its choice, its memory could not be found.
    pub fn unused() -> Self {
        // A new state has random keys, so its hashes are random numbers.
        let random = RandomState::new();
        let ids = (0_u32..).map(|attempt| Self((random.hash_one(attempt) % BASE_IDS) as u32));
        ids.into_iter().find(|id| !id.memory().exists()).unwrap_or(Self(0))
    }

    /// The base id in a file.
    ///
    /// # Errors
    /// When the file cannot be read, or does not contain a number.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        text.trim().parse().map(Self).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is not a base id", text.trim()))
        })
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The path of the memory.
    pub fn memory(self) -> PathBuf {
        PathBuf::from(format!("/dev/shm/envoy_shared_memory_{}", u64::from(self.0) * MEMORY_PER_BASE_ID))
    }

    /// Removes the mark of a failed start, so that another Envoy can start. Returns true if there was a mark. No Envoy with this base id
    /// may be starting.
    ///
    /// # Errors
    /// When the memory cannot be opened, or has an unknown layout; it is then unchanged.
    pub fn remove_mark(self) -> io::Result<bool> {
        remove_mark_of(&self.memory())
    }
}

fn remove_mark_of(memory: &Path) -> io::Result<bool> {
    let file = File::options().read(true).write(true).open(memory)?;
    let number = |at: u64| -> io::Result<u64> {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_ne_bytes(bytes))
    };
    let length = file.metadata()?.len();
    let (is_known, at) = match length.checked_sub(8) {
        Some(at) if SIZES.contains(&length) => (number(0)? == length && number(8)? == VERSION, at),
        _ => (false, 0),
    };
    let mark = if is_known { number(at)? } else { u64::MAX };
    match mark {
        0 => Ok(false),
        STARTING => file.write_all_at(&0_u64.to_ne_bytes(), at).map(|()| true),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("`{}` has a form that is not known", memory.display()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory with this size, version and mark. A size of 104 is that of x86-64.
    fn memory(folder: &Path, size: u64, version: u64, mark: u64) -> PathBuf {
        let path = folder.join("memory");
        let mut bytes = vec![0; 104];
        for (at, number) in [(0, size), (8, version), (96, mark)] {
            bytes.splice(at..at + 8, number.to_ne_bytes());
        }
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn the_mark_of_a_start_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = memory(folder.path(), 104, VERSION, STARTING);
        let before = fs::read(&path).unwrap();
        assert!(remove_mark_of(&path).unwrap());
        let after = fs::read(&path).unwrap();
        assert_eq!(before.get(..96), after.get(..96));
        assert_eq!(after.get(96..), Some([0; 8].as_slice()));
        assert!(!remove_mark_of(&path).unwrap(), "it is gone");
    }

    #[test]
    fn a_memory_of_another_form_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for (size, version, mark) in [(112, VERSION, 1), (104, VERSION + 1, 1), (104, VERSION, 2)] {
            let path = memory(folder.path(), size, version, mark);
            let before = fs::read(&path).unwrap();
            let error = remove_mark_of(&path).unwrap_err().to_string();
            assert!(error.contains("not known"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), before);
        }
        let path = folder.path().join("memory");
        fs::write(&path, "").unwrap();
        assert!(remove_mark_of(&path).is_err());
        assert!(remove_mark_of(&folder.path().join("none")).is_err());
    }

    #[test]
    fn an_unused_base_id_has_no_memory() {
        assert!(!BaseId::unused().memory().exists());
    }
}
