//! Parsing of one response from the bytes of its stream.

use std::sync::Arc;

use super::frame::{FramePart, FrameReader, kind};
use super::qpack;
use crate::body::{BodyKeeper, ExpectedBody};
use crate::cookies::Cookies;
use crate::fields::Fields;
use crate::malformed::Malformed;
use crate::response::{ExpectedHeader, Loss, ProtocolError, Response};

/// An incremental parser of a response.
#[derive(Debug, Default)]
pub struct ResponseReader {
    frames: FrameReader,
    /// The fields of the head; its status is 0 until it has arrived.
    head: Fields,
    grpc_status: Option<u16>,
    body_bytes: u64,
    /// Bit set of the expected headers that have arrived.
    matched: u64,
    /// True if the server switched to another protocol, which HTTP/3 does not have (RFC 9114, section 4.5).
    is_switched: bool,
    /// True if an interim response has arrived.
    has_interim: bool,
    /// Violation of a field of the head or of the trailers.
    malformed: Option<Malformed>,
    body: BodyKeeper,
}

impl ResponseReader {
    /// A reader that checks the body.
    pub fn checking(body: Option<Arc<ExpectedBody>>) -> Self {
        Self { body: BodyKeeper::new(body), ..Self::default() }
    }

    /// True if the response has begun.
    pub fn has_begun(&self) -> bool {
        self.head.status > 0
    }

    /// True if an interim response has arrived.
    pub(super) fn has_interim(&self) -> bool {
        self.has_interim
    }

    /// Returns the reason why no valid response will arrive; None if one still may. A response to `HEAD` has no body.
    pub(super) fn loss(&self, is_head: bool) -> Option<Loss> {
        if self.is_switched {
            return Some(Loss::Switched);
        }
        self.malformed.or(self.head.body_length(is_head).err()).map(Loss::Fields)
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
        let Self {
            frames,
            head,
            grpc_status,
            body_bytes,
            matched,
            is_switched,
            has_interim,
            malformed,
            body,
        } = self;
        frames.feed(bytes, |piece| match piece {
            FramePart::Data(_) if head.status == 0 && malformed.is_none() => {
                Err(ProtocolError::Http3("data before headers"))
            }
            FramePart::Data(bytes) => {
                *body_bytes += bytes.len() as u64;
                body.take(bytes);
                each(bytes);
                Ok(())
            }
            FramePart::Frame(kind::HEADERS, block) => {
                let fields = read_fields(block, expected, cookies.as_deref_mut())?;
                let is_trailer = head.status > 0;
                *malformed = malformed.or(fields.malformed);
                if is_trailer && fields.status > 0 {
                    *malformed = malformed.or(Some(Malformed::Pseudo));
                }
                if malformed.is_some() {
                    return Ok(());
                }
                if !is_trailer && !(100..1000).contains(&fields.status) {
                    return Err(ProtocolError::Http3("a response without a status"));
                }
                *is_switched |= !is_trailer && fields.status == 101;
                // Statuses below 200 are interim responses; the final one follows.
                if !is_trailer && fields.status >= 200 {
                    *head = fields;
                }
                *has_interim |= head.status == 0;
                *matched |= fields.matched;
                *grpc_status = fields.grpc_status.or(*grpc_status);
                Ok(())
            }
            FramePart::Frame(..) => Err(ProtocolError::Http3("a connection frame on a request stream")),
        })
    }

    /// The response when its stream has ended. A response to `HEAD` has no body.
    ///
    /// # Errors
    /// The part that is incomplete or inconsistent.
    pub fn end(&self, is_head: bool, expected: &[ExpectedHeader]) -> Result<Response, Loss> {
        let has_body = !is_head && self.head.status != 304;
        if let Some(loss) = self.loss(is_head) {
            return Err(loss);
        }
        if !self.frames.is_at_boundary() {
            return Err(Loss::Malformed("a frame that its stream ends within"));
        }
        if self.head.status == 0 {
            return Err(Loss::Malformed("a stream that ends before its response"));
        }
        let length = self.head.body_length(is_head).map_err(Loss::Fields)?;
        if has_body && length.is_some_and(|length| length != self.body_bytes) {
            return Err(Loss::Malformed("a body whose size differs from its content-length"));
        }
        let all = (1_u64 << expected.len().min(63)) - 1;
        Ok(Response {
            status: self.head.status,
            grpc_status: self.grpc_status,
            body_bytes: self.body_bytes,
            keep_alive: true,
            is_as_expected: self.matched & all == all && self.body.is_as_expected(),
        })
    }
}

/// The fields of a block. Cookies that they set are added to `cookies`.
fn read_fields(
    block: &[u8],
    expected: &[ExpectedHeader],
    mut cookies: Option<&mut Cookies>,
) -> Result<Fields, ProtocolError> {
    let mut fields = Fields::default();
    let each = |name: &[u8], value: &[u8]| {
        if let Some(cookies) = &mut cookies
            && name == b"set-cookie"
        {
            cookies.set(value);
        }
        fields.take(name, value, expected);
    };
    qpack::decode(block, each).map_err(|bad| ProtocolError::Http3(bad.as_str()))?;
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::super::frame::{put_head, put_headers};
    use super::*;

    fn read(heads: &[&[(&str, &str)]], data: &[u8]) -> Result<Result<Response, Loss>, ProtocolError> {
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
            assert_eq!(reader.loss(false), expected.then_some(Loss::Switched), "{status}");
            assert!(reader.has_interim());
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
        for (name, value, expected) in [
            ("X-A", "1", Malformed::UpperCase),
            ("connection", "close", Malformed::OfConnection),
            ("content-length", "x", Malformed::Length),
            (":status", "200", Malformed::Pseudo),
        ] {
            let found = read(&[&[(":status", "200"), (name, value)]], b"hello").unwrap();
            assert_eq!(found, Err(Loss::Fields(expected)), "{name}");
        }
        let two = [(":status", "200"), ("content-length", "5"), ("content-length", "6")];
        assert_eq!(read(&[&two], b"hello").unwrap(), Err(Loss::Fields(Malformed::TwoLengths)));
        let trailers = read(&[&[(":status", "200")], &[(":status", "200")]], b"hello").unwrap();
        assert_eq!(trailers, Err(Loss::Fields(Malformed::Pseudo)));
        let mut reader = ResponseReader::default();
        assert!(reader.feed(&[4, 0], &[]).is_err(), "settings on the stream of a request");
        assert!(ResponseReader::default().end(false, &[]).is_err());
    }
}
