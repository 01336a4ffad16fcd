//! HTTP/3 frames (RFC 9114, section 7), whose headers are variable-length integers of one to eight bytes.

use super::qpack;
use crate::http1::MAX_HEAD_BYTES;
use crate::response::ProtocolError;

/// Maximum size of a frame that is kept whole: that of a head of HTTP/1.1.
const MAX_KEPT_BYTES: u64 = MAX_HEAD_BYTES as u64;

/// The frame types in use.
pub(super) mod kind {
    pub(crate) const DATA: u64 = 0;
    pub(crate) const HEADERS: u64 = 1;
    pub(crate) const SETTINGS: u64 = 4;
    pub(crate) const GOAWAY: u64 = 7;
}

/// The type of the control stream.
const CONTROL: u64 = 0;

/// Appends a variable-length integer (RFC 9000, section 16).
fn put_number(output: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => output.push(number as u8),
        0x40..0x4000 => output.extend_from_slice(&(number as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => output.extend_from_slice(&(number as u32 | 0x8000_0000).to_be_bytes()),
        _ => output.extend_from_slice(&(number | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Decodes a variable-length integer at the start of `bytes`, with its size; None if incomplete.
pub(super) fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let length = 1_usize << (bytes.first()? >> 6);
    let value = bytes.get(..length)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & !(0xc0 << (8 * (length - 1))), length))
}

/// Appends a frame header.
pub(super) fn put_head(output: &mut Vec<u8>, kind: u64, length: u64) {
    put_number(output, kind);
    put_number(output, length);
}

/// Appends a HEADERS frame.
pub(super) fn put_headers<'a>(output: &mut Vec<u8>, fields: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut block = Vec::new();
    qpack::put_block(&mut block, fields);
    put_head(output, kind::HEADERS, block.len() as u64);
    output.extend_from_slice(&block);
}

/// Appends a request that begins with a HEADERS frame, with a header field `cookie` added to this frame.
pub(super) fn put_with_cookies(request: &[u8], cookies: &[u8], output: &mut Vec<u8>) {
    let block_from = || {
        let (_, kind_bytes) = number(request)?;
        let (length, length_bytes) = number(request.get(kind_bytes..)?)?;
        let from = kind_bytes + length_bytes;
        Some((from, from.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= request.len())?))
    };
    let Some((from, end)) = block_from() else { return output.extend_from_slice(request) };
    let mut field = Vec::new();
    qpack::put_cookies(cookies, &mut field);
    let (block, rest) = (request.get(from..end).unwrap_or_default(), request.get(end..).unwrap_or_default());
    put_head(output, kind::HEADERS, (block.len() + field.len()) as u64);
    for bytes in [block, &field, rest] {
        output.extend_from_slice(bytes);
    }
}

/// The opening of the control stream: its type and empty settings.
pub(super) fn opening() -> Vec<u8> {
    let mut bytes = Vec::new();
    put_number(&mut bytes, CONTROL);
    put_head(&mut bytes, kind::SETTINGS, 0);
    bytes
}

/// A parsed part: data, or a complete frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FramePart<'a> {
    /// Data.
    Data(&'a [u8]),
    /// A complete frame of another type in use.
    Frame(u64, &'a [u8]),
}

/// An incremental parser of the frames of one stream.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    head: Vec<u8>,
    /// The type of the current frame, and its missing bytes.
    current: Option<(u64, u64)>,
    payload: Vec<u8>,
}

impl FrameReader {
    /// True if the parser is at a frame boundary.
    pub(super) fn is_at_boundary(&self) -> bool {
        self.current.is_none() && self.head.is_empty()
    }

    /// Calls `each` with every piece of `bytes`.
    ///
    /// # Errors
    /// An error of `each`, or a frame that is too large.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(FramePart<'_>) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        loop {
            let (kind, missing) = if let Some(current) = self.current {
                current
            } else {
                let Some((byte, rest)) = bytes.split_first() else { return Ok(()) };
                self.head.push(*byte);
                bytes = rest;
                let Some((kind, at)) = number(&self.head) else { continue };
                let Some((length, _)) = self.head.get(at..).and_then(number) else { continue };
                self.head.clear();
                if kind != kind::DATA && is_used(kind) && length > MAX_KEPT_BYTES {
                    return Err(ProtocolError::Http3("a frame of headers or settings larger than 300 KiB"));
                }
                (kind, length)
            };
            let (taken, rest) =
                bytes.split_at(usize::try_from(missing).unwrap_or(usize::MAX).min(bytes.len()));
            bytes = rest;
            let missing = missing - taken.len() as u64;
            self.current = (missing > 0).then_some((kind, missing));
            if kind == kind::DATA {
                each(FramePart::Data(taken))?;
            } else if is_used(kind) {
                self.payload.extend_from_slice(taken);
                if missing == 0 {
                    let taken = each(FramePart::Frame(kind, &self.payload));
                    self.payload.clear();
                    taken?;
                }
            }
            if missing > 0 {
                return Ok(());
            }
        }
    }
}

