//! The protocol that a generated proxy speaks.

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2, with or without gRPC.
    Http2,
    /// HTTP/2 from clients, and HTTP/1.1 to the origins.
    Http2ToHttp1,
    /// HTTP/1.1 upgraded to WebSocket.
    WebSocket,
    /// A TCP byte stream.
    Tcp,
}
