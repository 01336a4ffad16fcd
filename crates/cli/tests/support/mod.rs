//! Helpers shared by the tests of the program.

// Each test file uses its own part of this.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod browser;
pub(crate) mod proxied;
pub(crate) mod receiver;
pub(crate) mod study;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Lines};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use jsonschema::Validator;

/// Outcome of a run of the program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Asserts that it ended with exit code 0.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that it ended with this exit code, not 0, and said these words on stderr.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &str) {
        assert!(self.code == Some(code) && self.stderr.contains(words), "{code} `{words}`: {self:?}");
    }
}

/// The program, without a stored calibration and without the user's store.
pub(crate) fn hoptax() -> Command {
    let mut command = Command::new(program());
    command
        .env("XDG_STATE_HOME", "/nonexistent")
        .env("XDG_DATA_HOME", "/nonexistent")
        .env_remove("HOPTAX_STORE");
    command
}

/// Path of the program.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hoptax"))
}

/// Flags of a load that ends when each of its requests (`-n`) has its response, however slow the machine is. With a duration,
/// a stalled machine would leave requests unsent.
pub(crate) const UNHURRIED: [&str; 4] = ["-d", "1h", "--timeout", "10m"];

/// Thresholds that a busy machine does not exceed, so that the load always states times.
pub(crate) const TOLERANT: [&str; 9] = [
    "--threshold=own-lag-us=1e9",
    "--threshold=load-deviation=1e9",
    "--threshold=interval-fail-share=1e9",
    "--threshold=generator-busy-fail=99",
    "--threshold=run-delay-fail=99",
    "--threshold=steal-fail=99",
    "--threshold=steady-change-fail=1e9",
    "--threshold=throttled=1e9",
    "--threshold=clock-read-ns=1e9",
];

/// Runs the program until it exits.
pub(crate) fn run<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    ran(hoptax().args(arguments))
}

/// Runs a command until it exits.
pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Asserts that a list has several lines, none of which is wider than a hundred columns.
pub(crate) fn assert_narrow(list: &str) {
    assert!(list.lines().count() > 5, "{list}");
    // A long word, such as an address of a source, has a line of its own.
    let is_too_long = |line: &&str| line.chars().count() > 100 && line.split_whitespace().count() > 2;
    assert_eq!(list.lines().find(is_too_long), None, "{list}");
}

/// A process that is killed when dropped, even if the test fails.
pub(crate) struct Guarded(pub Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guarded {
    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.0.id(), name);
    }

    /// Its stderr until its end.
    pub(crate) fn stderr(&mut self) -> String {
        io::read_to_string(self.0.stderr.take().unwrap()).unwrap()
    }

    /// The address that it prints in its first line, once it listens.
    pub(crate) fn address(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned()
    }

    /// Process ids of its children.
    pub(crate) fn children(&self) -> Vec<u32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0.id())).into_iter().flatten().flatten();
        // Each thread has its own.
        let of_thread =
            |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let all: Vec<String> = threads.map(of_thread).collect();
        all.iter().flat_map(|text| text.split_whitespace()).filter_map(|word| word.parse().ok()).collect()
    }
}

