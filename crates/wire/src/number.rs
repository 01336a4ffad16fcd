//! Numbers in the fields of responses, and the one length that several fields state.

use crate::malformed::Malformed;

/// The number that decimal digits give, as of a status or a length. None if there are none, if there is any other byte, or
/// if the number exceeds 64 bits.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// The length after another `Content-Length`. A list of equal values counts as one (RFC 9110, section 8.6).
pub(crate) fn same_length(earlier: Option<Result<u64, Malformed>>, value: &[u8]) -> Result<u64, Malformed> {
    let same = |length: Option<u64>, part: &[u8]| {
        let part = part.trim_ascii();
        let is_number = !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        let invalid = if is_number { Malformed::LengthTooLarge } else { Malformed::Length };
        let number = decimal(part).ok_or(invalid)?;
        if length.is_some_and(|earlier| earlier != number) { Err(Malformed::TwoLengths) } else { Ok(number) }
    };
    let earlier = earlier.transpose()?;
    match decimal(value) {
        Some(number) if earlier.is_none() => Ok(number),
        _ => {
            let mut length = earlier;
            for part in value.split(|&byte| byte == b',') {
                length = Some(same(length, part)?);
            }
            length.ok_or(Malformed::Length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_digits_only_and_at_most_64_bits() {
        let number = |text: &str| decimal(text.as_bytes());
        assert_eq!((number("0"), number("0200"), number("4096")), (Some(0), Some(200), Some(4096)));
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        for text in
            ["", "+1", "-1", " 1", "1 ", "1.0", "0x1", "18446744073709551616", "99999999999999999999999"]
        {
            assert_eq!(number(text), None, "{text:?}");
        }
    }
}
