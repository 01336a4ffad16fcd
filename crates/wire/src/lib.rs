//! Sans-I/O protocols: bytes in, answers out; nothing here knows about sockets or clocks.
//!
//! The load engine owns the sockets and asks a [`Client`] two things: which bytes a request is, and what the bytes that came
//! back mean. The same for every protocol, with or without [`tls`] under it. For the origin there is the server's side of
//! what a server can share.

mod answer;
mod client;
mod encoded;
pub mod grpc;
pub mod http1;
pub mod http2;
#[cfg(feature = "http3")]
pub mod http3;
mod tcp;
pub mod tls;
pub mod websocket;

#[cfg(feature = "http3")]
pub use answer::Quic;
pub use answer::{Answer, Broken, Event, ExpectedHeader, Loss};
pub use client::{Client, Protocol};
pub use encoded::{Encoded, Hidden};
pub use tcp::Tcp;
