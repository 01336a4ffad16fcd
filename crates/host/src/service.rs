//! A child process that serves until it is told to end, and whose output is passed on line by line while it runs.
//!
//! Other children write into a file ([`crate::child`]). A service may run for months, and its output belongs where hoptax writes: to the
//! journal of the machine, or to the log of the container. It writes into pipes, which it can open again by the names `/dev/stdout` and
//! `/dev/stderr`; the socket of a journal cannot be opened in this way.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::child::Group;

/// Number of last lines that are kept for error messages.
const KEPT: usize = 20;
/// Maximum length of a line, bytes; the rest of a longer one becomes another line.
const LONGEST: u64 = 64 * 1024;
/// Time limit for the rest of the output of a service that has ended. A process that it started may hold its pipes open.
const REST: Duration = Duration::from_millis(200);

/// Stream that a line was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Takes a line, with its end if it has one.
pub type OnLine = Arc<dyn Fn(Stream, &[u8]) + Send + Sync>;
/// Changes the lines of a stream, in their order, before anything else sees them.
pub type Change = Box<dyn FnMut(&[u8]) -> Vec<u8> + Send>;

/// A service; killed when dropped.
#[derive(Debug)]
pub struct Service {
    group: Group,
    readers: Vec<JoinHandle<()>>,
    /// The last lines of its standard error.
    last: Arc<Mutex<VecDeque<String>>>,
}

impl Service {
    /// Starts a command. The kernel kills it when the thread that calls this ends. `change` is called once for each stream.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        mut command: Command,
        change: &dyn Fn(Stream) -> Change,
        on_line: &OnLine,
    ) -> io::Result<Self> {
        let (output, to_output) = io::pipe()?;
        let (error, to_error) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(to_output).stderr(to_error);
        let group = Group::start(command, &[])?;
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let readers = vec![
            reader(output, Stream::Output, change(Stream::Output), Arc::clone(on_line), None)?,
            reader(
                error,
                Stream::Error,
                change(Stream::Error),
                Arc::clone(on_line),
                Some(Arc::clone(&last)),
            )?,
        ];
        Ok(Self { group, readers, last })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// Its exit status; None while it runs.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.group.ended()
    }

    /// Sends SIGTERM and returns at once.
    pub fn terminate(&self) {
        self.group.signal(Signal::TERM);
    }

    /// Sends SIGKILL and returns at once.
    pub fn kill(&self) {
        self.group.signal(Signal::KILL);
    }

    /// The last lines that it wrote to standard error, once it has ended.
    pub fn last_lines(&self) -> String {
        let began = Instant::now();
        while !self.readers.iter().all(JoinHandle::is_finished) && began.elapsed() < REST {
            thread::sleep(Duration::from_millis(1));
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

fn reader(
    from: io::PipeReader,
    stream: Stream,
    mut change: Change,
    on_line: OnLine,
    last: Option<Arc<Mutex<VecDeque<String>>>>,
) -> io::Result<JoinHandle<()>> {
    let read = move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        loop {
            line.clear();
            match from.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                Ok(count) if count > 0 => {}
                _ => return,
            }
            let line = change(&line);
            if let Some(last) = &last {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.len() == KEPT {
                    last.pop_front();
                }
                last.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            on_line(stream, &line);
        }
    };
    thread::Builder::new().name("output".to_owned()).spawn(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::wait_until;

    fn end_of(service: &mut Service) -> ExitStatus {
        wait_until(|| service.ended().unwrap().is_some());
        service.ended().unwrap().unwrap()
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    /// Changes nothing.
    fn as_it_is(_: Stream) -> Change {
        Box::new(<[u8]>::to_vec)
    }

    /// Runs a script. Returns its lines, its exit status, and the last bytes of its output.
    fn written(script: &str) -> (Vec<(Stream, String)>, ExitStatus, String) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let on_line: OnLine = Arc::new(move |stream, line: &[u8]| {
            kept.lock().unwrap().push((stream, String::from_utf8_lossy(line).into_owned()));
        });
        let mut service = Service::start(shell(script), &as_it_is, &on_line).unwrap();
        let status = end_of(&mut service);
        let last = service.last_lines();
        let lines = lines.lock().unwrap().clone();
        (lines, status, last)
    }

    #[test]
    fn lines_are_passed_on_and_those_of_standard_error_are_kept() {
        let (lines, status, last) = written("echo one; echo two >&2; printf three >&2; exit 3");
        let expected = [(Stream::Output, "one\n"), (Stream::Error, "two\n"), (Stream::Error, "three")];
        for (stream, text) in expected {
            assert!(lines.contains(&(stream, text.to_owned())), "{lines:?}");
        }
        assert_eq!((status.code(), last.as_str()), (Some(3), "two\nthree"));
    }

    #[test]
    fn lines_are_changed_in_order_before_they_are_kept_or_passed_on() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let on_line: OnLine = Arc::new(move |_, line: &[u8]| kept.lock().unwrap().extend_from_slice(line));
        let numbered = |_| {
            let mut number = 0;
            let change = move |line: &[u8]| {
                number += 1;
                format!("{number} {}", String::from_utf8_lossy(line).replace("hunter2", "x")).into_bytes()
            };
            Box::new(change) as Change
        };
        let script = "echo hunter2 >&2; printf hunter2 >&2";
        let service = Service::start(shell(script), &numbered, &on_line).unwrap();
        // Its lines are awaited, not it.
        while service.last_lines() != "1 x\n2 x" {}
        assert_eq!(lines.lock().unwrap().as_slice(), b"1 x\n2 x");
    }

    #[test]
    fn a_service_opens_its_output_by_name() {
        let (lines, status, _) = written("echo one > /dev/stdout && echo two > /dev/stderr");
        assert!(status.success(), "{lines:?}");
        assert_eq!(lines.len(), 2, "{lines:?}");
    }

    #[test]
    fn only_the_last_lines_are_kept_and_a_line_without_an_end_is_cut() {
        let (lines, _, last) = written("seq 1 50 >&2; head -c 200000 /dev/zero | tr '\\0' x");
        assert_eq!(last.lines().count(), KEPT);
        assert_eq!(last.lines().last(), Some("50"));
        assert_eq!(lines.iter().filter(|(stream, _)| *stream == Stream::Output).count(), 4);
    }

    #[test]
    fn a_dropped_service_is_killed() {
        let on_line: OnLine = Arc::new(|_, _| {});
        let service = Service::start(shell("exec sleep 1000"), &as_it_is, &on_line).unwrap();
        let id = service.id();
        drop(service);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }

    #[test]
    fn a_service_that_is_terminated_can_end_in_its_own_way() {
        let on_line: OnLine = Arc::new(|_, _| {});
        let script = "trap 'exit 7' TERM; echo ready > \"$0\"; while :; do sleep 0.01; done";
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let mut command = shell(script);
        command.arg(&ready);
        let mut service = Service::start(command, &as_it_is, &on_line).unwrap();
        wait_until(|| ready.exists());
        service.terminate();
        let status = end_of(&mut service);
        assert_eq!(status.code(), Some(7));
    }
}
