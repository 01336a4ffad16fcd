//! Stops processes that are not measured, so that what they do when idle does not fall into what is.
//!
//! It is done by signals (`SIGSTOP`, `SIGCONT`): every user may send them to processes of its own, while the freezer of control
//! groups needs a group that may be written, and differs between its two versions. A process that is stopped keeps its memory
//! and its sockets; the kernel still accepts connections for it, and acknowledges what is sent to it. Timers go on meanwhile:
//! what fell due happens when the process resumes, so let it settle before it is measured ([`SETTLED_AFTER`]). An Envoy counts a
//! long stop as a miss of its watchdog, which by default ends nothing.
//!
//! Waiting for a child as [`crate::child`] does (without `WUNTRACED`) tells nothing of a stop. A child that is stopped still dies
//! with its parent, and ends when [`crate::child::Child::ask_to_end`] asks it to.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// When an idle Envoy that was resumed has done what fell due while it stood. Measured with 1.40.0, of which 100 stood for some
/// 20 s each, on two virtual processors: in the first millisecond it used 0.38 ms of CPU time (median of 200; at most 0.50), some
/// used a part of that until the fifth, and none used any from there to the fiftieth.
pub const SETTLED_AFTER: Duration = Duration::from_millis(5);
/// How long the threads of a process may take to stop or to go on. A thread that the kernel holds, for example in a read from a
/// disk, stops when that is done.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at whether they have.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// Processes that it has stopped; resumed when dropped.
#[derive(Debug, Default)]
pub struct Freezer {
    /// By the process that was asked for: it, and its descendants.
    stopped: BTreeMap<u32, Vec<Process>>,
}

/// A process by a handle, which unlike its id is never given to another.
#[derive(Debug)]
struct Process {
    id: u32,
    handle: OwnedFd,
}

impl Freezer {
    /// A freezer that has stopped nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops processes with all their descendants, and waits until every thread of them stands. What is stopped already stays as
    /// it is.
    ///
    /// # Errors
    /// When a process is gone or belongs to another user, or when a thread does not stop within five seconds. Of the processes
    /// that were asked for, those are running again then that this call stopped.
    pub fn freeze(&mut self, process_ids: &[u32]) -> io::Result<()> {
        let mut wanted: Vec<u32> =
            process_ids.iter().copied().filter(|id| !self.stopped.contains_key(id)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let frozen = self.freeze_all(&wanted);
        if frozen.is_err() {
            // The first failure is what counts.
            let _ = self.thaw(&wanted);
        }
        frozen
    }

    fn freeze_all(&mut self, process_ids: &[u32]) -> io::Result<()> {
        // All are told to stop before the first is waited for, so that they stop at the same time.
        for &id in process_ids {
            let opened = Process::open(id);
            let process = opened.map_err(|error| of_process(id, "stopped", error))?;
            process.send(Signal::STOP).map_err(|error| of_process(id, "stopped", error))?;
            self.stopped.insert(id, vec![process]);
        }
        for id in process_ids {
            let Some(tree) = self.stopped.get_mut(id) else { continue };
            // A process that stands starts no others, so once its children are known there will be no more.
            let mut next = 0;
            while let Some(process) = tree.get(next) {
                process.wait_until_stopped()?;
                for child in children(process.id)? {
                    match Process::open(child).and_then(|child| child.send(Signal::STOP).map(|()| child)) {
                        Ok(child) => tree.push(child),
                        // It has ended since.
                        Err(Errno::SRCH) => {}
                        Err(error) => return Err(of_process(child, "stopped", error)),
                    }
                }
                next += 1;
            }
        }
        Ok(())
    }

    /// Resumes processes with all their descendants, and waits until no thread of them stands. What is not stopped, or has ended
    /// meanwhile, is left alone.
    ///
    /// # Errors
    /// When a process may not be told any more, or when a thread still stands after five seconds. The others run then.
    pub fn thaw(&mut self, process_ids: &[u32]) -> io::Result<()> {
        let trees: Vec<Vec<Process>> = process_ids.iter().filter_map(|id| self.stopped.remove(id)).collect();
        // Descendants first: a parent must not find that its child stands.
        let processes = || trees.iter().flat_map(|tree| tree.iter().rev());
        let mut result = Ok(());
        for process in processes() {
            let sent = match process.send(Signal::CONT) {
                Err(Errno::SRCH) => Ok(()),
                sent => sent.map_err(|error| of_process(process.id, "resumed", error)),
            };
            result = result.and(sent);
        }
        for process in processes() {
            result = result.and(process.wait_until_running());
        }
        result
    }

    /// Resumes everything that it has stopped.
    ///
    /// # Errors
    /// As [`Freezer::thaw`].
    pub fn thaw_all(&mut self) -> io::Result<()> {
        let all: Vec<u32> = self.frozen().collect();
        self.thaw(&all)
    }

    /// The processes that were asked for and are stopped, in the order of their ids.
    pub fn frozen(&self) -> impl Iterator<Item = u32> {
        self.stopped.keys().copied()
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; and there is no need to wait until they run.
        for process in self.stopped.values().flat_map(|tree| tree.iter().rev()) {
            let _ = process.send(Signal::CONT);
        }
    }
}

impl Process {
    fn open(id: u32) -> Result<Self, Errno> {
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        Ok(Self { id, handle: pidfd_open(pid, PidfdFlags::empty())? })
    }

    fn send(&self, signal: Signal) -> Result<(), Errno> {
        pidfd_send_signal(&self.handle, signal)
    }

    fn wait_until_stopped(&self) -> io::Result<()> {
        self.wait_until("stop", |state| matches!(state, State::Stopped | State::Ended))
    }

