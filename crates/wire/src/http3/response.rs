//! Parsing of one response from the bytes of its stream.

use std::sync::Arc;

use super::frame::{FramePart, FrameReader, kind};
use super::qpack;
use crate::body::{BodyKeeper, ExpectedBody};
use crate::cookies::Cookies;
use crate::response::{ExpectedHeader, ProtocolError, Response, decimal};

/// An incremental parser of a response.
#[derive(Debug, Default)]
pub struct ResponseReader {
    frames: FrameReader,
    status: u16,
    grpc_status: Option<u16>,
    length: Option<u64>,
    body_bytes: u64,
    /// Bit set of the expected headers that have arrived.
    matched: u64,
    /// Whether the server switched to another protocol, which HTTP/3 does not have (RFC 9114, section 4.5).
    is_switched: bool,
    body: BodyKeeper,
}

impl ResponseReader {
    /// A reader that checks the body.
    pub fn checking(body: Option<Arc<ExpectedBody>>) -> Self {
        Self { body: BodyKeeper::new(body), ..Self::default() }
    }

    /// Whether the response has begun.
    pub fn has_begun(&self) -> bool {
        self.status > 0
    }

    /// Whether the server switched to another protocol.
    pub(super) fn is_switched(&self) -> bool {
        self.is_switched
    }

    /// Processes bytes of the stream.
    ///
    /// # Errors
    /// When they are not a valid response.
    pub fn feed(&mut self, bytes: &[u8], expected: &[ExpectedHeader]) -> Result<(), ProtocolError> {
        self.feed_with(bytes, expected, None, |_| ())
    }

    /// As [`Self::feed`]. Cookies that the response sets are added to `cookies`, and `each` is called with the pieces of its
    /// body.
    ///
    /// # Errors
    /// As [`Self::feed`].
    pub(super) fn feed_with(
        &mut self,
        bytes: &[u8],
        expected: &[ExpectedHeader],
        mut cookies: Option<&mut Cookies>,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), ProtocolError> {
        let Self { frames, status, grpc_status, length, body_bytes, matched, is_switched, body } = self;
        frames.feed(bytes, |piece| match piece {
            FramePart::Data(_) if *status == 0 => Err(ProtocolError::Http3("data before headers")),
            FramePart::Data(bytes) => {
                *body_bytes += bytes.len() as u64;
                body.take(bytes);
                each(bytes);
                Ok(())
            }
            FramePart::Frame(kind::HEADERS, block) => {
                let head = Head::read(block, expected, cookies.as_deref_mut())?;
                if *status == 0 && !(100..1000).contains(&head.status) {
                    return Err(ProtocolError::Http3("a response without a status"));
                }
                *is_switched |= *status == 0 && head.status == 101;
                // Statuses below 200 are interim responses; the final one follows.
                if *status == 0 && head.status >= 200 {
                    (*status, *length) = (head.status, head.length);
                }
                *matched |= head.matched;
                *grpc_status = head.grpc_status.or(*grpc_status);
                Ok(())
            }
            FramePart::Frame(..) => Err(ProtocolError::Http3("a connection frame on a request stream")),
        })
    }

    /// The response when its stream has ended. A response to `HEAD` has no body.
    ///
    /// # Errors
    /// Says what is incomplete or inconsistent.
    pub fn end(&self, is_head: bool, expected: &[ExpectedHeader]) -> Result<Response, &'static str> {
        let has_body = !is_head && self.status != 304;
        if !self.frames.is_at_boundary() {
            return Err("a frame that its stream ends within");
        }
        if self.status == 0 {
            return Err("a stream that ends before its response");
        }
        if has_body && self.length.is_some_and(|length| length != self.body_bytes) {
            return Err("a body whose size differs from its content-length");
        }
        let all = (1_u64 << expected.len().min(63)) - 1;
        Ok(Response {
            status: self.status,
            grpc_status: self.grpc_status,
            body_bytes: self.body_bytes,
            keep_alive: true,
            is_as_expected: self.matched & all == all && self.body.is_as_expected(),
        })
    }
}

