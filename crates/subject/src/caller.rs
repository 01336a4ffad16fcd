//! Callers other than hoptax: commands that call a URL for some seconds and print how long each call took.
//!
//! A user's caller is a command in the study file. The callers of `apps/` have a name, and an entry in [`ALL`]. A caller prints a line for
//! every call, with its time in microseconds or `failed`, and finally `end` with the time from the start of the first call to the end of
//! the last, in microseconds.

mod known;
mod php;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::placeholders::{FOLDER, filled};
use crate::program;
use known::Known;

/// The callers that come with hoptax.
pub static ALL: [&Known; 1] = [&php::PHP];

/// Placeholders of a command.
const URL: &str = "{url}";
const HOST: &str = "{host}";
const PORT: &str = "{port}";
const SECONDS: &str = "{seconds}";
const PROCESSES: &str = "{processes}";
const AUTHORITY: &str = "{authority}";
const SCRIPT: &str = "{script}";

/// The caller of a load. Two are equal if they are started in the same way.
#[derive(Clone, PartialEq)]
pub struct Caller {
    /// The program and its arguments, with placeholders.
    command: Vec<String>,
    known: Option<&'static Known>,
}

/// Task of a caller: its URL, its duration, and its connections.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    /// The URL to call.
    pub url: &'a str,
    /// How long to call it.
    pub duration: Duration,
    /// Number of processes, or of other units that call in parallel.
    pub processes: usize,
    /// The file with the authority that signed the server's certificate; none for plaintext.
    pub authority: Option<&'a Path>,
}

impl Caller {
    /// The caller of `apps/` with this name.
    pub fn named(name: &str) -> Option<Self> {
        let known = *ALL.iter().find(|known| known.name == name)?;
        let command = std::iter::once(known.program).chain(known.arguments.iter().copied());
        Some(Self { command: command.map(str::to_owned).collect(), known: Some(known) })
    }

    /// A caller of the user.
    ///
    /// # Errors
    /// When the command lacks an argument with the URL or the port, or with the duration.
    pub fn from_command(command: &[String]) -> Result<Self, String> {
        let has = |placeholder: &str| command.iter().skip(1).any(|argument| argument.contains(placeholder));
        if !has(URL) && !has(PORT) {
            return Err(format!(
                "the command does not say what it calls: add an argument with `{URL}`, or with `{PORT}`, such as `--port={PORT}`"
            ));
        }
        if !has(SECONDS) {
            return Err(format!("the command has no argument with `{SECONDS}`: add it"));
        }
        Ok(Self { command: command.to_vec(), known: None })
    }

    /// Its name in results: its name in `apps/`, or its command.
    pub fn name(&self) -> String {
        self.known.map_or_else(|| self.command.join(" "), |known| known.name.to_owned())
    }

    /// The name of its program, as in its command.
    pub fn program_name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The path of its program; none if it is missing. `folder` is that of the study file.
    pub fn program(&self, folder: &Path) -> Option<PathBuf> {
        self.program_in(folder, &env::var_os("PATH").unwrap_or_default())
    }

    /// Like [`Self::program`], with the folders of `search_path`, in the format of `PATH`.
    pub fn program_in(&self, folder: &Path, search_path: &OsStr) -> Option<PathBuf> {
        program::find(self.program_name(), folder, search_path)
    }

    /// The files among its arguments that determine its behaviour, by their names in the arguments. `folder` is that of the study file.
    pub fn inputs(&self, folder: &Path) -> BTreeMap<String, PathBuf> {
        program::inputs_of_command(&self.command, folder)
    }

