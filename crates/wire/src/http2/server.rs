//! The server side of a connection, for the origin: requests are received whole, responses are sent as flow control
//! allows.

use super::PREFACE;
use super::frame::{FramePart, FrameReader, MAX_PAYLOAD_BYTES, flag, kind, setting};
use super::frame::{Setting, put_block, put_head, put_number, put_settings};
use super::hpack::{Decoder, put_field};
use super::session::{FrameEvent, Session, grow, receive_on_stream};
use crate::error_codes::{CANCEL, NO_ERROR};
use crate::response::ProtocolError;
use crate::server::{Body, Head, IsStreaming, MAX_BODY_BYTES, MAX_UNSENT_BYTES, ServerEvent};

/// Limit on concurrent streams of a client.
const MAX_STREAMS: u32 = 4096;
/// Flow-control window for requests, of a stream and of the connection.
const WINDOW_BYTES: u32 = 16 << 20;
/// Maximum size of pending output.
const OUTPUT_BYTES: usize = 256 * 1024;
/// The server side of one connection.
#[derive(Debug, Default)]
pub struct Server {
    frames: FrameReader,
    state: State,
}

#[derive(Debug)]
struct State {
    /// Bytes of the preface received.
    preface: usize,
    session: Session,
    decoder: Decoder,
    streams: Vec<Stream>,
    last_id: u32,
    is_streaming: IsStreaming,
}

/// A request without a complete response.
#[derive(Debug)]
struct Stream {
    id: u32,
    /// Present until the request is complete and reported.
    request: Option<(Head, Vec<u8>)>,
    keeps_body: bool,
    /// True if parts of the request are reported as they arrive.
    is_reported_in_parts: bool,
    /// True if more of the response may follow.
    is_streaming: bool,
    received_bytes: u32,
    /// Received bytes that are processed, for which the window opens again.
    released_bytes: u32,
    window_bytes: i64,
    /// The response's body with the number of bytes sent, and the header block of its trailers.
    response: Option<(Body, u64, Vec<u8>)>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            preface: 0,
            session: Session::new(WINDOW_BYTES),
            decoder: Decoder::default(),
            streams: Vec::new(),
            last_id: 0,
            is_streaming: |_| false,
        }
    }
}

impl Server {
    /// A server that reports requests for which `is_streaming` is true while they arrive.
    pub fn streaming(is_streaming: IsStreaming) -> Self {
        Self { state: State { is_streaming, ..State::default() }, ..Self::default() }
    }

    /// Appends the settings.
    pub fn open(&self, output: &mut Vec<u8>) {
        let settings = [
            Setting { id: setting::MAX_CONCURRENT_STREAMS, value: MAX_STREAMS },
            Setting { id: setting::INITIAL_WINDOW_SIZE, value: WINDOW_BYTES },
        ];
        put_settings(output, &settings);
        self.state.session.open_window(output);
    }

