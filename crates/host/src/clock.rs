//! The clock of all measurements, and parsing of durations.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// Maximum sleep between two checks for the end of a wait.
const NAP: Duration = Duration::from_millis(20);

/// `CLOCK_MONOTONIC`, nanoseconds. It never steps back and is the same for all processes of a machine.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Converts a time of [`now_ns`] to the time since 1970. The system clock is read once per process, so that setting it meanwhile does not
/// shift times against each other.
pub fn since_1970(at_ns: u64) -> Duration {
    static FIRST: LazyLock<(u64, Duration)> = LazyLock::new(|| {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        (now_ns(), since_1970.unwrap_or_default())
    });
    let (first_ns, first) = *FIRST;
    let apart = Duration::from_nanos(at_ns.abs_diff(first_ns));
    if at_ns < first_ns { first.saturating_sub(apart) } else { first.saturating_add(apart) }
}

/// CPU time of the calling thread, nanoseconds. It does not include time during which the thread was preempted.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// The quality of the clock.
#[derive(Clone, Copy, Debug)]
pub struct ClockQuality {
    /// The cost of one reading, nanoseconds.
    pub reading_ns: f64,
    /// The largest backward step, nanoseconds, which must be 0.
    pub step_back_ns: u64,
}

/// Measures the clock by 1,000 readings.
pub fn quality() -> ClockQuality {
    const READINGS: usize = 1_000;
    let (mut last_ns, mut step_back_ns) = (now_ns(), 0);
    let mut costs_ns = [0; READINGS];
    for cost_ns in &mut costs_ns {
        let read_ns = now_ns();
        *cost_ns = read_ns.saturating_sub(last_ns);
        step_back_ns = step_back_ns.max(last_ns.saturating_sub(read_ns));
        last_ns = read_ns;
    }
    ClockQuality { reading_ns: undisturbed_mean(&mut costs_ns), step_back_ns }
}

/// The mean without the largest hundredth: other work interrupts a few readings, for milliseconds each.
fn undisturbed_mean(costs_ns: &mut [u64]) -> f64 {
    costs_ns.sort_unstable();
    let kept = costs_ns.split_at(costs_ns.len() - costs_ns.len() / 100).0;
    kept.iter().sum::<u64>() as f64 / kept.len().max(1) as f64
}

/// Sleeps until `at_ns` on the clock of [`now_ns`], or until `is_over`, such as after an interrupt.
pub fn sleep_until(at_ns: u64, is_over: impl Fn() -> bool) {
    while !is_over() {
        let left = Duration::from_nanos(at_ns.saturating_sub(now_ns()));
        if left.is_zero() {
            break;
        }
        thread::sleep(left.min(NAP));
    }
}

/// Parses a duration with one unit: `1.5ms`, in `ns`, `us` or `µs`, `ms`, `s`, `m` or `h`. Unlike `humantime`, it accepts
/// fractions. None if the text is invalid or exceeds the range of [`Duration`].
pub fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit.trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn durations_have_one_unit_and_an_optional_fraction() {
        assert_eq!(parse_duration("1.5ms"), Some(Duration::from_micros(1_500)));
        assert_eq!(parse_duration("250 µs"), Some(Duration::from_micros(250)));
        assert_eq!(parse_duration("0.5h"), Some(Duration::from_mins(30)));
        for text in ["", "5", "ms", "1.2.3s", "-1s", "1m30s", "1 day", "99999999999999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_wait_ends_at_its_time_or_when_it_is_over() {
        let at_ns = now_ns() + 30_000_000;
        sleep_until(at_ns, || false);
        assert!(now_ns() >= at_ns);
        let asked = AtomicU32::new(0);
        sleep_until(u64::MAX, || asked.fetch_add(1, Ordering::Relaxed) > 1);
        assert_eq!(asked.into_inner(), 3);
    }

    #[test]
    fn times_since_1970_are_as_far_apart_as_those_of_the_clock_of_measurements() {
        let at_ns = now_ns();
        let by_system = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let found = since_1970(at_ns);
        assert!(found.abs_diff(by_system) < Duration::from_mins(1), "{found:?} {by_system:?}");
        // Before and after the first reading.
        for apart_ns in [1, 5_000_000_000] {
            let apart = Duration::from_nanos(apart_ns);
            assert_eq!(since_1970(at_ns + apart_ns), found + apart);
            assert_eq!(since_1970(at_ns - apart_ns), found.saturating_sub(apart));
        }
    }

    #[test]
    fn a_reading_that_was_interrupted_does_not_count() {
        let mut costs_ns = [25; 1_000];
        costs_ns[7] = 4_000_000;
        assert!((undisturbed_mean(&mut costs_ns) - 25.0).abs() < 1e-9);
        // A clock that ticks every twenty readings.
        let mut ticks: Vec<u64> = (0..1_000).map(|number| if number % 20 == 0 { 500 } else { 0 }).collect();
        assert!((undisturbed_mean(&mut ticks) - 20.2).abs() < 0.1);
        assert!(undisturbed_mean(&mut []).abs() < 1e-9);
    }

    #[test]
    fn the_clock_is_cheap_and_does_not_step_back() {
        let ClockQuality { reading_ns, step_back_ns } = quality();
        assert!(reading_ns > 0.0 && reading_ns < 1e6, "{reading_ns}");
        assert_eq!(step_back_ns, 0);
    }
}
