//! Numbers in sentences and tables: decimals, commas between thousands, signs and percentages. Other crates write no number that is
//! rounded with a precision of `format!`; a test of the program reads their sources.

/// Formats a number with `decimals` decimals and commas between thousands: `1,500`. A value that rounds to
/// zero has no sign.
pub fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if !fraction.is_empty() {
        grouped = format!("{grouped}.{fraction}");
    }
    let is_zero = grouped.chars().all(|c| "0.,".contains(c));
    if value < 0.0 && !is_zero { format!("-{grouped}") } else { grouped }
}

/// Formats a number without commas, for what programs read: command lines, coordinates and values of other formats.
pub fn ungrouped(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// As [`grouped`], with a sign also for what is not negative, for differences.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = grouped(value, decimals);
    if text.starts_with('-') { text } else { format!("+{text}") }
}

/// A count, with commas between thousands.
pub fn count(count: u64) -> String {
    grouped(count as f64, 0)
}

/// A number of things, of which `one` is the word for one: `1 worker`, `1,500 workers`.
pub fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", self::count(count), if count == 1 { "" } else { "s" })
}

/// A share as a percentage with `decimals` decimals: `30 %`.
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{} %", grouped(share * 100.0, decimals))
}
