//! Sizes and durations as programs written in Go read them.

/// Units of bytes by their first letter, in powers of 1,024.
const UNITS: &str = "kmgtp";

/// Bytes such as `512`, `10k`, `16mb` or `1.5 GiB`; every unit is a power of 1,024.
pub(super) fn bytes(text: &str) -> Option<u64> {
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
    Some((number * 1_024_f64.powi(power as i32)) as u64)
}

/// Microseconds of a duration such as `10ms`, `1.5s` or `1m30s`.
pub(super) fn micros(text: &str) -> Option<f64> {
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
            ("512", Some(512)),
            ("128b", Some(128)),
            ("10k", Some(10_240)),
            ("16 MB", Some(16 << 20)),
            ("1.5KiB", Some(1_536)),
            ("10x", None),
            ("k", None),
            ("-3k", None),
            ("10kg", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn durations_are_sums_of_units() {
        for (text, expected) in [
            ("10ms", Some(10e3)),
            ("1m30s", Some(90e6)),
            ("1.5s", Some(1.5e6)),
            ("250µs", Some(250.0)),
            ("0", Some(0.0)),
            ("10", None),
            ("", None),
            ("5 minutes", None),
        ] {
            assert_eq!(micros(text), expected, "{text}");
        }
    }
}
