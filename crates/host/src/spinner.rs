//! Keeps processors from being halted: on each of them a thread spins whenever nothing else wants to run there.
//!
//! The host of a virtual machine takes a processor that has nothing to do away (it *halts*), and a task that wakes there
//! waits until the host has given it back: 40 us and more on some hosts. A processor that spins is never given away. The
//! spinning threads have the policy `SCHED_IDLE`, so that every normal task that wakes preempts them at once, and one that
//! stays busy loses to them only their weight, 3 of 1027. They give way every 40 us, so that it loses that in small pieces.
//!
//! What comes with it:
//!
//! - It is idle only among the tasks of hoptax's own control group, and of its session where the kernel groups tasks by session
//!   (`sched_autogroup_enabled`): between groups the kernel shares by the weights of the groups. The children of hoptax are in
//!   its group. Whoever else wants the processors shares them with the spinner almost as with any other task, so use it where
//!   nobody does.
//! - `/proc/stat` counts the spinners as work (`nice`); [`ProcessorTicks::with_spinner_as_idle`] takes them off.
//! - Pressure stall information counts a spinner that waits as a task that waits, so [`crate::pressure`] says nothing about
//!   others as long as a spinner runs.
//! - Steal shows in full: a host takes time from a processor that spins, which it would otherwise not have been asked for.
//! - A proxy that wakes finds the address space of another process on its processor. Left idle, the kernel keeps the one that
//!   ran last.
//! - Where two processors are threads of one core, a spinner takes from its sibling what that leaves; the loop is one chain of
//!   dependent multiplications, which is about the least that a loop can take.
//!
//! The threads are in this process, so they end with it, however it ends, and stop when it is stopped.
//!
//! [`ProcessorTicks::with_spinner_as_idle`]: crate::accounting::ProcessorTicks::with_spinner_as_idle

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use nix::time::{ClockId, clock_gettime};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, Pid, gettid, sched_setaffinity};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id, thread_schedule_policy,
};

use crate::processors;

/// Multiplications between two looks at whether to end or to give way: some 40 us. The kernel would take the processor from a
/// spinner that has its turn beside a busy task only at its next tick, up to 4 ms later.
const STEPS: u32 = 30_000;

/// Threads that spin, one on each processor; ended when dropped.
#[derive(Debug)]
pub struct Spinner {
    threads: Vec<Spinning>,
    ended: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Spinning {
    processor: u32,
    thread_id: Pid,
    handle: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Spins on each of `processors`; one that is named twice counts once, and none at all is a spinner that does nothing.
    /// Where a processor is busy, this waits until its spinner has had its first moment there.
    ///
    /// # Errors
    /// When there is no such processor, no thread to be had, or when the kernel refuses the policy, as a container may; the
    /// message says what to do.
    pub fn start(processors: &[u32]) -> io::Result<Self> {
        let mut spinner = Self { threads: Vec::new(), ended: Arc::default() };
        for processor in processors.iter().copied().collect::<BTreeSet<_>>() {
            let (tell, hear) = mpsc::sync_channel(1);
            let handle = thread::Builder::new().name(format!("spinner {processor}")).spawn({
                let ended = Arc::clone(&spinner.ended);
                move || {
                    let ready = processors::pin(&[processor]).and_then(|()| run_when_idle());
                    let is_ready = ready.is_ok();
                    if tell.send(ready.map(|()| gettid())).is_ok() && is_ready {
                        spin(&ended);
                    }
                }
            })?;
            let thread_id = hear.recv().map_err(io::Error::other)?.map_err(|error| {
                io::Error::new(error.kind(), format!("processor {processor} cannot be kept busy: {error}"))
            })?;
            spinner.threads.push(Spinning { processor, thread_id, handle: Some(handle) });
        }
        Ok(spinner)
    }

    /// What the spinner of each processor has used since it began, nanoseconds, in the order of the processors' numbers. It is
    /// exact at any moment: reading a thread's CPU clock brings its account up to date, which reading `schedstat` does not.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn cpu_ns(&self) -> io::Result<Vec<(u32, u64)>> {
        let read = |thread: &Spinning| {
            let used = clock_gettime(cpu_clock(thread.thread_id))?;
            let ns = used.tv_sec().cast_unsigned() * 1_000_000_000 + used.tv_nsec().cast_unsigned();
            Ok((thread.processor, ns))
        };
        self.threads.iter().map(read).collect()
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let mut everywhere = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|number| everywhere.set(number));
        for thread in &self.threads {
            // On a busy processor a thread that runs when nothing else does would take long to end. It need not be there for it.
            let _ = sched_setaffinity(Some(thread.thread_id), &everywhere);
        }
        for handle in self.threads.iter_mut().filter_map(|thread| thread.handle.take()) {
            // It has nothing to say.
            let _ = handle.join();
        }
    }
}

