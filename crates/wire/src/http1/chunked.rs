//! Chunked bodies (RFC 9112, section 7.1): sizes, extensions and trailers are parsed, data is
//! counted and passed on.

use crate::malformed::Malformed;

/// Maximum size of a chunk-size line with its extensions, and of all trailers together.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Parses one chunked body.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkedBody {
    state: State,
    /// Size of the chunk whose size line is being parsed.
    size: u64,
    /// True if the size line has had a digit.
    digits: bool,
    /// Bytes of the current line, or of the trailers.
    line_bytes: usize,
}

/// The result of one feed.
#[derive(Clone, Copy, Debug)]
pub struct ChunkedProgress {
    /// Bytes that belong to the body.
    pub consumed: usize,
    /// Number of these bytes that are data.
    pub data_bytes: u64,
    /// True if the body is complete.
    pub complete: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    Extension,
    SizeLineFeed,
    Data(u64),
    DataCarriageReturn,
    DataLineFeed,
    TrailerStart,
    TrailerLine,
    TrailerLineFeed,
    EndLineFeed,
}

impl ChunkedBody {
    /// Consumes bytes up to the end of the body.
    ///
    /// # Errors
    /// When the chunks are invalid, or a line is longer than 16 KiB.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<ChunkedProgress, Malformed> {
        self.feed_to(bytes, |_| {})
    }

    /// Like [`Self::feed`], and passes the data to `each`.
    ///
    /// # Errors
    /// As [`Self::feed`].
    pub fn feed_to(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<ChunkedProgress, Malformed> {
        let mut at = 0;
        let mut data_bytes = 0;
        while let Some(&byte) = bytes.get(at) {
            if let State::Data(left) = self.state {
                let taken = ((bytes.len() - at) as u64).min(left);
                let from = at;
                at += taken as usize;
                each(bytes.get(from..at).unwrap_or_default());
                data_bytes += taken;
                self.state =
                    if taken == left { State::DataCarriageReturn } else { State::Data(left - taken) };
                continue;
            }
            at += 1;
            if self.step(byte)? {
                return Ok(ChunkedProgress { consumed: at, data_bytes, complete: true });
            }
        }
        Ok(ChunkedProgress { consumed: at, data_bytes, complete: false })
    }

    /// Consumes one byte that is not data; true at the end of the body.
    fn step(&mut self, byte: u8) -> Result<bool, Malformed> {
        self.line_bytes += 1;
        if self.line_bytes > MAX_LINE_BYTES {
            return Err(Malformed::ChunkLineTooLong);
        }
        self.state = match (self.state, byte) {
            (State::Size | State::Extension, b'\r') if self.digits => State::SizeLineFeed,
            (State::Size, b';' | b' ' | b'\t') if self.digits => State::Extension,
            (State::Size, _) => {
                let is_line = byte == b'\n' && self.digits;
                let digit = (byte as char).to_digit(16);
                let digit = digit.ok_or(if is_line { Malformed::ChunkLine } else { Malformed::ChunkSize })?;
                self.size = self.size.checked_mul(16).ok_or(Malformed::ChunkTooLarge)? + u64::from(digit);
                self.digits = true;
                State::Size
            }
            (State::Extension, other) if other != b'\n' => State::Extension,
            (State::SizeLineFeed, b'\n') => {
                self.line_bytes = 0;
                if self.size == 0 { State::TrailerStart } else { State::Data(self.size) }
            }
            (State::DataCarriageReturn, b'\r') => State::DataLineFeed,
            (State::DataLineFeed, b'\n') => {
                (self.size, self.digits, self.line_bytes) = (0, false, 0);
                State::Size
            }
            (State::TrailerStart, b'\r') => State::EndLineFeed,
            (State::TrailerLine, b'\r') => State::TrailerLineFeed,
            (State::TrailerLineFeed, b'\n') => State::TrailerStart,
            (State::TrailerStart | State::TrailerLine, other) if other != b'\n' => State::TrailerLine,
            (State::EndLineFeed, b'\n') => return Ok(true),
            (State::DataCarriageReturn, b'\n') => return Err(Malformed::ChunkLine),
            (State::DataCarriageReturn | State::DataLineFeed, _) => return Err(Malformed::ChunkEnd),
            _ => return Err(Malformed::ChunkLine),
        };
        Ok(false)
    }
}
