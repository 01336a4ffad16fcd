//! Removes files that killed studies, or studies on a machine that crashed, left in their folders.
//!
//! The kernel ends the processes and networks of a study with it, even after a kill. Files that functions wrote in a
//! round, such as access logs, and the shared memory of proxies that were replaced by hot restart remain.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_run::runner::FILES;
use hoptax_subject::envoy::process::shared_memory;

use crate::failure::Failure;
use crate::run_folder;
use crate::update::{Say, Update};

/// Removes such files in a run folder, or in all run folders of a folder, and calls `on_removed` with each path. Skips studies that are
/// running.
///
/// # Errors
/// When a folder cannot be read or a file cannot be removed, and errors of `on_removed`.
pub fn clean_up(
    root: &Path,
    on_removed: &mut dyn FnMut(&Path) -> Result<(), Failure>,
    say: Say<'_>,
) -> Result<(), Failure> {
    let failed = |what: &str, path: &Path, error: &io::Error| {
        Failure::environment(format!("cannot {what} `{}`: {error}", path.display()))
    };
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = format!("the folder `{}` does not exist: nothing to remove", root.display());
            say(Update::Note(&text));
            return Ok(());
        }
        Err(error) => return Err(failed("read", root, &error)),
    };
    let mut found_any = false;
    for run in entries.flatten().map(|entry| entry.path()).chain([root.to_owned()]) {
        let left = leftovers(&run);
        if !left.is_empty() && run_folder::is_in_use(&run) {
            say(Update::Note(&format!("the study in `{}` is running: skipped", run.display())));
            continue;
        }
        for path in left {
            let remove = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            remove.map_err(|error| failed("remove", &path, &error))?;
            on_removed(&path)?;
            found_any = true;
        }
    }
    if !found_any {
        say(Update::Note(&format!("nothing to remove in `{}`", root.display())));
    }
    Ok(())
}

/// Folders with files of a run's functions, `arms/ARM/files` and `arms/ARM/PROXY/files`, and shared memory of its proxies.
fn leftovers(run: &Path) -> Vec<PathBuf> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let arms = folders(&run.join("arms"));
    let deeper: Vec<PathBuf> = arms.iter().flat_map(|arm| folders(arm)).collect();
    let files = arms.iter().map(|arm| arm.join(FILES)).filter(|files| files.is_dir());
    let of_proxies = deeper.iter().filter(|path| path.file_name().is_none_or(|name| name != FILES));
    let memory = arms.iter().chain(&deeper).filter_map(|proxy| shared_memory(proxy));
    let of_proxies = of_proxies.map(|proxy| proxy.join(FILES)).filter(|files| files.is_dir());
    files.chain(of_proxies).chain(memory).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_functions_are_removed_of_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("quick-1");
        let (files, of_proxy) = (run.join("arms/a").join(FILES), run.join("arms/b/proxy").join(FILES));
        let kept = run.join("arms/a/envoy.log");
        for path in [&files, &of_proxy] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(&kept, "").unwrap();
        let mut removed = Vec::new();
        let mut on_removed = |path: &Path| {
            removed.push(path.to_owned());
            Ok(())
        };
        clean_up(folder.path(), &mut on_removed, &|_| {}).unwrap();
        assert_eq!(removed, [files.clone(), of_proxy.clone()]);
        assert!(kept.exists() && !files.exists() && !of_proxy.exists());
    }
}