    /// True if no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.state.streams.is_empty() && self.frames.is_at_boundary() && !self.state.session.is_in_block()
    }

    /// Processes the bytes of one read.
    ///
    /// # Errors
    /// When they violate the protocol; the connection is then unusable.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<ServerEvent>,
    ) -> Result<(), ProtocolError> {
        while let Some(expected) = PREFACE.get(self.state.preface)
            && let Some((first, rest)) = bytes.split_first()
        {
            if first != expected {
                return Err(ProtocolError::NotHttp2);
            }
            self.state.preface += 1;
            bytes = rest;
        }
        loop {
            let piece = self
                .frames
                .next(&mut bytes)
                .map_err(|_| ProtocolError::Http2("a frame larger than 16 KiB"))?;
            let Some(piece) = piece else { return Ok(()) };
            self.state.take(&piece, output, events)?;
        }
    }

    /// Starts the response to a request; [`Self::pump`] sends the rest when flow control and the output have room.
    pub fn respond(
        &mut self,
        id: u32,
        fields: &[(&str, &str)],
        body: Body,
        trailers: &[(&str, &str)],
        output: &mut Vec<u8>,
    ) {
        let state = &mut self.state;
        let Some(index) = state.streams.iter().position(|stream| stream.id == id) else { return };
        let ends = body.len() == 0 && trailers.is_empty();
        put_fields(fields, id, ends, output);
        if ends {
            state.streams.swap_remove(index).close(output);
            return;
        }
        let mut block = Vec::new();
        for (name, value) in trailers {
            put_field(&mut block, name, value);
        }
        if let Some(stream) = state.streams.get_mut(index) {
            stream.response = Some((body, 0, block));
        }
        self.pump(output);
    }

    /// Starts the response to a streaming request.
    pub fn begin(&mut self, id: u32, fields: &[(&str, &str)], output: &mut Vec<u8>) {
        if let Some(stream) = self.state.streams.iter_mut().find(|stream| stream.id == id) {
            put_fields(fields, id, false, output);
            stream.response = Some((Body::Bytes(Vec::new()), 0, Vec::new()));
        }
    }

    /// Appends to a streaming response.
    pub fn push(&mut self, id: u32, bytes: &[u8], output: &mut Vec<u8>) {
        let state = &mut self.state;
        let Some(stream) = state.streams.iter_mut().find(|stream| stream.id == id) else { return };
        if let Some((Body::Bytes(body), sent, _)) = &mut stream.response {
            // Drop the part that has been sent.
            body.drain(..(*sent as usize).min(body.len()));
            *sent = 0;
            body.extend_from_slice(bytes);
        }
        stream.send(&mut state.session.window_bytes, output);
    }

    /// Reports that this many bytes of [`ServerEvent::Data`] are processed. The client may send as many more, once most of
    /// the response is sent.
    pub fn release(&mut self, id: u32, bytes: usize, output: &mut Vec<u8>) {
        if let Some(stream) = self.state.streams.iter_mut().find(|stream| stream.id == id) {
            let unreleased_bytes = stream.received_bytes.saturating_sub(stream.released_bytes);
            stream.released_bytes += u32::try_from(bytes).unwrap_or(unreleased_bytes).min(unreleased_bytes);
            stream.open_window(output);
        }
    }

    /// Bytes of responses that are not sent yet, over all streams.
    pub fn unsent_bytes(&self) -> u64 {
        self.state.streams.iter().map(Stream::unsent_bytes).sum()
    }

    /// Ends a streaming response. If the request has not ended, the rest of it is refused.
    pub fn finish(&mut self, id: u32, trailers: &[(&str, &str)], output: &mut Vec<u8>) {
        let Some(stream) = self.state.streams.iter_mut().find(|stream| stream.id == id) else { return };
        stream.is_streaming = false;
        if let Some((_, _, block)) = &mut stream.response {
            for (name, value) in trailers {
                put_field(block, name, value);
            }
        }
        self.pump(output);
    }

    /// Resets a request without a response.
    pub fn reset(&mut self, id: u32, output: &mut Vec<u8>) {
        self.state.streams.retain(|stream| stream.id != id);
        put_number(output, kind::RST_STREAM, id, CANCEL);
    }

    /// Appends pending output up to the size limit.
    pub fn pump(&mut self, output: &mut Vec<u8>) {
        let state = &mut self.state;
        let mut index = 0;
        while let Some(stream) = state.streams.get_mut(index) {
            if stream.send(&mut state.session.window_bytes, output) {
                state.streams.swap_remove(index).close(output);
            } else {
                index += 1;
            }
        }
    }

    /// Sends GOAWAY.
    pub fn go_away(&self, output: &mut Vec<u8>) {
        put_head(output, 8, kind::GOAWAY, 0, 0);
        output.extend_from_slice(&self.state.last_id.to_be_bytes());
        output.extend_from_slice(&[0; 4]);
    }
}

fn put_fields(fields: &[(&str, &str)], id: u32, ends: bool, output: &mut Vec<u8>) {
    let end = if ends { flag::END_STREAM } else { 0 };
    put_block(output, end, id, |output| {
        for (name, value) in fields {
            put_field(output, name, value);
        }
    });
}

impl Stream {
    /// Sends as much as flow control and the size limit allow; true when everything is sent.
    fn send(&mut self, connection_window: &mut i64, output: &mut Vec<u8>) -> bool {
        let Some((body, sent, trailers)) = &mut self.response else { return false };
        while *sent < body.len() {
            let room = (*connection_window).min(self.window_bytes).clamp(0, MAX_PAYLOAD_BYTES as i64) as u64;
            if room == 0 || output.len() > OUTPUT_BYTES {
                self.open_window(output);
                return false;
            }
            let piece = body.piece(*sent, room);
            let is_last = *sent + piece.len() as u64 == body.len() && !self.is_streaming;
            let ends = is_last && trailers.is_empty();
            put_head(output, piece.len(), kind::DATA, if ends { flag::END_STREAM } else { 0 }, self.id);
            output.extend_from_slice(piece);
            *sent += piece.len() as u64;
            *connection_window -= piece.len() as i64;
            self.window_bytes -= piece.len() as i64;
        }
        if self.is_streaming {
            self.open_window(output);
            return false;
        }
        if !trailers.is_empty() {
            put_block(output, flag::END_STREAM, self.id, |output| output.extend_from_slice(trailers));
        }
        true
    }
}

