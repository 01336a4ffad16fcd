//! Parses sizes and durations in the formats of Go programs.

use hoptax_plan::file::MAX_RESPONSE_BYTES;

use crate::size::graph::MAX_SERVICE_TIME_US;

/// Units of bytes by their first letter, in powers of 1,024.
const UNITS: &str = "kmgtp";
/// The largest size that is accepted: that of a response of a service graph.
const MOST_BYTES: f64 = MAX_RESPONSE_BYTES as f64;
/// Reason why a text is not a size or duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It has another form.
    Form,
    /// It has this form, and is too large.
    TooLarge,
}

/// A number of bytes, which must be whole after rounding down, and small enough.
pub(super) fn of_number(bytes: f64) -> Result<u64, Fault> {
    match bytes {
        bytes if bytes > MOST_BYTES => Err(Fault::TooLarge),
        bytes if bytes >= 0.0 => Ok(bytes as u64),
        _ => Err(Fault::Form),
    }
}

/// Bytes such as `512`, `10k`, `16mb` or `1.5 GiB`; every unit is a power of 1,024.
pub(super) fn bytes(text: &str) -> Result<u64, Fault> {
    of_number(product(text).ok_or(Fault::Form)?)
}

/// The number of bytes of a text with a unit.
fn product(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let unit = unit.trim();
    let power = match unit.chars().next() {
        None | Some('b') if unit.len() <= 1 => 0,
        Some(letter) if ["", "b", "i", "ib"].contains(&unit.get(1..)?) => UNITS.find(letter)? + 1,
        _ => return None,
    };
    Some(number * 1_024_f64.powi(power as i32))
}

/// Microseconds of a duration such as `10ms`, `1.5s` or `1m30s`.
pub(super) fn micros(text: &str) -> Result<f64, Fault> {
    let us = sum(text).ok_or(Fault::Form)?;
    if us <= MAX_SERVICE_TIME_US as f64 { Ok(us) } else { Err(Fault::TooLarge) }
}

/// A share such as `0.1%`, as a number from 0 to 1; none if it is out of range.
pub(super) fn share(text: &str) -> Option<f64> {
    let percent = text.strip_suffix('%')?.parse::<f64>().ok()?;
    Some(percent / 100.0).filter(|share| (0.0..=1.0).contains(share))
}

/// The microseconds of a text with units.
fn sum(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut sum = 0.0;
    if rest == "0" {
        return Some(0.0);
    }
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(end);
        let end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let factor = match unit {
            "ns" => 1e-3,
            "us" | "µs" | "μs" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            "m" => 60e6,
            "h" => 3_600e6,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * factor;
        rest = behind;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units_that_are_powers_of_1024() {
        for (text, expected) in [
            ("512", Ok(512)),
            ("128b", Ok(128)),
            ("10k", Ok(10_240)),
            ("16 MB", Ok(16 << 20)),
            ("1.5KiB", Ok(1_536)),
            ("64M", Ok(64 << 20)),
            ("65M", Err(Fault::TooLarge)),
            ("99999999999999 TB", Err(Fault::TooLarge)),
            ("10x", Err(Fault::Form)),
            ("k", Err(Fault::Form)),
            ("-3k", Err(Fault::Form)),
            ("10kg", Err(Fault::Form)),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn durations_are_sums_of_units() {
        for (text, expected) in [
            ("10ms", Ok(10e3)),
            ("1m30s", Ok(90e6)),
            ("1.5s", Ok(1.5e6)),
            ("250µs", Ok(250.0)),
            ("0", Ok(0.0)),
            ("9999999h", Err(Fault::TooLarge)),
            ("10", Err(Fault::Form)),
            ("", Err(Fault::Form)),
            ("5 minutes", Err(Fault::Form)),
        ] {
            assert_eq!(micros(text), expected, "{text}");
        }
        assert_eq!(micros(&format!("{}h", "9".repeat(400))), Err(Fault::TooLarge));
    }

    #[test]
    fn shares_are_from_nothing_to_all() {
        for (text, expected) in [
            ("50%", Some(0.5)),
            ("100%", Some(1.0)),
            ("150%", None),
            ("NaN%", None),
            ("NaN", None),
            ("-1%", None),
        ] {
            assert_eq!(share(text), expected, "{text}");
        }
    }
}
