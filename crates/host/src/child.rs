//! Child processes that end when hoptax ends, however it ends.
//!
//! Each child is told by the kernel to die with its parent (`PR_SET_PDEATHSIG`), so not even `kill -9` of
//! hoptax leaves one behind; a panic or an early return ends it through [`Child`]'s `Drop`. The kernel ties the
//! signal to the *thread* that started the child: start children from a thread that lives as long as they do.
//! Each child leads a process group of its own, so that Ctrl-C at the terminal reaches hoptax alone, which
//! then ends its children in order.
//!
//! What a child starts itself ends with it: signals go to its whole group, and what has left the group becomes a child
//! of hoptax when its parent ends (`PR_SET_CHILD_SUBREAPER`) and is killed with the last child. Only `kill -9` of hoptax
//! spares it, since the kernel's signal goes to the child alone.
//!
//! This is the one place of the workspace with `unsafe` code: what runs between fork and exec.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getppid, kill_process, kill_process_group,
    set_child_subreaper, set_parent_process_death_signal,
};

use crate::processors::cpu_set;

/// The groups of this process's children, by the process ids of their leaders.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

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
    group: Group,
    log: PathBuf,
    /// How long its log was when it started: what is before is of another.
    log_start: u64,
}

impl Child {
    /// Starts a child.
    ///
    /// # Errors
    /// When the log cannot be written or the program not be started.
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
        self.group.leader.id()
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last `lines` lines that it wrote itself, for error messages: an earlier process may have written to the same log.
    pub fn last_lines(&self, lines: usize) -> String {
        match last_lines_since(&self.log, self.log_start, lines) {
            nothing if nothing.is_empty() => "(it wrote nothing)".to_owned(),
            text => text,
        }
    }

    /// How it ended, or None while it runs or is stopped ([`crate::freeze`]).
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.group.ended()
    }

    /// Asks it and what it started to end (SIGTERM) and does not wait, so that many can end at the same time.
    ///
    /// # Errors
    /// When the kernel does not say whether it still runs.
    pub fn ask_to_end(&mut self) -> io::Result<()> {
        if self.group.ended()?.is_none() {
            self.group.signal(Signal::TERM);
            // A process that is stopped hears of it when it goes on.
            self.group.signal(Signal::CONT);
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
            if let Some(status) = self.group.ended()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.group.kill()
    }
}

/// A process that leads a group, and the group; killed when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    leader: std::process::Child,
    pid: Pid,
    /// Whether the leader is reaped: from then on, its id and that of the group may belong to others.
    is_reaped: bool,
}

impl Group {
    /// Starts a command as the leader of a group.
    pub(crate) fn start(mut command: Command, processors: &[u32]) -> io::Result<Self> {
        // Refused only by kernels before 3.4; without it, what leaves its group stays.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
        command.process_group(0);
        die_with_parent(&mut command, processors);
        // Held until the leader is noted, so that nobody takes it for an orphan.
        let mut groups = groups();
        let mut leader = command.spawn()?;
        let Some(pid) = Pid::from_raw(leader.id().cast_signed()) else {
            leader.kill()?;
            return Err(io::Error::other("a process without an id"));
        };
        groups.push(pid);
        Ok(Self { leader, pid, is_reaped: false })
    }

