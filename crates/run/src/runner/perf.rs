//! perf as a process: records the CPU time of other processes, and has the parts that all uses of perf share.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::command;
use hoptax_plan::profile::script::FIELDS;
use hoptax_subject::program::in_search_path;

/// Time limit for perf to start, to end and to print.
pub(super) const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval of polling for its start.
const POLL: Duration = Duration::from_millis(2);

/// Reason why an arm cannot be profiled.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// perf fails, or its output is not as expected.
    #[error("`perf` of the package linux-perf {what}; its log is `{}`", log.display())]
    Perf {
        /// Its fault, as the end of the message.
        what: String,
        /// Its log.
        log: PathBuf,
    },
    /// Without perf, the kernel does not let hoptax take samples.
    #[error(
        "cannot take samples: {0}; run as root, or set `kernel.perf_event_paranoid=1` and `kernel.kptr_restrict=0`"
    )]
    Sampler(#[source] io::Error),
    /// A file cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Returns true if perf is installed.
pub(super) fn has_perf() -> bool {
    in_search_path("perf", &env::var_os("PATH").unwrap_or_default()).is_some()
}

/// The log of perf, in the folder of the profile.
const LOG: &str = "perf.log";

/// A recording of some processes.
pub(super) struct Perf {
    child: Child,
    data: PathBuf,
    pub(super) log: PathBuf,
}

impl Perf {
    /// Starts to sample processes, `frequency` times per second of CPU time, and returns when sampling has begun. perf runs on
    /// `processors`.
    pub(super) fn start(
        directory: &Path,
        processes: &[u32],
        frequency: u32,
        processors: &[u32],
    ) -> Result<Self, ProfileError> {
        let (data, log, ready) = (directory.join("perf.data"), directory.join(LOG), directory.join("ready"));
        let all: Vec<String> = processes.iter().map(u32::to_string).collect();
        let frequency = frequency.to_string();
        let options = [
            "record",
            "--quiet",
            "--event",
            "cpu-clock",
            "--freq",
            &frequency,
            "-g",
            "--pid",
            &all.join(","),
        ];
        // perf starts this script when sampling begins, and ends with it. The script watches perf itself, since a killed hoptax kills only
        // perf.
        let script = ": >\"$0\"; while kill -0 $PPID 2>/dev/null; do sleep 1; done";
        let child = start(&options, &data, script, &ready, &log, processors)?;
        Ok(Self { child, data, log })
    }

    /// Ends the recording, and returns its samples as text.
    pub(super) fn end(mut self, stop: &AtomicBool) -> Result<String, ProfileError> {
        let perf = |what: String| ProfileError::Perf { what, log: self.log.clone() };
        self.child.end(TIMEOUT).map_err(|error| perf(format!("does not end: {error}")))?;
        let mut script = Command::new("perf");
        script.args(["script", "--no-inline", "-F", FIELDS, "-i"]).arg(&self.data);
        let printed = command::run_with_limit(script, TIMEOUT, MAX_OUTPUT_BYTES, stop);
        let output = printed.map_err(|error| perf(format!("does not print its samples: {error}")))?;
        let _ = fs::remove_file(&self.data);
        if output.status.success() {
            Ok(output.text)
        } else {
            Err(perf(format!("does not print its samples: {}", output.text)))
        }
    }
}

/// Starts perf, which writes to `output` while the shell runs `script`. Returns when the script has created the file `ready`, its `$0`:
/// perf measures from then on. perf runs on `processors`.
pub(super) fn start(
    options: &[&str],
    output: &Path,
    script: &str,
    ready: &Path,
    log: &Path,
    processors: &[u32],
) -> Result<Child, ProfileError> {
    for path in [output, ready] {
        remove(path).map_err(|source| ProfileError::File { path: path.to_owned(), source })?;
    }
    let failed = |what: String| ProfileError::Perf { what, log: log.to_owned() };
    let mut arguments: Vec<OsString> = options.iter().map(Into::into).collect();
    arguments.extend(["--output".into(), output.into()]);
    arguments.extend(["--", "/bin/sh", "-c", script].map(Into::into));
    arguments.push(ready.into());
    let spec = ChildSpec {
        program: "perf".into(),
        arguments,
        environment: Vec::new(),
        log: log.to_owned(),
        processors: processors.to_vec(),
    };
    let mut child = Child::start(&spec).map_err(|error| failed(format!("does not start: {error}")))?;
    let began = Instant::now();
    while !ready.exists() {
        let ended = child.ended().map_err(|source| ProfileError::File { path: log.to_owned(), source })?;
        if ended.is_some() || began.elapsed() > TIMEOUT {
            return Err(failed(format!("takes no samples: {}", child.last_lines(3))));
        }
        thread::sleep(POLL);
    }
    Ok(child)
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Maximum output of `perf script` for one profile, bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
