//! The client side of one connection: one interface to all protocols, for the load engine.

use std::sync::Arc;

use memchr::memmem;

use crate::body::ExpectedBody;
use crate::encoded::{Encoded, Hidden};
use crate::grpc::Messages;
use crate::http1::{Deviation, Progress, ResponseReader};
use crate::http2::{Http2, Settings};
use crate::http3::{self, Http3, Setup};
use crate::malformed::Truncated;
use crate::response::{Event, ExpectedHeader, ProtocolError, Response};
use crate::tcp::Tcp;
use crate::websocket::WebSocket;

/// The protocol of a connection.
///
/// Matches on it and on [`Client`] name every protocol, so the compiler finds each decision about a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientProtocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, with or without gRPC.
    Http2(Settings),
    /// HTTP/3, with or without gRPC.
    Http3(Setup),
    /// A TCP byte stream in which all responses have the same size.
    Tcp {
        /// Size of a response in bytes.
        response_bytes: u64,
    },
    /// WebSocket.
    WebSocket {
        /// The upgrade request.
        upgrade: Hidden,
    },
}

impl ClientProtocol {
    /// Concurrent requests per connection.
    pub fn streams(&self) -> u32 {
        match self {
            Self::Http2(settings) => settings.streams.max(1),
            Self::Http3(setup) => setup.streams.max(1),
            Self::Http1 | Self::Tcp { .. } | Self::WebSocket { .. } => 1,
        }
    }

    /// True if it exchanges datagrams instead of bytes, and has timers.
    pub fn has_datagrams(&self) -> bool {
        match self {
            Self::Http3(_) => true,
            Self::Http1 | Self::Http2(_) | Self::Tcp { .. } | Self::WebSocket { .. } => false,
        }
    }

    /// True if it can cancel a request without closing its connection.
    pub fn cancels(&self) -> bool {
        match self {
            Self::Http2(_) | Self::Http3(_) => true,
            Self::Http1 | Self::Tcp { .. } | Self::WebSocket { .. } => false,
        }
    }

    /// Its ALPN name, if it has one.
    pub fn alpn(&self) -> Option<&'static [u8]> {
        match self {
            Self::Http1 | Self::WebSocket { .. } => Some(b"http/1.1"),
            Self::Http2(_) => Some(b"h2"),
            Self::Http3(_) => Some(http3::ALPN),
            Self::Tcp { .. } => None,
        }
    }
}

/// The client side of one connection.
#[derive(Debug)]
pub enum Client {
    /// HTTP/1.1.
    Http1 {
        /// Reads responses.
        reader: Box<ResponseReader>,
        /// True if the first byte of the response, or of an interim one before it, has been reported.
        has_begun: bool,
    },
    /// HTTP/2.
    Http2(Box<Http2>),
    /// HTTP/3, which uses datagrams instead of bytes: see [`Client::datagrams`].
    Http3(Box<Http3>),
    /// A TCP byte stream.
    Tcp(Tcp),
    /// WebSocket.
    WebSocket(Box<WebSocket>, Hidden),
}

impl Client {
    /// A new connection that has sent nothing yet.
    pub fn new(protocol: &ClientProtocol, expected: &Arc<[ExpectedHeader]>) -> Self {
        match protocol {
            ClientProtocol::Http1 => Self::Http1 {
                reader: Box::new(ResponseReader::default().expecting(Arc::clone(expected))),
                has_begun: false,
            },
            ClientProtocol::Http2(settings) => {
                let expected = Some(Arc::clone(expected)).filter(|expected| !expected.is_empty());
                Self::Http2(Box::new(Http2::new(*settings, expected)))
            }
            ClientProtocol::Http3(setup) => {
                let expected = Some(Arc::clone(expected)).filter(|expected| !expected.is_empty());
                Self::Http3(Box::new(Http3::new(setup, expected)))
            }
            ClientProtocol::Tcp { response_bytes } => Self::Tcp(Tcp::new(*response_bytes)),
            ClientProtocol::WebSocket { upgrade } => Self::WebSocket(Box::default(), upgrade.clone()),
        }
    }

