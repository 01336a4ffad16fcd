//! Child processes that never outlive hoptax.
//!
//! The kernel kills each child when its parent dies (`PR_SET_PDEATHSIG`), even after `kill -9` of hoptax. A panic or an
//! early return kills it through the `Drop` of [`Child`]. The kernel ties the signal to the *thread* that started the
//! child, so start children from a thread that outlives them. Each child leads its own process group. Ctrl-C in the
//! terminal therefore reaches only hoptax, which then stops its children in order.
//!
//! Descendants of a child are killed too. Signals go to its whole process group. A process that left the group becomes a
//! child of hoptax when its parent exits (`PR_SET_CHILD_SUBREAPER`), and is killed with the last child. Only after
//! `kill -9` of hoptax do descendants survive, since the kernel's signal goes to the child alone. Those that run as another user cannot
//! be signalled, so they are not waited for; [`left_behind`] names them.
//!
//! The `unsafe` code runs between fork and exec.

mod bounds;
mod orphans;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, setrlimit,
};

use crate::processors::cpu_set;
pub use bounds::{ChildLimits, ending, limit_children};
pub use orphans::left_behind;
use orphans::{end_group, kill_orphans, reap_except};

/// The process groups of all children, by the process id of their leader.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Specification of a child.
#[derive(Clone, Debug)]
pub struct ChildSpec {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Environment variables, in addition to those of hoptax.
    pub environment: Vec<(OsString, OsString)>,
    /// File to which stdout and stderr are appended.
    pub log: PathBuf,
    /// Allowed processors; empty for all.
    pub processors: Vec<u32>,
}

/// A child process; killed when dropped.
#[derive(Debug)]
pub struct Child {
    group: Group,
    log: PathBuf,
    /// Size of the log at the start, bytes. Earlier output is from other processes.
    log_start: u64,
}

impl Child {
    /// Starts a child.
    ///
    /// # Errors
    /// If the log cannot be opened or the program cannot be started.
    pub fn start(spec: &ChildSpec) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(&spec.log)?;
        let log_start = log.metadata()?.len();
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.arguments)
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Ok(Self { group: Group::start(command, &spec.processors)?, log: spec.log.clone(), log_start })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// The log file.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last `lines` lines of its own output, for error messages. Output of earlier processes in the same log is excluded.
    pub fn last_lines(&self, lines: usize) -> String {
        match last_lines_since(&self.log, self.log_start, lines) {
            nothing if nothing.is_empty() => "(no output)".to_owned(),
            text => text,
        }
    }

    /// Its exit status; None while it runs or is stopped ([`crate::freeze`]).
    ///
    /// # Errors
    /// If `waitid` fails.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.group.ended()
    }

    /// Sends SIGTERM to its process group and returns at once, so several children can exit concurrently.
    ///
    /// # Errors
    /// If `waitid` fails.
    pub fn terminate(&mut self) -> io::Result<()> {
        if self.group.ended()?.is_none() {
            self.group.signal(Signal::TERM);
            // A stopped process handles SIGTERM only after SIGCONT.
            self.group.signal(Signal::CONT);
        }
        Ok(())
    }

    /// Sends SIGTERM, and SIGKILL if it has not exited within `grace`.
    ///
    /// # Errors
    /// If waiting for it fails.
    pub fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        self.terminate()?;
        let began = Instant::now();
        while began.elapsed() < grace {
            if let Some(status) = self.group.ended()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.group.kill()
    }
}

/// A process group and its leader; killed when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    leader: std::process::Child,
    pid: Pid,
    /// True if the leader has been reaped. From then on, its id and that of the group may be reused.
    is_reaped: bool,
}

