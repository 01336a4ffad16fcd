//! Durations of SMP, which are texts in the syntax of Go: `30m`, `1h30m`, `1.5s`.

use std::time::Duration;

/// Units and their length in seconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3_600.0),
];

/// Parses a duration above 0; none if it is invalid. It is rounded to nanoseconds.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(digits);
        let end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit)?;
        seconds += number.parse::<f64>().ok()? * length;
        rest = behind;
    }
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero())
}

/// A duration in seconds in that syntax, in whole nanoseconds.
pub(crate) fn text(seconds: f64) -> String {
    format!("{}s", (seconds * 1e9).round() / 1e9)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_of_go_are_parsed() {
        let seconds = |text| parse(text).map(|duration| duration.as_secs_f64());
        assert_eq!(seconds("30m"), Some(1_800.0));
        assert_eq!(seconds("1h15m30.5s"), Some(4_530.5));
        assert_eq!((seconds("300ms"), seconds("5us"), seconds("5µs")), (Some(0.3), Some(5e-6), Some(5e-6)));
        for invalid in ["", "30", "30x", "0s", "-5s", "1..5s", ".", "s", "1e400h", "5 m", "m5"] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(ns in 1_u64..10_u64.pow(15)) {
            let duration = Duration::from_nanos(ns);
            let read = parse(&text(duration.as_secs_f64())).unwrap();
            // A double of 10^6 s has steps of 0.1 ns.
            prop_assert!(read.abs_diff(duration) <= Duration::from_nanos(1), "{read:?} {duration:?}");
        }

        #[test]
        fn no_text_panics(text in ".{0,20}", words in "([0-9]{1,3}(h|m|s|ms|\\.)?){0,5}") {
            let _ = (parse(&text), parse(&words));
        }
    }
}
