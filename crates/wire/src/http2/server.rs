//! The server side of a connection, for the origin: requests are received whole, responses are sent as flow control
//! allows.

use super::frame::{FrameReader, MAX_PAYLOAD_BYTES, Piece, flag, kind, setting};
use super::frame::{put_head, put_number, put_settings};
use super::hpack::{Decoder, put_field};
use super::session::{FrameEvent, Session, grow, receive_on_stream};
use super::{CANCEL, PREFACE};
use crate::response::ProtocolError;

/// Limit on concurrent streams of a client.
const MAX_STREAMS: u32 = 4096;
/// Flow-control window for requests, of a stream and of the connection.
const WINDOW_BYTES: u32 = 16 << 20;
/// Maximum size of pending output.
const OUTPUT_BYTES: usize = 256 * 1024;
/// Maximum size of a buffered body.
const MAX_BODY_BYTES: usize = 16 << 20;

/// The head of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// Its fields without pseudo-header fields.
    pub fields: Vec<(String, String)>,
}

impl Head {
    /// Adds a field of the header block.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match name {
            b":method" => self.method = text(value),
            b":path" => self.path = text(value),
            [b':', ..] => {}
            _ => self.fields.push((text(name), text(value))),
        }
    }

    /// Whether it has a method and a path.
    pub(crate) fn is_whole(&self) -> bool {
        !self.method.is_empty() && !self.path.is_empty()
    }

    /// The value of a field, by its lower-case name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// An event of the server side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// A complete request. The body is kept for gRPC calls only.
    Request {
        /// The number of its stream.
        stream: u32,
        /// Its head.
        head: Head,
        /// Its body.
        body: Vec<u8>,
    },
    /// The head of a streaming request.
    Opened {
        /// The number of its stream.
        stream: u32,
        /// Its head.
        head: Head,
    },
    /// A part of its body.
    Data {
        /// The number of its stream.
        stream: u32,
        /// The part.
        data: Vec<u8>,
    },
    /// Its end.
    Ended {
        /// The number of its stream.
        stream: u32,
    },
    /// A request was cancelled by the client.
    Cancelled {
        /// The number of its stream.
        stream: u32,
    },
}

/// The body of a response.
#[derive(Clone, Debug)]
pub enum Body {
    /// A body of the given size. The function returns pieces of it, from an offset and with a maximum size.
    Text(u64, fn(u64, u64) -> &'static [u8]),
    /// A body in memory.
    Bytes(Vec<u8>),
}

impl Body {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Text(bytes, _) => *bytes,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    pub(crate) fn piece(&self, from: u64, max_bytes: u64) -> &[u8] {
        match self {
            Self::Text(bytes, source) => source(from, max_bytes.min(bytes - from)),
            Self::Bytes(bytes) => {
                let from = (from as usize).min(bytes.len());
                bytes.get(from..bytes.len().min(from + max_bytes as usize)).unwrap_or_default()
            }
        }
    }
}

/// The server side of one connection.
#[derive(Debug, Default)]
pub struct Server {
    frames: FrameReader,
    state: State,
}

/// Whether a request is streaming: its parts are reported as they arrive.
type IsStreaming = fn(&Head) -> bool;

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
    /// Whether parts of the request are reported as they arrive.
    is_handed_on: bool,
    /// Whether more of the response may follow.
    is_streaming: bool,
    received_bytes: u32,
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
        let settings =
            [(setting::MAX_CONCURRENT_STREAMS, MAX_STREAMS), (setting::INITIAL_WINDOW_SIZE, WINDOW_BYTES)];
        put_settings(output, &settings);
        self.state.session.open_window(output);
    }

    /// Whether no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.state.streams.is_empty() && self.frames.is_between() && !self.state.session.is_in_block()
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
            state.streams.swap_remove(index);
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
        let stream = self.state.streams.iter_mut().find(|stream| stream.id == id);
        if let Some((Body::Bytes(body), sent, _)) = stream.and_then(|stream| stream.response.as_mut()) {
            // Drop the part that has been sent.
            body.drain(..(*sent as usize).min(body.len()));
            *sent = 0;
            body.extend_from_slice(bytes);
        }
        self.pump(output);
    }

    /// Ends a streaming response.
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
                state.streams.swap_remove(index);
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
    let from = output.len();
    let end = if ends { flag::END_STREAM } else { 0 };
    put_head(output, 0, kind::HEADERS, flag::END_HEADERS | end, id);
    let block_from = output.len();
    for (name, value) in fields {
        put_field(output, name, value);
    }
    // The origin's own fields and a few echoed ones, far below the maximum frame size.
    let length = (output.len() - block_from) as u32;
    output[from..from + 3].copy_from_slice(&length.to_be_bytes()[1..]);
}

impl Stream {
    /// Sends as much as flow control and the size limit allow; true when everything is sent.
    fn send(&mut self, connection_window: &mut i64, output: &mut Vec<u8>) -> bool {
        let Some((body, sent, trailers)) = &mut self.response else { return false };
        while *sent < body.len() {
            let room = (*connection_window).min(self.window_bytes).clamp(0, MAX_PAYLOAD_BYTES as i64) as u64;
            if room == 0 || output.len() > OUTPUT_BYTES {
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
            return false;
        }
        if !trailers.is_empty() {
            put_head(output, trailers.len(), kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, self.id);
            output.extend_from_slice(trailers);
        }
        true
    }
}

impl State {
    fn take(
        &mut self,
        piece: &Piece<'_>,
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
        if stream.is_handed_on {
            if !data.is_empty() {
                events.push(ServerEvent::Data { stream: id, data: data.to_vec() });
            }
        } else if stream.keeps_body {
            body.extend_from_slice(data);
            if body.len() > MAX_BODY_BYTES {
                return Err(ProtocolError::Http2("a message larger than 16 MiB"));
            }
        }
        let updates = (!end).then_some(stream.id);
        receive_on_stream(&mut stream.received_bytes, length, WINDOW_BYTES, updates, output)?;
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
        self.decoder
            .decode(block, each)
            .map_err(|_| ProtocolError::Http2("a header block that cannot be read"))?;
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
        if !head.is_whole() {
            return Err(ProtocolError::Http2("a request without a method or a path"));
        }
        if self.streams.len() >= MAX_STREAMS as usize {
            return Err(ProtocolError::Http2("more streams than allowed"));
        }
        self.last_id = id;
        let keeps_body = head.field("content-type").is_some_and(|kind| kind.starts_with("application/grpc"));
        let is_streaming = (self.is_streaming)(&head);
        if is_streaming {
            events.push(ServerEvent::Opened { stream: id, head: head.clone() });
        }
        self.streams.push(Stream {
            id,
            request: Some((head, Vec::new())),
            keeps_body,
            is_streaming,
            is_handed_on: is_streaming,
            received_bytes: 0,
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
    fn report(&mut self, events: &mut Vec<ServerEvent>) {
        let Some((head, body)) = self.request.take() else { return };
        if self.is_handed_on {
            events.push(ServerEvent::Ended { stream: self.id });
        } else {
            events.push(ServerEvent::Request { stream: self.id, head, body });
        }
    }
}
