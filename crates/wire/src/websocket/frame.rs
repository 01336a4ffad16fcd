//! Frames: an incremental parser, and encoding.

/// Maximum size of a frame header.
const MAX_HEAD_BYTES: usize = 14;

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A continuation of a message.
    Continuation,
    /// A text message.
    Text,
    /// A binary message.
    Binary,
    /// Closes the connection.
    Close,
    /// Requires a pong in reply.
    Ping,
    /// The response to a ping.
    Pong,
}

impl Opcode {
    fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    fn number(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    /// True if it is a control frame.
    pub fn is_control(self) -> bool {
        self.number() >= 8
    }
}

/// A frame, or a part of it.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Its type.
    pub opcode: Opcode,
    /// True if this is the last frame of the message.
    pub is_last: bool,
    /// True if this is the last part of the frame.
    pub is_complete: bool,
    /// The bytes received, still masked.
    pub payload: &'a [u8],
    /// The mask, aligned to their first byte.
    pub mask: [u8; 4],
}

/// An incremental parser of frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    head: [u8; MAX_HEAD_BYTES],
    have: usize,
    current: Option<Current>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    opcode: Opcode,
    is_last: bool,
    mask: [u8; 4],
    left: u64,
}

impl FrameReader {
    /// True if the parser is at a frame boundary.
    pub fn is_at_boundary(&self) -> bool {
        self.have == 0 && self.current.is_none()
    }

    /// Returns the next part and advances `bytes` past it; None if more bytes are needed.
    ///
    /// # Errors
    /// The rule that was broken. Frames must be masked if and only if `masked`.
    pub fn next<'a>(
        &mut self,
        bytes: &mut &'a [u8],
        masked: bool,
    ) -> Result<Option<Frame<'a>>, &'static str> {
        let mut current = match self.current {
            Some(current) => current,
            None => match self.read_head(bytes, masked)? {
                Some(current) => current,
                None => return Ok(None),
            },
        };
        let length = (bytes.len() as u64).min(current.left) as usize;
        if length == 0 && current.left > 0 {
            self.current = Some(current);
            return Ok(None);
        }
        let (payload, rest) = bytes.split_at(length);
        *bytes = rest;
        let mask = current.mask;
        current.left -= length as u64;
        current.mask.rotate_left(length % 4);
        let is_complete = current.left == 0;
        self.current = (!is_complete).then_some(current);
        Ok(Some(Frame { opcode: current.opcode, is_last: current.is_last, is_complete, payload, mask }))
    }

    fn read_head(&mut self, bytes: &mut &[u8], masked: bool) -> Result<Option<Current>, &'static str> {
        loop {
            let wanted = self.head_bytes();
            if self.have == wanted {
                break;
            }
            let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
            self.head[self.have] = first;
            self.have += 1;
            *bytes = rest;
        }
        self.have = 0;
        let [first, second, ..] = self.head;
        if first & 0x70 != 0 {
            return Err("reserved bits without a negotiated extension");
        }
        let opcode = Opcode::from_number(first & 15).ok_or("an unknown opcode")?;
        let is_last = first & 0x80 != 0;
        if (second & 0x80 != 0) != masked {
            return Err(if masked { "a frame without a mask" } else { "a frame with a mask" });
        }
        let (left, behind) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes([self.head[2], self.head[3]])), 4),
            127 => {
                let mut length = [0; 8];
                length.copy_from_slice(&self.head[2..10]);
                (u64::from_be_bytes(length), 10)
            }
            length => (u64::from(length), 2),
        };
        if opcode.is_control() && (!is_last || left > 125) {
            return Err("a control frame that is too long or fragmented");
        }
        let mut mask = [0; 4];
        if masked {
            mask.copy_from_slice(&self.head[behind..behind + 4]);
        }
        Ok(Some(Current { opcode, is_last, mask, left }))
    }

    /// Size of the header, as far as known.
    fn head_bytes(&self) -> usize {
        if self.have < 2 {
            return 2;
        }
        let length = match self.head[1] & 0x7f {
            126 => 4,
            127 => 10,
            _ => 2,
        };
        length + if self.head[1] & 0x80 != 0 { 4 } else { 0 }
    }
}

/// Appends a whole frame. Client frames are masked, here with zeros: masking prevents web pages from forging requests
/// through a proxy, which does not apply here.
pub fn put_frame(output: &mut Vec<u8>, opcode: Opcode, masked: bool, payload: &[u8]) {
    output.push(0x80 | opcode.number());
    let mask = if masked { 0x80 } else { 0 };
    match payload.len() {
        length @ 0..126 => output.push(mask | length as u8),
        length @ 126..65_536 => {
            output.push(mask | 0x7e);
            output.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            output.push(mask | 0x7f);
            output.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    if masked {
        output.extend_from_slice(&[0; 4]);
    }
    output.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Messages in `bytes`, unmasked, fed in pieces that end at `cuts`.
    fn read(bytes: &[u8], cuts: &[usize], masked: bool) -> Result<Vec<(Opcode, Vec<u8>)>, &'static str> {
        let (mut reader, mut seen, mut from, mut payload) =
            (FrameReader::default(), Vec::new(), 0, Vec::new());
        for &to in cuts.iter().chain([&bytes.len()]) {
            let mut piece = &bytes[from..to];
            from = to;
            while let Some(frame) = reader.next(&mut piece, masked)? {
                payload.extend(
                    frame.payload.iter().zip(frame.mask.iter().cycle()).map(|(byte, mask)| byte ^ mask),
                );
                if frame.is_complete {
                    seen.push((frame.opcode, std::mem::take(&mut payload)));
                }
            }
        }
        Ok(seen)
    }

    #[test]
    fn the_examples_of_the_rfc() {
        // Section 5.7: a text without a mask, and with one.
        let plain = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
        assert_eq!(read(&plain, &[], false).unwrap(), [(Opcode::Text, b"Hello".to_vec())]);
        let masked = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(read(&masked, &[8], true).unwrap(), [(Opcode::Text, b"Hello".to_vec())]);
    }

    #[test]
    fn broken_rules_are_named() {
        assert_eq!(read(&[0x83, 0], &[], false), Err("an unknown opcode"));
        assert_eq!(read(&[0xc1, 0], &[], false), Err("reserved bits without a negotiated extension"));
        assert_eq!(read(&[0x81, 0], &[], true), Err("a frame without a mask"));
        assert_eq!(read(&[0x09, 0], &[], false), Err("a control frame that is too long or fragmented"));
    }

    proptest! {
        #[test]
        fn what_is_put_is_read(payload in prop::collection::vec(any::<u8>(), 0..300), masked: bool, cut in 0_usize..300) {
            let mut bytes = Vec::new();
            put_frame(&mut bytes, Opcode::Binary, masked, &payload);
            let cut = cut.min(bytes.len());
            prop_assert_eq!(read(&bytes, &[cut], masked).unwrap(), [(Opcode::Binary, payload)]);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), masked: bool) {
            let _ = read(&bytes, &[], masked);
        }
    }
}
