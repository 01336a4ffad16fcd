//! Finds installed programs, and their versions.

use std::collections::BTreeMap;
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

/// Time limit for a program to print its version, or its extensions.
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
pub(crate) fn find(name: &str, folder: &Path, search_path: &OsStr) -> Option<PathBuf> {
    if name.contains('/') || name.contains(FOLDER) {
        let path = folder.join(filled(name, &[(FOLDER, &*folder.to_string_lossy())]));
        return path.is_file().then_some(path);
    }
    in_search_path(name, search_path)
}

/// Extensions of files that determine the behaviour of a program: code, configurations, certificates and keys, requests.
const ENDINGS_OF_INPUTS: [&str; 34] = [
    "bash",
    "cer",
    "cfg",
    "conf",
    "crt",
    "env",
    "har",
    "http",
    "ini",
    "jar",
    "js",
    "json",
    "key",
    "lua",
    "mjs",
    "pem",
    "php",
    "pl",
    "properties",
    "proto",
    "py",
    "rb",
    "sh",
    "so",
    "star",
    "tcl",
    "toml",
    "ts",
    "txt",
    "wasm",
    "xml",
    "yaml",
    "yml",
    "zip",
];
/// Words in the names of options for files that a program writes.
const WRITTEN: [&str; 9] = ["dump", "log", "out", "output", "pid", "pidfile", "report", "save", "write"];

/// The files among the arguments of a command of a study file in `folder` that determine its behaviour, by their names in the arguments:
/// its script, which is the first argument that is not a flag, and files with an [extension](ENDINGS_OF_INPUTS) of such files, also in
/// `--name=FILE`. Other files may be outputs, or much data that it serves. The same applies to files of options whose names have a word for
/// [outputs](WRITTEN).
pub(crate) fn inputs_of_command(command: &[String], folder: &Path) -> BTreeMap<String, PathBuf> {
    let arguments = command.get(1..).unwrap_or_default();
    let script = arguments.iter().position(|argument| !argument.starts_with('-'));
    let mut found = BTreeMap::new();
    for (place, argument) in arguments.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| arguments.get(place));
        let (option, named) = match argument.split_once('=').filter(|_| argument.starts_with('-')) {
            Some((option, named)) => (Some(option), named),
            None => (before.map(String::as_str).filter(|before| before.starts_with('-')), argument.as_str()),
        };
        let is_written = option.is_some_and(|option| option.split('-').any(|word| WRITTEN.contains(&word)));
        let path = PathBuf::from(filled(named, &[(FOLDER, &*folder.to_string_lossy())]));
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let is_input = script == Some(place) && ending != "log" || ENDINGS_OF_INPUTS.contains(&ending);
        if is_input && !is_written && path.is_file() {
            found.insert(named.replace(&format!("{FOLDER}/"), ""), path);
        }
    }
    found
}

/// The first line that a program prints when it is called with `arguments`. None if it fails or prints nothing.
pub fn version(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = output(program, arguments)?;
    let line = output.text.lines().map(str::trim).find(|line| !line.is_empty())?;
    output.status.success().then(|| line.to_owned())
}

/// Returns true if a program exits with success when it is called with `arguments`.
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
    fn the_inputs_of_a_command_are_its_script_and_what_it_reads_but_not_what_it_writes_or_serves() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            "run",
            "server.py",
            "site.yaml",
            "ca.pem",
            "access.log",
            "requests.txt",
            "data.bin",
            "report.json",
        ];
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let inputs = |command: &str| {
            let words: Vec<String> = command
                .split(' ')
                .map(|word| {
                    files.iter().find(|file| word.ends_with(*file)).map_or_else(
                        || word.to_owned(),
                        |file| word.replace(file, &format!("{FOLDER}/{file}")),
                    )
                })
                .collect();
            let found = inputs_of_command(&words, folder.path());
            assert!(found.iter().all(|(name, path)| *path == folder.path().join(name)), "{found:?}");
            found.into_keys().collect::<Vec<_>>().join(" ")
        };
        for (command, expected) in [
            ("sh run {port}", "run"),
            ("python3 -u server.py {port} access.log", "server.py"),
            ("./server {port} access.log data.bin", ""),
            ("./server access.log {port}", ""),
            ("./server --config site.yaml --port {port} --ca=ca.pem", "ca.pem site.yaml"),
            ("./server {port} --log access.log --data data.bin --out report.json", ""),
            ("./call {url} --requests requests.txt --report-file=report.json", "requests.txt"),
            ("python3 server.py missing.py {port}", "server.py"),
        ] {
            assert_eq!(inputs(command), expected, "{command}");
        }
    }

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
