//! Parts that the servers of HTTP/2 and HTTP/3 share: heads of requests, bodies of responses, and events.

/// Maximum size of a buffered body.
pub(crate) const MAX_BODY_BYTES: usize = 16 << 20;
/// While more bytes of a response than this are unsent, its request gets no further flow-control credit.
pub(crate) const MAX_UNSENT_BYTES: u64 = 256 * 1024;

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

    /// True for a gRPC call, whose body is kept.
    pub fn is_grpc(&self) -> bool {
        self.field("content-type").is_some_and(|kind| kind.starts_with("application/grpc"))
    }

    /// True if it has a method and a path.
    pub(crate) fn is_complete(&self) -> bool {
        !self.method.is_empty() && !self.path.is_empty()
    }

    /// The value of a field, by its lower-case name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// An event of the server side. `Id` names a stream: its number in HTTP/2, and
/// [`RequestId`](crate::http3::RequestId) in HTTP/3, whose server holds many connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent<Id = u32> {
    /// A complete request. The body is kept for gRPC calls only.
    Request {
        /// Its stream.
        stream: Id,
        /// Its head.
        head: Head,
        /// Its body.
        body: Vec<u8>,
    },
    /// The head of a streaming request.
    Opened {
        /// Its stream.
        stream: Id,
        /// Its head.
        head: Head,
    },
    /// A part of the body of a streaming request. It counts against flow control until the server is told that it was processed
    /// (`release`).
    Data {
        /// Its stream.
        stream: Id,
        /// The part.
        data: Vec<u8>,
    },
    /// The end of the body of a streaming request.
    Ended {
        /// Its stream.
        stream: Id,
    },
    /// A request was cancelled by the client.
    Cancelled {
        /// Its stream.
        stream: Id,
    },
}

impl<Id: Copy> ServerEvent<Id> {
    /// Its stream.
    pub fn stream(&self) -> Id {
        match self {
            Self::Request { stream, .. }
            | Self::Opened { stream, .. }
            | Self::Data { stream, .. }
            | Self::Ended { stream }
            | Self::Cancelled { stream } => *stream,
        }
    }
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

/// Tells if a request is streaming: its parts are then reported as they arrive.
pub(crate) type IsStreaming = fn(&Head) -> bool;
