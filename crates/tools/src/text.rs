//! Numbers and times in texts and in JSON.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

/// The number that a text begins with.
pub(crate) fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.get(..end)?.trim_end_matches('.').parse().ok()
}

/// Parses a time with a unit, such as `1.25ms` or `0.5 secs`; microseconds. None without a unit, since any would be a guess.
pub(crate) fn time_us(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text.get(..end)?.parse().ok()?;
    let unit = text.get(end..)?.split_whitespace().next().unwrap_or_default();
    let factor = match unit.trim_end_matches([',', ')', '.']) {
        "ns" => 1e-3,
        "us" | "µs" | "μs" | "microsec" => 1.0,
        "ms" | "millisec" => 1e3,
        "s" | "sec" | "secs" => 1e6,
        "m" => 60e6,
        "h" => 3_600e6,
        _ => return None,
    };
    Some(value * factor)
}

/// The number at a JSON pointer (RFC 6901); a string that contains a number is accepted too, one that is `NaN` is not known.
pub(crate) fn at(value: &Value, pointer: &str) -> Option<f64> {
    let value = value.pointer(pointer)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|number: &f64| number.is_finite())
}

/// The count at a JSON pointer. A negative number or a fraction is none.
pub(crate) fn count_at(value: &Value, pointer: &str) -> Option<u64> {
    at(value, pointer).filter(|count| *count >= 0.0 && count.fract() == 0.0).map(|count| count as u64)
}

/// The sum of counts; the largest number if it is larger. Counters of strangers have any size.
pub(crate) fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// The counts in an object, with their names.
pub(crate) fn counts_at<'v>(value: &'v Value, pointer: &str) -> Option<Vec<(&'v str, u64)>> {
    let all = value.pointer(pointer)?.as_object()?;
    Some(all.iter().filter_map(|(name, value)| Some((name.as_str(), count_at(value, "")?))).collect())
}

/// The text at a JSON pointer (RFC 6901).
pub(crate) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A time since 1970, RFC 3339; None after the year 9999.
pub(crate) fn date(since_1970: Duration) -> Option<String> {
    const YEAR_10000_S: u64 = 253_402_300_800;
    (since_1970.as_secs() < YEAR_10000_S)
        .then(|| humantime::format_rfc3339_nanos(UNIX_EPOCH + since_1970).to_string())
}

/// A time of RFC 3339 in UTC; one that is in UTC stays as it is. None if it is no such time, or not between 1970 and 9999.
pub(crate) fn utc(text: &str) -> Option<String> {
    let since_1970 = |local: &str| {
        let time = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
        time.duration_since(UNIX_EPOCH).ok()
    };
    if let Some(local) = text.strip_suffix('Z') {
        return since_1970(local).map(|_| text.to_owned());
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let number = |digits: &str, below: u64| {
        let has_two = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|number| has_two && *number < below)
    };
    let offset_s = (number(hours, 24)? * 60 + number(minutes, 60)?) * 60;
    let (local, offset_length) = (since_1970(local)?, Duration::from_secs(offset_s));
    match offset.chars().next()? {
        '+' => date(local.checked_sub(offset_length)?),
        '-' => date(local.checked_add(offset_length)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_times_are_converted_to_utc() {
        for (text, expected) in [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.25Z", "2026-01-02T03:04:05.25Z"),
            ("2026-01-01T23:30:00+05:30", "2026-01-01T18:00:00.000000000Z"),
            ("2025-12-31T23:30:00.123456789-01:00", "2026-01-01T00:30:00.123456789Z"),
            ("2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.000000000Z"),
        ] {
            assert_eq!(utc(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_has_no_time_in_utc() {
        for text in [
            "",
            "Z",
            "x",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05+2:00",
            "2026-01-02T03:04:05+24:00",
            "2026-01-02T03:04:05+00:60",
            "2026-01-02T03:04:05 +1:+1",
            "2026-01-02T03:04:05*01:00",
            "2026-01-02T03:04:05é01:0",
            "2026-02-30T03:04:05Z",
            "1970-01-01T00:30:00+01:00",
            "9999-12-31T23:30:00-01:00",
            "0001-01-01T00:00:00Z",
        ] {
            assert_eq!(utc(text), None, "{text}");
        }
    }

    #[test]
    fn times_and_numbers_are_parsed() {
        assert_eq!(time_us("1.25ms"), Some(1_250.0));
        assert_eq!(time_us("0.5 secs"), Some(500_000.0));
        assert_eq!((time_us("12"), time_us("ms")), (None, None));
        assert_eq!((number("12.5."), number("a 1"), number("")), (Some(12.5), None, None));
        assert_eq!(at(&serde_json::json!({"a": "7", "b": "NaN", "c": "x"}), "/a"), Some(7.0));
        assert_eq!(at(&serde_json::json!({"b": "NaN"}), "/b"), None);
    }
}
