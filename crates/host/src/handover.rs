//! The round-trip time of a cache line between two processors, which shows whether they share a cache.
//!
//! Hypervisors migrate virtual processors between cores. Two processors that share a cache transfer a line in well below
//! 100 ns. On different core complexes, the transfer takes several times as long, and communication between the two
//! costs more CPU time on both. No kernel counter shows this: steal and run delay stay at zero.

use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::processors;

/// Round trips in a batch, which is timed as a whole.
const TRIPS: u32 = 60;
/// Batches in a reading. Their median is robust against an interrupt during one of them.
const BATCHES: usize = 5;
/// Replies of the partner in a reading: one to the wake-up, and those that are timed.
const REPLIES: u32 = 1 + TRIPS * BATCHES as u32;

/// Loads after which a waiting thread yields its processor: tens of microseconds, a hundred times as long as any transfer. By then, the
/// other thread itself waits for a processor, on a busy machine perhaps for this one, and both would waste their time slices.
const MAX_SPINS: u32 = 1_000;

/// The transferred cache line. The alignment covers a pair of lines, as processors prefetch the adjacent one.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    /// Odd after a write of the reader, even after a reply of the partner; 0 between readings.
    turn: AtomicU32,
}

#[derive(Debug, Default)]
struct Shared {
    line: Line,
    ended: AtomicBool,
}

/// Measures the handover between the processor of the calling thread and that of a partner thread, which sleeps between
/// readings.
#[derive(Debug)]
pub struct HandoverProbe {
    shared: Arc<Shared>,
    partner: Option<JoinHandle<()>>,
}

impl HandoverProbe {
    /// Starts the partner thread on `processor`. The reading thread must run on another processor.
    ///
    /// # Errors
    /// If the processor is unavailable or the thread cannot be started.
    pub fn start(processor: u32) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (sender, receiver) = mpsc::sync_channel(1);
        let partner = thread::Builder::new().name("handover".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || {
                let pinned = processors::pin(&[processor]);
                let is_pinned = pinned.is_ok();
                if sender.send(pinned).is_ok() && is_pinned {
                    reply(&shared);
                }
            }
        })?;
        receiver.recv().map_err(io::Error::other)??;
        Ok(Self { shared, partner: Some(partner) })
    }

    /// The round-trip time, nanoseconds: the median of the means of the batches.
    pub fn read(&mut self) -> f64 {
        let line = &self.shared.line;
        line.turn.store(1, Ordering::Release);
        if let Some(partner) = &self.partner {
            partner.thread().unpark();
        }
        wait_for(line, 2);
        let mut turn = 3;
        let mut batches = [0.0; BATCHES];
        for batch in &mut batches {
            let began = Instant::now();
            for _ in 0..TRIPS {
                line.turn.store(turn, Ordering::Release);
                wait_for(line, turn + 1);
                turn += 2;
            }
            *batch = began.elapsed().as_nanos() as f64 / f64::from(TRIPS);
        }
        line.turn.store(0, Ordering::Release);
        batches.sort_unstable_by(f64::total_cmp);
        batches[BATCHES / 2]
    }
}

impl Drop for HandoverProbe {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        if let Some(partner) = self.partner.take() {
            partner.thread().unpark();
            // The thread returns no result.
            let _ = partner.join();
        }
    }
}

/// The partner: replies to readings until the probe is dropped.
fn reply(shared: &Shared) {
    while !shared.ended.load(Ordering::Acquire) {
        if shared.line.turn.load(Ordering::Acquire) == 1 {
            for reply in 1..=REPLIES {
                wait_for(&shared.line, 2 * reply - 1);
                shared.line.turn.store(2 * reply, Ordering::Release);
            }
        }
        thread::park();
    }
}

fn wait_for(line: &Line, turn: u32) {
    let mut spins = 0_u32;
    while line.turn.load(Ordering::Acquire) != turn {
        if spins < MAX_SPINS {
            spins += 1;
            spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_between_two_processors_is_positive() {
        let allowed = processors::allowed().unwrap();
        let [first, .., last] = allowed[..] else { return };
        thread::spawn(move || {
            processors::pin(&[first]).unwrap();
            let mut probe = HandoverProbe::start(last).unwrap();
            for _ in 0..20 {
                // No transfer between processors takes less than a nanosecond.
                assert!(probe.read() > 1.0);
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_missing_processor_is_an_error() {
        assert!(HandoverProbe::start(1_000_000).is_err());
    }
}