impl Group {
    /// Starts a command as the leader of a new group.
    pub(crate) fn start(mut command: Command, processors: &[u32]) -> io::Result<Self> {
        // Fails only before Linux 3.4. Without it, processes that leave their group survive.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
        command.process_group(0);
        bind(&mut command, processors);
        // Held until the leader is registered, so `kill_orphans` of another thread cannot mistake it for an orphan.
        let mut groups = groups();
        let mut leader = command.spawn()?;
        let Some(pid) = Pid::from_raw(leader.id().cast_signed()) else {
            leader.kill()?;
            return Err(io::Error::other("the child has no valid process id"));
        };
        groups.push(pid);
        Ok(Self { leader, pid, is_reaped: false })
    }

    /// The process id of the leader.
    pub(crate) fn id(&self) -> u32 {
        self.leader.id()
    }

    /// The exit status of the leader; None while it runs. After its exit, the rest of the group is killed.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.is_reaped {
            return self.leader.try_wait();
        }
        // WNOWAIT does not reap the leader, so its id cannot be reused before the group is killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.pid), options) {
            Ok(None) => Ok(None),
            Ok(Some(_)) => self.kill().map(Some),
            Err(error) => Err(error.into()),
        }
    }

    /// Kills the group and waits for it. After the last group, kills all orphans too.
    pub(crate) fn kill(&mut self) -> io::Result<ExitStatus> {
        if !self.is_reaped {
            let killed = kill_process_group(self.pid, Signal::KILL);
            if killed == Err(Errno::PERM) && self.leader.try_wait()?.is_none() {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!(
                        "process {} runs as another user and cannot be ended: run hoptax itself as that user",
                        self.pid.as_raw_nonzero()
                    ),
                ));
            }
            let status = self.leader.wait()?;
            self.is_reaped = true;
            // The other members are children of this process by now, or of a process that is exiting.
            end_group(self.pid);
            let mut groups = groups();
            groups.retain(|pid| *pid != self.pid);
            if groups.is_empty() {
                kill_orphans();
            }
            return Ok(status);
        }
        self.leader.wait()
    }

    /// Sends a signal to the group.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.is_reaped {
            // Fails if all members have just exited, which waiting for the leader will show.
            let _ = kill_process_group(self.pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // `drop` cannot report an error, and none is expected for an own child.
        let _ = self.kill();
    }
}

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the process groups of all children and returns at once, for a program that is about to exit.
pub fn kill_all() {
    for pid in groups().iter() {
        let _ = kill_process_group(*pid, Signal::KILL);
    }
}

/// Reaps descendants that outlived their parents and have ended. The first process of a container inherits all of them, and unreaped ones
/// stay in the process table. Only for a program that starts all its children with this module and those built on it.
pub fn reap_adopted() {
    // Held, so that no child has started that is not registered yet.
    let groups = groups();
    reap_except(&groups);
}

/// The last `lines` non-empty lines of a log, for error messages. Empty if it cannot be read.
pub fn last_lines(log: &Path, lines: usize) -> String {
    last_lines_since(log, 0, lines)
}

/// Like [`last_lines`], without the first `start` bytes of the log.
fn last_lines_since(log: &Path, start: u64, lines: usize) -> String {
    const TAIL_BYTES: u64 = 16 * 1024;
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = fs::metadata(log)?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES).max(start)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    last_lines_of(&read().unwrap_or_default(), lines)
}

/// The last `lines` non-empty lines of a text.
pub fn last_lines_of(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

/// Ties the child of a command to this process, to its processors and to the limits of all children.
#[expect(unsafe_code, reason = "pre_exec is unsafe: its closure must be async-signal-safe")]
fn bind(command: &mut Command, processors: &[u32]) {
    let parent = rustix::process::getpid();
    let processors = (!processors.is_empty()).then(|| cpu_set(processors));
    let limits = bounds::of_next();
    // SAFETY: the closure makes four system calls (prctl, getppid, sched_setaffinity, prlimit) on values that were
    // created before the fork; it neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                // The parent died before the call above, so the child would never get the signal.
                return Err(io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()));
            }
            if let Some(set) = &processors {
                rustix::thread::sched_setaffinity(None, set)?;
            }
            for (resource, limit) in limits.iter().flatten() {
                setrlimit(*resource, *limit)?;
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests;
