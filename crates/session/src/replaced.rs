//! Writes files of a run folder atomically: a reader finds either the old content or the new one.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::store::has_secrets;

/// Mode of a file that only its owner can read and write.
const OWNER_ONLY: u32 = 0o600;

/// Replaces a file atomically, also with respect to a crash of the machine: the content must be on disk before the rename, and the rename
/// is durable only after the folder is synced.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    replace_by(path, text, File::create(path.with_extension("unfinished"))?)
}

/// Writes a study file. If it contains secrets, such as the user's own headers, only its owner can read it.
pub(crate) fn write_study(path: &Path, text: &str) -> io::Result<()> {
    if has_secrets(text) { write_private(path, text) } else { replace(path, text) }
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let file = File::options().write(true).create(true).truncate(true).mode(OWNER_ONLY).open(&unfinished)?;
    // An existing file of an earlier run keeps its old mode otherwise.
    file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
    replace_by(path, text, file)
}

fn replace_by(path: &Path, text: &str, mut file: File) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(unfinished, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_replaced_file_is_never_read_half_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        // Longer than one write of the kernel to a page.
        let text = |number: u32| number.to_string().repeat(100_000);
        replace(&path, &text(0)).unwrap();
        let writer = {
            let path = path.clone();
            thread::spawn(move || (1..=9).try_for_each(|number| replace(&path, &text(number))))
        };
        let mut seen = Vec::new();
        while !writer.is_finished() {
            let read = fs::read_to_string(&path).unwrap();
            assert_eq!(read.len(), 100_000);
            assert!(read.bytes().all(|byte| Some(byte) == read.bytes().next()));
            seen.extend(read.chars().next());
        }
        writer.join().unwrap().unwrap();
        assert!(seen.is_sorted(), "{seen:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text(9));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_study_with_secrets_is_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.yaml");
        let mode = |text: &str| {
            write_study(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            fs::metadata(&path).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode("arms: [{request: {headers: {cookie: a=b}}}]"), OWNER_ONLY);
        assert_ne!(mode("arms: [{request: {headers: {accept: a}}}]"), OWNER_ONLY);
    }
}
