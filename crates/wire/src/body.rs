//! Checks of the bodies of responses: text, JSON, hash. Without a check, no body is copied.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use memchr::memmem;
use serde_json::Value;

/// Maximum size of a body that is checked. A larger one never matches.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Conditions of every body. All must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedBody {
    /// It contains each of these texts.
    pub contains: Vec<String>,
    /// It is JSON, with these values.
    pub json: Vec<ExpectedJson>,
    /// Its SHA-256 hash, 32 bytes.
    pub sha256: Option<Vec<u8>>,
}

/// A value in a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedJson {
    /// JSON pointer (RFC 6901); empty for the whole document.
    pub pointer: String,
    /// The value there; None for any value.
    pub value: Option<Value>,
}

impl ExpectedBody {
    /// True if there are no conditions, so that every body matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if a body matches.
    pub fn is(&self, body: &[u8]) -> bool {
        let contains = |text: &String| memmem::find(body, text.as_bytes()).is_some();
        let has_hash = |hash: &Vec<u8>| digest(&SHA256, body).as_ref() == hash.as_slice();
        self.contains.iter().all(contains) && self.sha256.as_ref().is_none_or(has_hash) && self.has_json(body)
    }

    fn has_json(&self, body: &[u8]) -> bool {
        if self.json.is_empty() {
            return true;
        }
        let Ok(text) = serde_json::from_slice::<Value>(body) else { return false };
        self.json.iter().all(|expected| {
            let found = text.pointer(&expected.pointer);
            found.is_some_and(|found| expected.value.as_ref().is_none_or(|value| value == found))
        })
    }
}

/// Collects one body if it is to be checked, and checks it.
#[derive(Clone, Default)]
pub(crate) struct BodyKeeper {
    expected: Option<Arc<ExpectedBody>>,
    bytes: Vec<u8>,
}

impl BodyKeeper {
    pub(crate) fn new(expected: Option<Arc<ExpectedBody>>) -> Self {
        Self { expected, bytes: Vec::new() }
    }

    /// Discards the previous body.
    pub(crate) fn begin(&mut self) {
        self.bytes.clear();
    }

    /// Appends the next bytes of the body.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.expected.is_some() && self.bytes.len() <= MAX_KEPT_BYTES {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// True if the body matches, and if nothing is expected.
    pub(crate) fn is_as_expected(&self) -> bool {
        let is =
            |expected: &Arc<ExpectedBody>| self.bytes.len() <= MAX_KEPT_BYTES && expected.is(&self.bytes);
        self.expected.as_ref().is_none_or(is)
    }
}

impl fmt::Debug for BodyKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of a body", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_matches_or_not() {
        let text = |text: &str| ExpectedBody { contains: vec![text.to_owned()], ..ExpectedBody::default() };
        assert!(text("ell").is(b"hello") && !text("elo").is(b"hello"));
        let json = |pointer: &str, value: Option<&str>| {
            let value = value.map(|value| serde_json::from_str(value).unwrap());
            let json = vec![ExpectedJson { pointer: pointer.to_owned(), value }];
            ExpectedBody { json, ..ExpectedBody::default() }
        };
        let body = br#"{"a": [1, {"b/c": "x"}]}"#;
        assert!(json("/a/0", Some("1")).is(body) && !json("/a/0", Some("2")).is(body));
        assert!(json("/a/1/b~1c", Some("\"x\"")).is(body) && !json("/a/2", None).is(body));
        assert!(json("", None).is(body) && !json("", None).is(b"{"));
        // The hash of `abc` (FIPS 180-2, appendix B.1).
        let hash = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
            0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
        ];
        let hashed = ExpectedBody { sha256: Some(hash.to_vec()), ..ExpectedBody::default() };
        assert!(hashed.is(b"abc") && !hashed.is(b"abd"));
        assert!(ExpectedBody::default().is_empty() && !hashed.is_empty());
    }
}
