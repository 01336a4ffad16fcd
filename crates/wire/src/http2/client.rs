//! The client side of a connection: requests are sent on streams, and responses arrive in any order.

use std::sync::Arc;

use super::PREFACE;
use super::fields::FieldReader;
use super::frame::{FramePart, FrameReader, MAX_PAYLOAD_BYTES, flag, kind, setting};
use super::frame::{Setting, put_block, put_head, put_number, put_settings};
use super::request::{FieldTable, put_cookies};
use super::session::{FrameEvent, Session, grow, receive_on_stream};
use crate::body::{BodyKeeper, ExpectedBody};
use crate::encoded::Encoded;
use crate::error_codes::{CANCEL, PROTOCOL_ERROR};
use crate::fields::Fields;
use crate::grpc::{Call, Messages};
use crate::malformed::Malformed;
use crate::response::{Event, ExpectedHeader, Loss, ProtocolError, Response};

/// Maximum size of buffered bodies.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Concurrent requests per connection.
    pub streams: u32,
    /// Flow-control window of a stream, bytes.
    pub stream_window_bytes: u32,
    /// Flow-control window of the connection, bytes.
    pub connection_window_bytes: u32,
}

impl Settings {
    /// The given number of streams, with windows that do not delay responses below 16 MiB.
    pub fn with_streams(streams: u32) -> Self {
        Self { streams, stream_window_bytes: 16 << 20, connection_window_bytes: 64 << 20 }
    }
}

/// An HTTP/2 connection.
#[derive(Debug)]
pub struct Http2 {
    frames: FrameReader,
    state: State,
}

/// Everything except the frame parser.
#[derive(Debug)]
struct State {
    settings: Settings,
    session: Session,
    streams: Box<[Stream]>,
    fields: FieldReader,
    table: FieldTable,
    next_id: u32,
    /// The server's limit on concurrent streams.
    max_streams: u32,
    /// The bodies of responses, if they are buffered.
    kept: Option<Vec<u8>>,
    /// Present if messages are timed.
    messages: Option<Messages>,
}

/// A request in flight; `id` is 0 if there is none.
#[derive(Clone, Debug, Default)]
struct Stream {
    id: u32,
    is_head: bool,
    /// True if an interim response has arrived.
    has_interim: bool,
    status: u16,
    grpc_status: Option<u16>,
    length: Option<u64>,
    body_bytes: u64,
    /// Bit set of the expected headers that have arrived.
    matched: u64,
    window_bytes: i64,
    received_bytes: u32,
    /// The rest of the request's body.
    unsent: Vec<u8>,
    /// The body of the response, if it is checked.
    body: BodyKeeper,
    /// Its messages, if they are timed.
    call: Option<Box<Call>>,
}

impl Stream {
    /// Begins the next request with all buffers of the one before; `id` is 0 if there is none.
    fn begin(&mut self, id: u32, is_head: bool, window_bytes: i64, call: Option<Box<Call>>) {
        (self.id, self.is_head, self.window_bytes, self.call) = (id, is_head, window_bytes, call);
        (self.has_interim, self.status, self.grpc_status, self.length) = (false, 0, None, None);
        (self.body_bytes, self.matched, self.received_bytes) = (0, 0, 0);
        self.unsent.clear();
        self.body.begin();
    }
}

impl Http2 {
    /// A new connection that has sent nothing yet.
    pub fn new(settings: Settings, expected: Option<Arc<[ExpectedHeader]>>) -> Self {
        let streams = vec![Stream::default(); settings.streams as usize];
        Self {
            frames: FrameReader::default(),
            state: State {
                settings,
                session: Session::new(settings.connection_window_bytes),
                streams: streams.into(),
                fields: FieldReader::new(expected),
                table: FieldTable::default(),
                next_id: 1,
                max_streams: u32::MAX,
                kept: None,
                messages: None,
            },
        }
    }

