//! How long a cache line takes from one processor to another and back: tells where the host put them.
//!
//! A host moves the processors of a virtual machine about. Two that share a cache hand a line over in well below
//! 100 ns; on different core complexes the same takes several times as long, and everything that one of them sends
//! the other costs more CPU time on both. No account of the kernel shows it: there is neither steal nor run delay.

use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::processors;

/// Round trips that are timed together.
const TRIPS: u32 = 60;
/// Such batches in a reading; the median stands for it, so that an interrupt in one of them does not show.
const BATCHES: usize = 5;
/// Answers that the other side gives in a reading: one that wakes it, and those that are timed.
const ANSWERS: u32 = 1 + TRIPS * BATCHES as u32;

/// The line that is handed over, alone in its pair of lines, since processors fetch neighbours along.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    /// Odd when the reader has written, even when the other side has answered; 0 between readings.
    turn: AtomicU32,
}

#[derive(Debug, Default)]
struct Shared {
    line: Line,
    ended: AtomicBool,
}

/// Measures the handover between the processor of the calling thread and another one, where a thread waits,
/// asleep between readings.
#[derive(Debug)]
pub struct HandoverProbe {
    shared: Arc<Shared>,
    partner: Option<JoinHandle<()>>,
}

impl HandoverProbe {
    /// A probe whose other side is `processor`. The thread that reads must not run there.
    ///
    /// # Errors
    /// When there is no such processor, or no thread to be had.
    pub fn start(processor: u32) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (tell, hear) = mpsc::sync_channel(1);
        let partner = thread::Builder::new().name("handover".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || {
                let pinned = processors::pin(&[processor]);
                let is_pinned = pinned.is_ok();
                if tell.send(pinned).is_ok() && is_pinned {
                    answer(&shared);
                }
            }
        })?;
        hear.recv().map_err(io::Error::other)??;
        Ok(Self { shared, partner: Some(partner) })
    }

    /// The mean time of one round trip, nanoseconds.
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
            // It has nothing to say.
            let _ = partner.join();
        }
    }
}

/// The other side: answers readings until the probe is dropped.
fn answer(shared: &Shared) {
    while !shared.ended.load(Ordering::Acquire) {
        if shared.line.turn.load(Ordering::Acquire) == 1 {
            for answer in 1..=ANSWERS {
                wait_for(&shared.line, 2 * answer - 1);
                shared.line.turn.store(2 * answer, Ordering::Release);
            }
        }
        thread::park();
    }
}

fn wait_for(line: &Line, turn: u32) {
    while line.turn.load(Ordering::Acquire) != turn {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_the_time_between_two_processors() {
        let allowed = processors::allowed().unwrap();
        let [first, .., last] = allowed[..] else { return };
        thread::spawn(move || {
            processors::pin(&[first]).unwrap();
            let mut probe = HandoverProbe::start(last).unwrap();
            for _ in 0..20 {
                // No two processors are closer than a nanosecond.
                assert!(probe.read() > 1.0);
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error() {
        assert!(HandoverProbe::start(1_000_000).is_err());
    }
}
