//! One kind of work whose speed is measured: how it is repeated and timed.

use std::io;
use std::time::{Duration, Instant};

use hoptax_host::clock::thread_cpu_ns;
use hoptax_result::{SpeedKind, SpeedSide};

/// Minimum length of a burst, which starts with cold caches.
const BURST: Duration = Duration::from_millis(6);

/// CPU time of the calling thread, the unit of costs.
pub(super) fn thread_time() -> Duration {
    Duration::from_nanos(thread_cpu_ns())
}

/// Performs an operation the given number of times and returns the time taken.
type Burst = Box<dyn FnMut(u64) -> io::Result<Duration> + Send>;

/// One kind of work.
pub(super) struct Work {
    pub(super) kind: SpeedKind,
    pub(super) side: SpeedSide,
    pub(super) operation: &'static str,
    /// Operations in a burst.
    count: u64,
    burst: Burst,
}

impl Work {
    pub(super) fn new(
        kind: SpeedKind,
        side: SpeedSide,
        operation: &'static str,
        burst: impl FnMut(u64) -> io::Result<Duration> + Send + 'static,
    ) -> Self {
        Self { kind, side, operation, count: 1, burst: Box::new(burst) }
    }

    pub(super) fn time(&mut self, count: u64) -> io::Result<Duration> {
        (self.burst)(count)
    }

    /// Determines the number of operations of a burst by doubling, which also warms up.
    pub(super) fn size(&mut self) -> io::Result<()> {
        loop {
            // Works that wait between operations take longer than the time they report.
            let began = Instant::now();
            self.time(self.count)?;
            if began.elapsed() >= BURST {
                return Ok(());
            }
            self.count *= 2;
        }
    }

    pub(super) fn burst_ns(&mut self) -> io::Result<f64> {
        Ok(self.time(self.count)?.as_nanos() as f64 / self.count as f64)
    }
}
