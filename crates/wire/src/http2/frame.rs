//! Frames (RFC 9113, section 4): parsing, and encoding of frame headers.

/// Size of a frame header.
pub(crate) const HEAD_BYTES: usize = 9;
/// The default maximum size of a payload, which we do not change.
pub const MAX_PAYLOAD_BYTES: usize = 16_384;

/// The frame types in use.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// The flags in use.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 1;
    pub(crate) const END_STREAM: u8 = 1;
    pub(crate) const END_HEADERS: u8 = 4;
    pub(crate) const PADDED: u8 = 8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Settings by identifier (RFC 9113, section 6.5.2).
pub(crate) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
}

/// A setting that this end states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// One of [`setting`].
    pub(crate) id: u16,
    pub(crate) value: u32,
}

/// A frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Head {
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn parse(bytes: [u8; HEAD_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }
}

/// Appends a frame header.
pub(crate) fn put_head(output: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    output.extend_from_slice(&[a, b, c, kind, flags]);
    output.extend_from_slice(&stream.to_be_bytes());
}

/// Appends the header block that `put` appends: a HEADERS frame with these flags, and CONTINUATION frames for the rest. Each has at most
/// the payload that every peer must accept. No other frame may come between them.
#[inline]
pub(crate) fn put_block(output: &mut Vec<u8>, flags: u8, stream: u32, put: impl FnOnce(&mut Vec<u8>)) {
    // The length of the frame is filled in once the block is written.
    let from = output.len();
    put_head(output, 0, kind::HEADERS, flag::END_HEADERS | flags, stream);
    let block_from = output.len();
    put(output);
    let length = output.len() - block_from;
    if length <= MAX_PAYLOAD_BYTES {
        output[from..from + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
    } else {
        let block = output.split_off(block_from);
        output.truncate(from);
        put_long_block(output, flags, stream, &block);
    }
}

fn put_long_block(output: &mut Vec<u8>, flags: u8, stream: u32, block: &[u8]) {
    let pieces = block.chunks(MAX_PAYLOAD_BYTES);
    let last = pieces.len() - 1;
    for (number, piece) in pieces.enumerate() {
        let done = if number == last { flag::END_HEADERS } else { 0 };
        let (kind, flags) =
            if number == 0 { (kind::HEADERS, done | flags) } else { (kind::CONTINUATION, done) };
        put_head(output, piece.len(), kind, flags, stream);
        output.extend_from_slice(piece);
    }
}

/// Appends a frame whose payload is a single number.
pub(crate) fn put_number(output: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    put_head(output, 4, kind, 0, stream);
    output.extend_from_slice(&number.to_be_bytes());
}

/// Appends a SETTINGS frame.
pub(crate) fn put_settings(output: &mut Vec<u8>, settings: &[Setting]) {
    put_head(output, settings.len() * 6, kind::SETTINGS, 0, 0);
    for Setting { id, value } in settings {
        output.extend_from_slice(&id.to_be_bytes());
        output.extend_from_slice(&value.to_be_bytes());
    }
}

/// A parsed part: a complete frame, or a part of a DATA frame, whose `head` has the length of the part. Its flags are set
/// only in the last part.
#[derive(Debug)]
pub(crate) struct FramePart<'a> {
    pub(crate) head: Head,
    pub(crate) payload: &'a [u8],
}

/// A frame exceeds the maximum size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// An incremental parser of frames.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    head: [u8; HEAD_BYTES],
    have: usize,
    /// The frame whose payload is being read, and how much of it has arrived.
    current: Option<(Head, usize)>,
    payload: Vec<u8>,
}

impl FrameReader {
    /// True if the parser is at a frame boundary.
    pub(crate) fn is_at_boundary(&self) -> bool {
        self.have == 0 && self.current.is_none()
    }

    /// The type of the last frame whose header was read.
    pub(crate) fn head_kind(&self) -> u8 {
        Head::parse(self.head).kind
    }

