//! What the CPU time of a process went into, as far as the kernel counts it for everyone and at no cost to the process.
//!
//! Nothing here samples the process or attaches to it: the kernel keeps these counts whether they are read or not.
//!
//! | count | read from | how exact |
//! |---|---|---|
//! | CPU time | `task/*/schedstat`, field 1 | to the nanosecond, once the process sleeps |
//! | its division into user and kernel | `stat`, fields 14 and 15 | by ticks, see below; in units of 10 ms |
//! | reads and writes | `io`, `syscr` and `syscw` | each call counts, also one that found nothing |
//! | their bytes | `io`, `rchar` and `wchar` | to the byte |
//! | switches | `task/*/status` | each counts |
//! | page faults | `stat`, field 10 | each counts |
//!
//! **User and kernel time.** Unless the kernel was built with `CONFIG_VIRT_CPU_ACCOUNTING_GEN` and told to use it, each tick
//! (every 4 ms at 250 Hz) goes to the side that it interrupts, and the two sums are scaled to the exact total
//! (`cputime_adjust` in `kernel/sched/cputime.c`). They are a sample: of `n` ticks, of which the share `p` fell into the
//! kernel, the share has a standard error of `sqrt(p (1 - p) / n)`. One second on a processor has 250 ticks and tells the
//! share to 3 percentage points, ten seconds to 1. Work that begins with a timer of the same processor is in step with the
//! ticks, and its share is wrong by more than that.
//!
//! **Reads and writes.** `read`, `readv`, `pread`, `write`, `writev` and `pwrite` count, on sockets, pipes and event counters
//! as on files (`fs/read_write.c`). `send`, `recv` and their relatives, `sendfile`, `epoll_wait`, timers and `io_uring` do
//! not. Envoy 1.40 reads plain sockets with `readv`, until there is nothing more: plain proxying counts four reads for each
//! request, two that find a message and two that find none. It writes what lies in one piece with `sendto`, which does not
//! count, and what lies in several, as answers with a larger body do, with `writev`, which does. Under TLS neither side
//! counts. So reads tell of messages as long as no TLS is in play, and writes only of files, pipes and threads.

use std::fs;
use std::io;
use std::iter::Sum;
use std::ops::{Add, Sub};

/// What a process has done so far, or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessParts {
    /// Time on a processor, of the threads that live, nanoseconds.
    pub cpu_ns: u64,
    /// Time in the program, of all threads, nanoseconds: by ticks, in units of 10 ms.
    pub user_ns: u64,
    /// Time in the kernel on the program's behalf, likewise.
    pub kernel_ns: u64,
    /// Calls of `read` and its relatives.
    pub reads: u64,
    /// Calls of `write` and its relatives.
    pub writes: u64,
    /// What the reads got, bytes.
    pub read_bytes: u64,
    /// What the writes gave, bytes.
    pub written_bytes: u64,
    /// Times that a thread gave its processor away, to wait for something.
    pub voluntary_switches: u64,
    /// Times that a thread's processor was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
}

impl ProcessParts {
    /// The part of its time that was spent in the kernel, from 0 to 1, by ticks. None where there was no tick.
    pub fn kernel_share(&self) -> Option<f64> {
        let both_ns = self.user_ns + self.kernel_ns;
        (both_ns > 0).then(|| self.kernel_ns as f64 / both_ns as f64)
    }
}

impl Sub for ProcessParts {
    type Output = Self;

    /// What was done between two readings. Never negative: what a thread counted on its own is gone with it.
    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            kernel_ns: self.kernel_ns.saturating_sub(earlier.kernel_ns),
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

impl Add for ProcessParts {
    type Output = Self;

    /// What two processes have done together.
    fn add(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            user_ns: self.user_ns + other.user_ns,
            kernel_ns: self.kernel_ns + other.kernel_ns,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
        }
    }
}

impl Sum for ProcessParts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

