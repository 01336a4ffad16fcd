//! Finds strings in a JSON text by the text beside them, whichever way they are escaped, also in JSON that a string holds.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use crate::secrets::is_name;

/// Members of a JSON Web Key that are secret (RFC 7518, section 6).
const MEMBERS: [&str; 7] = ["k", "d", "p", "q", "dp", "dq", "qi"];
/// Fields of a header, a variable or a parameter with its name.
const NAMING: [&str; 2] = ["key", "name"];

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its range, without its quotes.
    pub range: Range<usize>,
    /// The secret without escapes.
    pub value: String,
}

/// The secrets in a text that is a JSON object or list: values of secret names, members of private keys, and the same strings elsewhere.
/// None if the text is something else.
pub fn secrets(text: &str) -> Option<Vec<Found>> {
    let is_json =
        serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object() || value.is_array());
    is_json.then(|| {
        let mut found = Vec::new();
        let root = Scanner { text, at: 0 }.node();
        root.add(text, false, &mut found);
        let values = found.iter().map(|one| one.value.clone()).collect();
        root.add_equal(text, &values, &mut found);
        found.sort_by_key(|one| one.range.start);
        found.dedup();
        found
    })
}

/// A text in which `\u0041` is `A`, for letters of ASCII, and the place of each byte of it in the original, with its end.
pub fn unescaped(text: &str) -> (String, Vec<usize>) {
    decoded(text, false)
}

/// A value of a JSON text.
enum Node {
    /// Its range, without its quotes.
    String(Range<usize>),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
    Other,
}

/// Scans a text that is valid JSON.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no space and separates nothing.
    fn next(&mut self) -> Option<u8> {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b':')) {
            self.at += 1;
        }
        self.byte()
    }

    fn node(&mut self) -> Node {
        match self.next() {
            Some(b'"') => Node::String(self.string()),
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                while self.next().is_some_and(|byte| byte != b']') {
                    items.push(self.node());
                }
                self.at += 1;
                Node::List(items)
            }
            Some(b'{') => {
                self.at += 1;
                let mut entries = Vec::new();
                while self.next().is_some_and(|byte| byte != b'}') {
                    let key = self.string();
                    let (key, _) = decoded(self.text.get(key).unwrap_or_default(), true);
                    entries.push((key, self.node()));
                }
                self.at += 1;
                Node::Object(entries)
            }
            _ => {
                self.at += 1;
                while self.byte().is_some_and(|byte| !byte.is_ascii_whitespace() && !b",]}".contains(&byte)) {
                    self.at += 1;
                }
                Node::Other
            }
        }
    }

    fn string(&mut self) -> Range<usize> {
        let start = self.at + 1;
        self.at = start;
        while let Some(byte) = self.byte().filter(|byte| *byte != b'"') {
            self.at += if byte == b'\\' { 2 } else { 1 };
        }
        let end = self.at.min(self.text.len());
        self.at += 1;
        start..end
    }
}

impl Node {
    /// Adds the secrets in it; all of its strings if it is the value of a secret name.
    fn add(&self, text: &str, is_secret: bool, found: &mut Vec<Found>) {
        match self {
            Self::Other => {}
            Self::List(items) => items.iter().for_each(|item| item.add(text, is_secret, found)),
            Self::Object(entries) => {
                let is_key = entries.iter().any(|(name, _)| name == "kty");
                let named = entries.iter().filter(|(name, _)| NAMING.contains(&name.as_str()));
                let is_header = named.filter_map(|(_, node)| node.string(text)).any(|name| is_name(&name));
                for (name, node) in entries {
                    let is_secret = is_secret
                        || is_name(name)
                        || is_key && MEMBERS.contains(&name.as_str())
                        || is_header && name == "value";
                    node.add(text, is_secret, found);
                }
            }
            Self::String(range) => {
                let (value, places) = decoded(text.get(range.clone()).unwrap_or_default(), true);
                if is_secret {
                    found.push(Found { range: range.clone(), value });
                    return;
                }
                // The string may hold JSON of its own.
                let place = |at: usize| range.start + places.get(at).copied().unwrap_or_default();
                let inner = secrets(&value).unwrap_or_default().into_iter();
                found.extend(inner.map(|one| Found {
                    range: place(one.range.start)..place(one.range.end),
                    value: one.value,
                }));
            }
        }
    }

    /// Adds the strings in it that are one of these values.
    fn add_equal(&self, text: &str, values: &BTreeSet<String>, found: &mut Vec<Found>) {
        match self {
            Self::Other => {}
            Self::List(items) => items.iter().for_each(|item| item.add_equal(text, values, found)),
            Self::Object(entries) => entries.iter().for_each(|(_, node)| node.add_equal(text, values, found)),
            Self::String(range) => {
                let value = self.string(text).filter(|value| values.contains(value));
                found.extend(value.map(|value| Found { range: range.clone(), value }));
            }
        }
    }