    /// Checks the bodies of the following responses. Bodies are buffered only for these checks.
    pub fn check_bodies(&mut self, expected: Option<Arc<ExpectedBody>>) {
        match self {
            Self::Http1 { reader, .. } => reader.check_bodies(expected),
            Self::Http2(client) => client.check_bodies(expected.as_ref()),
            Self::Http3(client) => client.check_bodies(expected),
            Self::Tcp(client) => client.check_bodies(expected),
            Self::WebSocket(client, _) => client.check_bodies(expected),
        }
    }

    /// Stores cookies that responses set, and sends them with the following requests. Protocols without headers have none.
    pub fn keep_cookies(&mut self) {
        match self {
            Self::Http1 { reader, .. } => reader.keep_cookies(),
            Self::Http2(client) => client.keep_cookies(),
            Self::Http3(client) => client.keep_cookies(),
            Self::Tcp(_) | Self::WebSocket(..) => {}
        }
    }

    /// Sets how gRPC calls send their messages, and reports the messages of responses. No effect with other protocols.
    pub fn time_messages(&mut self, messages: Messages) {
        match self {
            Self::Http2(client) => client.time_messages(messages),
            Self::Http3(client) => client.time_messages(messages),
            Self::Http1 { .. } | Self::Tcp(_) | Self::WebSocket(..) => {}
        }
    }

    /// Appends the bytes that start a connection, such as the HTTP/2 preface.
    pub fn open(&mut self, output: &mut Vec<u8>) {
        match self {
            Self::Http2(client) => client.open(output),
            Self::WebSocket(_, upgrade) => output.extend_from_slice(upgrade),
            Self::Http1 { .. } | Self::Http3(_) | Self::Tcp(_) => {}
        }
    }

    /// The QUIC connection, which consumes and produces datagrams instead of bytes.
    pub fn datagrams(&mut self) -> Option<&mut Http3> {
        match self {
            Self::Http3(client) => Some(client),
            Self::Http1 { .. } | Self::Http2(_) | Self::Tcp(_) | Self::WebSocket(..) => None,
        }
    }

    /// True if the server has confirmed the protocol. HTTP/1.1 and TCP have no confirmation before the first request. The limit on
    /// concurrent requests is only known from the server's settings.
    pub fn is_confirmed(&self) -> bool {
        match self {
            Self::Http2(client) => client.settings_received(),
            Self::WebSocket(client, _) => client.is_open(),
            Self::Http3(client) => client.is_open(),
            Self::Http1 { .. } | Self::Tcp(_) => true,
        }
    }

    /// True if the first request may be sent.
    pub fn may_send(&self) -> bool {
        self.is_confirmed() && self.max_streams() > 0
    }

    /// Appends a request on a free stream; `bytes` are those of the request, with its variables filled in.
    pub fn send(&mut self, stream: u32, request: &Encoded, bytes: &[u8], output: &mut Vec<u8>) {
        match self {
            Self::Http1 { reader, has_begun } => {
                reader.begin(request.flags);
                *has_begun = false;
                if let Some(cookies) = reader.cookies() {
                    return put_with_cookies(bytes, cookies, output);
                }
            }
            Self::Http2(client) => return client.send(stream, request, bytes, output),
            Self::Http3(client) => return client.send(stream, request, bytes),
            Self::Tcp(client) => client.begin(),
            Self::WebSocket(client, _) => client.begin(),
        }
        output.extend_from_slice(bytes);
    }

    /// True if the whole request on a stream has been sent.
    pub fn is_sent(&self, stream: u32) -> bool {
        match self {
            Self::Http2(client) => client.is_sent(stream),
            Self::Http3(client) => client.is_sent(stream),
            Self::Http1 { .. } | Self::Tcp(_) | Self::WebSocket(..) => true,
        }
    }

