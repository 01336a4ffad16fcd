//! Child processes that end when hoptax ends, however it ends.
//!
//! Each child is told by the kernel to die with its parent (`PR_SET_PDEATHSIG`), so not even `kill -9` of
//! hoptax leaves one behind; a panic or an early return ends it through [`Child`]'s `Drop`. The kernel ties the
//! signal to the *thread* that started the child: start children from a thread that lives as long as they do.
//! Each child leads a process group of its own, so that Ctrl-C at the terminal reaches hoptax alone, which
//! then ends its children in order.
//!
//! This is the one place of the workspace with `unsafe` code: what runs between fork and exec.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};

use crate::processors::cpu_set;

/// How to start a child.
#[derive(Clone, Debug)]
pub struct ChildSpec {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Environment variables that it gets beside those of hoptax.
    pub environment: Vec<(OsString, OsString)>,
    /// Where its output and errors go; appended to.
    pub log: PathBuf,
    /// The processors that it may use; empty for all.
    pub processors: Vec<u32>,
}

/// A running child; ended when dropped.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    log: PathBuf,
}

impl Child {
    /// Starts a child.
    ///
    /// # Errors
    /// When the log cannot be written or the program not be started.
    pub fn start(spec: &ChildSpec) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(&spec.log)?;
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.arguments)
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        die_with_parent(&mut command, &spec.processors);
        Ok(Self { process: command.spawn()?, log: spec.log.clone() })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How it ended, or None while it runs or is stopped ([`crate::freeze`]).
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }

    /// Asks it to end (SIGTERM) and does not wait, so that many can end at the same time.
    ///
    /// # Errors
    /// When the kernel does not say whether it still runs.
    pub fn ask_to_end(&mut self) -> io::Result<()> {
        if self.process.try_wait()?.is_none()
            && let Some(pid) = Pid::from_raw(self.process.id().cast_signed())
        {
            // It may just have ended by itself; who waits for it will see.
            let _ = kill_process(pid, Signal::TERM);
            // A process that is stopped hears of it when it goes on.
            let _ = kill_process(pid, Signal::CONT);
        }
        Ok(())
    }

    /// Asks it to end, and kills it when it has not within `grace`.
    ///
    /// # Errors
    /// When the kernel does not say how it ended.
    pub fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        self.ask_to_end()?;
        let began = Instant::now();
        while began.elapsed() < grace {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.process.kill()?;
        self.process.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and there is none to expect: the child is ours.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The last `lines` lines of a log, for error messages. Empty when it cannot be read.
pub fn last_lines(log: &Path, lines: usize) -> String {
    const TAIL_BYTES: u64 = 16 * 1024;
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = fs::metadata(log)?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

#[expect(unsafe_code, reason = "pre_exec is unsafe: its closure must only do what is allowed after a fork")]
fn die_with_parent(command: &mut Command, processors: &[u32]) {
    let parent = rustix::process::getpid();
    let processors = (!processors.is_empty()).then(|| cpu_set(processors));
    // SAFETY: the closure makes three system calls (prctl, getppid, sched_setaffinity) on values that were
    // made before the fork; it neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                // The parent died before the call above: nobody would ever end this child.
                return Err(io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()));
            }
            if let Some(set) = &processors {
                rustix::thread::sched_setaffinity(None, set)?;
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(directory: &Path, script: &str) -> ChildSpec {
        ChildSpec {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("HOPTAX_TEST".into(), "set".into())],
            log: directory.join("log"),
            processors: Vec::new(),
        }
    }

    fn is_alive(process_id: u32) -> bool {
        fs::read_to_string(format!("/proc/{process_id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn a_dropped_child_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let child = Child::start(&spec(directory.path(), "exec sleep 1000")).unwrap();
        let process_id = child.id();
        assert!(is_alive(process_id));
        drop(child);
        assert!(!is_alive(process_id));
    }

    #[test]
    fn a_child_that_ignores_the_request_to_end_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let mut child =
            Child::start(&spec(directory.path(), "trap '' TERM; echo ready; while :; do sleep 0.01; done"))
                .unwrap();
        while last_lines(child.log(), 1) != "ready" {
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = child.end(Duration::from_millis(50)).unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    fn stop(child: &Child) {
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        while !fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") T ") {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_stopped_child_has_not_ended_and_ends_when_asked_to() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Child::start(&spec(directory.path(), "exec sleep 1000")).unwrap();
        stop(&child);
        assert_eq!(child.ended().unwrap(), None);
        child.ask_to_end().unwrap();
        while child.ended().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = child.ended().unwrap().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    }

    #[test]
    fn a_stopped_child_is_gone_when_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let child = Child::start(&spec(directory.path(), "exec sleep 1000")).unwrap();
        stop(&child);
        let process_id = child.id();
        drop(child);
        assert!(!is_alive(process_id));
    }

    #[test]
    fn a_stopped_child_dies_with_the_thread_that_started_it() {
        let directory = tempfile::tempdir().unwrap();
        let spec = spec(directory.path(), "exec sleep 1000");
        // To the kernel, the thread that starts a child is its parent.
        let mut child = std::thread::spawn(move || {
            let child = Child::start(&spec).unwrap();
            stop(&child);
            child
        })
        .join()
        .unwrap();
        while child.ended().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = child.ended().unwrap().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn output_goes_to_the_log_and_its_end_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let mut child =
            Child::start(&spec(directory.path(), "echo one; echo two >&2; echo; echo three")).unwrap();
        while child.ended().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(last_lines(child.log(), 2), "two\nthree");
        assert_eq!(last_lines(Path::new("/nonexistent"), 2), "");
    }

    #[test]
    fn a_child_gets_its_environment() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Child::start(&spec(directory.path(), "echo $HOPTAX_TEST")).unwrap();
        while child.ended().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(last_lines(child.log(), 1), "set");
    }

    #[test]
    fn a_child_runs_where_it_was_pinned() {
        let directory = tempfile::tempdir().unwrap();
        let last = *crate::processors::allowed().unwrap().last().unwrap();
        let mut spec = spec(directory.path(), "grep Cpus_allowed_list /proc/self/status");
        spec.processors = vec![last];
        let mut child = Child::start(&spec).unwrap();
        while child.ended().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(last_lines(child.log(), 1).split_whitespace().last(), Some(last.to_string().as_str()));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let mut spec = spec(directory.path(), "");
        spec.program = "/nonexistent/program".into();
        assert_eq!(Child::start(&spec).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
