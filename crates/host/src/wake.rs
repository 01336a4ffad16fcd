//! The cost and the latency of waking a thread that sleeps on another processor.
//!
//! The processor of the sleeping thread is otherwise idle and halts, unless a spinner keeps it running. Under a hypervisor, both
//! the halt and the interrupt that ends it leave the guest. These two times therefore differ most between machines, and between
//! processors that halt and processors that do not.

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
    /// Time in the waking system call, nanoseconds.
    pub call_ns: u64,
    /// Time from the start of that call until the thread runs, nanoseconds.
    pub delay_ns: u64,
}

/// A thread that sleeps until it is woken and records the time; stopped when dropped.
#[derive(Debug)]
pub struct Sleeper {
    /// The write end of the pipe that the thread reads.
    writer: Option<io::PipeWriter>,
    /// Time at which it ran after the last wake-up, nanoseconds; 0 until then.
    ran_ns: Arc<AtomicU64>,
    /// The thread; it returns its CPU time, nanoseconds.
    thread: Option<JoinHandle<u64>>,
}

impl Sleeper {
    /// Starts a sleeping thread on `processor`. If the processor is unavailable, the first [`wake`](Self::wake) fails.
    ///
    /// # Errors
    /// If the pipe or the thread cannot be created.
    pub fn start(processor: u32) -> io::Result<Self> {
        let (mut reader, writer) = io::pipe()?;
        let ran_ns = Arc::new(AtomicU64::new(0));
        let thread = thread::Builder::new().name("sleeper".to_owned()).spawn({
            let ran_ns = Arc::clone(&ran_ns);
            move || {
                if processors::pin(&[processor]).is_ok() {
                    while reader.read_exact(&mut [0]).is_ok() {
                        ran_ns.store(now_ns(), Ordering::Release);
                    }
                }
                thread_cpu_ns()
            }
        })?;
        Ok(Self { writer: Some(writer), ran_ns, thread: Some(thread) })
    }

    /// Wakes the thread and busy-waits until it runs, which keeps the processor of the caller from halting. The caller determines
    /// the pause before, in which the processor of the thread can halt.
    ///
    /// # Errors
    /// If the thread has ended or could not be pinned.
    pub fn wake(&mut self) -> io::Result<Woken> {
        self.ran_ns.store(0, Ordering::Relaxed);
        let began_ns = now_ns();
        if let Some(writer) = &mut self.writer {
            writer.write_all(&[1])?;
        }
        let called_ns = now_ns();
        let ran_ns = loop {
            match self.ran_ns.load(Ordering::Acquire) {
                0 if self.thread.as_ref().is_none_or(JoinHandle::is_finished) => {
                    return Err(io::Error::other("the sleeping thread has ended"));
                }
                0 => spin_loop(),
                ran_ns => break ran_ns,
            }
        };
        Ok(Woken { call_ns: called_ns.saturating_sub(began_ns), delay_ns: ran_ns.saturating_sub(began_ns) })
    }

    /// Stops the thread and returns its CPU time, nanoseconds.
    pub fn end(mut self) -> u64 {
        self.join()
    }

    fn join(&mut self) -> u64 {
        // Closing the pipe ends the thread.
        self.writer = None;
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
    fn a_wake_up_has_a_cost_and_a_latency_and_the_sleeper_uses_cpu_time() {
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
    fn waking_a_sleeper_on_a_missing_processor_is_an_error() {
        assert!(Sleeper::start(1_000_000).unwrap().wake().is_err());
    }
}
