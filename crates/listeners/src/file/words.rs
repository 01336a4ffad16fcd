//! Texts in the file with a syntax of their own: durations, names, hosts.

use std::borrow::Cow;
use std::net::IpAddr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Validates a text. The error is the reason why it is invalid.
pub(crate) type Check = fn(&str) -> Result<(), String>;

/// The forms, by the `format` in schemas.
const FORMS: [(&str, Check); 4] = [
    ("duration-with-unit", |text| micros_of(text).map(|_| ())),
    ("listener-name", check_name),
    ("host-or-address", check_host),
    ("file-path", check_path),
];

/// The validator of a form; none for an unknown one.
pub(crate) fn check_of(form: &str) -> Option<Check> {
    FORMS.iter().find(|(name, _)| *name == form).map(|(_, check)| *check)
}

/// The longest duration, a year in seconds.
const LONGEST_S: u64 = 366 * 24 * 3600;

/// A time with its unit, such as `250ms`, `4.5s`, `5m` or `24h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Duration {
    /// Its length, microseconds.
    pub(crate) us: u64,
}

impl Duration {
    pub(crate) const fn from_ms(ms: u64) -> Self {
        Self { us: ms * 1000 }
    }

    /// The format of Envoy: `4.5s`.
    pub(crate) fn in_seconds(self) -> String {
        let (seconds, rest) = (self.us / 1_000_000, self.us % 1_000_000);
        if rest == 0 {
            return format!("{seconds}s");
        }
        format!("{}s", format!("{seconds}.{rest:06}").trim_end_matches('0'))
    }
}

/// The length of a duration, microseconds.
fn micros_of(text: &str) -> Result<u64, String> {
    const MOST_DIGITS: usize = 12;
    const ABOVE_ZERO: &str = "a time must be above zero; for no limit in practice write `24h`";
    const A_YEAR: &str = "a time must be a year at most";
    const EXAMPLES: &str = "a time needs a unit: `250ms`, `4.5s`, `5m` or `24h`";
    let split = text.find(|letter: char| letter.is_ascii_alphabetic()).ok_or(EXAMPLES)?;
    let (number, unit) = text.split_at(split);
    let scale: u64 = match unit {
        "us" => 1,
        "ms" => 1000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return Err(EXAMPLES.to_owned()),
    };
    let (unsigned, is_negative) = number.strip_prefix('-').map_or((number, false), |rest| (rest, true));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || number.ends_with('.') {
        return Err(EXAMPLES.to_owned());
    }
    if is_negative {
        return Err(ABOVE_ZERO.to_owned());
    }
    if whole.trim_start_matches('0').len() > MOST_DIGITS {
        return Err(A_YEAR.to_owned());
    }
    let fraction = fraction.get(..MOST_DIGITS).unwrap_or(fraction);
    let parsed = |digits: &str| digits.parse::<u64>().unwrap_or_default();
    let of_fraction = parsed(fraction) as f64 / 10_f64.powi(fraction.len() as i32) * scale as f64;
    let us = parsed(whole).saturating_mul(scale).saturating_add(of_fraction.round() as u64);
    match us {
        0 => Err(ABOVE_ZERO.to_owned()),
        us if us > LONGEST_S * 1_000_000 => Err(A_YEAR.to_owned()),
        us => Ok(us),
    }
}

/// Longest name.
const LONGEST_NAME: usize = 128;

fn check_name(text: &str) -> Result<(), String> {
    if text.is_empty() || text.chars().count() > LONGEST_NAME {
        return Err(format!("a name must have 1 to {LONGEST_NAME} characters"));
    }
    if text.chars().any(char::is_control) {
        return Err("a name must not contain line breaks, tabs or other control characters".to_owned());
    }
    if text.trim() != text {
        return Err("a name must not begin or end with a space".to_owned());
    }
    Ok(())
}

fn check_path(text: &str) -> Result<(), String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("a path must not be empty or contain control characters".to_owned());
    }
    Ok(())
}

fn check_host(text: &str) -> Result<(), String> {
    if text.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        return Err(format!(
            "a host must not have a scheme: write `{host}`{}",
            if scheme == "https" { " and `encryption: true`" } else { "" }
        ));
    }
    if let Some((host, port)) = text.rsplit_once(':')
        && port.parse::<u16>().is_ok()
    {
        return Err(format!("a host must not have a port: write `{{address: {host}, port: {port}}}`"));
    }
    if let Some((host, _)) = text.split_once('/') {
        return Err(format!("a host must not have a path: write `{host}`"));
    }
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len())
            && label.bytes().all(is_letter)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if name.len() <= 253 && name.split('.').all(is_label) && !is_number {
        return Ok(());
    }
    Err("a host must be a name such as `search.example.org`, or an address".to_owned())
}

/// Declares a text with a form.
macro_rules! word {
    ($name:ident, $form:literal, $what:literal) => {
        #[doc = $what]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(pub(crate) String);

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "format": $form, "description": $what})
            }
        }
    };
}

word!(Name, "listener-name", "A name of 1 to 128 characters.");
word!(Host, "host-or-address", "A host name or an IP address, without scheme, port and path.");
word!(FilePath, "file-path", "The path of a file, as Envoy sees it.");

impl Host {
    /// The address, if it is an address.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.0.parse().ok()
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        micros_of(&text).map(|us| Self { us }).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "duration-with-unit",
            "pattern": r"^[0-9]+(\.[0-9]+)?(us|ms|s|m|h)$",
            "description": "A time with its unit, such as `250ms`, `4.5s` or `24h`.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_are_written_in_seconds() {
        let seconds = |text: &str| micros_of(text).map(|us| Duration { us }.in_seconds());
        for (text, expected) in [
            ("10s", "10s"),
            ("4.5s", "4.5s"),
            ("250ms", "0.25s"),
            ("1h", "3600s"),
            ("86400s", "86400s"),
            ("1.5m", "90s"),
            ("0.000001s", "0.000001s"),
        ] {
            assert_eq!(seconds(text).as_deref(), Ok(expected));
        }
        for text in ["", "s", "10", "-1s", "1 s", "1d", "1.s", "0s", "1e3s", "99999999999h", "1.2.3s", "½s"]
        {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_is_no_address_of_a_page() {
        for sound in ["search.example.org", "a", "search.example.org.", "10.0.0.1", "::1", "s3_proxy.local"] {
            assert_eq!(check_host(sound), Ok(()), "{sound}");
        }
        let why = |text: &str| check_host(text).unwrap_err();
        assert!(why("https://a.example:443/x").contains("write `a.example` and `encryption: true`"));
        assert!(why("a.example:443").contains("{address: a.example, port: 443}"));
        for wrong in ["", "a b", "-a", "a..b", "999.1.1.1", "a.example/x", "é.example", "{{ host }}", "a\n"]
        {
            assert!(check_host(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_may_hold_any_sign_but_control_characters() {
        for sound in ["a", "\"", "a: b", "{{ x }}", "$(x)", "`x`", "é"] {
            assert_eq!(check_name(sound), Ok(()), "{sound}");
        }
        for wrong in ["", " a", "a\nb", "a\tb", "\0", &"a".repeat(129)] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
