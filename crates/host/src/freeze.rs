//! Stops idle processes, so their background work does not disturb the measurement of others.
//!
//! It uses the signals `SIGSTOP` and `SIGCONT`, which every user may send to its own processes. The control group freezer would
//! need a writable group, and differs between cgroup v1 and v2. A stopped process keeps its memory and sockets; the kernel still
//! accepts its connections and acknowledges received data. Timers continue: those that expire during the stop fire when the
//! process resumes, so wait [`SETTLED_AFTER`] before measuring it. Envoy counts a long stop as a watchdog miss, which has no
//! effect by default.
//!
//! [`crate::child`] waits without `WUNTRACED`, so it does not report a stop. A stopped child still dies with its parent, and
//! [`crate::child::Child::terminate`] still ends it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process_state;

/// Time after which a resumed idle Envoy has handled the timers that expired during the stop. Measured with Envoy 1.40.0, 100 processes
/// stopped for some 20 s each, on two virtual processors: they used 0.38 ms of CPU time in the first millisecond (median of 200; at most
/// 0.50). Some used a part of this time up to the fifth millisecond, and none used any from the fifth to the fiftieth.
pub const SETTLED_AFTER: Duration = Duration::from_millis(5);
/// Timeout for the threads of a process to stop or resume. A thread in an uninterruptible system call, for example a disk read,
/// stops only after the call. Once, in a study of firewall rules, a call took longer than five seconds.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval between checks of their states.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// Stops and resumes processes. Those that are stopped are resumed when it is dropped.
#[derive(Debug, Default)]
pub struct Freezer {
    /// Stopped process trees, by the id of their root.
    stopped: BTreeMap<u32, Vec<Process>>,
}

/// A process, identified by a pidfd: unlike a process id, it is never reused.
#[derive(Debug)]
struct Process {
    id: u32,
    handle: OwnedFd,
}

