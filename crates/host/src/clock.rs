//! The one clock of everything that is timed.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock. It never steps back, and all processes of a machine share it.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// CPU time of the calling thread so far, nanoseconds. Time in which others had the processor is not in it.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// What one reading of the clock takes, nanoseconds, and the largest step back in a thousand readings, which must be none.
pub fn cost_and_step_back_ns() -> (f64, u64) {
    const READINGS: u32 = 1_000;
    let (began_ns, mut last_ns, mut back_ns) = (now_ns(), 0, 0);
    for _ in 0..READINGS {
        let read_ns = now_ns();
        back_ns = back_ns.max(u64::saturating_sub(last_ns, read_ns));
        last_ns = read_ns;
    }
    (last_ns.saturating_sub(began_ns) as f64 / f64::from(READINGS), back_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_cheap_and_does_not_step_back() {
        let (cost_ns, back_ns) = cost_and_step_back_ns();
        assert!(cost_ns > 0.0 && cost_ns < 1e6, "{cost_ns}");
        assert_eq!(back_ns, 0);
    }
}
