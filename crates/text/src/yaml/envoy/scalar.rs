//! Values of scalars as Envoy's loader reads them.

use granit_parser::ScalarStyle;
use serde_json::Value;

/// The value of a scalar.
pub(super) fn scalar(text: &str, style: ScalarStyle, tag: Option<&str>) -> Value {
    // Without a tag of its own, text in quotes or in lines has the tag `!`, which makes it a text. Another tag is no more than that it
    // is not this one: `!!str 5` is a number.
    if tag.map_or(style != ScalarStyle::Plain, |tag| tag == "!") {
        return text.into();
    }
    if is_null(text, style, tag) {
        return Value::Null;
    }
    boolean(text).map(Value::from).or_else(|| integer(text)).unwrap_or_else(|| text.into())
}

/// True if a scalar is null.
pub(super) fn is_null(text: &str, style: ScalarStyle, tag: Option<&str>) -> bool {
    let is_plain = style == ScalarStyle::Plain && tag.is_none();
    is_plain && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// A boolean of YAML 1.1: in lower case, in upper case, or with a capital.
fn boolean(text: &str) -> Option<bool> {
    // Most scalars are longer, and a large file has millions.
    if text.len() > "false".len() {
        return None;
    }
    let rest = text.get(1..)?;
    let is_lower = |text: &str| !text.contains(|c: char| c.is_ascii_uppercase());
    let is_upper = !text.contains(|c: char| c.is_ascii_lowercase());
    if !is_lower(rest) && !is_upper {
        return None;
    }
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" | "on" => Some(true),
        "n" | "no" | "false" | "off" => Some(false),
        _ => None,
    }
}

/// An integer in the notation of C: decimal, octal behind `0`, hexadecimal behind `0x`. Envoy keeps those of more than 32 bits as texts,
/// which the fields that hold them accept.
fn integer(text: &str) -> Option<Value> {
    let (is_negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let (base, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => (16, hexadecimal),
        None if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    // A second sign would be read, too.
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, base).ok()?);
    let number = i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()?;
    Some(i32::try_from(number).map_or_else(|_| number.to_string().into(), Value::from))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::yaml::envoy::first;

    #[test]
    fn scalars_are_those_that_envoy_makes_of_them() {
        // The expected values are those that Envoy 1.40.0 prints when it refuses a configuration for another field.
        for (text, expected) in [
            (
                "[010, 0x1F, 0o10, 1_000, 08, +5, -5, -010, 00, -0]",
                json!([8, 31, "0o10", "1_000", "08", 5, -5, -8, 0, 0]),
            ),
            (
                "[yes, No, ON, yEs, y, Y, n, 'yes', \"y\"]",
                json!([true, false, true, "yEs", true, true, false, "yes", "y"]),
            ),
            (
                "[1e3, 1.5, .5, 5., 12d, inf, .NaN, 1.10]",
                json!(["1e3", "1.5", ".5", "5.", "12d", "inf", ".NaN", "1.10"]),
            ),
            (
                "[2147483647, 2147483648, -2147483649, 9223372036854775808]",
                json!([2_147_483_647, "2147483648", "-2147483649", "9223372036854775808"]),
            ),
            ("[null, Null, nULL, ~, 'null', ]", json!([null, null, "nULL", null, "null"])),
            (
                "[!!str 5, !!str '5', ! 5, !foo 5, !!int '7', !!str yes, !!null x]",
                json!([5, 5, "5", 5, 7, true, "x"]),
            ),
            ("- |\n  5\n- >-\n  5\n-\n", json!(["5\n", "5", null])),
        ] {
            assert_eq!(first(text).unwrap().to_value(), expected, "{text}");
        }
    }
}