impl Freezer {
    /// Stops processes with all their descendants, and waits until all their threads have stopped. Processes that it has already
    /// stopped stay stopped.
    ///
    /// # Errors
    /// If a process has exited or belongs to another user, or if a thread does not stop within a minute. The processes that
    /// this call stopped are then resumed.
    pub fn freeze(&mut self, process_ids: &[u32]) -> io::Result<()> {
        let mut wanted: Vec<u32> =
            process_ids.iter().copied().filter(|id| !self.stopped.contains_key(id)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let frozen = self.freeze_all(&wanted);
        if frozen.is_err() {
            // The first error is returned.
            let _ = self.thaw(&wanted);
        }
        frozen
    }

    fn freeze_all(&mut self, process_ids: &[u32]) -> io::Result<()> {
        // All signals are sent before the first wait, so the processes stop concurrently.
        for &id in process_ids {
            let opened = Process::open(id);
            let process = opened.map_err(|error| signal_error(id, "stopped", error))?;
            process.send(Signal::STOP).map_err(|error| signal_error(id, "stopped", error))?;
            self.stopped.insert(id, vec![process]);
        }
        for id in process_ids {
            let Some(tree) = self.stopped.get_mut(id) else { continue };
            // A stopped process starts no others, so its list of children is final.
            let mut next = 0;
            while let Some(process) = tree.get(next) {
                process.wait_until_stopped()?;
                for child in children(process.id)? {
                    match Process::open(child).and_then(|child| child.send(Signal::STOP).map(|()| child)) {
                        Ok(child) => tree.push(child),
                        // It has exited since.
                        Err(Errno::SRCH) => {}
                        Err(error) => return Err(signal_error(child, "stopped", error)),
                    }
                }
                next += 1;
            }
        }
        Ok(())
    }

    /// Resumes processes with all their descendants, and waits until no thread of them is stopped. Processes that are not stopped or
    /// have exited are skipped.
    ///
    /// # Errors
    /// If a process cannot be signalled, or if a thread is still stopped after a minute. The other processes are resumed.
    pub fn thaw(&mut self, process_ids: &[u32]) -> io::Result<()> {
        let trees: Vec<Vec<Process>> = process_ids.iter().filter_map(|id| self.stopped.remove(id)).collect();
        // Descendants first, so a parent never finds its child stopped.
        let processes = || trees.iter().flat_map(|tree| tree.iter().rev());
        let mut result = Ok(());
        for process in processes() {
            let sent = match process.send(Signal::CONT) {
                Err(Errno::SRCH) => Ok(()),
                sent => sent.map_err(|error| signal_error(process.id, "resumed", error)),
            };
            result = result.and(sent);
        }
        for process in processes() {
            result = result.and(process.wait_until_running());
        }
        result
    }

    /// Resumes all stopped processes.
    ///
    /// # Errors
    /// As [`Freezer::thaw`].
    pub fn thaw_all(&mut self) -> io::Result<()> {
        let all: Vec<u32> = self.frozen().collect();
        self.thaw(&all)
    }

    /// The roots of the stopped process trees, in ascending order of their ids.
    pub fn frozen(&self) -> impl Iterator<Item = u32> {
        self.stopped.keys().copied()
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // `drop` cannot report an error, and need not wait.
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
        self.wait_until("stop", |state| matches!(state, State::Stopped | State::Exited))
    }

    fn wait_until_running(&self) -> io::Result<()> {
        self.wait_until("resume", |state| state != State::Stopped)
    }

    /// Waits until `is_done` holds for the states of all threads. Exited threads count as done.
    fn wait_until(&self, action: &str, is_done: impl Fn(State) -> bool) -> io::Result<()> {
        let began = Instant::now();
        loop {
            let states = thread_states(self.id)?;
            let pending: Vec<u32> =
                states.iter().filter(|(_, state)| !is_done(*state)).map(|(task, _)| *task).collect();
            if pending.is_empty() {
                return Ok(());
            }
            if began.elapsed() > TIMEOUT {
                let described: Vec<String> = pending.iter().map(|task| describe(self.id, *task)).collect();
                let text = format!(
                    "{} of {} threads of process {} did not {action} within {} s: {}",
                    pending.len(),
                    states.len(),
                    self.id,
                    TIMEOUT.as_secs(),
                    described.join(", ")
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

fn signal_error(id: u32, action: &str, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("process {id} cannot be {action}: {error}"))
}

/// Returns true if reading a file of `/proc` failed because its process or thread has exited.
fn has_exited(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stopped,
    /// A zombie, or dead.
    Exited,
    Other,
}

/// The name of a thread, the letter of its state, and the kernel function in which it waits if the kernel reports it.
fn describe(process_id: u32, task: u32) -> String {
    let read =
        |name: &str| fs::read_to_string(format!("/proc/{process_id}/task/{task}/{name}")).unwrap_or_default();
    let (name, stat, waits_in) = (read("comm"), read("stat"), read("wchan"));
    let letter = process_state::letter(&stat).unwrap_or('?');
    let place =
        if ["", "0"].contains(&waits_in.as_str()) { String::new() } else { format!(" in {waits_in}") };
    format!("{} (state {letter}{place})", name.trim_end())
}

/// The threads of a process with their states; empty if it has exited.
fn thread_states(process_id: u32) -> io::Result<Vec<(u32, State)>> {
    let mut states = Vec::new();
    for task in tasks(process_id)? {
        match fs::read_to_string(format!("/proc/{process_id}/task/{task}/stat")) {
            Ok(stat) => states.push((task, state(&stat))),
            Err(error) if has_exited(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(states)
}

/// The state in a line of `/proc/PID/stat`.
fn state(stat: &str) -> State {
    match process_state::letter(stat) {
        Some('T' | 't') => State::Stopped,
        Some('Z' | 'X') => State::Exited,
        _ => State::Other,
    }
}

/// The living children of a process.
pub(crate) fn children(process_id: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for task in tasks(process_id)? {
        match fs::read_to_string(format!("/proc/{process_id}/task/{task}/children")) {
            Ok(text) => {
                children.extend(text.split_ascii_whitespace().filter_map(|id| id.parse::<u32>().ok()));
            }
            // The thread has exited, or the kernel lacks the file (CONFIG_PROC_CHILDREN).
            Err(error) if has_exited(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

/// The ids of the threads of a process; empty if it has exited.
fn tasks(process_id: u32) -> io::Result<Vec<u32>> {
    let folder = match fs::read_dir(format!("/proc/{process_id}/task")) {
        Err(error) if has_exited(&error) => return Ok(Vec::new()),
        folder => folder?,
    };
    let mut tasks = Vec::new();
    for entry in folder {
        match entry {
            Ok(entry) => tasks.extend(entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())),
            Err(error) if has_exited(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::child::{Child, last_lines};
    use crate::fixture::{shell, wait_until};

    /// Starts a child and waits for its first output.
    fn start(directory: &Path, script: &str) -> Child {
        let child = Child::start(&shell(directory, script)).unwrap();
        wait_until(|| !last_lines(child.log(), 1).is_empty());
        child
    }

    fn all_are(process_id: u32, wanted: State) -> bool {
        let states = thread_states(process_id).unwrap();
        !states.is_empty() && states.iter().all(|&(_, state)| state == wanted)
    }

    #[test]
    fn a_process_and_its_children_are_stopped_and_resumed() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "sleep 1000 & echo $!; wait");
        let grandchild: u32 = last_lines(child.log(), 1).parse().unwrap();
        let mut freezer = Freezer::default();
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
    fn a_thread_that_does_not_stop_is_described() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; exec sleep 1000");
        let id = child.id();
        wait_until(|| describe(id, id).starts_with("sleep (state S"));
        let mut freezer = Freezer::default();
        freezer.freeze(&[id]).unwrap();
        assert!(describe(id, id).starts_with("sleep (state T"), "{}", describe(id, id));
        freezer.thaw_all().unwrap();
        assert_eq!(describe(u32::MAX, 1), " (state ?)");
    }

    #[test]
    fn a_stopped_process_uses_no_cpu_time() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; while :; do :; done");
        let mut freezer = Freezer::default();
        freezer.freeze(&[child.id()]).unwrap();
        let used = || crate::accounting::process_use(child.id()).unwrap();
        let before = used();
        thread::sleep(Duration::from_millis(30));
        assert_eq!(used(), before);
        freezer.thaw_all().unwrap();
        wait_until(|| used() != before);
    }

    #[test]
    fn a_panic_resumes_stopped_processes() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; exec sleep 1000");
        let id = child.id();
        let panicked = thread::spawn(move || {
            let mut freezer = Freezer::default();
            freezer.freeze(&[id]).unwrap();
            assert!(!all_are(id, State::Stopped), "it is stopped");
        })
        .join();
        assert!(panicked.is_err());
        assert!(all_are(id, State::Other));
    }

    #[test]
    fn a_missing_process_is_an_error_and_the_others_are_resumed() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; exec sleep 1000");
        let mut freezer = Freezer::default();
        let error = freezer.freeze(&[child.id(), u32::MAX / 2]).unwrap_err();
        assert!(error.to_string().contains("process"), "{error}");
        assert!(all_are(child.id(), State::Other));
        assert_eq!(freezer.frozen().count(), 0);
    }

    #[test]
    fn a_process_that_was_killed_while_stopped_is_not_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let child = start(directory.path(), "echo ready; exec sleep 1000");
        let mut freezer = Freezer::default();
        freezer.freeze(&[child.id()]).unwrap();
        drop(child);
        freezer.thaw_all().unwrap();
    }

    #[test]
    fn the_state_follows_the_last_parenthesis() {
        assert_eq!(state("7 (a) R b) T 1 7"), State::Stopped);
        assert_eq!(state("7 (x) Z 1"), State::Exited);
        assert_eq!(state("7 (T) S 1"), State::Other);
        assert_eq!(state(""), State::Other);
    }
}
