//! WebSocket (RFC 6455): an HTTP/1.1 upgrade, then messages in both directions.

mod client;
mod frame;
mod upgrade;

pub use client::WebSocket;
pub use frame::{Frame, FrameReader, Opcode, put_frame};
pub use upgrade::{accept_key, upgrade_request};
