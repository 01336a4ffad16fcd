//! Finds installed programs, and their versions.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hoptax_host::command::{self, CommandOutput};

use crate::placeholders::{FOLDER, filled};

/// Time limit for a program to print its version, or to say what it has.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The first program of this name in the folders of `search_path`, in the format of `PATH`.
pub fn in_search_path(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(search_path).map(|folder| folder.join(name)).find(is_program)
}

/// The program with this name in a command of a study file in `folder`: a path from there if it has a slash or the
/// placeholder `{folder}`, else the first in the folders of `search_path`.
pub(crate) fn of_command(name: &str, folder: &Path, search_path: &OsStr) -> Option<PathBuf> {
    if name.contains('/') || name.contains(FOLDER) {
        let path = folder.join(filled(name, &[(FOLDER, &*folder.to_string_lossy())]));
        return path.is_file().then_some(path);
    }
    in_search_path(name, search_path)
}

/// The files among the arguments of a command of a study file in `folder`: a script is as much a part of it as the interpreter.
pub(crate) fn files_of_command(command: &[String], folder: &Path) -> Vec<PathBuf> {
    let folder = folder.to_string_lossy();
    let arguments = command.iter().skip(1).map(|argument| filled(argument, &[(FOLDER, &*folder)]));
    arguments.map(PathBuf::from).filter(|path| path.is_file()).collect()
}

/// The first line that a program prints when it is called with `arguments`. None if it fails or prints nothing.
pub fn version(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = output(program, arguments)?;
    let line = output.text.lines().map(str::trim).find(|line| !line.is_empty())?;
    output.status.success().then(|| line.to_owned())
}

/// Whether a program exits with success when it is called with `arguments`.
pub(crate) fn succeeds(program: &Path, arguments: &[&str]) -> bool {
    output(program, arguments).is_some_and(|output| output.status.success())
}

fn output(program: &Path, arguments: &[&str]) -> Option<CommandOutput> {
    let mut command = Command::new(program);
    command.args(arguments);
    command::run(command, TIMEOUT, &AtomicBool::new(false)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_executable_file_is_a_program_and_its_version_is_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        for (place, mode) in [(&first, 0o644), (&second, 0o755)] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("proxy"), "#!/bin/sh\necho; echo \"proxy $1\" >&2; exit $2\n").unwrap();
            fs::set_permissions(place.join("proxy"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let search_path = env::join_paths([&first, &second]).unwrap();
        let found = in_search_path("proxy", &search_path).unwrap();
        assert_eq!(found, second.join("proxy"));
        assert_eq!(in_search_path("other", &search_path), None);
        assert_eq!(version(&found, &["1.2", "0"]).as_deref(), Some("proxy 1.2"));
        assert_eq!(version(&found, &["1.2", "1"]), None);
        assert_eq!(version(&first.join("proxy"), &["1.2", "0"]), None);
    }
}