    /// Appends the preface and settings.
    pub fn open(&self, output: &mut Vec<u8>) {
        let settings = &self.state.settings;
        output.extend_from_slice(PREFACE);
        let stated = [
            Setting { id: setting::ENABLE_PUSH, value: 0 },
            Setting { id: setting::INITIAL_WINDOW_SIZE, value: settings.stream_window_bytes },
        ];
        put_settings(output, &stated);
        self.state.session.open_window(output);
    }

    /// Buffers the bodies of responses, for [`Self::kept`].
    #[must_use]
    pub fn keeping_bodies(mut self) -> Self {
        self.state.kept = Some(Vec::new());
        self
    }

    /// Checks the bodies of the following responses. Bodies are buffered only for these checks.
    pub fn check_bodies(&mut self, expected: Option<&Arc<ExpectedBody>>) {
        for stream in &mut self.state.streams {
            stream.body = BodyKeeper::new(expected.cloned());
        }
    }

    /// Stores cookies that responses set, and sends them with the following requests.
    pub fn keep_cookies(&mut self) {
        self.state.fields.keep_cookies();
    }

    /// Sets how calls send their messages, and reports the messages of responses.
    pub fn time_messages(&mut self, messages: Messages) {
        self.state.messages = Some(messages);
    }

    /// The bodies received, concatenated.
    pub fn kept(&self) -> &[u8] {
        self.state.kept.as_deref().unwrap_or_default()
    }

    /// True if the server's settings have arrived: it speaks HTTP/2.
    pub fn settings_received(&self) -> bool {
        self.state.session.settings_received
    }

    /// The server's limit on concurrent streams, as of the last settings that were acknowledged.
    pub fn max_streams(&self) -> u32 {
        self.state.max_streams
    }

    /// Appends a request on a free stream; `bytes` are those of the request, with its variables filled in.
    pub fn send(&mut self, stream: u32, request: &Encoded, bytes: &[u8], output: &mut Vec<u8>) {
        self.state.send(stream as usize, request, bytes, output);
    }

    /// True if the whole request on a stream has been sent.
    pub fn is_sent(&self, stream: u32) -> bool {
        self.state.streams.get(stream as usize).is_none_or(|stream| stream.unsent.is_empty())
    }

    /// True if the response on a stream has begun.
    pub fn has_begun(&self, stream: u32) -> bool {
        self.state.streams.get(stream as usize).is_some_and(|stream| stream.status > 0)
    }

    /// True if an interim response on a stream has arrived.
    pub(crate) fn has_interim(&self, stream: u32) -> bool {
        self.state.streams.get(stream as usize).is_some_and(|stream| stream.has_interim)
    }

    /// Cancels a request; its stream is free.
    pub fn cancel(&mut self, stream: u32, output: &mut Vec<u8>) {
        if let Some(stream) = self.state.streams.get_mut(stream as usize)
            && stream.id > 0
        {
            put_number(output, kind::RST_STREAM, stream.id, CANCEL);
            stream.begin(0, false, 0, None);
        }
    }

    /// True if the stream identifiers of the connection are exhausted.
    pub fn stream_ids_exhausted(&self) -> bool {
        self.state.next_id > 0x7fff_fff0
    }