    /// Returns the next piece and advances `bytes` past it; None if more bytes are needed. DATA frames without padding
    /// are passed on in parts, all others whole.
    pub(crate) fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<FramePart<'a>>, TooLarge> {
        let (head, read) = if let Some(current) = self.current {
            current
        } else {
            let missing = HEAD_BYTES - self.have;
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            self.head[self.have..self.have + taken.len()].copy_from_slice(taken);
            self.have += taken.len();
            *bytes = rest;
            if self.have < HEAD_BYTES {
                return Ok(None);
            }
            let head = Head::parse(self.head);
            if head.length > MAX_PAYLOAD_BYTES {
                return Err(TooLarge);
            }
            self.payload.clear();
            (head, 0)
        };
        let missing = head.length - read;
        let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
        let is_complete = taken.len() == missing;
        *bytes = rest;
        if is_complete {
            self.current = None;
            self.have = 0;
        } else {
            self.current = Some((head, read + taken.len()));
        }
        if head.kind == kind::DATA && !head.has(flag::PADDED) {
            if taken.is_empty() && !is_complete {
                return Ok(None);
            }
            let flags = if is_complete { head.flags } else { 0 };
            return Ok(Some(FramePart { head: Head { length: taken.len(), flags, ..head }, payload: taken }));
        }
        if is_complete && read == 0 {
            return Ok(Some(FramePart { head, payload: taken }));
        }
        self.payload.extend_from_slice(taken);
        Ok(is_complete.then_some(FramePart { head, payload: &self.payload }))
    }
}

/// The settings of a payload; None if it is invalid.
pub(crate) fn settings(payload: &[u8]) -> Option<impl Iterator<Item = (u16, u32)>> {
    let (settings, rest) = payload.as_chunks::<6>();
    rest.is_empty().then(|| {
        settings.iter().map(|one| {
            let [name @ .., _, _, _, _] = *one;
            let [_, _, value @ ..] = *one;
            (u16::from_be_bytes(name), u32::from_be_bytes(value))
        })
    })
}

/// A payload without its padding and, in a HEADERS frame, its priority; None if the padding exceeds the payload.
pub(crate) fn unpadded(head: Head, mut payload: &[u8]) -> Option<&[u8]> {
    let mut padding = 0;
    if head.has(flag::PADDED) {
        let (&length, rest) = payload.split_first()?;
        (padding, payload) = (usize::from(length), rest);
    }
    if head.kind == kind::HEADERS && head.has(flag::PRIORITY) {
        payload = payload.get(5..)?;
    }
    payload.get(..payload.len().checked_sub(padding)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Types and payloads of all frames in `bytes`, fed in pieces that end at `cuts`; DATA is concatenated.
    fn read(bytes: &[u8], cuts: &[usize]) -> Vec<(u8, u8, Vec<u8>)> {
        let (mut reader, mut seen, mut from) = (FrameReader::default(), Vec::new(), 0);
        let mut data: Vec<u8> = Vec::new();
        for &to in cuts.iter().chain([&bytes.len()]) {
            let mut piece = &bytes[from..to];
            from = to;
            while let Some(piece) = reader.next(&mut piece).unwrap() {
                if piece.head.kind == kind::DATA {
                    data.extend_from_slice(piece.payload);
                    if piece.head.has(flag::END_STREAM) {
                        seen.push((kind::DATA, piece.head.flags, std::mem::take(&mut data)));
                    }
                } else {
                    seen.push((piece.head.kind, piece.head.flags, piece.payload.to_vec()));
                }
            }
        }
        seen
    }

    fn several() -> Vec<u8> {
        let mut bytes = Vec::new();
        put_settings(&mut bytes, &[Setting { id: setting::ENABLE_PUSH, value: 0 }]);
        put_head(&mut bytes, 5, kind::DATA, flag::END_STREAM, 1);
        bytes.extend_from_slice(b"hello");
        put_head(&mut bytes, 0, kind::DATA, flag::END_STREAM, 3);
        put_number(&mut bytes, kind::RST_STREAM, 5, 8);
        bytes
    }

    #[test]
    fn frames_follow_each_other() {
        let seen = read(&several(), &[]);
        assert_eq!(seen.len(), 4);
        assert_eq!(seen[1], (kind::DATA, flag::END_STREAM, b"hello".to_vec()));
        assert_eq!(seen[2], (kind::DATA, flag::END_STREAM, Vec::new()));
        assert_eq!(seen[3].2, [0, 0, 0, 8]);
    }

    #[test]
    fn oversized_frames_and_padding_are_rejected() {
        let mut text: &[u8] = b"HTTP/1.1 400 Bad Request\r\n";
        assert_eq!(FrameReader::default().next(&mut text).unwrap_err(), TooLarge);
        let padded = Head { length: 3, kind: kind::DATA, flags: flag::PADDED, stream: 1 };
        assert_eq!(unpadded(padded, &[1, 7, 0]), Some([7].as_slice()));
        assert_eq!(unpadded(padded, &[3, 7, 0]), None);
        assert_eq!(unpadded(padded, &[]), None);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(mut cuts in prop::collection::vec(0..several().len(), 0..8)) {
            cuts.sort_unstable();
            prop_assert_eq!(read(&several(), &cuts), read(&several(), &[]));
        }
    }
}