impl State {
    fn take(
        &mut self,
        piece: &FramePart<'_>,
        output: &mut Vec<u8>,
        events: &mut Vec<ServerEvent>,
    ) -> Result<(), ProtocolError> {
        match self.session.take(piece, output)? {
            FrameEvent::Data { stream, data, length, end } => {
                self.take_data(stream, data, length, end, output, events)
            }
            FrameEvent::Block { stream, block, end } => self.take_block(stream, end, &block, events),
            FrameEvent::Reset { stream, .. } => {
                let before = self.streams.len();
                self.streams.retain(|one| one.id != stream);
                if self.streams.len() < before {
                    events.push(ServerEvent::Cancelled { stream });
                }
                Ok(())
            }
            FrameEvent::Settings { grown_bytes, .. } => {
                self.streams.iter_mut().for_each(|stream| stream.window_bytes += grown_bytes);
                Ok(())
            }
            FrameEvent::Window { stream, grown_bytes } => {
                match self.streams.iter_mut().find(|one| one.id == stream) {
                    Some(stream) => grow(&mut stream.window_bytes, grown_bytes),
                    None => Ok(()),
                }
            }
            FrameEvent::GoAway { .. } | FrameEvent::Nothing => Ok(()),
        }
    }

    fn take_data(
        &mut self,
        id: u32,
        data: &[u8],
        length: u32,
        end: bool,
        output: &mut Vec<u8>,
        events: &mut Vec<ServerEvent>,
    ) -> Result<(), ProtocolError> {
        if id == 0 || id > self.last_id {
            return Err(ProtocolError::Http2("data before headers"));
        }
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == id) else {
            return Ok(());
        };
        let Some((_, body)) = &mut stream.request else {
            return Err(ProtocolError::Http2("data after the end of a request"));
        };
        if stream.is_reported_in_parts {
            // The window opens when the data is processed; there is nothing to process in padding.
            receive_on_stream(&mut stream.received_bytes, length, WINDOW_BYTES, None, output)?;
            stream.released_bytes += length.saturating_sub(data.len() as u32);
            if !data.is_empty() {
                events.push(ServerEvent::Data { stream: id, data: data.to_vec() });
            }
        } else {
            if stream.keeps_body {
                body.extend_from_slice(data);
                if body.len() > MAX_BODY_BYTES {
                    return Err(ProtocolError::Http2("a message larger than 16 MiB"));
                }
            }
            let updates = (!end).then_some(stream.id);
            receive_on_stream(&mut stream.received_bytes, length, WINDOW_BYTES, updates, output)?;
        }
        if end {
            stream.report(events);
        }
        Ok(())
    }

    fn take_block(
        &mut self,
        id: u32,
        end: bool,
        block: &[u8],
        events: &mut Vec<ServerEvent>,
    ) -> Result<(), ProtocolError> {
        let mut head = Head::default();
        let each = |name: &[u8], value: &[u8]| head.take(name, value);
        self.decoder.decode(block, each).map_err(|bad| ProtocolError::Http2(bad.as_str()))?;
        if id == 0 || id.is_multiple_of(2) {
            return Err(ProtocolError::Http2("a request on a server stream"));
        }
        if id <= self.last_id {
            // Trailers of a request only mark its end.
            if let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == id)
                && end
            {
                stream.report(events);
            }
            return Ok(());
        }
        if !head.is_complete() {
            return Err(ProtocolError::Http2("a request without a method or a path"));
        }
        if self.streams.len() >= MAX_STREAMS as usize {
            return Err(ProtocolError::Http2("more streams than allowed"));
        }
        self.last_id = id;
        let keeps_body = head.is_grpc();
        let is_streaming = (self.is_streaming)(&head);
        if is_streaming {
            events.push(ServerEvent::Opened { stream: id, head: head.clone() });
        }
        self.streams.push(Stream {
            id,
            request: Some((head, Vec::new())),
            keeps_body,
            is_streaming,
            is_reported_in_parts: is_streaming,
            received_bytes: 0,
            released_bytes: 0,
            window_bytes: self.session.first_window_bytes,
            response: None,
        });
        if end && let Some(stream) = self.streams.last_mut() {
            stream.report(events);
        }
        Ok(())
    }
}

impl Stream {
    /// Bytes of the response that are not sent yet.
    fn unsent_bytes(&self) -> u64 {
        self.response.as_ref().map_or(0, |(body, sent, _)| body.len() - sent)
    }

    /// Opens the window of a streaming request again, once half of it is processed and the response does not pile up.
    fn open_window(&mut self, output: &mut Vec<u8>) {
        if self.request.is_some()
            && self.released_bytes > WINDOW_BYTES / 2
            && self.unsent_bytes() <= MAX_UNSENT_BYTES
        {
            put_number(output, kind::WINDOW_UPDATE, self.id, self.released_bytes);
            self.received_bytes -= self.released_bytes;
            self.released_bytes = 0;
        }
    }

    /// Appends the frames that follow a complete response: the client need not send the rest of the request (RFC 9113, section 8.1).
    fn close(self, output: &mut Vec<u8>) {
        if self.request.is_some() {
            put_number(output, kind::RST_STREAM, self.id, NO_ERROR);
        }
    }

    fn report(&mut self, events: &mut Vec<ServerEvent>) {
        let Some((head, body)) = self.request.take() else { return };
        if self.is_reported_in_parts {
            events.push(ServerEvent::Ended { stream: self.id });
        } else {
            events.push(ServerEvent::Request { stream: self.id, head, body });
        }
    }
}