/// The relevant fields of a response.
#[derive(Debug, Default)]
struct Head {
    status: u16,
    grpc_status: Option<u16>,
    length: Option<u64>,
    matched: u64,
}

impl Head {
    fn read(
        block: &[u8],
        expected: &[ExpectedHeader],
        mut cookies: Option<&mut Cookies>,
    ) -> Result<Self, ProtocolError> {
        let mut head = Self::default();
        let each = |name: &[u8], value: &[u8]| {
            match name {
                b":status" => head.status = decimal(value).map_or(0, |status| status.min(1000) as u16),
                b"grpc-status" => {
                    let status = decimal(value).and_then(|status| u16::try_from(status).ok());
                    head.grpc_status = Some(status.unwrap_or(u16::MAX));
                }
                b"content-length" => head.length = decimal(value),
                b"set-cookie" => {
                    if let Some(cookies) = &mut cookies {
                        cookies.set(value);
                    }
                }
                _ => {}
            }
            for (bit, header) in expected.iter().enumerate() {
                head.matched |= u64::from(header.is(name, value)) << bit.min(63);
            }
        };
        qpack::decode(block, each).map_err(|bad| ProtocolError::Http3(bad.as_str()))?;
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::super::frame::{put_head, put_headers};
    use super::*;

    fn read(heads: &[&[(&str, &str)]], data: &[u8]) -> Result<Result<Response, &'static str>, ProtocolError> {
        let expected = [ExpectedHeader { name: "X-A".to_owned(), value: Some("1".to_owned()) }];
        let (mut reader, mut bytes) = (ResponseReader::default(), Vec::new());
        for head in heads {
            put_headers(&mut bytes, head.iter().copied());
        }
        put_head(&mut bytes, kind::DATA, data.len() as u64);
        bytes.extend_from_slice(data);
        reader.feed(&bytes, &expected)?;
        Ok(reader.end(false, &expected))
    }

    #[test]
    fn a_response_is_its_status_its_body_and_its_headers() {
        let head = [(":status", "200"), ("content-length", "5"), ("x-a", "1")];
        let response = read(&[&[(":status", "103")], &head], b"hello").unwrap().unwrap();
        assert_eq!((response.status, response.body_bytes, response.is_as_expected), (200, 5, true));
        assert!(!read(&[&[(":status", "200")]], b"hello").unwrap().unwrap().is_as_expected);
    }

    #[test]
    fn a_switch_of_protocols_is_noticed_and_other_interim_responses_are_not() {
        for (status, expected) in [("101", true), ("103", false)] {
            let (mut reader, mut bytes) = (ResponseReader::default(), Vec::new());
            put_headers(&mut bytes, [(":status", status)].into_iter());
            reader.feed(&bytes, &[]).unwrap();
            assert_eq!(reader.is_switched(), expected, "{status}");
        }
    }

    #[test]
    fn the_status_of_a_call_is_in_its_trailers_or_in_its_head() {
        let read = |heads: &[&[(&str, &str)]]| {
            let (mut reader, mut bytes) = (ResponseReader::default(), Vec::new());
            for head in heads {
                put_headers(&mut bytes, head.iter().copied());
            }
            reader.feed(&bytes, &[]).unwrap();
            reader.end(false, &[]).unwrap().grpc_status
        };
        assert_eq!(read(&[&[(":status", "200")], &[("grpc-status", "0")]]), Some(0));
        assert_eq!(read(&[&[(":status", "200"), ("grpc-status", "14")]]), Some(14));
        assert_eq!(read(&[&[(":status", "200")], &[("grpc-status", "x")]]), Some(u16::MAX));
        assert_eq!(read(&[&[(":status", "200")]]), None);
    }

    #[test]
    fn invalid_responses_are_rejected() {
        assert!(read(&[&[(":status", "200"), ("content-length", "6")]], b"hello").unwrap().is_err());
        assert!(read(&[&[("x-a", "1")]], b"hello").is_err());
        assert!(read(&[], b"hello").is_err());
        let mut reader = ResponseReader::default();
        assert!(reader.feed(&[4, 0], &[]).is_err(), "settings on the stream of a request");
        assert!(ResponseReader::default().end(false, &[]).is_err());
    }
}
