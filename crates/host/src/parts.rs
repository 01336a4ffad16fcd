//! Parts of the CPU time of a process, from counters that the kernel always maintains.
//!
//! Nothing here samples the process or attaches to it, so reading the counters costs the process nothing.
//!
//! | count | source | accuracy |
//! |---|---|---|
//! | CPU time | `task/*/schedstat`, field 1 | exact to the nanosecond while the process sleeps |
//! | user and kernel time | `stat`, fields 14 and 15 | sampled by ticks, see below; in units of 10 ms |
//! | reads and writes | `io`, `syscr` and `syscw` | exact; includes calls that transferred nothing |
//! | their bytes | `io`, `rchar` and `wchar` | exact |
//! | context switches | `task/*/status` | exact |
//! | page faults | `stat`, field 10 | exact |
//!
//! **User and kernel time.** Unless the kernel was built with `CONFIG_VIRT_CPU_ACCOUNTING_GEN` and this is enabled, each tick
//! (every 4 ms at 250 Hz) is charged to the mode that it interrupts, and the two sums are scaled to the exact total
//! (`cputime_adjust` in `kernel/sched/cputime.c`). They are a sample: with `n` ticks and a kernel share `p`, the standard error
//! of the share is `sqrt(p (1 - p) / n)`. One second of CPU time has 250 ticks and gives the share to 3 percentage points, ten
//! seconds to 1. Work that a timer of the same processor starts is synchronized with the ticks, and the error of its share is
//! larger.
//!
//! **Reads and writes.** The kernel counts `read`, `readv`, `pread`, `write`, `writev` and `pwrite` on files, sockets, pipes and
//! event counters (`fs/read_write.c`). It does not count `send`, `recv` and their variants, `sendfile`, `epoll_wait`, timers and
//! `io_uring`. Envoy 1.40 reads plain sockets with `readv` until no data is left: plain proxying has four reads per request, two
//! that return a message and two that return nothing. It writes contiguous data with `sendto`, which is not counted, and
//! scattered data, such as responses with a larger body, with `writev`, which is counted. Under TLS, neither reads nor writes
//! are counted. Reads therefore indicate messages only without TLS, and writes indicate only files, pipes and threads.

use std::fs;
use std::io;

use hoptax_result::PartCounts;

/// Reads the counters of process `process_id` since it started: CPU time of its living threads, all other counts of all threads. The number
/// of requests is not known here.
///
/// # Errors
/// If the process has exited, if `/proc` is unavailable, or if it belongs to another user: `io` is readable by its owner only.
pub fn process_parts(process_id: u32) -> io::Result<PartCounts> {
    let folder = format!("/proc/{process_id}");
    let mut parts = PartCounts::default();
    read_stat(&fs::read_to_string(format!("{folder}/stat"))?, &mut parts)?;
    read_io(&fs::read_to_string(format!("{folder}/io"))?, &mut parts)?;
    parts.cpu_ns = crate::accounting::process_use(process_id)?.cpu_ns();
    for task in fs::read_dir(format!("{folder}/task"))? {
        match fs::read_to_string(task?.path().join("status")) {
            Ok(text) => add_switches(&text, &mut parts)?,
            // A thread may exit between the listing and the read.
            Err(error) if matches!(error.raw_os_error(), Some(2 | 3)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(parts)
}

/// Parses a line of `/proc/PID/stat`. The program name, in parentheses, may contain blanks and parentheses.
fn read_stat(text: &str, parts: &mut PartCounts) -> io::Result<()> {
    let fields: Vec<&str> =
        text.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace().collect()).unwrap_or_default();
    // Field 3 follows the name.
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

fn read_io(text: &str, parts: &mut PartCounts) -> io::Result<()> {
    let value = |name| named(text, name).ok_or_else(|| invalid("io", text));
    parts.reads = value("syscr")?;
    parts.writes = value("syscw")?;
    parts.read_bytes = value("rchar")?;
    parts.written_bytes = value("wchar")?;
    Ok(())
}

fn add_switches(text: &str, parts: &mut PartCounts) -> io::Result<()> {
    let value = |name| named(text, name).ok_or_else(|| invalid("status", text));
    parts.voluntary_switches += value("voluntary_ctxt_switches")?;
    parts.involuntary_switches += value("nonvoluntary_ctxt_switches")?;
    Ok(())
}

/// The number in the line `name: number`.
fn named(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    text.lines().find_map(value)
}

fn invalid(file: &str, text: &str) -> io::Error {
    let begin: String = text.chars().take(80).collect();
    io::Error::new(io::ErrorKind::InvalidData, format!("invalid `{file}` in /proc: `{}`", begin.trim()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    /// The kernel counts a call when it returns, which may be after the peer has received the data.
    fn wait_until_asleep(process_id: u32) {
        while !fs::read_to_string(format!("/proc/{process_id}/stat")).unwrap().contains(") S ") {
            std::thread::yield_now();
        }
    }

    #[test]
    fn every_read_and_write_of_another_process_is_counted() {
        let mut echo = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut to, mut from) = (echo.stdin.take().unwrap(), echo.stdout.take().unwrap());
        let mut round_trip = || {
            to.write_all(b"12345").unwrap();
            from.read_exact(&mut [0; 5]).unwrap();
        };
        round_trip();
        wait_until_asleep(echo.id());
        let before = process_parts(echo.id()).unwrap();
        for _ in 0..100 {
            round_trip();
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
    fn a_program_name_with_parentheses_is_parsed() {
        let mut parts = PartCounts::default();
        let line = "7 (a b) c) S 1 7 7 0 -1 4194304 123 0 0 0 250 75 0 0 20 0 1 0 100 0 0";
        read_stat(line, &mut parts).unwrap();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!((parts.minor_faults, parts.user_ns, parts.kernel_ns), (123, 250 * tick_ns, 75 * tick_ns));
    }

    #[test]
    fn context_switches_of_all_threads_are_added_by_kind() {
        let mut parts = PartCounts::default();
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        add_switches(text, &mut parts).unwrap();
        add_switches(text, &mut parts).unwrap();
        assert_eq!((parts.voluntary_switches, parts.involuntary_switches), (24, 6));
    }

    #[test]
    fn invalid_files_and_missing_processes_are_errors() {
        let mut parts = PartCounts::default();
        assert!(read_stat("7 (x", &mut parts).is_err());
        assert!(read_stat("7 (x) S 1", &mut parts).is_err());
        assert!(read_io("rchar: x\n", &mut parts).is_err());
        assert!(add_switches("", &mut parts).is_err());
        assert!(process_parts(u32::MAX).is_err());
    }
}
