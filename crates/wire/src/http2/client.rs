//! The client's side of a connection: requests go out on streams, answers come back in any order.

use std::sync::Arc;

use super::frame::{FrameReader, Head, MAX_PAYLOAD_BYTES, Piece, flag, kind, setting, unpadded};
use super::frame::{put_head, put_number, put_settings, settings};
use super::hpack::Decoder;
use super::request::FieldTable;
use super::{CANCEL, FIRST_WINDOW_BYTES, MAX_BLOCK_BYTES, MAX_WINDOW_BYTES, PREFACE};
use crate::answer::{Answer, Broken, Event, ExpectedHeader, Loss};
use crate::encoded::Encoded;

/// What our side takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Requests at once on a connection.
    pub streams: u32,
    /// Bytes of an answer that may be under way.
    pub stream_window_bytes: u32,
    /// Bytes of all answers of a connection that may be.
    pub connection_window_bytes: u32,
}

impl Settings {
    /// So many streams, with windows that hold back no answer below 16 MiB.
    pub fn of_streams(streams: u32) -> Self {
        Self { streams, stream_window_bytes: 16 << 20, connection_window_bytes: 64 << 20 }
    }
}

/// A connection of HTTP/2.
#[derive(Debug)]
pub struct Http2 {
    frames: FrameReader,
    state: State,
}

/// All but the frames that are being read.
#[derive(Debug)]
struct State {
    settings: Settings,
    expected: Option<Arc<[ExpectedHeader]>>,
    streams: Box<[Stream]>,
    decoder: Decoder,
    table: FieldTable,
    block: Vec<u8>,
    /// A header block that has more frames to come: its stream, and whether the stream ends with it.
    continuing: Option<(u32, bool)>,
    next_id: u32,
    /// Whether the server's settings have come.
    is_settled: bool,
    /// What the server takes.
    first_window_bytes: i64,
    max_streams: u32,
    window_bytes: i64,
    /// Bytes that came since our last update of the connection's window.
    received_bytes: u32,
}

/// A request under way; `id` is 0 while there is none.
#[derive(Clone, Debug, Default)]
struct Stream {
    id: u32,
    is_head: bool,
    status: u16,
    grpc_status: Option<u16>,
    length: Option<u64>,
    body_bytes: u64,
    /// Which of the expected headers have come, as bits.
    matched: u64,
    window_bytes: i64,
    received_bytes: u32,
    /// What is left of the request's body.
    unsent: Vec<u8>,
}

impl Http2 {
    /// A connection that has sent nothing yet.
    pub fn new(settings: Settings, expected: Option<Arc<[ExpectedHeader]>>) -> Self {
        let streams = vec![Stream::default(); settings.streams as usize];
        Self {
            frames: FrameReader::default(),
            state: State {
                settings,
                expected,
                streams: streams.into(),
                decoder: Decoder::default(),
                table: FieldTable::default(),
                block: Vec::new(),
                continuing: None,
                next_id: 1,
                is_settled: false,
                first_window_bytes: FIRST_WINDOW_BYTES,
                max_streams: u32::MAX,
                window_bytes: FIRST_WINDOW_BYTES,
                received_bytes: 0,
            },
        }
    }

    /// Appends what every connection begins with.
    pub fn open(&self, output: &mut Vec<u8>) {
        let settings = &self.state.settings;
        output.extend_from_slice(PREFACE);
        put_settings(
            output,
            &[(setting::ENABLE_PUSH, 0), (setting::INITIAL_WINDOW_SIZE, settings.stream_window_bytes)],
        );
        let more = settings.connection_window_bytes.saturating_sub(FIRST_WINDOW_BYTES as u32);
        if more > 0 {
            put_number(output, kind::WINDOW_UPDATE, 0, more);
        }
    }

    /// Whether the server's settings have come, which shows that it speaks HTTP/2.
    pub fn is_settled(&self) -> bool {
        self.state.is_settled
    }

    /// The number of streams that the server takes at once.
    pub fn max_streams(&self) -> u32 {
        self.state.max_streams
    }

    /// Appends a request on a free stream; `bytes` are those of the request, with what is different in each filled in.
    pub fn send(&mut self, stream: u32, request: &Encoded, bytes: &[u8], output: &mut Vec<u8>) {
        self.state.send(stream as usize, request, bytes, output);
    }

    /// Whether all of the request on a stream is sent.
    pub fn is_sent(&self, stream: u32) -> bool {
        self.state.streams.get(stream as usize).is_none_or(|stream| stream.unsent.is_empty())
    }

    /// Whether the answer on a stream has begun.
    pub fn has_begun(&self, stream: u32) -> bool {
        self.state.streams.get(stream as usize).is_some_and(|stream| stream.status > 0)
    }