/// Sends a signal by its name.
pub(crate) fn signal(process_id: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &process_id.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Returns true if a process runs, zombies not counted.
pub(crate) fn is_alive(process_id: u32) -> bool {
    fs::read_to_string(format!("/proc/{process_id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The name of a process.
pub(crate) fn name_of(process_id: u32) -> String {
    fs::read_to_string(format!("/proc/{process_id}/comm")).unwrap_or_default().trim().to_owned()
}

/// Waits until `is_so` holds, at most a minute, so that a hang becomes a failure. The tests make no claims about how long it
/// takes.
pub(crate) fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait(Duration::from_millis(5), Duration::from_mins(1), what, is_so);
}

/// The same, at most a quarter of an hour and at a slower pace, where asking takes processor time that others need.
pub(crate) fn wait_at_pace(pace: Duration, what: &str, is_so: impl FnMut() -> bool) {
    wait(pace, Duration::from_mins(15), what, is_so);
}

fn wait(pace: Duration, most: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..most.as_millis() / pace.as_millis() {
        if is_so() {
            return;
        }
        thread::sleep(pace);
    }
    panic!("{what} did not come");
}

/// A load in the background that prints a line for each interval of 100 ms.
pub(crate) struct Watched {
    pub(crate) load: Guarded,
    lines: Lines<BufReader<ChildStdout>>,
    folder: tempfile::TempDir,
}

impl Watched {
    /// Starts `hoptax load`.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_as(hoptax(), arguments)
    }

    /// Starts `hoptax load` with a command that becomes `hoptax`.
    pub(crate) fn start_as(mut hoptax: Command, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let load = hoptax
            .args(["load", "--every", "100ms", "--json"])
            .arg(folder.path().join("result.json"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut load = Guarded(load.unwrap());
        let lines = BufReader::new(load.0.stdout.take().unwrap()).lines();
        Self { load, lines, folder }
    }

    /// Waits for an interval for which `is_so` is true. Fails if the load ends before.
    pub(crate) fn wait_for(&mut self, is_so: impl Fn(&serde_json::Value) -> bool) {
        let mut lines = self.lines.by_ref().map(|line| checked("load-interval", &line.unwrap()));
        assert!(lines.any(|line| is_so(&line)), "the load ended");
    }

    /// Interrupts the load, and returns its result.
    pub(crate) fn interrupt(self) -> serde_json::Value {
        self.interrupt_with("INT")
    }

    /// Interrupts the load with the signal of this name, and returns its result.
    pub(crate) fn interrupt_with(mut self, signal: &str) -> serde_json::Value {
        self.load.signal(signal);
        // Its output may fill the pipe.
        self.lines.by_ref().for_each(drop);
        assert_eq!(self.load.0.wait().unwrap().code(), Some(130));
        checked("load", &fs::read_to_string(self.folder.path().join("result.json")).unwrap())
    }
}

/// Starts an origin, and returns it with its URL.
pub(crate) fn origin(arguments: &[&str]) -> (Guarded, String) {
    let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
    let mut command = hoptax();
    command.args(["lab", "origin"]).args(listen).args(arguments);
    let mut origin = Guarded(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let url = origin.address();
    (origin, url)
}

/// Serves each connection in a thread of its own, until the test ends.
pub(crate) fn serve_connections(listener: TcpListener, serve: impl Fn(TcpStream) + Send + Sync + 'static) {
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(connection));
        }
    });
}

/// A server that does so on a free port, and its address.
pub(crate) fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    serve_connections(listener, serve);
    address
}

/// Starts a server of results with a store, and returns it with its URL, which ends with a slash.
pub(crate) fn serve(store: impl AsRef<Path>, arguments: &[&str]) -> (Guarded, String) {
    let mut command = hoptax();
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(store.as_ref()).args(arguments);
    let mut serve = Guarded(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let url = serve.address();
    (serve, url)
}

/// Writes an executable script, in a folder that may be new.
pub(crate) fn install(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The number of open sockets of a process; none if it has ended.
pub(crate) fn sockets(process_id: u32) -> usize {
    let Ok(files) = fs::read_dir(format!("/proc/{process_id}/fd")) else { return 0 };
    let is_socket =
        |path: PathBuf| fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
    files.flatten().filter(|file| is_socket(file.path())).count()
}

/// Root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The schema of all outputs, as it is kept.
pub(crate) fn report_schema() -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(root().join("schemas/report.json")).unwrap()).unwrap()
}

/// The validator of the outputs whose format has this name. Compiling one takes long, so it is kept.
fn validator(name: &str) -> Arc<Validator> {
    static KEPT: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = || {
        let mut schema = report_schema();
        // With the alternatives of all formats, an error would only say that none of them fits.
        schema.as_object_mut().unwrap().remove("oneOf");
        schema["$ref"] = format!("#/$defs/{name}").into();
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    Arc::clone(kept.entry(name.to_owned()).or_insert_with(compile))
}

/// What is wrong with a value as an output whose format has this name.
pub(crate) fn misfits(name: &str, value: &serde_json::Value) -> Vec<String> {
    validator(name).iter_errors(value).map(|error| error.to_string()).collect()
}

/// Parses a JSON text and validates it as an output whose format has this name.
pub(crate) fn checked(name: &str, text: &str) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let errors = misfits(name, &value);
    assert!(errors.is_empty(), "{errors:?}");
    value
}

/// Certificates created by `hoptax lab certs`.
pub(crate) struct Lab {
    pub(crate) folder: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = run(["lab", "certs", folder.path().join("lab").to_str().unwrap()]);
        assert_eq!((made.code, made.stdout.lines().count()), (Some(0), 6), "{}", made.stderr);
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("lab").join(name)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Starts an origin with the server certificate, and returns it with its address.
    pub(crate) fn origin(&self, more: &[&str]) -> (Guarded, String) {
        let (cert, key) = (self.file("server.pem"), self.file("server.key"));
        let (origin, url) = origin(&[&["--cert", &cert, "--key", &key], more].concat());
        (origin, url.split_once("://").unwrap().1.to_owned())
    }
}
