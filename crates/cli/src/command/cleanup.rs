//! `hoptax runs cleanup`: removes files that killed studies, or studies on a machine that crashed, left in their folders.
//!
//! The kernel ends the processes and networks of a study with it, even after a kill. What remains are files that functions
//! wrote in a round, such as access logs, and the shared memory of proxies that were replaced by hot restart.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_run::runner::FILES;
use hoptax_session::run_folder;
use hoptax_subject::envoy::process::shared_memory;

use crate::arguments::CleanupArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &CleanupArguments) -> Result<Code, Failure> {
    let root = &arguments.folder;
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            print::note(&format!("the folder `{}` does not exist: nothing to remove", root.display()));
            return Ok(Code::Success);
        }
        Err(error) => return Err(failed("read", root, &error)),
    };
    let mut removed = 0;
    for run in entries.flatten().map(|entry| entry.path()).chain([root.clone()]) {
        let left = leftovers(&run);
        if left.is_empty() {
            continue;
        }
        if run_folder::is_in_use(&run) {
            print::note(&format!("the study in `{}` is running: skipped", run.display()));
            continue;
        }
        for path in left {
            let remove = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            remove.map_err(|error| failed("remove", &path, &error))?;
            print::result(&format!("removed {}", path.display()))?;
            removed += 1;
        }
    }
    if removed == 0 {
        print::note(&format!("nothing to remove in `{}`", root.display()));
    }
    Ok(Code::Success)
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

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot {what} `{}`: {error}", path.display()))
}
