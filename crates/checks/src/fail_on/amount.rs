//! Amounts as a limit states them: numbers and times.

pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

pub(super) fn time_us(text: &str) -> Option<f64> {
    let (number_of, unit_us) = if let Some(number) = text.strip_suffix("us").or(text.strip_suffix("\u{b5}s"))
    {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix("ms") {
        (number, 1e3)
    } else {
        (text.strip_suffix('s')?, 1e6)
    };
    Some(number(number_of)? * unit_us)
}
