//! Wake-ups of a thread that sleeps on another processor: the waker's cost and the delay
//! ([`hoptax_host::wake`]).

use std::hint::spin_loop;
use std::io;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_host::wake::Sleeper;
use hoptax_result::{SpeedKind, SpeedSide};

use super::work::Work;

/// Time that the sleeper rests before it is woken, so that its processor has time to halt, nanoseconds.
const REST_NS: u64 = 100_000;

/// Both kinds of work, each with its own sleeper on `processor`.
pub(super) fn works(processor: u32) -> io::Result<Vec<Work>> {
    Ok(vec![
        work(
            SpeedKind::Wake,
            SpeedSide::Kernel,
            "write that wakes a thread on another processor",
            processor,
        )?,
        work(
            SpeedKind::WakeDelay,
            SpeedSide::Delay,
            "time from that write until the thread runs",
            processor,
        )?,
    ])
}

fn work(kind: SpeedKind, side: SpeedSide, operation: &'static str, processor: u32) -> io::Result<Work> {
    let mut sleeper = Sleeper::start(processor)?;
    Ok(Work::new(kind, side, operation, move |count| {
        let mut sum_ns = 0;
        for _ in 0..count {
            rest();
            let woken = sleeper.wake()?;
            sum_ns += if kind == SpeedKind::Wake { woken.call_ns } else { woken.delay_ns };
        }
        Ok(Duration::from_nanos(sum_ns))
    }))
}

/// Waits without sleeping, so that this processor stays awake.
fn rest() {
    let rested_ns = now_ns() + REST_NS;
    while now_ns() < rested_ns {
        spin_loop();
    }
}