fn is_used(kind: u64) -> bool {
    matches!(kind, kind::HEADERS | kind::SETTINGS | kind::GOAWAY)
}

/// A unidirectional stream of the peer: its type, followed by frames if it is the control stream.
#[derive(Debug, Default)]
pub(super) struct UniStream {
    kind: Option<u64>,
    begun: Vec<u8>,
    frames: FrameReader,
}

impl UniStream {
    /// Processes bytes of the stream. Returns the id of the last GOAWAY, if any.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<u64>, ProtocolError> {
        while self.kind.is_none() {
            let Some((byte, rest)) = bytes.split_first() else { return Ok(None) };
            self.begun.push(*byte);
            bytes = rest;
            self.kind = number(&self.begun).map(|(kind, _)| kind);
        }
        let mut last = None;
        // QPACK instructions concern a dynamic table of size zero, and unknown streams are ignored.
        if self.kind == Some(CONTROL) {
            self.frames.feed(bytes, |piece| {
                if let FramePart::Frame(kind::GOAWAY, payload) = piece {
                    last = number(payload).map(|(last, _)| last);
                }
                Ok(())
            })?;
        }
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn several() -> Vec<u8> {
        let mut bytes = Vec::new();
        put_headers(&mut bytes, [("a", "b")].into_iter());
        put_head(&mut bytes, 0x21, 3);
        bytes.extend_from_slice(b"???");
        put_head(&mut bytes, kind::DATA, 100);
        bytes.extend_from_slice(&[7; 100]);
        put_head(&mut bytes, kind::GOAWAY, 1);
        bytes.push(4);
        bytes
    }

    fn read(bytes: &[u8], cuts: &[usize]) -> (u64, Vec<(u64, Vec<u8>)>) {
        let (mut reader, mut data, mut whole, mut from) = (FrameReader::default(), 0, Vec::new(), 0);
        for &to in cuts.iter().chain([&bytes.len()]) {
            let each = |piece: FramePart<'_>| {
                match piece {
                    FramePart::Data(bytes) => data += bytes.len() as u64,
                    FramePart::Frame(kind, payload) => whole.push((kind, payload.to_vec())),
                }
                Ok(())
            };
            reader.feed(&bytes[from..to], each).unwrap();
            from = to;
        }
        assert!(reader.is_at_boundary());
        (data, whole)
    }

    #[test]
    fn numbers_are_of_one_to_eight_bytes() {
        // The examples of RFC 9000, appendix A.1.
        for (bytes, value) in [
            (&b"\x25"[..], 37),
            (b"\x7b\xbd", 15_293),
            (b"\x9d\x7f\x3e\x7d", 494_878_333),
            (b"\xc2\x19\x7c\x5e\xff\x14\xe8\x8c", 151_288_809_941_952_652),
        ] {
            assert_eq!(number(bytes), Some((value, bytes.len())));
            let mut put = Vec::new();
            put_number(&mut put, value);
            assert_eq!(put, bytes);
            assert_eq!(number(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn cookies_are_the_last_field_of_the_first_frame() {
        // One block whose length takes one byte before and two bytes after, and one without a body.
        for (value, body) in [("x".repeat(50), &b"body"[..]), (String::new(), b"")] {
            let mut request = Vec::new();
            put_headers(&mut request, [(":path", "/"), ("a", value.as_str())].into_iter());
            if !body.is_empty() {
                put_head(&mut request, kind::DATA, body.len() as u64);
                request.extend_from_slice(body);
            }
            let mut put = Vec::new();
            put_with_cookies(&request, b"c=1; d=2", &mut put);
            let (data, whole) = read(&put, &[]);
            assert_eq!((data, whole.len()), (body.len() as u64, 1));
            let mut fields = Vec::new();
            let each = |name: &[u8], value: &[u8]| {
                fields.push([name, b"=", value].concat());
            };
            qpack::decode(&whole[0].1, each).unwrap();
            assert_eq!(fields, [&b":path=/"[..], format!("a={value}").as_bytes(), b"cookie=c=1; d=2"]);
        }
    }

    #[test]
    fn unknown_frames_are_ignored() {
        let (data, whole) = read(&several(), &[]);
        assert_eq!((data, whole.len()), (100, 2));
        assert_eq!(whole[1], (kind::GOAWAY, vec![4]));
        let mut stream = UniStream::default();
        let mut bytes = opening();
        put_head(&mut bytes, kind::GOAWAY, 1);
        bytes.push(8);
        assert_eq!(stream.feed(&bytes).unwrap(), Some(8));
        assert_eq!(UniStream::default().feed(&[2, 7, 1, 8]).unwrap(), None);
        let huge = [1, 0xc0, 0, 0, 0, 0xff, 0, 0, 0];
        assert!(FrameReader::default().feed(&huge, |_| Ok(())).is_err());
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(mut cuts in prop::collection::vec(0..several().len(), 0..8)) {
            cuts.sort_unstable();
            prop_assert_eq!(read(&several(), &cuts), read(&several(), &[]));
        }
    }
}
