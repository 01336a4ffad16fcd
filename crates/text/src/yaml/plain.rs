//! Texts that need no quotes in YAML, for writers of it.

use std::net::Ipv4Addr;

/// Words that are no texts without quotes, in any version of YAML; of five letters at most.
const RESERVED: [&str; 11] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"];

/// Returns true if every reader of YAML reads a text as itself without quotes. False is possible for texts that need no quotes.
pub fn is_plain(text: &str) -> bool {
    const LONGEST: usize = 5;
    let is_reserved = || text.len() <= LONGEST && RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text));
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
    match text.as_bytes() {
        [b'a'..=b'z' | b'A'..=b'Z' | b'/', ..] => text.bytes().all(is_inner) && !is_reserved(),
        // A time such as `4.5s` begins with a digit and is no number, and so does an address.
        [b'0'..=b'9', number @ .., b's'] => number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'),
        [b'0'..=b'9', ..] => text.parse::<Ipv4Addr>().is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::yaml::envoy::first;

    #[test]
    fn numbers_words_and_signs_of_yaml_are_not_plain() {
        for text in [
            "0x1f",
            "1e3",
            "1_000",
            "017",
            "1.5",
            "12:30:45",
            "2026-11-28",
            "Yes",
            "NaN",
            "a: b",
            "",
            "~",
            "-",
        ] {
            assert!(!is_plain(text), "{text}");
        }
        for text in ["shop", "4.5s", "10s", "127.0.0.1", "/etc/envoy", "envoy.filters.http.router"] {
            assert!(is_plain(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_plain_text_is_read_as_itself(text in "[-a-zA-Z0-9_./:#{}]{0,12}") {
            if is_plain(&text) {
                prop_assert_eq!(first(&text).unwrap().to_value(), Value::from(text));
            }
        }
    }
}
