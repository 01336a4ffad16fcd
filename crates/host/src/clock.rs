//! The one clock of everything that is timed.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock. It never steps back, and all processes of a machine share it.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
