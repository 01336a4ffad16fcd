//! The fields of a response of HTTP/2 or HTTP/3 that the client reads, and the rules that they violate.

use memchr::memchr3;

use crate::malformed::Malformed;
use crate::number::{decimal, same_length};
use crate::response::ExpectedHeader;

/// Fields that concern the connection alone, which versions above HTTP/1.1 manage otherwise (RFC 9113, section 8.2.2).
const OF_CONNECTION: [&[u8]; 5] =
    [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// Fields of a head or of trailers that the client reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// The status; 0 if it is missing or not a number.
    pub(crate) status: u16,
    pub(crate) grpc_status: Option<u16>,
    /// The length of the body, which counts only if there is one.
    pub(crate) length: Option<Result<u64, Malformed>>,
    /// Bit set of the expected headers that are present.
    pub(crate) matched: u64,
    /// Violation of the first field that is invalid; None if all are valid.
    pub(crate) malformed: Option<Malformed>,
    /// True if `:status` has arrived; the next one, if any other field has.
    has_status: bool,
    has_others: bool,
}

impl Fields {
    /// Reads a field.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8], expected: &[ExpectedHeader]) {
        let found = match name {
            b":status" => {
                let is_first = !self.has_status && !self.has_others;
                self.has_status = true;
                self.status = decimal(value).and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
                (!is_first).then_some(Malformed::Pseudo)
            }
            [b':', ..] => Some(Malformed::Pseudo),
            _ => {
                self.has_others = true;
                match name {
                    b"grpc-status" => {
                        let status = decimal(value).and_then(|status| u16::try_from(status).ok());
                        self.grpc_status = Some(status.unwrap_or(u16::MAX));
                    }
                    b"content-length" => self.length = Some(same_length(self.length, value)),
                    _ => {}
                }
                violation(name, value)
            }
        };
        self.malformed = self.malformed.or(found);
        for (bit, header) in expected.iter().enumerate() {
            self.matched |= u64::from(header.is(name, value)) << bit.min(63);
        }
    }

    /// The length of the body of a response with these fields.
    ///
    /// # Errors
    /// When the length is invalid, or several differ.
    pub(crate) fn body_length(&self, is_head: bool) -> Result<Option<u64>, Malformed> {
        // As in HTTP/1.1, the stated length of a response without a body does not count.
        let has_body = !is_head && !matches!(self.status, 204 | 304);
        match self.length {
            Some(Err(_)) if !has_body => Ok(None),
            length => length.transpose(),
        }
    }
}

/// Returns the rule that a field other than a pseudo-header violates (RFC 9113, section 8.2.1).
fn violation(name: &[u8], value: &[u8]) -> Option<Malformed> {
    if name.is_empty() || name.iter().any(|byte| !matches!(byte, b'!'..=b'@' | b'['..=b'~') || *byte == b':')
    {
        let is_upper = name.iter().any(u8::is_ascii_uppercase);
        return Some(if is_upper { Malformed::UpperCase } else { Malformed::FieldName });
    }
    if OF_CONNECTION.contains(&name) {
        return Some(Malformed::OfConnection);
    }
    memchr3(b'\0', b'\r', b'\n', value).map(|_| Malformed::FieldValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(&str, &str)]) -> Fields {
        let mut all = Fields::default();
        for (name, value) in fields {
            all.take(name.as_bytes(), value.as_bytes(), &[]);
        }
        all
    }

    #[test]
    fn a_field_that_http2_forbids_is_named() {
        for (name, value, expected) in [
            ("X-Foo", "a", Malformed::UpperCase),
            ("x foo", "a", Malformed::FieldName),
            ("x:foo", "a", Malformed::FieldName),
            ("", "a", Malformed::FieldName),
            ("x\u{e4}", "a", Malformed::FieldName),
            ("connection", "close", Malformed::OfConnection),
            ("transfer-encoding", "chunked", Malformed::OfConnection),
            ("x", "a\r\nb: c", Malformed::FieldValue),
            ("x", "a\0", Malformed::FieldValue),
            (":path", "/", Malformed::Pseudo),
            (":status", "200", Malformed::Pseudo),
        ] {
            assert_eq!(read(&[(":status", "200"), (name, value)]).malformed, Some(expected), "{name:?}");
        }
        assert_eq!(read(&[("x", "a"), (":status", "200")]).malformed, Some(Malformed::Pseudo));
        let valid =
            [(":status", "200"), ("x-a!#$%&'*+.^_`|~1", "\t\u{e4} \"x\""), ("te", "trailers"), ("x", "")];
        assert_eq!(read(&valid).malformed, None);
    }

    #[test]
    fn the_length_of_a_body_is_one_number() {
        let length = |status: &str, lengths: &[&str]| {
            let lengths = lengths.iter().map(|length| ("content-length", *length));
            let fields: Vec<_> = std::iter::once((":status", status)).chain(lengths).collect();
            read(&fields).body_length(false)
        };
        assert_eq!((length("200", &[]), length("200", &["2", "2"])), (Ok(None), Ok(Some(2))));
        assert_eq!(length("200", &["2", "3"]), Err(Malformed::TwoLengths));
        assert_eq!(length("200", &["abc"]), Err(Malformed::Length));
        assert_eq!(length("200", &["99999999999999999999"]), Err(Malformed::LengthTooLarge));
        assert_eq!((length("204", &["2", "3"]), length("304", &["abc"])), (Ok(None), Ok(None)));
        assert_eq!(read(&[(":status", "200"), ("content-length", "x")]).body_length(true), Ok(None));
    }
}
