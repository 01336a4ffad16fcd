//! Numbers and times in texts and in JSON.

use std::time::{Duration, UNIX_EPOCH};

use hoptax_result::CountRange;
use hoptax_text::list::listed;
use serde_json::Value;

/// The number that a text begins with. None if more digits follow, whatever separates them: `20,000` is not 20.
pub(crate) fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let is_separator = |c: char| c.is_whitespace() || [',', '\'', '’', '_'].contains(&c);
    let goes_on =
        rest.strip_prefix(is_separator).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    digits.trim_end_matches('.').parse().ok().filter(|_| !goes_on)
}

/// The whole number that a text begins with. `20.000` is none: it is 20 or 20,000.
pub(crate) fn count(text: &str) -> Option<u64> {
    number(text)?;
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let has_fraction =
        rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    digits.parse().ok().filter(|_| !has_fraction)
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

/// The count at a JSON pointer, which must be there.
///
/// # Errors
/// A message that it is missing, or that has the text there instead.
pub(crate) fn needed_count(value: &Value, pointer: &str) -> Result<u64, String> {
    let name = pointer.trim_start_matches('/').replace('/', ".");
    match value.pointer(pointer) {
        None => Err(format!("`{name}` is missing")),
        Some(found) => count_at(found, "")
            .ok_or_else(|| format!("`{name}` is {found}, which is not a number of requests")),
    }
}

/// Returns the range of counts that a printed share of `whole` stands for, given its digits: 0.01 is anything from 0.005 to 0.015. A
/// share of 0 or 1 counts as rounded to hundredths.
pub(crate) fn part(whole: u64, share: f64) -> Option<CountRange> {
    const FEWEST_DIGITS_OF_0_OR_1: usize = 2;
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    let printed = share.to_string();
    let digits = printed.split_once('.').map_or(FEWEST_DIGITS_OF_0_OR_1, |(_, digits)| digits.len());
    let half_step = 0.5 * 0.1_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
    let (low, high) = ((share - half_step) * whole as f64, (share + half_step) * whole as f64);
    // A share with all of its digits is that of one whole number, next to it by the rounding of the product.
    let nearest = (share * whole as f64).round().clamp(0.0, whole as f64);
    Some(CountRange {
        at_least: (low.ceil().clamp(0.0, nearest)) as u64,
        at_most: (high.floor().clamp(nearest, whole as f64)) as u64,
    })
}

/// All requests but some.
pub(crate) fn rest(all: u64, some: CountRange) -> CountRange {
    CountRange { at_least: all.saturating_sub(some.at_most), at_most: all.saturating_sub(some.at_least) }
}

/// The sum of counts; the largest number if it is larger. Counters of strangers have any size.
pub(crate) fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// The counts in an object, with their names. None if one of them is no count: of the others, no sum is that of all.
pub(crate) fn counts_at<'v>(value: &'v Value, pointer: &str) -> Option<Vec<(&'v str, u64)>> {
    let all = value.pointer(pointer)?.as_object()?;
    all.iter().map(|(name, value)| Some((name.as_str(), count_at(value, "")?))).collect()
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

/// Returns the message that a text has several parts of a kind that one run has once, with the lines that they begin in.
pub(crate) fn several(what: &str, lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
    format!(
        "it has {} {what}, which begin in lines {}: keep one, because numbers of different runs must not be mixed",
        lines.len(),
        listed(&numbers)
    )
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
    fn a_number_whose_digits_are_grouped_is_none() {
        for text in
            ["20,000", "20 000", "20\u{a0}000", "20\u{202f}000", "20'000", "20_000 requests", "1.234.567"]
        {
            assert_eq!((number(text), count(text)), (None, None), "{text}");
        }
        assert_eq!((count("20.000"), count("8.5"), number("8.5")), (None, None, Some(8.5)));
        for text in ["20", "20.", "20, of 30", "20 responses", "20% 5", "20/s, 3 failed"] {
            assert_eq!((number(text), count(text)), (Some(20.0), Some(20)), "{text}");
        }
        assert_eq!((count(""), count("a"), count("-3")), (None, None, None));
    }

    #[test]
    fn a_share_is_known_by_its_digits() {
        let range = |at_least, at_most| Some(CountRange { at_least, at_most });
        assert_eq!(part(1_000_000, 0.01), range(5_000, 15_000));
        assert_eq!((part(1_200, 0.95), part(2_000, 0.5)), (range(1_134, 1_146), range(900, 1_100)));
        assert_eq!((part(1_000, 0.0), part(1_000, 1.0)), (range(0, 5), range(995, 1_000)));
        assert_eq!(
            (part(120_331, 1_348.0 / 120_331.0), part(3, 1.0 / 3.0)),
            (range(1_348, 1_348), range(1, 1))
        );
        assert_eq!((part(10, 1.5), part(10, f64::NAN), part(0, 0.25)), (None, None, range(0, 0)));
    }

    #[test]
    fn counts_of_which_one_is_none_are_not_known() {
        let value = serde_json::json!({"a": {"200": 5, "503": -1}, "b": {"200": "5"}, "n": -5});
        assert_eq!((counts_at(&value, "/a"), counts_at(&value, "/b")), (None, Some(vec![("200", 5)])));
        assert_eq!(needed_count(&value, "/n").unwrap_err(), "`n` is -5, which is not a number of requests");
        assert_eq!(needed_count(&value, "/b/x").unwrap_err(), "`b.x` is missing");
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
