//! The part of a connection common to client and server: header continuation, settings, pings, and windows.

use std::borrow::Cow;

use super::frame::{FramePart, flag, kind, put_head, put_number, setting, settings, unpadded};
use super::{FIRST_WINDOW_BYTES, MAX_BLOCK_BYTES, MAX_WINDOW_BYTES};
use crate::response::ProtocolError;

/// The state of a connection outside of its streams.
#[derive(Debug)]
pub(super) struct Session {
    /// True if the peer's settings have arrived.
    pub(super) settings_received: bool,
    block: Vec<u8>,
    /// A header block that continues in further frames: its stream, and true if the stream ends with it.
    continuing: Option<(u32, bool)>,
    /// The peer's initial window of a stream.
    pub(super) first_window_bytes: i64,
    /// The peer's current window of the connection.
    pub(super) window_bytes: i64,
    /// Our window of the connection.
    own_window_bytes: u32,
    /// Bytes received since our last update of that window.
    received_bytes: u32,
}

/// The effect of a frame on streams.
#[derive(Debug)]
pub(super) enum FrameEvent<'a> {
    /// Data of a stream; `length` includes padding.
    Data { stream: u32, data: &'a [u8], length: u32, end: bool },
    /// A header block.
    Block { stream: u32, block: Cow<'a, [u8]>, end: bool },
    /// The peer reset the stream, with this error code.
    Reset { stream: u32, code: u32 },
    /// Settings: the change of every stream's window, the limit on concurrent streams, and the size of the dynamic
    /// table.
    Settings { grown_bytes: i64, max_streams: Option<u32>, table_bytes: Option<u32> },
    /// The window of a stream has grown; stream 0 is the connection, whose window is already updated.
    Window { stream: u32, grown_bytes: i64 },
    /// The peer processes no stream above this one.
    GoAway { last: u32, code: u32 },
    /// No effect.
    Nothing,
}

impl Session {
    /// A connection on which our window has this size.
    pub(super) fn new(own_window_bytes: u32) -> Self {
        Self {
            settings_received: false,
            block: Vec::new(),
            continuing: None,
            first_window_bytes: FIRST_WINDOW_BYTES,
            window_bytes: FIRST_WINDOW_BYTES,
            own_window_bytes,
            received_bytes: 0,
        }
    }

    /// True if a header block is incomplete.
    pub(super) fn is_in_block(&self) -> bool {
        self.continuing.is_some()
    }

    /// Appends the first update of the connection's window.
    pub(super) fn open_window(&self, output: &mut Vec<u8>) {
        let more = self.own_window_bytes.saturating_sub(FIRST_WINDOW_BYTES as u32);
        if more > 0 {
            put_number(output, kind::WINDOW_UPDATE, 0, more);
        }
    }

    /// Processes a piece, replies to connection-level frames, and returns the effect on streams.
    pub(super) fn take<'a>(
        &mut self,
        piece: &'a FramePart<'_>,
        output: &mut Vec<u8>,
    ) -> Result<FrameEvent<'a>, ProtocolError> {
        let (head, payload) = (piece.head, piece.payload);
        let stream = head.stream;
        if !self.settings_received && (head.kind != kind::SETTINGS || head.has(flag::ACK)) {
            return Err(ProtocolError::NotHttp2);
        }
        if self.continuing.is_some() != (head.kind == kind::CONTINUATION) {
            return Err(ProtocolError::Http2("a header block interrupted by another frame"));
        }
        let unpadded =
            || unpadded(head, payload).ok_or(ProtocolError::Http2("padding longer than its frame"));
        Ok(match head.kind {
            kind::DATA => {
                let length = head.length as u32;
                self.receive(length, output)?;
                FrameEvent::Data { stream, data: unpadded()?, length, end: head.has(flag::END_STREAM) }
            }
            kind::HEADERS => {
                let (block, end) = (unpadded()?, head.has(flag::END_STREAM));
                if head.has(flag::END_HEADERS) {
                    return Ok(FrameEvent::Block { stream, block: block.into(), end });
                }
                self.block.clear();
                self.block.extend_from_slice(block);
                self.continuing = Some((stream, end));
                FrameEvent::Nothing
            }
            kind::CONTINUATION => {
                let Some((stream, end)) = self.continuing.filter(|(id, _)| *id == stream) else {
                    return Err(ProtocolError::Http2("a header block that continues on another stream"));
                };
                self.block.extend_from_slice(payload);
                if self.block.len() > MAX_BLOCK_BYTES {
                    return Err(ProtocolError::Http2("a header block larger than 300 KiB"));
                }
                if !head.has(flag::END_HEADERS) {
                    return Ok(FrameEvent::Nothing);
                }
                self.continuing = None;
                FrameEvent::Block { stream, block: std::mem::take(&mut self.block).into(), end }
            }
            kind::RST_STREAM => {
                let code = number(payload).ok_or(ProtocolError::Http2("an RST_STREAM of invalid size"))?;
                FrameEvent::Reset { stream, code }
            }
            kind::SETTINGS => self.settle(piece, output)?,
            kind::PUSH_PROMISE => return Err(ProtocolError::Http2("a push, although push is disabled")),
            kind::PING if payload.len() != 8 => return Err(ProtocolError::Http2("a PING of invalid size")),
            kind::PING if !head.has(flag::ACK) => {
                put_head(output, 8, kind::PING, flag::ACK, 0);
                output.extend_from_slice(payload);
                FrameEvent::Nothing
            }
            kind::GOAWAY => {
                let at =
                    |range| payload.get(range).and_then(number).ok_or(ProtocolError::Http2("a short GOAWAY"));
                FrameEvent::GoAway { last: at(0..4)? & MAX_WINDOW_BYTES, code: at(4..8)? }
            }
            kind::WINDOW_UPDATE => {
                let grown_bytes =
                    number(payload).ok_or(ProtocolError::Http2("a WINDOW_UPDATE of invalid size"))?;
                let grown_bytes = i64::from(grown_bytes & MAX_WINDOW_BYTES);
                if grown_bytes == 0 {
                    return Err(ProtocolError::Http2("a WINDOW_UPDATE of zero"));
                }
                if stream == 0 {
                    grow(&mut self.window_bytes, grown_bytes)?;
                }
                FrameEvent::Window { stream, grown_bytes }
            }
            // PRIORITY and unknown frame types are ignored (RFC 9113, section 4.1).
            _ => FrameEvent::Nothing,
        })
    }

    fn receive(&mut self, length: u32, output: &mut Vec<u8>) -> Result<(), ProtocolError> {
        self.received_bytes += length;
        if self.received_bytes > self.own_window_bytes {
            return Err(ProtocolError::Http2("more data than the connection's window"));
        }
        if self.received_bytes > self.own_window_bytes / 2 {
            put_number(output, kind::WINDOW_UPDATE, 0, self.received_bytes);
            self.received_bytes = 0;
        }
        Ok(())
    }

    fn settle(
        &mut self,
        piece: &FramePart<'_>,
        output: &mut Vec<u8>,
    ) -> Result<FrameEvent<'static>, ProtocolError> {
        let settings = settings(piece.payload).filter(|_| piece.head.stream == 0);
        let settings = settings.ok_or(ProtocolError::Http2("SETTINGS of invalid size, or on a stream"))?;
        if piece.head.has(flag::ACK) {
            return Ok(FrameEvent::Nothing);
        }
        let (mut grown_bytes, mut max_streams, mut table_bytes) = (0, None, None);
        for (name, value) in settings {
            match name {
                setting::HEADER_TABLE_SIZE => table_bytes = Some(value),
                setting::MAX_CONCURRENT_STREAMS => max_streams = Some(value),
                setting::INITIAL_WINDOW_SIZE if value > MAX_WINDOW_BYTES => {
                    return Err(ProtocolError::Http2("a window larger than 2 GiB"));
                }
                setting::INITIAL_WINDOW_SIZE => {
                    grown_bytes += i64::from(value) - self.first_window_bytes;
                    self.first_window_bytes = i64::from(value);
                }
                // Our frames never exceed the smallest value that this setting may have.
                _ => {}
            }
        }
        self.settings_received = true;
        put_head(output, 0, kind::SETTINGS, flag::ACK, 0);
        Ok(FrameEvent::Settings { grown_bytes, max_streams, table_bytes })
    }
}

/// Increases a window.
pub(super) fn grow(window_bytes: &mut i64, grown_bytes: i64) -> Result<(), ProtocolError> {
    *window_bytes += grown_bytes;
    if *window_bytes > i64::from(MAX_WINDOW_BYTES) {
        return Err(ProtocolError::Http2("a window larger than 2 GiB"));
    }
    Ok(())
}

/// Counts bytes received on a stream against its window, and updates the window when half of it is used.
pub(super) fn receive_on_stream(
    received_bytes: &mut u32,
    length: u32,
    own_window_bytes: u32,
    updates: Option<u32>,
    output: &mut Vec<u8>,
) -> Result<(), ProtocolError> {
    *received_bytes += length;
    if *received_bytes > own_window_bytes {
        return Err(ProtocolError::Http2("more data than the stream's window"));
    }
    if let Some(stream) = updates
        && *received_bytes > own_window_bytes / 2
    {
        put_number(output, kind::WINDOW_UPDATE, stream, *received_bytes);
        *received_bytes = 0;
    }
    Ok(())
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}
