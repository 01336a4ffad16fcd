//! One request as a server of HTTP/3 reads it, and its response.

use super::frame::{FramePart, FrameReader, kind, put_head, put_headers};
use super::qpack;
use crate::response::ProtocolError;
use crate::server::{Body, Head, IsStreaming, MAX_BODY_BYTES, MAX_UNSENT_BYTES, ServerEvent};

/// Maximum size of a piece of a body that is queued or read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Maximum size of a part of a streaming request that is reported and not processed. The rest stays with QUIC. A whole message
/// must fit: gRPC permits 4 MiB by default.
pub(super) const MAX_UNRELEASED_BYTES: usize = 8 << 20;

/// A request and its response.
#[derive(Debug, Default)]
pub(super) struct Stream {
    frames: FrameReader,
    /// Present until the request is complete and reported.
    pub(super) head: Option<Head>,
    pub(super) body: Vec<u8>,
    /// True if parts of the request are reported as they arrive.
    pub(super) is_reported_in_parts: bool,
    /// Bytes reported and not processed yet.
    pub(super) unreleased_bytes: usize,
    /// True if the whole request has arrived.
    pub(super) has_ended: bool,
    pub(super) response: Option<PendingResponse>,
}

/// A response that is not sent completely.
#[derive(Debug)]
pub(super) struct PendingResponse {
    /// Encoded bytes that QUIC has not taken yet.
    pub(super) unsent: Vec<u8>,
    body: Body,
    /// Bytes of the body that have been encoded.
    taken: u64,
    /// The encoded trailers.
    trailers: Vec<u8>,
    /// True if more of the response may follow.
    pub(super) is_streaming: bool,
}

impl Stream {
    /// Number of bytes of the request that may be read; 0 if it has to wait until those before are processed and answered.
    pub(super) fn room_bytes(&self) -> usize {
        if !self.is_reported_in_parts {
            PIECE_BYTES
        } else if self.unsent_bytes() > MAX_UNSENT_BYTES {
            0
        } else {
            MAX_UNRELEASED_BYTES.saturating_sub(self.unreleased_bytes).min(PIECE_BYTES)
        }
    }

    /// Bytes of the response that are encoded and not sent.
    pub(super) fn unsent_bytes(&self) -> u64 {
        self.response.as_ref().map_or(0, |response| response.unsent.len() as u64)
    }

    /// Processes bytes of the request.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        number: RequestId,
        is_streaming: IsStreaming,
        events: &mut Vec<ServerEvent<RequestId>>,
    ) -> Result<(), ProtocolError> {
        let Self { frames, head, body, is_reported_in_parts, unreleased_bytes, .. } = self;
        frames.feed(bytes, |piece| match piece {
            FramePart::Frame(kind::HEADERS, block) if head.is_none() => {
                let read = request_head(block)?;
                *is_reported_in_parts = is_streaming(&read);
                if *is_reported_in_parts {
                    events.push(ServerEvent::Opened { stream: number, head: read.clone() });
                }
                *head = Some(read);
                Ok(())
            }
            FramePart::Data([]) => Ok(()),
            FramePart::Data(data) if *is_reported_in_parts => {
                *unreleased_bytes += data.len();
                events.push(ServerEvent::Data { stream: number, data: data.to_vec() });
                Ok(())
            }
            FramePart::Data(data) if head.as_ref().is_some_and(Head::is_grpc) => {
                body.extend_from_slice(data);
                if body.len() > MAX_BODY_BYTES {
                    return Err(ProtocolError::Http3("a message larger than 16 MiB"));
                }
                Ok(())
            }
            _ => Ok(()),
        })
    }
}

impl PendingResponse {
    /// A response that is known completely.
    pub(super) fn complete(fields: &[(&str, &str)], body: Body, trailers: &[(&str, &str)]) -> Self {
        let mut response = Self { body, ..Self::begin(fields) };
        if response.body.len() > 0 {
            put_head(&mut response.unsent, kind::DATA, response.body.len());
        }
        response.end(trailers);
        response
    }

    /// The start of a response to which [`Self::push`] appends.
    pub(super) fn begin(fields: &[(&str, &str)]) -> Self {
        let mut unsent = Vec::new();
        put_headers(&mut unsent, fields.iter().copied());
        Self { unsent, body: Body::Bytes(Vec::new()), taken: 0, trailers: Vec::new(), is_streaming: true }
    }

    /// Appends a part of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        put_head(&mut self.unsent, kind::DATA, bytes.len() as u64);
        self.unsent.extend_from_slice(bytes);
    }

    /// States that only these trailers follow the body.
    pub(super) fn end(&mut self, trailers: &[(&str, &str)]) {
        self.is_streaming = false;
        if !trailers.is_empty() {
            put_headers(&mut self.trailers, trailers.iter().copied());
        }
    }

    /// Encodes the next piece, once QUIC has taken all earlier bytes.
    pub(super) fn encode(&mut self) {
        if !self.unsent.is_empty() {
            return;
        }
        if self.taken < self.body.len() {
            let piece = self.body.piece(self.taken, PIECE_BYTES as u64);
            self.taken += piece.len() as u64;
            self.unsent.extend_from_slice(piece);
        } else if !self.is_streaming {
            self.unsent.append(&mut self.trailers);
        }
    }
}

fn request_head(block: &[u8]) -> Result<Head, ProtocolError> {
    let mut head = Head::default();
    let each = |name: &[u8], value: &[u8]| head.take(name, value);
    qpack::decode(block, each).map_err(|bad| ProtocolError::Http3(bad.as_str()))?;
    if !head.is_complete() {
        return Err(ProtocolError::Http3("a request without a method or a path"));
    }
    Ok(head)
}

/// A request of one of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId {
    /// The number of its connection, from 0 in the order of their first datagrams. Numbers are not used again.
    pub connection: u64,
    /// Its stream.
    pub stream: u64,
}
