//! Sans-I/O protocol clients: bytes in, answers out; nothing here knows about sockets or clocks.
//!
//! The load engine owns the sockets and asks this crate two things: which bytes a request is
//! ([`http1::Request`]), and what the bytes that came back mean ([`http1::ResponseReader`]).

pub mod http1;
