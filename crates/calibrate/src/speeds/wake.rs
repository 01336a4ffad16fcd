//! Waking a thread that sleeps on another processor: what it costs the one that wakes it, and how long it takes.
//!
//! The processor of the sleeper has nothing else to do, so it halts, unless something keeps it awake. Under a hypervisor
//! both ends of that leave the guest: the interrupt that wakes, and the halt itself. The two times are thus what differs
//! most between machines, and between a machine that may sleep and one that may not.

use std::hint::spin_loop;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_host::processors;
use hoptax_result::{SpeedKind, SpeedSide};

use super::Work;

/// How long the sleeper is left alone before it is woken, so that its processor has time to halt, nanoseconds.
const REST_NS: u64 = 100_000;

/// Both works, each with a sleeper of its own on `processor`.
pub(super) fn works(processor: u32) -> io::Result<Vec<Work>> {
    Ok(vec![
        work(
            SpeedKind::Wake,
            SpeedSide::Kernel,
            "the write that wakes a thread on another processor",
            processor,
        )?,
        work(SpeedKind::WakeDelay, SpeedSide::Delay, "from that write until the thread runs", processor)?,
    ])
}

fn work(kind: SpeedKind, side: SpeedSide, operation: &'static str, processor: u32) -> io::Result<Work> {
    let mut sleeper = Sleeper::start(processor)?;
    Ok(Work::new(kind, side, operation, move |count| {
        let mut sum_ns = 0;
        for _ in 0..count {
            let woken = sleeper.wake()?;
            sum_ns += if kind == SpeedKind::Wake { woken.write_ns } else { woken.delay_ns };
        }
        Ok(Duration::from_nanos(sum_ns))
    }))
}

/// One wake-up, nanoseconds.
struct Woken {
    /// In the call that wakes.
    write_ns: u64,
    /// From before that call until the sleeper runs.
    delay_ns: u64,
}

/// A thread that sleeps until it gets a byte, and tells when it ran.
struct Sleeper {
    to: Option<io::PipeWriter>,
    ran_ns: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Sleeper {
    fn start(processor: u32) -> io::Result<Self> {
        let (mut hears, to) = io::pipe()?;
        let ran_ns = Arc::new(AtomicU64::new(0));
        let thread = thread::Builder::new().name("sleeper".to_owned()).spawn({
            let ran_ns = Arc::clone(&ran_ns);
            move || {
                if processors::pin(&[processor]).is_err() {
                    return;
                }
                while hears.read_exact(&mut [0]).is_ok() {
                    ran_ns.store(now_ns(), Ordering::Release);
                }
            }
        })?;
        Ok(Self { to: Some(to), ran_ns, thread: Some(thread) })
    }

    /// Leaves the sleeper alone for a while, and wakes it. Waits without sleeping, so that this processor stays awake.
    fn wake(&mut self) -> io::Result<Woken> {
        let rested_ns = now_ns() + REST_NS;
        while now_ns() < rested_ns {
            spin_loop();
        }
        self.ran_ns.store(0, Ordering::Relaxed);
        let began_ns = now_ns();
        if let Some(to) = &mut self.to {
            to.write_all(&[1])?;
        }
        let written_ns = now_ns();
        let ran_ns = loop {
            match self.ran_ns.load(Ordering::Acquire) {
                0 if self.thread.as_ref().is_none_or(JoinHandle::is_finished) => {
                    return Err(io::Error::other("the thread that was to be woken has ended"));
                }
                0 => spin_loop(),
                ran_ns => break ran_ns,
            }
        };
        Ok(Woken { write_ns: written_ns.saturating_sub(began_ns), delay_ns: ran_ns.saturating_sub(began_ns) })
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_tells_when_it_ran() {
        let allowed = processors::allowed().unwrap();
        let [first, .., last] = allowed[..] else { return };
        thread::spawn(move || {
            processors::pin(&[last]).unwrap();
            let mut sleeper = Sleeper::start(first).unwrap();
            for _ in 0..20 {
                let woken = sleeper.wake().unwrap();
                assert!(woken.write_ns > 0 && woken.delay_ns > 0);
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_sleeper_that_cannot_run_is_an_error_and_not_a_wait() {
        assert!(Sleeper::start(1_000_000).unwrap().wake().is_err());
    }
}