    /// Arguments with which its program prints its version; none if they are not known.
    pub fn version(&self) -> Option<&'static [&'static str]> {
        self.known.map(|known| known.version)
    }

    /// Returns true if its program, at this path, has the extensions that its script needs.
    pub fn has_extensions(&self, program: &Path) -> bool {
        self.known.is_none_or(|known| program::succeeds(program, known.extensions))
    }

    /// The name and the text of the script that it runs, if it is a built-in script.
    pub fn script(&self) -> Option<(&'static str, &'static str)> {
        self.known.map(|known| known.script)
    }

    /// Returns the advice for a program that is missing or fails.
    pub fn remedy(&self) -> &'static str {
        self.known.map_or("install it, or correct `command`", |known| known.remedy)
    }

    /// Its arguments. `folder` is that of the study file, `script` the path of its script.
    pub fn arguments(&self, calls: &Calls<'_>, folder: &Path, script: &Path) -> Vec<OsString> {
        let (seconds, processes) = (calls.duration.as_secs_f64().to_string(), calls.processes.to_string());
        let authority = calls.authority.unwrap_or(Path::new("")).to_string_lossy();
        let (folder, script) = (folder.to_string_lossy(), script.to_string_lossy());
        let (host, port) = host_and_port(calls.url);
        let values = [
            (URL, calls.url),
            (HOST, host),
            (PORT, port),
            (SECONDS, seconds.as_str()),
            (PROCESSES, processes.as_str()),
            (AUTHORITY, &*authority),
            (SCRIPT, &*script),
            (FOLDER, &*folder),
        ];
        self.command.iter().skip(1).map(|argument| filled(argument, &values).into()).collect()
    }
}

/// The host and the port of a URL that states both.
fn host_and_port(url: &str) -> (&str, &str) {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?']).next().unwrap_or_default();
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}

/// Leaves out the text of its script.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Displays them in a sentence, in the plural.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known {
            Some(known) => f.write_str(known.title),
            None => write!(f, "callers `{}`", self.program_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::process::Command;
    use std::thread;

    use super::*;
    use crate::named_proxy::NamedProxy;

    fn of_words(command: &str) -> Result<Caller, String> {
        Caller::from_command(&command.split(' ').map(str::to_owned).collect::<Vec<String>>())
    }

    #[test]
    fn a_command_gets_a_url_or_a_host_and_a_port_and_duration_processes_and_authority() {
        let all = "./call {url} --for={seconds} {processes} {authority} {folder}/data";
        let by_port = "./call --port {port} --host={host} {seconds}";
        for (command, url, expected) in [
            (all, "http://127.0.0.1:80/", "http://127.0.0.1:80/ --for=1.5 3  /study/data"),
            (by_port, "https://127.0.0.1:4430/a?b:1", "--port 4430 --host=127.0.0.1 1.5"),
            (by_port, "http://[::1]:80/", "--port 80 --host=::1 1.5"),
        ] {
            let calls = Calls { url, duration: Duration::from_millis(1_500), processes: 3, authority: None };
            let arguments = of_words(command).unwrap().arguments(&calls, Path::new("/study"), Path::new(""));
            assert_eq!(arguments, expected.split(' ').collect::<Vec<&str>>());
        }
        for (command, missing) in
            [("./call {url}", "`{seconds}`"), ("./{port} {host} {seconds}", "`--port={port}`")]
        {
            let error = of_words(command).err().unwrap();
            assert!(error.contains(missing), "{error}");
        }
    }

    #[test]
    fn no_call_goes_through_a_proxy_that_the_environment_names() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let response = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                if matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                    stream.write_all(response).unwrap();
                }
            }
        });
        let folder = tempfile::tempdir().unwrap();
        for known in ALL {
            let caller = Caller::named(known.name).unwrap();
            let program = caller.program(folder.path()).filter(|program| caller.has_extensions(program));
            let Some(program) = program else {
                eprintln!("not tested: {} ({})", caller.name(), caller.remedy());
                continue;
            };
            let (name, text) = known.script;
            let script = folder.path().join(name);
            fs::write(&script, text).unwrap();
            let calls =
                Calls { url: &url, duration: Duration::from_millis(50), processes: 1, authority: None };
            let proxy = NamedProxy::new();
            let mut command = Command::new(program);
            command.args(caller.arguments(&calls, folder.path(), &script));
            proxy.set(&mut command);
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("\nend ") && !said.contains("failed"), "{}: {said}", caller.name());
            proxy.assert_unused();
        }
    }

    #[test]
    fn every_caller_fills_all_placeholders() {
        let calls = Calls { url: "URL", duration: Duration::from_secs(1), processes: 2, authority: None };
        for known in ALL {
            let caller = Caller::named(known.name).unwrap();
            let arguments = caller.arguments(&calls, Path::new("/study"), Path::new("/run/script"));
            assert!(
                arguments.iter().all(|argument| !argument.to_string_lossy().contains('{')),
                "{arguments:?}"
            );
            assert!(arguments.iter().any(|argument| argument == "URL"));
        }
    }
}
