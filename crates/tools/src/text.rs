//! Finding numbers in text and in JSON.

use serde_json::Value;

/// The line that holds `mark`, and what follows the mark.
pub(crate) fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.split_once(mark).map(|(_, rest)| rest.trim()))
}

/// The first number of a text.
pub(crate) fn number(text: &str) -> Option<f64> {
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let digits: String = text.get(begin..)?.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.trim_end_matches('.').parse().ok()
}

/// A time with its unit, `1.25ms` or `0.5 secs`, in microseconds.
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

/// Parses the JSON that a text holds from its first brace on.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    let begin = text.find('{').ok_or("there is no JSON in it")?;
    let mut values = serde_json::Deserializer::from_str(text.get(begin..).unwrap_or_default()).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(format!("its JSON cannot be read: {error}")),
        None => Err("there is no JSON in it".to_owned()),
    }
}

/// A number of a JSON value, also where it is written as a string; a pointer of RFC 6901.
pub(crate) fn at(value: &Value, pointer: &str) -> Option<f64> {
    let value = value.pointer(pointer)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_are_found() {
        assert_eq!(time_us("1.25ms"), Some(1_250.0));
        assert_eq!(time_us("0.5 secs"), Some(500_000.0));
        assert_eq!((time_us("12"), time_us("ms")), (None, None));
        assert_eq!((number("a 12.5."), number("none")), (Some(12.5), None));
        assert_eq!(after("x: 1\nRate:  5/s\n", "Rate:"), Some("5/s"));
        assert_eq!(json("log {\"a\": \"7\"} more").ok().and_then(|value| at(&value, "/a")), Some(7.0));
    }
}