    /// Gives a request up; its stream is free.
    pub fn cancel(&mut self, stream: u32, output: &mut Vec<u8>) {
        if let Some(stream) = self.state.streams.get_mut(stream as usize)
            && stream.id > 0
        {
            put_number(output, kind::RST_STREAM, stream.id, CANCEL);
            *stream = Stream::default();
        }
    }

    /// Whether this connection has no number left for another request.
    pub fn is_used_up(&self) -> bool {
        self.state.next_id > 0x7fff_fff0
    }

    /// Takes the bytes of one read; replies of the protocol itself are appended to `output`.
    ///
    /// # Errors
    /// When they break the rules of the protocol; the connection is then of no further use.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), Broken> {
        loop {
            let piece = self.frames.next(&mut bytes);
            let Ok(piece) = piece else {
                return Err(if self.state.is_settled {
                    Broken::Http2("a frame larger than 16 KiB")
                } else {
                    Broken::NotHttp2
                });
            };
            let Some(piece) = piece else { return Ok(()) };
            self.state.take(&piece, output, events)?;
        }
    }
}

impl State {
    fn send(&mut self, slot: usize, request: &Encoded, bytes: &[u8], output: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        let body = bytes.get(request.body_from..).unwrap_or_default();
        *stream = Stream {
            id: self.next_id,
            is_head: request.is_head,
            window_bytes: self.first_window_bytes,
            // Its buffer is used again.
            unsent: std::mem::take(&mut stream.unsent),
            ..Stream::default()
        };
        stream.unsent.clear();
        let id = self.next_id;
        self.next_id += 2;
        let end = if body.is_empty() { flag::END_STREAM } else { 0 };
        // The block goes behind its frame's head, whose length is then known.
        let from = output.len();
        put_head(output, 0, kind::HEADERS, flag::END_HEADERS | end, id);
        let block_from = output.len();
        self.table.put(request, bytes, output);
        let length = output.len() - block_from;
        if length <= MAX_PAYLOAD_BYTES {
            output[from..from + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
        } else {
            let block = output.split_off(block_from);
            output.truncate(from);
            Self::put_long_block(&block, id, end, output);
        }
        self.send_body(slot, Some(body), output);
    }

    fn put_long_block(block: &[u8], id: u32, end: u8, output: &mut Vec<u8>) {
        let pieces = block.chunks(MAX_PAYLOAD_BYTES);
        let last = pieces.len() - 1;
        for (number, piece) in pieces.enumerate() {
            let done = if number == last { flag::END_HEADERS } else { 0 };
            let (kind, flags) =
                if number == 0 { (kind::HEADERS, done | end) } else { (kind::CONTINUATION, done) };
            put_head(output, piece.len(), kind, flags, id);
            output.extend_from_slice(piece);
        }
    }

    /// Sends as much of a body as the windows let; the body, or what was left of it.
    fn send_body(&mut self, slot: usize, body: Option<&[u8]>, output: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        let kept = std::mem::take(&mut stream.unsent);
        let mut rest = body.unwrap_or(&kept);
        while !rest.is_empty() {
            let window = self.window_bytes.min(stream.window_bytes).max(0) as usize;
            let length = rest.len().min(window).min(MAX_PAYLOAD_BYTES);
            if length == 0 {
                break;
            }
            let (piece, behind) = rest.split_at(length);
            let end = if behind.is_empty() { flag::END_STREAM } else { 0 };
            put_head(output, length, kind::DATA, end, stream.id);
            output.extend_from_slice(piece);
            self.window_bytes -= length as i64;
            stream.window_bytes -= length as i64;
            rest = behind;
        }
        if rest.is_empty() {
            // The buffer stays with its stream.
            stream.unsent = kept;
            stream.unsent.clear();
        } else {
            stream.unsent = rest.to_vec();
        }
    }

    fn send_bodies(&mut self, output: &mut Vec<u8>) {
        for slot in 0..self.streams.len() {
            if self.streams.get(slot).is_some_and(|stream| !stream.unsent.is_empty()) {
                self.send_body(slot, None, output);
            }
        }
    }

    fn slot(&self, id: u32) -> Option<usize> {
        self.streams.iter().position(|stream| stream.id == id).filter(|_| id > 0)
    }

    /// The slot of a stream that the server speaks of; None for one that is over.
    fn known(&self, id: u32) -> Result<Option<usize>, Broken> {
        if id == 0 || id.is_multiple_of(2) || id >= self.next_id {
            return Err(Broken::Http2("a frame for a stream that no request was sent on"));
        }
        Ok(self.slot(id))
    }

    fn take(
        &mut self,
        piece: &Piece<'_>,
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), Broken> {
        let (head, payload) = (piece.head, piece.payload);
        if !self.is_settled && (head.kind != kind::SETTINGS || head.has(flag::ACK)) {
            return Err(Broken::NotHttp2);
        }
        if self.continuing.is_some() != (head.kind == kind::CONTINUATION) {
            return Err(Broken::Http2("a header block that another frame interrupts"));
        }
        match head.kind {
            kind::DATA => self.take_data(head, payload, output, events),
            kind::HEADERS => {
                let block = unpadded(head, payload).ok_or(Broken::Http2("padding longer than its frame"))?;
                let (id, end) = (head.stream, head.has(flag::END_STREAM));
                if head.has(flag::END_HEADERS) {
                    return self.take_block(id, end, block, output, events);
                }
                self.block.clear();
                self.block.extend_from_slice(block);
                self.continuing = Some((id, end));
                Ok(())
            }
            kind::CONTINUATION => {
                let Some((id, end)) = self.continuing.filter(|(id, _)| *id == head.stream) else {
                    return Err(Broken::Http2("a header block that goes on in another stream"));
                };
                self.block.extend_from_slice(payload);
                if self.block.len() > MAX_BLOCK_BYTES {
                    return Err(Broken::Http2("a header block larger than 64 KiB"));
                }
                if head.has(flag::END_HEADERS) {
                    self.continuing = None;
                    let block = std::mem::take(&mut self.block);
                    let taken = self.take_block(id, end, &block, output, events);
                    self.block = block;
                    return taken;
                }
                Ok(())
            }
            kind::RST_STREAM => {
                let code = number(payload).ok_or(Broken::Http2("a reset of a wrong size"))?;
                if let Some(slot) = self.known(head.stream)? {
                    self.lose(slot, Loss::Reset(code), events);
                }
                Ok(())
            }
            kind::SETTINGS => self.take_settings(head, payload, output),
            kind::PUSH_PROMISE => Err(Broken::Http2("a push that was not asked for")),
            kind::PING if payload.len() != 8 => Err(Broken::Http2("a ping of a wrong size")),
            kind::PING if !head.has(flag::ACK) => {
                put_head(output, 8, kind::PING, flag::ACK, 0);
                output.extend_from_slice(payload);
                Ok(())
            }
            kind::GOAWAY => {
                let last = payload.get(..4).and_then(number).ok_or(Broken::Http2("a short goodbye"))?;
                let code = payload.get(4..8).and_then(number).ok_or(Broken::Http2("a short goodbye"))?;
                events.push(Event::Retired { code });
                for slot in 0..self.streams.len() {
                    if self.streams.get(slot).is_some_and(|stream| stream.id > last & 0x7fff_ffff) {
                        self.lose(slot, Loss::Unseen, events);
                    }
                }
                Ok(())
            }
            kind::WINDOW_UPDATE => self.take_window(head.stream, payload, output),
            // Priorities, and kinds of frames that are not known, say nothing to us (RFC 9113, section 4.1).
            _ => Ok(()),
        }
    }

    fn take_data(
        &mut self,
        head: Head,
        payload: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), Broken> {
        let data = unpadded(head, payload).ok_or(Broken::Http2("padding longer than its frame"))?;
        let length = head.length as u32;
        self.received_bytes += length;
        if self.received_bytes > self.settings.connection_window_bytes {
            return Err(Broken::Http2("more data than the connection's window"));
        }
        if self.received_bytes > self.settings.connection_window_bytes / 2 {
            put_number(output, kind::WINDOW_UPDATE, 0, self.received_bytes);
            self.received_bytes = 0;
        }
        let Some(slot) = self.known(head.stream)? else { return Ok(()) };
        let Some(stream) = self.streams.get_mut(slot) else { return Ok(()) };
        if stream.status == 0 {
            return Err(Broken::Http2("data before headers"));
        }
        stream.body_bytes += data.len() as u64;
        stream.received_bytes += length;
        if stream.received_bytes > self.settings.stream_window_bytes {
            return Err(Broken::Http2("more data than the stream's window"));
        }
        if head.has(flag::END_STREAM) {
            self.finish(slot, output, events);
        } else if stream.received_bytes > self.settings.stream_window_bytes / 2 {
            put_number(output, kind::WINDOW_UPDATE, stream.id, stream.received_bytes);
            stream.received_bytes = 0;
        }
        Ok(())
    }

    fn take_block(
        &mut self,
        id: u32,
        end: bool,
        block: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), Broken> {
        let slot = self.known(id)?;
        let (mut status, mut grpc_status, mut length, mut matched) = (0, None, None, 0_u64);
        let expected = self.expected.as_deref().unwrap_or_default();
        let each = |name: &[u8], value: &[u8]| {
            match name {
                b":status" => status = decimal(value).unwrap_or(0) as u16,
                b"grpc-status" => grpc_status = Some(decimal(value).map_or(u16::MAX, |status| status as u16)),
                b"content-length" => length = decimal(value),
                _ => {}
            }
            for (bit, header) in expected.iter().enumerate() {
                matched |= u64::from(is(header, name, value)) << bit.min(63);
            }
        };
        // Also that of a stream that is over: the table must not miss what is in it.
        self.decoder.decode(block, each).map_err(|_| Broken::Http2("a header block that cannot be read"))?;
        let Some(stream) = slot.and_then(|slot| self.streams.get_mut(slot)) else { return Ok(()) };
        let slot = slot.unwrap_or_default();
        if stream.status == 0 {
            if !(100..1000).contains(&status) {
                return Err(Broken::Http2("an answer without a status"));
            }
            if status < 200 && !end {
                // It announces the answer, it is not the answer.
                return Ok(());
            }
            stream.status = status;
            stream.length = length;
            events.push(Event::Begun { stream: slot as u32 });
        } else if !end {
            return Err(Broken::Http2("trailers that do not end their stream"));
        }
        stream.matched |= matched;
        stream.grpc_status = grpc_status.or(stream.grpc_status);
        if end {
            self.finish(slot, output, events);
        }
        Ok(())
    }

    /// The server has sent all of an answer.
    fn finish(&mut self, slot: usize, output: &mut Vec<u8>, events: &mut Vec<Event>) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        if !stream.unsent.is_empty() {
            // It did not want the rest of the request.
            put_number(output, kind::RST_STREAM, stream.id, CANCEL);
            stream.unsent.clear();
        }
        let has_body = !stream.is_head && stream.status != 304;
        let wrong_length = has_body && stream.length.is_some_and(|length| length != stream.body_bytes);
        let all = self.expected.as_ref().map_or(0, |expected| (1_u64 << expected.len().min(63)) - 1);
        let answer = Answer {
            status: stream.status,
            grpc_status: stream.grpc_status,
            body_bytes: stream.body_bytes,
            keep_alive: true,
            has_headers: stream.matched & all == all,
        };
        stream.id = 0;
        let stream = slot as u32;
        events.push(if wrong_length {
            Event::Lost { stream, loss: Loss::Malformed }
        } else {
            Event::Answered { stream, answer }
        });
    }