    /// How the leader ended, or None while it runs. When it has ended, what is left of its group is killed.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.is_reaped {
            return self.leader.try_wait();
        }
        // Looked at without reaping it: until then its id stands for the group and for no other.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.pid), options) {
            Ok(None) => Ok(None),
            Ok(Some(_)) => self.kill().map(Some),
            Err(error) => Err(error.into()),
        }
    }

    /// Kills the group and waits until it is gone; when it was the last, so are the orphans that it and others left.
    pub(crate) fn kill(&mut self) -> io::Result<ExitStatus> {
        if !self.is_reaped {
            self.signal(Signal::KILL);
            let status = self.leader.wait()?;
            self.is_reaped = true;
            // What was in its group has become a child of this process by now, or of one that is ending.
            while let Ok(Some(_)) = rustix::process::waitpgid(self.pid, WaitOptions::empty()) {}
            let mut groups = groups();
            groups.retain(|pid| *pid != self.pid);
            if groups.is_empty() {
                end_orphans();
            }
            return Ok(status);
        }
        self.leader.wait()
    }

    /// Sends a signal to the group.
    fn signal(&self, signal: Signal) {
        if !self.is_reaped {
            // All of them may just have ended by themselves; who waits for the leader will see.
            let _ = kill_process_group(self.pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and there is none to expect: the child is ours.
        let _ = self.kill();
    }
}

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every group of this process's children and returns at once, for a program that is about to exit.
pub fn kill_all() {
    for pid in groups().iter() {
        let _ = kill_process_group(*pid, Signal::KILL);
    }
}

/// Kills the descendants that outlived their parents and left their groups, until there are no more. To be called when no group
/// is left: nothing tells whose they were. Children that share the group of this process were started by others in it.
fn end_orphans() {
    let own_group = rustix::process::getpgrp();
    loop {
        let orphans: Vec<Pid> = children()
            .into_iter()
            .filter(|pid| rustix::process::getpgid(Some(*pid)).is_ok_and(|group| group != own_group))
            .collect();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            let _ = kill_process(pid, Signal::KILL);
            // Its own children are orphans now, so there is another look.
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// The children of this process, whichever of its threads started or adopted them; none where the kernel does not list them.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .filter_map(Pid::from_raw)
        .collect()
}

/// The last `lines` lines of a log, for error messages. Empty when it cannot be read.
pub fn last_lines(log: &Path, lines: usize) -> String {
    last_lines_since(log, 0, lines)
}

/// The same, of what stands behind the first `start` bytes.
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

/// The last `lines` lines of a text that are not empty.
pub fn last_lines_of(text: &str, lines: usize) -> String {
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

    /// The number that a child printed last, once it has printed one.
    fn printed(child: &Child) -> u32 {
        loop {
            if let Ok(number) = last_lines(child.log(), 1).parse() {
                return number;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn what_a_child_started_is_gone_with_it_however_it_ends() {
        let start = |script: &str| {
            let directory = tempfile::tempdir().unwrap();
            let child = Child::start(&spec(directory.path(), script)).unwrap();
            let started = printed(&child);
            (child, started, directory)
        };
        let (child, started, _directory) = start("sleep 1000 & echo $!; wait");
        drop(child);
        assert!(!is_alive(started), "dropped");
        let (mut child, started, _directory) = start("sleep 1000 & echo $!; wait");
        child.end(Duration::from_secs(5)).unwrap();
        assert!(!is_alive(started), "asked to end");
        let (mut child, started, _directory) = start("sleep 1000 & echo $!; exit 3");
        while child.ended().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!is_alive(started), "ended by itself");
    }

    #[test]
    fn what_left_the_group_is_gone_with_the_last_child() {
        // In a process of its own: tests beside this one have children too.
        let test = "child::tests::a_process_whose_child_made_a_session_of_its_own";
        let status =
            Command::new(std::env::current_exe().unwrap()).args([test, "--exact", "--ignored"]).status();
        assert!(status.unwrap().success());
    }

    #[test]
    #[ignore = "run by the test above"]
    fn a_process_whose_child_made_a_session_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & wait";
        let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
        let other = Child::start(&spec(directory.path(), "exec sleep 1000")).unwrap();
        let child = Child::start(&spec(directory.path(), script)).unwrap();
        let started = printed(&child);
        drop(child);
        assert!(is_alive(started), "nothing tells whether it is the other child's");
        drop(other);
        assert!(!is_alive(started));
        assert!(is_alive(bystander.id()), "it is no child of a child");
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }

    #[test]
    fn the_last_lines_of_a_child_are_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let mut child = Child::start(&spec(directory.path(), script)).unwrap();
            while child.ended().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            child.last_lines(2)
        };
        assert_eq!(run("echo one; echo two; echo three"), "two\nthree");
        assert_eq!(run("echo four"), "four");
        assert_eq!(run(":"), "(it wrote nothing)");
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
