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

use crate::clock::{now_ns, thread_cpu_ns};
use crate::processors;

/// One wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Time in the call that wakes, nanoseconds.
    pub call_ns: u64,
    /// From before that call until the sleeper runs, nanoseconds.
    pub delay_ns: u64,
}

/// A thread that sleeps until it is woken, and tells when it ran; ended when dropped.
#[derive(Debug)]
pub struct Sleeper {
    to: Option<io::PipeWriter>,
    /// When it ran after the last call, nanoseconds; 0 while it has not.
    ran_ns: Arc<AtomicU64>,
    /// Returns the CPU time that it used, nanoseconds.
    thread: Option<JoinHandle<u64>>,
}

impl Sleeper {
    /// A sleeper on `processor`. Where it may not run there, the first [`wake`](Self::wake) is an error.
    ///
    /// # Errors
    /// When no pipe or no thread is to be had.
    pub fn start(processor: u32) -> io::Result<Self> {
        let (mut hears, to) = io::pipe()?;
        let ran_ns = Arc::new(AtomicU64::new(0));
        let thread = thread::Builder::new().name("sleeper".to_owned()).spawn({
            let ran_ns = Arc::clone(&ran_ns);
            move || {
                if processors::pin(&[processor]).is_ok() {
                    while hears.read_exact(&mut [0]).is_ok() {
                        ran_ns.store(now_ns(), Ordering::Release);
                    }
                }
                thread_cpu_ns()
            }
        })?;
        Ok(Self { to: Some(to), ran_ns, thread: Some(thread) })
    }

    /// Wakes it. Waits without sleeping, so that the processor of the caller stays awake meanwhile. How long the sleeper was
    /// left alone before, so that its processor had time to halt, is up to the caller.
    ///
    /// # Errors
    /// When the sleeper has ended, or never could begin.
    pub fn wake(&mut self) -> io::Result<Woken> {
        self.ran_ns.store(0, Ordering::Relaxed);
        let began_ns = now_ns();
        if let Some(to) = &mut self.to {
            to.write_all(&[1])?;
        }
        let called_ns = now_ns();
        let ran_ns = loop {
            match self.ran_ns.load(Ordering::Acquire) {
                0 if self.thread.as_ref().is_none_or(JoinHandle::is_finished) => {
                    return Err(io::Error::other("the thread that was to be woken has ended"));
                }
                0 => spin_loop(),
                ran_ns => break ran_ns,
            }
        };
        Ok(Woken { call_ns: called_ns.saturating_sub(began_ns), delay_ns: ran_ns.saturating_sub(began_ns) })
    }

    /// Ends it, and returns the CPU time that it used, nanoseconds.
    pub fn end(mut self) -> u64 {
        self.join()
    }

    fn join(&mut self) -> u64 {
        // It hears that nobody is there to wake it any more.
        self.to = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or(0)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_tells_when_it_ran_and_what_it_used() {
        let allowed = processors::allowed().unwrap();
        let [first, .., last] = allowed[..] else { return };
        thread::spawn(move || {
            processors::pin(&[last]).unwrap();
            let mut sleeper = Sleeper::start(first).unwrap();
            for _ in 0..20 {
                let woken = sleeper.wake().unwrap();
                assert!(woken.call_ns > 0 && woken.delay_ns > 0, "{woken:?}");
            }
            assert!(sleeper.end() > 0);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_sleeper_that_cannot_run_is_an_error_and_not_a_wait() {
        assert!(Sleeper::start(1_000_000).unwrap().wake().is_err());
    }
}