    fn lose(&mut self, slot: usize, loss: Loss, events: &mut Vec<Event>) {
        if let Some(stream) = self.streams.get_mut(slot) {
            stream.id = 0;
            stream.unsent.clear();
            events.push(Event::Lost { stream: slot as u32, loss });
        }
    }

    fn take_settings(&mut self, head: Head, payload: &[u8], output: &mut Vec<u8>) -> Result<(), Broken> {
        let settings = settings(payload).filter(|_| head.stream == 0);
        let settings = settings.ok_or(Broken::Http2("settings of a wrong size, or on a stream"))?;
        if head.has(flag::ACK) {
            return Ok(());
        }
        for (name, value) in settings {
            match name {
                setting::HEADER_TABLE_SIZE => self.table.limit(value as usize),
                setting::MAX_CONCURRENT_STREAMS => self.max_streams = value,
                setting::INITIAL_WINDOW_SIZE if value > MAX_WINDOW_BYTES => {
                    return Err(Broken::Http2("a window larger than 2 GiB"));
                }
                setting::INITIAL_WINDOW_SIZE => {
                    let more = i64::from(value) - self.first_window_bytes;
                    self.first_window_bytes = i64::from(value);
                    for stream in self.streams.iter_mut().filter(|stream| stream.id > 0) {
                        stream.window_bytes += more;
                    }
                }
                // What we send never needs more than the least that it may be.
                _ => {}
            }
        }
        self.is_settled = true;
        put_head(output, 0, kind::SETTINGS, flag::ACK, 0);
        self.send_bodies(output);
        Ok(())
    }

    fn take_window(&mut self, id: u32, payload: &[u8], output: &mut Vec<u8>) -> Result<(), Broken> {
        let more = number(payload).ok_or(Broken::Http2("a window update of a wrong size"))? & 0x7fff_ffff;
        if more == 0 {
            return Err(Broken::Http2("a window update of nothing"));
        }
        let window = if id == 0 {
            &mut self.window_bytes
        } else {
            let Some(slot) = self.known(id)? else { return Ok(()) };
            let Some(stream) = self.streams.get_mut(slot) else { return Ok(()) };
            &mut stream.window_bytes
        };
        *window += i64::from(more);
        if *window > i64::from(MAX_WINDOW_BYTES) {
            return Err(Broken::Http2("a window larger than 2 GiB"));
        }
        self.send_bodies(output);
        Ok(())
    }
}

fn is(header: &ExpectedHeader, name: &[u8], value: &[u8]) -> bool {
    header.name.as_bytes().eq_ignore_ascii_case(name)
        && header.value.as_ref().is_none_or(|expected| expected.trim().as_bytes() == value.trim_ascii())
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

fn decimal(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}