    fn string(&self, text: &str) -> Option<String> {
        match self {
            Self::String(range) => Some(decoded(text.get(range.clone())?, true).0),
            _ => None,
        }
    }
}

/// A text without its escapes, and the place of each byte of it in the original, with its end. If not of `all` kinds, only letters of
/// ASCII that are written as numbers are decoded.
fn decoded(text: &str, all: bool) -> (String, Vec<usize>) {
    let (mut plain, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    let mut at = 0;
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let escape = (letter == '\\').then(|| escaped(text.get(at..).unwrap_or_default(), all)).flatten();
        let (letter, length) = escape.unwrap_or((letter, letter.len_utf8()));
        plain.push(letter);
        places.resize(plain.len(), at);
        at += length;
    }
    places.push(at);
    (plain, places)
}

/// The letter that an escape at the beginning of a text stands for, and the length of the escape.
fn escaped(text: &str, all: bool) -> Option<(char, usize)> {
    let number = |from: usize| u32::from_str_radix(text.get(from..from + 4)?, 16).ok();
    let kind = text.chars().nth(1)?;
    if kind == 'u' {
        let first = number(2)?;
        if !all {
            return char::from_u32(first).filter(char::is_ascii_graphic).map(|letter| (letter, 6));
        }
        // Letters beyond 16 bits are two numbers.
        if let (0xD800..=0xDBFF, Some("\\u")) = (first, text.get(6..8)) {
            let second = number(8).filter(|second| (0xDC00..=0xDFFF).contains(second))?;
            let letter = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return char::from_u32(letter).map(|letter| (letter, 12));
        }
        return Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6));
    }
    let letter = match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        other => other,
    };
    all.then_some((letter, 1 + kind.len_utf8()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(text: &str) -> Vec<(&str, String)> {
        let found = secrets(text).unwrap();
        found.into_iter().map(|one| (&text[one.range], one.value)).collect()
    }

    #[test]
    fn secrets_are_found_whichever_way_names_and_values_are_escaped() {
        for (text, raw, value) in [
            (r#"{"\u0070assword": "hunter2"}"#, "hunter2", "hunter2"),
            (r#"{"password": "h\u0075nter2"}"#, r"h\u0075nter2", "hunter2"),
            (
                r#"{"a": [{"api\u005fkey": {"b": "a\/b\"\u00e9\ud83d\ude00"}}]}"#,
                r#"a\/b\"\u00e9\ud83d\ude00"#,
                "a/b\"é😀",
            ),
            (r#"{"k\u0074y": "oct", "k": "hunter2", "kid": "one"}"#, "hunter2", "hunter2"),
            (r#"[{"key": "cook\u0069e", "value": "hunter2"}]"#, "hunter2", "hunter2"),
        ] {
            assert_eq!(found(text), [(raw, value.to_owned())], "{text}");
        }
        assert_eq!(secrets("password: a"), None);
        assert_eq!(secrets("\"password\""), None);
        assert_eq!(found(r#"{"a": 1, "b": [true, null], "design": "oak"}"#), []);
    }

    #[test]
    fn json_in_a_string_of_json_is_searched() {
        let inner = json!({"mode": "fast", "password": "hunt\"er2"}).to_string();
        let middle = json!({"body": inner}).to_string();
        let text = json!({"list": [1, middle]}).to_string();
        let [(raw, value)] = <[_; 1]>::try_from(found(&text)).unwrap();
        assert_eq!(value, "hunt\"er2");
        assert_eq!(raw, r#"hunt\\\\\\\"er2"#);
    }

    #[test]
    fn only_letters_that_are_numbers_are_decoded_in_other_texts() {
        let (plain, places) = unescaped(r"a\u0070\n\u00e9");
        assert_eq!(plain, r"ap\n\u00e9");
        assert_eq!(places, [0, 1, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    }

    proptest! {
        #[test]
        fn every_secret_of_any_json_is_found_and_nothing_panics(secret in "\\PC{1,12}", more in "\\PC{0,12}", levels in 0..4_usize) {
            let mut value = json!({"token": secret, "other": more});
            for _ in 0..levels {
                value = json!({"held": value.to_string()});
            }
            prop_assume!(secret != more);
            let text = value.to_string();
            prop_assert_eq!(found(&text).into_iter().map(|(_, value)| value).collect::<Vec<_>>(), [secret]);
            drop((secrets(&more), unescaped(&more)));
        }
    }
}