/// What process `process_id` has done since it began.
///
/// # Errors
/// When the process is gone, when `/proc` does not show it, and when it belongs to another user: `io` is for its owner only.
pub fn process_parts(process_id: u32) -> io::Result<ProcessParts> {
    let folder = format!("/proc/{process_id}");
    let mut parts = ProcessParts::default();
    read_stat(&fs::read_to_string(format!("{folder}/stat"))?, &mut parts)?;
    read_io(&fs::read_to_string(format!("{folder}/io"))?, &mut parts)?;
    parts.cpu_ns = crate::accounting::process_use(process_id)?.cpu_ns();
    for task in fs::read_dir(format!("{folder}/task"))? {
        match fs::read_to_string(task?.path().join("status")) {
            Ok(text) => add_switches(&text, &mut parts)?,
            // A thread may end between the listing and the reading.
            Err(error) if matches!(error.raw_os_error(), Some(2 | 3)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(parts)
}

/// Reads a line of `/proc/PID/stat`. The name of the program, in brackets, may hold blanks and brackets itself.
fn read_stat(text: &str, parts: &mut ProcessParts) -> io::Result<()> {
    let fields: Vec<&str> =
        text.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace().collect()).unwrap_or_default();
    // What follows the name is field 3.
    let field = |number: usize| {
        let value = fields.get(number - 3).and_then(|value| value.parse::<u64>().ok());
        value.ok_or_else(|| invalid("stat", text))
    };
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    parts.minor_faults = field(10)?;
    parts.user_ns = field(14)? * tick_ns;
    parts.kernel_ns = field(15)? * tick_ns;
    Ok(())
}

fn read_io(text: &str, parts: &mut ProcessParts) -> io::Result<()> {
    let value = |name| named(text, name).ok_or_else(|| invalid("io", text));
    parts.reads = value("syscr")?;
    parts.writes = value("syscw")?;
    parts.read_bytes = value("rchar")?;
    parts.written_bytes = value("wchar")?;
    Ok(())
}

fn add_switches(text: &str, parts: &mut ProcessParts) -> io::Result<()> {
    let value = |name| named(text, name).ok_or_else(|| invalid("status", text));
    parts.voluntary_switches += value("voluntary_ctxt_switches")?;
    parts.involuntary_switches += value("nonvoluntary_ctxt_switches")?;
    Ok(())
}

/// The number of the line `name: number`.
fn named(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    text.lines().find_map(value)
}

fn invalid(file: &str, text: &str) -> io::Error {
    let begin: String = text.chars().take(80).collect();
    io::Error::new(io::ErrorKind::InvalidData, format!("not a `{file}` of /proc: `{}`", begin.trim()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    /// A call counts when it ends, which may be after the other side has heard of it.
    fn wait_until_asleep(process_id: u32) {
        while !fs::read_to_string(format!("/proc/{process_id}/stat")).unwrap().contains(") S ") {
            std::thread::yield_now();
        }
    }

    #[test]
    fn every_read_and_write_of_another_process_counts() {
        let mut echo = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut to, mut from) = (echo.stdin.take().unwrap(), echo.stdout.take().unwrap());
        let mut go_round = || {
            to.write_all(b"12345").unwrap();
            from.read_exact(&mut [0; 5]).unwrap();
        };
        go_round();
        wait_until_asleep(echo.id());
        let before = process_parts(echo.id()).unwrap();
        for _ in 0..100 {
            go_round();
        }
        wait_until_asleep(echo.id());
        let done = process_parts(echo.id()).unwrap() - before;
        assert_eq!((done.writes, done.read_bytes, done.written_bytes), (100, 500, 500), "{done:?}");
        assert_eq!(done.reads, 100, "{done:?}");
        assert!((1..=101).contains(&done.voluntary_switches) && done.cpu_ns > 0, "{done:?}");
        drop(to);
        echo.wait().unwrap();
    }

    #[test]
    fn a_program_of_any_name_is_read() {
        let mut parts = ProcessParts::default();
        let line = "7 (a b) c) S 1 7 7 0 -1 4194304 123 0 0 0 250 75 0 0 20 0 1 0 100 0 0";
        read_stat(line, &mut parts).unwrap();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!((parts.minor_faults, parts.user_ns, parts.kernel_ns), (123, 250 * tick_ns, 75 * tick_ns));
        assert!((parts.kernel_share().unwrap() - 75.0 / 325.0).abs() < 1e-12);
        assert_eq!(ProcessParts::default().kernel_share(), None);
    }

    #[test]
    fn switches_of_both_kinds_are_told_apart_and_added() {
        let mut parts = ProcessParts::default();
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        add_switches(text, &mut parts).unwrap();
        add_switches(text, &mut parts).unwrap();
        assert_eq!((parts.voluntary_switches, parts.involuntary_switches), (24, 6));
    }

    #[test]
    fn what_is_not_of_proc_is_an_error() {
        let mut parts = ProcessParts::default();
        assert!(read_stat("7 (x", &mut parts).is_err());
        assert!(read_stat("7 (x) S 1", &mut parts).is_err());
        assert!(read_io("rchar: x\n", &mut parts).is_err());
        assert!(add_switches("", &mut parts).is_err());
        assert!(process_parts(u32::MAX).is_err());
    }

    #[test]
    fn an_earlier_reading_that_is_larger_gives_nothing() {
        let earlier = ProcessParts { voluntary_switches: 9, reads: 1, ..ProcessParts::default() };
        let later = ProcessParts { voluntary_switches: 4, reads: 3, ..ProcessParts::default() };
        assert_eq!(later - earlier, ProcessParts { reads: 2, ..ProcessParts::default() });
    }
}
