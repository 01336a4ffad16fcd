//! Extraction of numbers from text and JSON.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

/// The rest of the first line that contains `mark`, after the mark.
pub(crate) fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.split_once(mark).map(|(_, rest)| rest.trim()))
}

/// The first number in a text.
pub(crate) fn number(text: &str) -> Option<f64> {
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let digits: String = text.get(begin..)?.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.trim_end_matches('.').parse().ok()
}

/// Parses a time with a unit, such as `1.25ms` or `0.5 secs`; microseconds.
pub(crate) fn time_us(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text.get(..end)?.parse().ok()?;
    let unit = text.get(end..)?.split_whitespace().next().unwrap_or_default();
    let factor = match unit.trim_end_matches([',', ')']) {
        "ns" => 1e-3,
        "us" | "µs" | "μs" => 1.0,
        "ms" => 1e3,
        "s" | "sec" | "secs" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    Some(value * factor)
}

/// Parses the JSON value at the first brace of a text.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    let begin = text.find('{').ok_or("no JSON found")?;
    let mut values = serde_json::Deserializer::from_str(text.get(begin..).unwrap_or_default()).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(format!("invalid JSON: {error}")),
        None => Err("no JSON found".to_owned()),
    }
}

/// The number at a JSON pointer (RFC 6901); a string that contains a number is accepted too.
pub(crate) fn at(value: &Value, pointer: &str) -> Option<f64> {
    let value = value.pointer(pointer)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_are_parsed() {
        assert_eq!(time_us("1.25ms"), Some(1_250.0));
        assert_eq!(time_us("0.5 secs"), Some(500_000.0));
        assert_eq!((time_us("12"), time_us("ms")), (None, None));
        assert_eq!((number("a 12.5."), number("none")), (Some(12.5), None));
        assert_eq!(after("x: 1\nRate:  5/s\n", "Rate:"), Some("5/s"));
        assert_eq!(json("log {\"a\": \"7\"} more").ok().and_then(|value| at(&value, "/a")), Some(7.0));
    }
}
