//! Number formatting: the digits that an interval supports, and numbers in sentences.

use hoptax_result::Interval;

pub(crate) use hoptax_result::{count, counted, grouped, percent, signed, ungrouped};

/// The mark of a difference whose sign is uncertain.
pub const UNCERTAIN_SIGN: &str = " ?";

/// A part of a sentence: a number, or the text between numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    /// Words, including words that contain digits: `p99`, `1.40.0`, `127.0.0.1:80`.
    Text(&'a str),
    /// A separate number, with its number of decimals.
    Number(f64, usize),
}

/// Splits a sentence into numbers and the text between them.
pub(crate) fn pieces(sentence: &str) -> Vec<Piece<'_>> {
    let is_part = |c: char| c.is_alphanumeric() || "._-:/".contains(c);
    let mut pieces = Vec::new();
    let mut rest = sentence;
    while !rest.is_empty() {
        let is_word = rest.starts_with(is_part);
        let thousands = thousands(rest);
        let behind_word = rest[thousands..].find(|c: char| is_part(c) != is_word);
        let end = behind_word.map_or(rest.len(), |end| thousands + end);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        // The full stop of a sentence and the unit of a rate are not part of the number.
        let digits = piece.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(piece.len());
        let (number, unit) = piece.split_at(digits);
        let (number, unit) = match number.strip_suffix('.') {
            Some(number) if unit.is_empty() => (number, "."),
            _ => (number, unit),
        };
        match number.replace(',', "").parse() {
            Ok(value) if is_word && matches!(unit, "" | "." | ":" | "/s") => {
                let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                pieces.push(Piece::Number(value, decimals));
                pieces.push(Piece::Text(unit));
            }
            _ => pieces.push(Piece::Text(piece)),
        }
    }
    pieces
}

/// Length of a number with thousands separators at the start of a text, up to its decimals, in bytes; 0 without one.
fn thousands(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with('-'));
    let first = digits(&text[sign..]);
    let mut end = sign + first;
    if !(1..=3).contains(&first) {
        return 0;
    }
    while text[end..].starts_with(',') && digits(&text[end + 1..]) == 3 {
        end += 4;
    }
    if text[..end].contains(',') { end } else { 0 }
}

/// A rate, with a decimal if it is small.
pub fn rate(rate: f64) -> String {
    grouped(rate, usize::from(rate < 100.0))
}

/// A number with at most two decimals, without trailing zeros.
pub(crate) fn short(value: f64) -> String {
    let text = grouped(value, 2);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bytes per second, in kB/s or MB/s.
pub(crate) fn byte_rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        few if few < 1e6 => format!("{} kB/s", short(few / 1e3)),
        many => format!("{} MB/s", short(many / 1e6)),
    }
}

/// A time in us, with a decimal place if it is short.
pub(crate) fn us(us: f64) -> String {
    grouped(us, usize::from(us.abs() < 1000.0))
}

/// Number of decimals that an interval with this half-width supports: two significant digits of the half-width, at most two decimals.
pub(crate) fn decimals(half_width: f64) -> usize {
    match half_width {
        wide if wide >= 10.0 => 0,
        middling if middling >= 1.0 => 1,
        _ => 2,
    }
}

/// Relative width, as a share of the estimate, below which an interval is not shown.
const LEAST_WIDTH: f64 = 1e-2;

/// Decimals for two significant digits of the half-width, and for at most four of the estimate.
pub(crate) fn all_decimals(interval: &Interval) -> usize {
    let width = interval.half_width().max(LEAST_WIDTH * interval.estimate.abs());
    if width > 0.0 { (1.0 - width.log10().floor()).clamp(0.0, 12.0) as usize } else { 0 }
}

/// A level with its interval: `27.41 ±0.32`. The printed range reaches to the end that is farther from the estimate, so it holds the
/// interval.
pub(crate) fn level(interval: &Interval) -> String {
    let decimals = decimals(interval.half_width());
    format!("{} ±{}", grouped(interval.estimate, decimals), grouped(interval.reach(), decimals))
}

