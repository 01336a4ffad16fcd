//! Keeps processors from halting: a thread on each of them spins whenever no other task runs there.
//!
//! A virtual processor without work *halts*, and the hypervisor deschedules it. A task that wakes there waits until the hypervisor
//! has resumed the processor: 40 us and more on some hosts. A spinning processor never halts. The spinning threads have the policy
//! `SCHED_IDLE`. A normal task that wakes preempts them at once, and a busy task loses only their scheduling weight to them, 3 of
//! 1027. They yield every 40 us, which divides this loss into small pieces.
//!
//! Side effects:
//!
//! - `SCHED_IDLE` applies only among the tasks of hoptax's control group, and of its session if the kernel groups tasks by session
//!   (`sched_autogroup_enabled`). Between groups, the kernel shares processors by the weights of the groups. The children of
//!   hoptax are in its group. Other tasks share the processors with the spinner almost as with any other task.
//! - On Linux 6.18, tasks of other groups, those of the kernel among them, did not run for 15 s beside a spinner and a task of its
//!   group that sleeps and wakes: the weight of the group changes with each wake-up. So hoptax spins only if it is told to.
//! - `/proc/stat` counts the spinner as busy time (`nice`); [`ProcessorTicks::with_spinner_as_idle`] subtracts it.
//! - Pressure stall information counts a waiting spinner as a waiting task, so [`crate::pressure`] is meaningless while a spinner
//!   runs.
//! - All steal is visible: the host takes time from a spinning processor, which an idle one would not have requested.
//! - The spinner replaces the address space of the proxy on the processor. An idle kernel would keep that of the last process.
//! - If two processors are hardware threads of one core, the spinner slows its sibling. The loop is a single chain of dependent
//!   multiplications, which uses about as few resources as a loop can.
//!
//! The threads belong to this process: they end with it in any case, and stop when it is stopped.
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

/// Multiplications between two checks for the end and yields: some 40 us. Without the yield, a spinner beside a busy task would run
/// until the next tick, up to 4 ms.
const STEPS: u32 = 30_000;

/// Spinning threads, one per processor; stopped when dropped.
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
    /// Starts a thread on each of `processors`. Duplicates are ignored; an empty list starts no thread. On a busy processor,
    /// this waits until the thread has run for the first time.
    ///
    /// # Errors
    /// If a processor is unavailable, a thread cannot be started, or the policy is refused, for example in a container; the
    /// message states the permission to grant.
    pub fn start(processors: &[u32]) -> io::Result<Self> {
        let mut spinner = Self { threads: Vec::new(), ended: Arc::default() };
        for processor in processors.iter().copied().collect::<BTreeSet<_>>() {
            let (sender, receiver) = mpsc::sync_channel(1);
            let handle = thread::Builder::new().name(format!("spinner {processor}")).spawn({
                let ended = Arc::clone(&spinner.ended);
                move || {
                    let ready = processors::pin(&[processor]).and_then(|()| run_when_idle());
                    let is_ready = ready.is_ok();
                    if sender.send(ready.map(|()| gettid())).is_ok() && is_ready {
                        spin(&ended);
                    }
                }
            })?;
            let thread_id = receiver.recv().map_err(io::Error::other)?.map_err(|error| {
                io::Error::new(error.kind(), format!("processor {processor} cannot be kept busy: {error}"))
            })?;
            spinner.threads.push(Spinning { processor, thread_id, handle: Some(handle) });
        }
        Ok(spinner)
    }

    /// CPU time of the thread on each processor since it started, nanoseconds, in ascending order of processors. It is exact at
    /// any time: reading the CPU clock of a thread updates its count, which reading `schedstat` does not.
    ///
    /// # Errors
    /// If `clock_gettime` fails.
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
            // On a busy processor, a `SCHED_IDLE` thread could take long to exit, so it may do so on any processor.
            let _ = sched_setaffinity(Some(thread.thread_id), &everywhere);
        }
        for handle in self.threads.iter_mut().filter_map(|thread| thread.handle.take()) {
            // The thread returns no result.
            let _ = handle.join();
        }
    }
}

/// The CPU clock of a thread of this process: the clock id that `clock_gettime(2)` derives from a thread id (`CPUCLOCK_SCHED`).
fn cpu_clock(thread_id: Pid) -> ClockId {
    const PER_THREAD: i32 = 4;
    const SCHED: i32 = 2;
    ClockId::from_raw((!thread_id.as_raw_pid() << 3) | PER_THREAD | SCHED)
}

/// Sets the policy `SCHED_IDLE` for the calling thread, and the nice value 19, so `/proc/stat` counts it as `nice`.
fn run_when_idle() -> io::Result<()> {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let result = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
    // The call also sets a nice value, which the kernel refuses if the process was started with a higher one. Only the policy
    // matters.
    if thread_schedule_policy() != Ok(policy) {
        return Err(refused(result.err()));
    }
    Ok(setpriority_process(None, 19)?)
}

fn refused(error: Option<thread_priority::Error>) -> io::Error {
    let cause = match error {
        Some(thread_priority::Error::OS(code)) => io::Error::from_raw_os_error(code),
        Some(other) => io::Error::other(other.to_string()),
        None => io::Error::other("the call succeeded without effect"),
    };
    let text = format!(
        "the kernel refuses the scheduling policy SCHED_IDLE ({cause}); in a container, allow `sched_setscheduler` and \
         `setpriority` in its seccomp profile, or let the processors halt"
    );
    io::Error::new(cause.kind(), text)
}

/// Spins until `ended` is set. The loop uses only registers and has no PAUSE, at which a hypervisor may deschedule the processor
/// (pause-loop exiting). A waking task preempts it; to a runnable task it yields.
fn spin(ended: &AtomicBool) {
    let mut value = 1_u64;
    while !ended.load(Ordering::Relaxed) {
        for _ in 0..STEPS {
            value = value.wrapping_mul(value ^ 0x9e37_79b9_7f4a_7c15);
        }
        // Without a use of `value`, the compiler would remove the loop.
        black_box(value);
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    /// The fields of `/proc/PID/stat` after the program name, from field 3.
    fn stat(thread_id: Pid) -> Vec<String> {
        let text = fs::read_to_string(format!("/proc/self/task/{}/stat", thread_id.as_raw_pid())).unwrap();
        let (_, fields) = text.rsplit_once(") ").unwrap();
        fields.split_ascii_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn each_thread_is_pinned_with_the_idle_policy_and_ends_when_dropped() {
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
    fn the_cpu_time_of_a_running_spinner_agrees_with_schedstat() {
        let last = *processors::allowed().unwrap().last().unwrap();
        let spinner = Spinner::start(&[last]).unwrap();
        let began = Instant::now();
        let [(processor, before_ns)] = spinner.cpu_ns().unwrap()[..] else { panic!("one processor") };
        assert_eq!(processor, last);
        let mut used_ns = 0;
        // Even on a busy machine, a `SCHED_IDLE` task runs eventually.
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
    fn a_missing_processor_is_an_error() {
        let first = processors::allowed().unwrap()[0];
        let error = Spinner::start(&[first, 1_000_000]).unwrap_err();
        assert!(error.to_string().contains("1000000"), "{error}");
        assert!(Spinner::start(&[]).unwrap().cpu_ns().unwrap().is_empty());
    }

    #[test]
    fn a_refused_policy_is_reported_with_what_to_allow() {
        let error = refused(Some(thread_priority::Error::OS(1)));
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("sched_setscheduler"), "{error}");
    }
}