    /// Processes the bytes of one read. Replies of the protocol itself are appended to `output`, events to `events`, which
    /// must hold none of earlier reads.
    ///
    /// # Errors
    /// When the bytes violate the protocol; the connection is then unusable.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        match self {
            Self::Http1 { reader, has_begun } => {
                let progress = reader.feed(bytes);
                let is_complete = matches!(progress, Ok(Progress::Complete(_)));
                // If the read completes the response, its first byte is reported only if one was reported before, for an interim response.
                if reader.begins() && (!is_complete || *has_begun) {
                    events.push(Event::FirstByte { stream: 0 });
                    *has_begun = true;
                }
                if let Progress::Complete(response) = progress? {
                    events.push(Event::Answered { stream: 0, response });
                }
                Ok(())
            }
            Self::Http2(client) => client.feed(bytes, output, events),
            Self::Http3(client) => client.feed(bytes, events),
            Self::Tcp(client) => client.feed(bytes, events),
            Self::WebSocket(client, _) => client.feed(bytes, output, events),
        }
    }

    /// Handles the server's close of the connection. Returns the response that this completes on a stream, or nothing
    /// when none had begun.
    ///
    /// # Errors
    /// When a response had begun and was not complete.
    pub fn end(&mut self, stream: u32) -> Result<Option<Response>, Truncated> {
        let (has_begun, has_interim) = match self {
            Self::Http1 { reader, .. } => return reader.end(),
            Self::Http2(client) => (client.has_begun(stream), client.has_interim(stream)),
            Self::Http3(client) => (client.has_begun(stream), client.has_interim(stream)),
            Self::Tcp(client) => (client.has_begun(), false),
            Self::WebSocket(client, _) => (client.has_begun(), false),
        };
        match (has_begun, has_interim) {
            (true, _) => Err(Truncated::Message),
            (false, true) => Err(Truncated::Interim),
            (false, false) => Ok(None),
        }
    }

    /// Handles a reset of the connection by the server. Returns the response that it nevertheless gave on a stream: its head says that
    /// the request failed.
    pub fn reset(&mut self, _stream: u32) -> Option<Response> {
        match self {
            Self::Http1 { reader, .. } => reader.reset(),
            // Their servers refuse a request without a reset of the connection.
            Self::Http2(_) | Self::Http3(_) | Self::Tcp(_) | Self::WebSocket(..) => None,
        }
    }

    /// Returns the rule that the last response of a connection violates although its end is known; None if it violates none.
    pub fn deviation(&self) -> Option<Deviation> {
        match self {
            Self::Http1 { reader, .. } => reader.deviation(),
            Self::Http2(_) | Self::Http3(_) | Self::Tcp(_) | Self::WebSocket(..) => None,
        }
    }

    /// Cancels the request on a stream. Returns true if the connection is still usable.
    pub fn cancel(&mut self, stream: u32, output: &mut Vec<u8>) -> bool {
        match self {
            Self::Http2(client) => {
                client.cancel(stream, output);
                true
            }
            Self::Http3(client) => {
                client.cancel(stream);
                true
            }
            Self::Http1 { .. } | Self::Tcp(_) | Self::WebSocket(..) => false,
        }
    }

    /// True if the stream identifiers of the connection are exhausted.
    pub fn stream_ids_exhausted(&self) -> bool {
        match self {
            Self::Http2(client) => client.stream_ids_exhausted(),
            Self::Http1 { .. } | Self::Http3(_) | Self::Tcp(_) | Self::WebSocket(..) => false,
        }
    }

    /// As [`Self::feed`], for bytes that arrive while no response or message of a handshake is awaited.
    ///
    /// # Errors
    /// When the bytes violate the protocol, or are a response that no request asked for; the connection is then unusable.
    pub fn feed_unsolicited(
        &mut self,
        bytes: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        match self {
            Self::Http1 { reader, .. } => Ok(reader.feed_unsolicited(bytes)?),
            Self::Tcp(_) => Err(ProtocolError::Excess),
            Self::Http2(_) | Self::Http3(_) | Self::WebSocket(..) => self.feed(bytes, output, events),
        }
    }

    /// The server's limit on concurrent requests, once known. [`Event::Limit`] reports its changes.
    pub fn max_streams(&self) -> u32 {
        match self {
            Self::Http2(client) => client.max_streams(),
            Self::Http3(client) => client.max_streams(),
            Self::Http1 { .. } | Self::Tcp(_) | Self::WebSocket(..) => 1,
        }
    }
}

/// Appends an HTTP/1.1 request, with a `Cookie` header at the end of its head.
fn put_with_cookies(request: &[u8], cookies: &[u8], output: &mut Vec<u8>) {
    let head_end = memmem::find(request, b"\r\n\r\n").map_or(request.len(), |at| at + 2);
    let (head, rest) = request.split_at(head_end);
    for bytes in [head, b"Cookie: ", cookies, b"\r\n", rest] {
        output.extend_from_slice(bytes);
    }
}
