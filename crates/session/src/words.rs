//! Durations, shares, precisions and amounts of memory in words.

use std::time::Duration;

use hoptax_judge::precision::Precision;
use hoptax_result::grouped;

/// A precision as text, in the syntax of `--until`.
pub(crate) fn precision_text(precision: &Precision) -> String {
    let target = percent(precision.target_share);
    if precision.of_cost_share > 0.0 {
        format!("{target} or {} of cost", percent(precision.of_cost_share))
    } else {
        target
    }
}

/// A share as a percentage with two significant digits.
pub(crate) fn percent(share: f64) -> String {
    let decimals = match share * 100.0 {
        tiny if tiny < 0.095 => 2,
        small if small < 9.95 => 1,
        _ => 0,
    };
    hoptax_result::percent(share, decimals)
}

/// A duration as text: `55 s`, `6 min`, `1 h 40 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let rounded = match seconds {
        short if short < 90.0 => short.round(),
        long => (long / 60.0).round() * 60.0,
    };
    let text = humantime::format_duration(Duration::from_secs_f64(rounded.max(0.0))).to_string();
    let words = text.split(' ').map(|part| {
        let digits = part.trim_end_matches(char::is_alphabetic);
        let unit = part.get(digits.len()..).unwrap_or_default();
        format!("{digits} {}", if unit == "m" { "min" } else { unit })
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Bytes as text: `0.5 GB`.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{} GB", grouped(bytes as f64 / 1e9, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_percentages_are_rounded_for_reading() {
        assert_eq!(duration(54.6), "55 s");
        assert_eq!(duration(360.0), "6 min");
        assert_eq!(duration(6000.0), "1 h 40 min");
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.123), "12 %");
        assert_eq!(percent(0.0005), "0.05 %");
    }
}
