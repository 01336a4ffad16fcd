//! Detects changed files by polling them several times a second.
//!
//! Polling detects every way in which a file may change, including those that the kernel does not report to watchers of its name: a
//! Kubernetes `ConfigMap`, which is a link to a link to a folder that is replaced, a file on a network file system, and a file that is
//! mounted by itself into a container. It costs a system call for each file and poll.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

/// Polling interval. A change counts when two polls agree, because a file may be half written.
pub(crate) const INTERVAL: Duration = Duration::from_millis(250);

/// Device, inode, size, and times of modification and change (seconds and nanoseconds) of a file; None if it does not exist.
type Stamp = Option<(u64, u64, u64, [i64; 4])>;

/// Files, with their stamps at the last polls.
#[derive(Debug)]
pub(crate) struct Watch {
    paths: Vec<PathBuf>,
    taken: Vec<Stamp>,
    seen: Vec<Stamp>,
}

impl Watch {
    /// Records the current state of the files.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let stamps = stamps(&paths);
        Self { paths, taken: stamps.clone(), seen: stamps }
    }

    /// Polls the files. Returns true if they differ from the recorded state, and have been the same for two polls.
    pub(crate) fn is_changed(&mut self) -> bool {
        let now = stamps(&self.paths);
        let is_changed = now != self.taken && now == self.seen;
        self.seen = now;
        if is_changed {
            self.taken.clone_from(&self.seen);
        }
        is_changed
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        // This follows links.
        let of = fs::metadata(path).ok()?;
        Some((of.dev(), of.ino(), of.size(), [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()]))
    };
    paths.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns true if a change is seen, by the third look at the latest.
    fn is_seen(watch: &mut Watch) -> bool {
        (0..3).any(|_| watch.is_changed())
    }

    #[test]
    fn every_way_to_change_a_file_is_seen_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, text) in [("first", "1"), ("second", "22")] {
            fs::write(path(name), text).unwrap();
        }
        symlink("first", path("link")).unwrap();
        let mut watch = Watch::new(vec![path("link")]);
        let mut check = |what: &str, change: &dyn Fn()| {
            assert!(!is_seen(&mut watch), "before: {what}");
            change();
            assert!(is_seen(&mut watch), "{what}");
            assert!(!is_seen(&mut watch), "twice: {what}");
        };
        check("written", &|| fs::write(path("first"), "111").unwrap());
        check("replaced", &|| fs::rename(path("second"), path("first")).unwrap());
        check("another target", &|| {
            fs::write(path("third"), "22").unwrap();
            symlink("third", path("new")).unwrap();
            fs::rename(path("new"), path("link")).unwrap();
        });
        check("removed", &|| fs::remove_file(path("third")).unwrap());
        check("there again", &|| fs::write(path("third"), "1").unwrap());
    }

    #[test]
    fn a_file_that_is_being_written_is_left_alone_until_it_rests() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let mut watch = Watch::new(vec![path.clone()]);
        for length in 1..5 {
            fs::write(&path, "x".repeat(length)).unwrap();
            assert!(!watch.is_changed(), "{length}");
        }
        assert!(watch.is_changed());
    }
}