/// The CPU clock of a thread of this process, as `clock_gettime(2)` makes one from an id (`CPUCLOCK_SCHED` of one thread).
fn cpu_clock(thread_id: Pid) -> ClockId {
    const PER_THREAD: i32 = 4;
    const SCHED: i32 = 2;
    ClockId::from_raw((!thread_id.as_raw_pid() << 3) | PER_THREAD | SCHED)
}

/// Gives the calling thread the policy `SCHED_IDLE`, and the nice value 19 so that `/proc/stat` counts it as `nice`.
fn run_when_idle() -> io::Result<()> {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let asked = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
    // The call sets a nice value too, which the kernel refuses to a process that was started with a higher one. Only the policy
    // matters.
    if thread_schedule_policy() != Ok(policy) {
        return Err(refused(asked.err()));
    }
    Ok(setpriority_process(None, 19)?)
}

fn refused(error: Option<thread_priority::Error>) -> io::Error {
    let cause = match error {
        Some(thread_priority::Error::OS(code)) => io::Error::from_raw_os_error(code),
        Some(other) => io::Error::other(other.to_string()),
        None => io::Error::other("it was set and is not in force"),
    };
    let text = format!(
        "the kernel refuses the scheduling policy SCHED_IDLE ({cause}); in a container, allow `sched_setscheduler` and \
         `setpriority` in its seccomp profile, or let the processors be halted"
    );
    io::Error::new(cause.kind(), text)
}

/// Spins until told to end. The loop has no PAUSE, upon which a hypervisor may take the processor away
/// (pause-loop exiting), and keeps to registers. A task that wakes preempts it; to one that is ready already it gives way.
fn spin(ended: &AtomicBool) {
    let mut value = 1_u64;
    while !ended.load(Ordering::Relaxed) {
        for _ in 0..STEPS {
            value = value.wrapping_mul(value ^ 0x9e37_79b9_7f4a_7c15);
        }
        // Without a reader the compiler would do without the loop.
        black_box(value);
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    /// Fields of `/proc/PID/stat` behind the name, of which the first is field 3.
    fn stat(thread_id: Pid) -> Vec<String> {
        let text = fs::read_to_string(format!("/proc/self/task/{}/stat", thread_id.as_raw_pid())).unwrap();
        let (_, fields) = text.rsplit_once(") ").unwrap();
        fields.split_ascii_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn each_thread_has_the_idle_policy_and_its_processor_and_is_gone_when_dropped() {
        const SCHED_IDLE: &str = "5";
        let allowed = processors::allowed().unwrap();
        let twice: Vec<u32> = allowed.iter().chain(&allowed).copied().collect();
        let spinner = Spinner::start(&twice).unwrap();
        let threads: Vec<Pid> = spinner.threads.iter().map(|thread| thread.thread_id).collect();
        assert_eq!(spinner.threads.iter().map(|thread| thread.processor).collect::<Vec<_>>(), allowed);
        for (&thread_id, processor) in threads.iter().zip(&allowed) {
            let fields = stat(thread_id);
            // Fields 19, 39 and 41 of proc_pid_stat(5): nice value, processor, policy.
            assert_eq!((fields[16].as_str(), fields[38].as_str()), ("19", SCHED_IDLE));
            assert_eq!(fields[36], processor.to_string());
        }
        drop(spinner);
        for thread_id in threads {
            assert!(!fs::exists(format!("/proc/self/task/{}", thread_id.as_raw_pid())).unwrap());
        }
    }

    #[test]
    fn its_use_is_read_while_it_runs_and_agrees_with_the_scheduler() {
        let last = *processors::allowed().unwrap().last().unwrap();
        let spinner = Spinner::start(&[last]).unwrap();
        let began = Instant::now();
        let [(processor, before_ns)] = spinner.cpu_ns().unwrap()[..] else { panic!("one processor") };
        assert_eq!(processor, last);
        let mut used_ns = 0;
        // However busy the machine is, an idle task gets a share of it some day.
        while used_ns < 20_000_000 {
            thread::sleep(Duration::from_millis(5));
            used_ns = spinner.cpu_ns().unwrap()[0].1 - before_ns;
        }
        assert!(used_ns <= began.elapsed().as_nanos() as u64, "{used_ns}");
        let path = format!("/proc/self/task/{}/schedstat", spinner.threads[0].thread_id.as_raw_pid());
        let counted_ns: u64 = fs::read_to_string(path).unwrap().split_once(' ').unwrap().0.parse().unwrap();
        let now_ns = spinner.cpu_ns().unwrap()[0].1;
        assert!(counted_ns <= now_ns && counted_ns > 0, "{counted_ns} {now_ns}");
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error_and_leaves_no_thread() {
        let first = processors::allowed().unwrap()[0];
        let error = Spinner::start(&[first, 1_000_000]).unwrap_err();
        assert!(error.to_string().contains("1000000"), "{error}");
        assert!(Spinner::start(&[]).unwrap().cpu_ns().unwrap().is_empty());
    }

    #[test]
    fn a_refused_policy_says_what_to_allow() {
        let error = refused(Some(thread_priority::Error::OS(1)));
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("sched_setscheduler"), "{error}");
    }
}