/// A difference with its interval: `+4.95 ±0.65`. The printed range holds the interval, like that of a level.
pub fn difference(interval: &Interval) -> String {
    let decimals = decimals(interval.half_width());
    format!("{} ±{}", signed(interval.estimate, decimals), grouped(interval.reach(), decimals))
}

/// Both ends: `4.30 to 5.60`.
pub(crate) fn ends(interval: &Interval) -> String {
    let decimals = decimals(interval.half_width());
    format!("{} to {}", signed(interval.low, decimals), signed(interval.high, decimals))
}

/// A share with its interval as a percentage: `+18.1 ±1.2 %`.
pub fn percent_difference(share: &Interval) -> String {
    format!("{} %", difference(&share.times(100.0)))
}

/// A time in seconds, with a decimal place if it is not whole.
pub(super) fn seconds(seconds: f64) -> String {
    grouped(seconds, usize::from(seconds.fract() > 0.0))
}

/// A text, or a dash if there is none.
pub(crate) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// A time in words: `23 s`, `4 min`, `3.3 h`.
pub fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        short if short < 90.0 => format!("{} s", grouped(short, 0)),
        middling if middling < 5_400.0 => format!("{} min", grouped(middling / 60.0, 0)),
        long => format!("{} h", grouped(long / 3_600.0, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_that_suits_them() {
        assert_eq!([-1.0, 89.4, 240.0, 12_000.0].map(duration), ["0 s", "89 s", "4 min", "3.3 h"]);
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(difference(&Interval::around(4.9512, 0.654)), "+4.95 ±0.65");
        assert_eq!(difference(&Interval::around(-31.96, 1.74)), "-32.0 ±1.7");
        assert_eq!(difference(&Interval::around(-17_182.4, 431.0)), "-17,182 ±431");
        assert_eq!(level(&Interval::around(1_234_567.0, 20.0)), "1,234,567 ±20");
        assert_eq!(ends(&Interval::around(0.0, 0.5)), "-0.50 to +0.50");
    }

    #[test]
    fn the_printed_range_holds_an_interval_that_is_not_symmetric() {
        let uneven = Interval::new(20.0, 17.0, 24.0);
        assert_eq!([level(&uneven), difference(&uneven)], ["20.0 ±4.0", "+20.0 ±4.0"]);
        assert_eq!(difference(&uneven.times(-1.0)), "-20.0 ±4.0");
    }

    #[test]
    fn nothing_has_no_minus() {
        assert_eq!(signed(-0.001, 2), "+0.00");
        assert_eq!(grouped(-0.4, 0), "0");
        assert_eq!(grouped(999.6, 0), "1,000");
    }

    #[test]
    fn numbers_of_a_sentence_are_separate_words() {
        let numbers = |sentence: &str| -> Vec<f64> {
            let pieces = pieces(sentence);
            pieces
                .iter()
                .filter_map(|piece| if let Piece::Number(value, _) = piece { Some(*value) } else { None })
                .collect()
        };
        assert_eq!(numbers("8640 responses are too few for p99"), [8_640.0]);
        assert_eq!(numbers("8,640 of 1,234,567.5 at 10,000/s"), [8_640.0, 1_234_567.5, 10_000.0]);
        assert_eq!(numbers("processors 0,1,2 and 1,2345"), [0.0, 1.0, 2.0, 1.0, 2_345.0]);
        assert_eq!(pieces("by -1,005 us")[2], Piece::Text("-1,005"));
        assert_eq!(numbers("5000 to 10000/s, 36.5 % of 7."), [5_000.0, 10_000.0, 36.5, 7.0]);
        assert_eq!(numbers("Envoy 1.40.0 at 127.0.0.1:1500, quick-2026 2026-11-22"), [0.0; 0]);
        assert_eq!(numbers("us 1.5.µ"), [0.0; 0]);
    }
}