    fn wait_until_running(&self) -> io::Result<()> {
        self.wait_until("resume", |state| state != State::Stopped)
    }

    /// Waits until all threads are as asked. One that ends while it is looked at is.
    fn wait_until(&self, what: &str, is_done: impl Fn(State) -> bool) -> io::Result<()> {
        let began = Instant::now();
        loop {
            let states = thread_states(self.id)?;
            let left = states.iter().filter(|&&state| !is_done(state)).count();
            if left == 0 {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                let text = format!(
                    "{left} of {} threads of process {} did not {what} within {} s; a thread that waits for a disk does so \
                     when that answers",
                    states.len(),
                    self.id,
                    PATIENCE.as_secs()
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

fn of_process(id: u32, what: &str, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("process {id} cannot be {what}: {error}"))
}

/// Whether a file of `/proc` was not to be read because its process or thread is gone.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// What a thread is doing, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stopped,
    Ended,
    Other,
}

/// The states of a process's threads; of one that is gone there are none.
fn thread_states(process_id: u32) -> io::Result<Vec<State>> {
    let mut states = Vec::new();
    for task in tasks(process_id)? {
        match fs::read_to_string(format!("/proc/{process_id}/task/{task}/stat")) {
            Ok(stat) => states.push(state(&stat)),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(states)
}

/// The state in a line of `/proc/PID/stat`: the letter behind the name, which may hold anything, parentheses too.
fn state(stat: &str) -> State {
    match stat.rsplit_once(") ").and_then(|(_, fields)| fields.chars().next()) {
        Some('T' | 't') => State::Stopped,
        Some('Z' | 'X') => State::Ended,
        _ => State::Other,
    }
}

/// The processes that the threads of a process have started and that are still there.
fn children(process_id: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for task in tasks(process_id)? {
        match fs::read_to_string(format!("/proc/{process_id}/task/{task}/children")) {
            Ok(text) => {
                children.extend(text.split_ascii_whitespace().filter_map(|id| id.parse::<u32>().ok()));
            }
            // A thread that is gone has none; a kernel without the file (CONFIG_PROC_CHILDREN) does not say.
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

/// The ids of a process's threads; of one that is gone there are none.
fn tasks(process_id: u32) -> io::Result<Vec<u32>> {
    let folder = match fs::read_dir(format!("/proc/{process_id}/task")) {
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        folder => folder?,
    };
    let mut tasks = Vec::new();
    for entry in folder {
        match entry {
            Ok(entry) => tasks.extend(entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::child::{Child, ChildSpec, last_lines};

    /// A child that runs `script` and has said so.
    fn start(directory: &Path, script: &str) -> Child {
        let child = Child::start(&ChildSpec {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: Vec::new(),
            log: directory.join("log"),
            processors: Vec::new(),
        })
        .unwrap();
        while last_lines(child.log(), 1).is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        child
    }

    fn all_are(process_id: u32, wanted: State) -> bool {
        let states = thread_states(process_id).unwrap();
        !states.is_empty() && states.iter().all(|&state| state == wanted)
    }

    #[test]
    fn a_process_and_its_children_stand_and_run_again() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "sleep 1000 & echo $!; wait");
        let grandchild: u32 = last_lines(child.log(), 1).parse().unwrap();
        let mut freezer = Freezer::new();
        freezer.freeze(&[child.id(), child.id()]).unwrap();
        assert!(all_are(child.id(), State::Stopped) && all_are(grandchild, State::Stopped));
        assert_eq!(freezer.frozen().collect::<Vec<_>>(), [child.id()]);
        freezer.freeze(&[child.id()]).unwrap();
        freezer.thaw(&[child.id()]).unwrap();
        assert!(all_are(child.id(), State::Other) && all_are(grandchild, State::Other));
        assert_eq!(freezer.frozen().count(), 0);
        freezer.thaw(&[child.id()]).unwrap();
    }

    #[test]
    fn what_stands_uses_no_processor() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; while :; do :; done");
        let mut freezer = Freezer::new();
        freezer.freeze(&[child.id()]).unwrap();
        let used = || crate::accounting::process_use(child.id()).unwrap();
        let before = used();
        thread::sleep(Duration::from_millis(30));
        assert_eq!(used(), before);
        freezer.thaw_all().unwrap();
        while used() == before {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_panic_resumes_what_was_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; exec sleep 1000");
        let id = child.id();
        let panicked = thread::spawn(move || {
            let mut freezer = Freezer::new();
            freezer.freeze(&[id]).unwrap();
            assert!(!all_are(id, State::Stopped), "it stands");
        })
        .join();
        assert!(panicked.is_err());
        assert!(all_are(id, State::Other));
    }

    #[test]
    fn when_one_is_not_there_the_others_run() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; exec sleep 1000");
        let mut freezer = Freezer::new();
        let error = freezer.freeze(&[child.id(), u32::MAX / 2]).unwrap_err();
        assert!(error.to_string().contains("process"), "{error}");
        assert!(all_are(child.id(), State::Other));
        assert_eq!(freezer.frozen().count(), 0);
    }

    #[test]
    fn a_process_that_ended_while_it_stood_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; exec sleep 1000");
        let mut freezer = Freezer::new();
        freezer.freeze(&[child.id()]).unwrap();
        drop(child);
        freezer.thaw_all().unwrap();
    }

    #[test]
    fn the_state_is_behind_the_last_parenthesis() {
        assert_eq!(state("7 (a) R b) T 1 7"), State::Stopped);
        assert_eq!(state("7 (x) Z 1"), State::Ended);
        assert_eq!(state("7 (T) S 1"), State::Other);
        assert_eq!(state(""), State::Other);
    }
}