    /// Processes the bytes of one read. Replies of the protocol itself are appended to `output`.
    ///
    /// # Errors
    /// When they violate the protocol; the connection is then unusable.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        loop {
            let piece = self.frames.next(&mut bytes);
            let Ok(piece) = piece else {
                let is_settings = self.frames.head_kind() == kind::SETTINGS;
                return Err(if self.state.session.settings_received || is_settings {
                    ProtocolError::Http2("a frame larger than 16 KiB")
                } else {
                    ProtocolError::NotHttp2
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
        let call = self.messages.map(|messages| Box::new(Call::new(messages, body)));
        stream.begin(self.next_id, request.flags.is_head(), self.session.first_window_bytes, call);
        let id = self.next_id;
        self.next_id += 2;
        let end = if body.is_empty() { flag::END_STREAM } else { 0 };
        put_block(output, end, id, |output| {
            self.table.put(request, bytes, output);
            if let Some(cookies) = self.fields.cookies() {
                put_cookies(cookies, output);
            }
        });
        self.send_body(slot, Some(body), output);
    }

    /// Sends as much of a body as flow control allows. `body` is a new body; None continues the unsent rest.
    fn send_body(&mut self, slot: usize, body: Option<&[u8]>, output: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        let kept = std::mem::take(&mut stream.unsent);
        let is_last = stream.call.as_ref().is_none_or(|call| !call.is_open());
        let mut rest = body.unwrap_or(&kept);
        while !rest.is_empty() {
            let window = self.session.window_bytes.min(stream.window_bytes).max(0) as usize;
            let length = rest.len().min(window).min(MAX_PAYLOAD_BYTES);
            if length == 0 {
                break;
            }
            let (piece, behind) = rest.split_at(length);
            let end = if behind.is_empty() && is_last { flag::END_STREAM } else { 0 };
            put_head(output, length, kind::DATA, end, stream.id);
            output.extend_from_slice(piece);
            self.session.window_bytes -= length as i64;
            stream.window_bytes -= length as i64;
            rest = behind;
        }
        if rest.is_empty() {
            // The stream keeps its buffer.
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

    /// The slot of a stream in a frame of the server; None for a closed stream.
    fn known(&self, id: u32) -> Result<Option<usize>, ProtocolError> {
        if id == 0 || id.is_multiple_of(2) || id >= self.next_id {
            return Err(ProtocolError::Http2("a frame on a stream without a request"));
        }
        Ok(self.slot(id))
    }

    fn take(
        &mut self,
        piece: &FramePart<'_>,
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        match self.session.take(piece, output)? {
            FrameEvent::Data { stream, data, length, end } => {
                self.take_data(stream, data, length, end, output, events)
            }
            FrameEvent::Block { stream, block, end } => self.take_block(stream, end, &block, output, events),
            FrameEvent::Reset { stream, code } => {
                if let Some(slot) = self.known(stream)? {
                    self.lose(slot, Loss::Reset { code, stated: code.into() }, events);
                }
                Ok(())
            }
            FrameEvent::Settings { grown_bytes, max_streams, table_bytes } => {
                if let Some(streams) = max_streams
                    && streams != self.max_streams
                {
                    self.max_streams = streams;
                    events.push(Event::Limit { streams });
                }
                if let Some(bytes) = table_bytes {
                    self.table.limit(bytes as usize);
                }
                for stream in self.streams.iter_mut().filter(|stream| stream.id > 0) {
                    grow(&mut stream.window_bytes, grown_bytes)?;
                }
                self.send_bodies(output);
                Ok(())
            }
            FrameEvent::Window { stream: id, grown_bytes } => {
                if id > 0 {
                    let Some(slot) = self.known(id)? else { return Ok(()) };
                    let Some(stream) = self.streams.get_mut(slot) else { return Ok(()) };
                    grow(&mut stream.window_bytes, grown_bytes)?;
                }
                self.send_bodies(output);
                Ok(())
            }
            FrameEvent::GoAway { last, code } => {
                events.push(Event::Draining { code });
                for slot in 0..self.streams.len() {
                    if self.streams.get(slot).is_some_and(|stream| stream.id > last) {
                        self.lose(slot, Loss::Unprocessed(code), events);
                    }
                }
                Ok(())
            }
            FrameEvent::Nothing => Ok(()),
        }
    }

    fn take_data(
        &mut self,
        id: u32,
        data: &[u8],
        length: u32,
        end: bool,
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        let Some(slot) = self.known(id)? else { return Ok(()) };
        let Some(stream) = self.streams.get_mut(slot) else { return Ok(()) };
        if stream.status == 0 {
            return Err(ProtocolError::Http2("data before headers"));
        }
        stream.body_bytes += data.len() as u64;
        stream.body.take(data);
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(data);
            if kept.len() > MAX_KEPT_BYTES {
                return Err(ProtocolError::Excess);
            }
        }
        let updates = (!end).then_some(stream.id);
        let own_window_bytes = self.settings.stream_window_bytes;
        receive_on_stream(&mut stream.received_bytes, length, own_window_bytes, updates, output)?;
        if let Some(call) = &mut stream.call {
            for _ in 0..call.receive(data) {
                events.push(Event::Message { stream: slot as u32 });
                if let Some(message) = call.next() {
                    stream.unsent.extend_from_slice(message);
                }
            }
            self.send_body(slot, None, output);
        }
        if end {
            self.finish(slot, output, events);
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
    ) -> Result<(), ProtocolError> {
        let slot = self.known(id)?;
        // Blocks of closed streams are decoded too, since they update the dynamic table.
        let fields = self.fields.read(block, end)?;
        let Some(stream) = slot.and_then(|slot| self.streams.get_mut(slot)) else { return Ok(()) };
        let slot = slot.unwrap_or_default();
        if let Some(what) = fields.malformed {
            self.reject(slot, Loss::Fields(what), output, events);
            return Ok(());
        }
        let Fields { status, grpc_status, matched, .. } = fields;
        if stream.status == 0 {
            if !(100..1000).contains(&status) {
                return Err(ProtocolError::Http2("a response without a status"));
            }
            if status < 200 {
                // After an interim response the final one follows; HTTP/2 has no switch of protocols (RFC 9113, section 8.6).
                let loss = match status {
                    101 => Loss::Switched,
                    _ if end => Loss::Malformed("an interim response that ends its stream"),
                    _ => {
                        stream.has_interim = true;
                        return Ok(());
                    }
                };
                self.reject(slot, loss, output, events);
                return Ok(());
            }
            let length = match fields.body_length(stream.is_head) {
                Ok(length) => length,
                Err(what) => {
                    self.reject(slot, Loss::Fields(what), output, events);
                    return Ok(());
                }
            };
            stream.status = status;
            stream.length = length;
            events.push(Event::FirstByte { stream: slot as u32 });
        } else if status > 0 {
            self.reject(slot, Loss::Fields(Malformed::Pseudo), output, events);
            return Ok(());
        } else if !end {
            return Err(ProtocolError::Http2("trailers that do not end their stream"));
        }
        stream.matched |= matched;
        stream.grpc_status = grpc_status.or(stream.grpc_status);
        if end {
            self.finish(slot, output, events);
        }
        Ok(())
    }

    /// The server has sent the complete response.
    fn finish(&mut self, slot: usize, output: &mut Vec<u8>, events: &mut Vec<Event>) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        let is_open = stream.call.as_ref().is_some_and(|call| call.is_open());
        if !stream.unsent.is_empty() || is_open {
            // The server responded before the end of the request.
            put_number(output, kind::RST_STREAM, stream.id, CANCEL);
            stream.unsent.clear();
        }
        let has_body = !stream.is_head && stream.status != 304;
        let wrong_length = has_body && stream.length.is_some_and(|length| length != stream.body_bytes);
        let all = self.fields.all_expected();
        let response = Response {
            status: stream.status,
            grpc_status: stream.grpc_status,
            body_bytes: stream.body_bytes,
            keep_alive: true,
            is_as_expected: stream.matched & all == all
                && stream.body.is_as_expected()
                && stream.call.as_ref().is_none_or(|call| call.is_answered()),
        };
        stream.id = 0;
        stream.body.begin();
        stream.call = None;
        let stream = slot as u32;
        if wrong_length {
            let loss = Loss::Malformed("a body whose size differs from its content-length");
            events.push(Event::Lost { stream, loss });
        } else {
            Event::push_answered(events, stream, response);
        }
    }

    /// The response on a stream is malformed, which is an error of the stream (RFC 9113, section 8.1.1).
    fn reject(&mut self, slot: usize, loss: Loss, output: &mut Vec<u8>, events: &mut Vec<Event>) {
        if let Some(stream) = self.streams.get(slot) {
            put_number(output, kind::RST_STREAM, stream.id, PROTOCOL_ERROR);
        }
        self.lose(slot, loss, events);
    }

    fn lose(&mut self, slot: usize, loss: Loss, events: &mut Vec<Event>) {
        if let Some(stream) = self.streams.get_mut(slot) {
            stream.id = 0;
            stream.unsent.clear();
            events.push(Event::Lost { stream: slot as u32, loss });
        }
    }
}
