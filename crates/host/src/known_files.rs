//! Facts about large files, kept in the user's cache folder until the file changes.
//!
//! Every command that starts Envoy states its version, its hash, and the hash of hoptax itself. To find these, an Envoy is started and 200
//! MB are read, although the files hardly ever change. A file is recognised as `git` recognises it: by its device, its inode, its size, and
//! the times of the last change of its content and of its metadata. The kernel sets the latter time, and a program can only set it back by
//! setting the clock back.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Minimum size of a file whose facts are kept, bytes. A smaller one is read in milliseconds, and scripts, whose output depends on other
/// files, are smaller.
const LEAST_BYTES: u64 = 16 << 20;
/// Time after a change in which another change may leave the times as they are: timestamps of file systems have ticks of up to two seconds.
const UNSETTLED: Duration = Duration::from_secs(3);

/// Number of facts that this process has written so far, so that two threads do not write the same file.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// The user's cache folder: `$XDG_CACHE_HOME`, or `~/.cache`; none if neither variable is set.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))
}

/// The fact `name` about a file, which must depend only on the content of the file. Returns the kept fact, or the result of `find`, which
/// is kept from then on. A fact that cannot be kept is found anew each time.
///
/// # Errors
/// When `find` fails.
pub fn fact<E>(path: &Path, name: &str, find: impl FnOnce() -> Result<String, E>) -> Result<String, E> {
    match cache_folder() {
        Some(folder) => fact_in(&folder.join("hoptax").join("files"), path, name, SystemTime::now(), find),
        None => find(),
    }
}

fn fact_in<E>(
    folder: &Path,
    path: &Path,
    name: &str,
    now: SystemTime,
    find: impl FnOnce() -> Result<String, E>,
) -> Result<String, E> {
    let Some(identity) = identity(path, now) else { return find() };
    let kept = folder.join(format!("{name}-{:016x}", hash_of(path)));
    if let Some(fact) = read(&kept, &identity) {
        return Ok(fact);
    }
    let fact = find()?;
    // The file may have changed meanwhile.
    if !fact.contains('\n') && self::identity(path, now).as_ref() == Some(&identity) {
        keep(folder, &kept, &format!("{identity}\n{fact}\n"));
    }
    Ok(fact)
}

/// The identity of a file in its present state; none if facts about it are not kept.
fn identity(path: &Path, now: SystemTime) -> Option<String> {
    let of = fs::metadata(path).ok()?;
    let changed = Duration::new(u64::try_from(of.ctime()).ok()?, u32::try_from(of.ctime_nsec()).ok()?);
    let is_settled = now.duration_since(UNIX_EPOCH.checked_add(changed)?).is_ok_and(|age| age > UNSETTLED);
    (of.is_file() && of.len() >= LEAST_BYTES && is_settled).then(|| {
        let times = format!("{}.{:09} {}.{:09}", of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec());
        format!("{} {} {} {times}", of.dev(), of.ino(), of.len())
    })
}

/// A number for a path. The facts of two paths with the same number replace each other: the identity shows whose fact is kept.
fn hash_of(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// The kept fact about the file with this identity.
fn read(kept: &Path, identity: &str) -> Option<String> {
    let text = fs::read_to_string(kept).ok()?;
    let (of, fact) = text.strip_suffix('\n')?.split_once('\n')?;
    (of == identity).then(|| fact.to_owned())
}

/// Writes a fact atomically, because other processes may read it. Failures are ignored: the fact is then found once more.
fn keep(folder: &Path, kept: &Path, text: &str) {
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let unfinished = folder.join(format!("unfinished-{}-{number}", std::process::id()));
    let write = || {
        fs::create_dir_all(folder)?;
        fs::write(&unfinished, text)?;
        fs::rename(&unfinished, kept)
    };
    if write().is_err() {
        let _ = fs::remove_file(&unfinished);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::fs::File;

    use super::*;

    /// A file of this size; no block of it is written.
    fn sized(path: &Path, bytes: u64) {
        File::create(path).unwrap().set_len(bytes).unwrap();
    }

    /// The fact about a file at this time after now; if it is not kept, it is `found`.
    fn fact_after(folder: &Path, path: &Path, age: Duration, found: &str) -> String {
        let find = || Ok::<_, Infallible>(found.to_owned());
        fact_in(&folder.join("cache"), path, "fact", SystemTime::now() + age, find).unwrap()
    }

    /// The fact about a file a minute after its last change.
    fn settled(folder: &Path, path: &Path, found: &str) -> String {
        fact_after(folder, path, Duration::from_mins(1), found)
    }

    #[test]
    fn a_fact_is_found_once_and_again_when_the_file_has_changed_or_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, path) = (folder.path(), folder.path().join("program"));
        sized(&path, LEAST_BYTES);
        assert_eq!(settled(folder, &path, "one"), "one");
        assert_eq!(settled(folder, &path, "two"), "one");
        sized(&path, LEAST_BYTES + 1);
        assert_eq!(settled(folder, &path, "three"), "three");
        assert_eq!(settled(folder, &path, "four"), "three");
        let other = folder.join("other");
        sized(&other, LEAST_BYTES + 1);
        assert_eq!(settled(folder, &other, "five"), "five");
        fs::rename(&other, &path).unwrap();
        assert_eq!(settled(folder, &path, "six"), "six");
        assert_eq!(settled(folder, &path, "seven"), "six");
        let mut names = fs::read_dir(folder.join("cache")).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.all(|name| name.to_str().unwrap().starts_with("fact-")));
    }

    #[test]
    fn a_file_that_is_small_or_has_just_changed_is_looked_at_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, path) = (folder.path(), folder.path().join("program"));
        sized(&path, LEAST_BYTES - 1);
        assert_eq!(settled(folder, &path, "one"), "one");
        assert_eq!(settled(folder, &path, "two"), "two");
        sized(&path, LEAST_BYTES);
        assert_eq!(fact_after(folder, &path, Duration::ZERO, "three"), "three");
        assert_eq!(settled(folder, &path, "four"), "four");
    }

    #[test]
    fn a_fact_that_cannot_be_found_or_kept_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, path) = (folder.path(), folder.path().join("program"));
        sized(&path, LEAST_BYTES);
        let later = SystemTime::now() + Duration::from_mins(1);
        let failed = fact_in(&folder.join("cache"), &path, "fact", later, || Err::<String, _>("unreadable"));
        assert_eq!(failed, Err("unreadable"));
        assert_eq!(settled(folder, &path, "two\nlines"), "two\nlines");
        assert_eq!(settled(folder, &path, "one"), "one");
        // A file is in the place of the folder.
        let blocked = fact_in(&path, &path, "fact", later, || Ok::<_, Infallible>("blocked".to_owned()));
        assert_eq!(blocked, Ok("blocked".to_owned()));
    }

    #[test]
    fn a_kept_fact_that_is_damaged_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, path) = (folder.path(), folder.path().join("program"));
        sized(&path, LEAST_BYTES);
        assert_eq!(settled(folder, &path, "one"), "one");
        let kept = fs::read_dir(folder.join("cache")).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&kept).unwrap();
        fs::write(&kept, text.strip_suffix('\n').unwrap()).unwrap();
        assert_eq!(settled(folder, &path, "two"), "two");
        fs::write(&kept, "").unwrap();
        assert_eq!(settled(folder, &path, "three"), "three");
    }
}
