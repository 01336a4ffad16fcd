//! The clock of all measurements, and parsing of durations.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, nanoseconds. It never steps back and is the same for all processes of a machine.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// CPU time of the calling thread, nanoseconds. It does not include time during which the thread was preempted.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// The cost of one clock reading, nanoseconds, and the largest backward step in 1,000 readings, nanoseconds, which must be 0.
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
    fn the_clock_is_cheap_and_does_not_step_back() {
        let (cost_ns, back_ns) = cost_and_step_back_ns();
        assert!(cost_ns > 0.0 && cost_ns < 1e6, "{cost_ns}");
        assert_eq!(back_ns, 0);
    }
}
