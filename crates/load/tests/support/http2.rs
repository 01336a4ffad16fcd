//! An HTTP/2 server that a test controls frame by frame.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The client connection preface (RFC 9113, section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
/// The flag of SETTINGS that acknowledges those of the peer.
const ACK: u8 = 1;
/// The setting that limits concurrent streams.
const MAX_CONCURRENT_STREAMS: u8 = 3;
/// The error code of a stream that was not processed.
const REFUSED_STREAM: u32 = 7;

/// Next event from the client.
pub enum Sent {
    /// A request on this stream.
    Request(u32),
    /// The acknowledgement of SETTINGS.
    Acknowledged,
    /// Nothing for 5 ms.
    Nothing,
    /// The end of the connection.
    End,
}

/// One accepted connection.
pub struct Http2Peer {
    stream: TcpStream,
}

impl Http2Peer {
    /// Reads the client's preface and sends empty SETTINGS; None if the preface is wrong.
    pub fn accept(stream: TcpStream) -> Option<Self> {
        Self::accept_with(stream, &[])
    }

    /// Accepts a connection and answers each of its requests.
    pub fn answer_all(stream: TcpStream) {
        let Some(mut peer) = Self::accept(stream) else { return };
        while let Some(stream) = peer.request()
            && peer.respond(stream).is_some()
        {}
    }

    /// Accepts a connection with a GOAWAY right behind the SETTINGS, and processes no request.
    pub fn go_away_at_once(stream: TcpStream) {
        let Some(mut peer) = Self::accept_with(stream, &frame(GO_AWAY, 0, 0, &[0; 8])) else { return };
        while peer.request().is_some() {}
    }

    /// Accepts a connection with SETTINGS that allow this many concurrent streams.
    pub fn accept_allowing(stream: TcpStream, streams: u32) -> Option<Self> {
        let mut peer = Self::accept_after_preface(stream)?;
        peer.allow(streams)?;
        Some(peer)
    }

    /// Allows this many concurrent streams from now on.
    pub fn allow(&mut self, streams: u32) -> Option<()> {
        self.put(SETTINGS, 0, 0, &[&[0, MAX_CONCURRENT_STREAMS], streams.to_be_bytes().as_slice()].concat())
    }

    fn accept_after_preface(mut stream: TcpStream) -> Option<Self> {
        let mut first = [0; PREFACE.len()];
        stream.read_exact(&mut first).ok()?;
        (first == *PREFACE).then_some(Self { stream })
    }

    fn accept_with(stream: TcpStream, after_settings: &[u8]) -> Option<Self> {
        let mut peer = Self::accept_after_preface(stream)?;
        // One write, which arrives in one read.
        peer.stream.write_all(&[frame(SETTINGS, 0, 0, &[]).as_slice(), after_settings].concat()).ok()?;
        Some(peer)
    }

    /// The stream of the next request; None at the end of the connection.
    pub fn request(&mut self) -> Option<u32> {
        loop {
            let head = self.next_head()?;
            if head[3] == HEADERS {
                return Some(u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
            }
        }
    }

    /// The next request or acknowledgement, if there is one.
    pub fn next(&mut self) -> Sent {
        loop {
            self.stream.set_read_timeout(Some(std::time::Duration::from_millis(5))).unwrap();
            match self.stream.peek(&mut [0]) {
                Ok(0) => return Sent::End,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Sent::Nothing,
                Err(_) => return Sent::End,
            }
            self.stream.set_read_timeout(None).unwrap();
            let Some(head) = self.next_head() else { return Sent::End };
            match head[3] {
                HEADERS => return Sent::Request(u32::from_be_bytes([head[5], head[6], head[7], head[8]])),
                SETTINGS if head[4] & ACK != 0 => return Sent::Acknowledged,
                _ => {}
            }
        }
    }

    /// Waits until the client has acknowledged the SETTINGS; None at the end of the connection.
    pub fn acknowledged(&mut self) -> Option<()> {
        loop {
            let head = self.next_head()?;
            if head[3] == SETTINGS && head[4] & ACK != 0 {
                return Some(());
            }
        }
    }

    /// Reads a frame, and returns its head.
    fn next_head(&mut self) -> Option<[u8; 9]> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some(head)
    }

    /// Responds to a request with status 200 and no body.
    pub fn respond(&mut self, stream: u32) -> Option<()> {
        // END_STREAM and END_HEADERS; `:status: 200` is entry 8 of the static table of HPACK.
        self.put(HEADERS, 0x05, stream, &[0x88])
    }

    /// Refuses a request: it is not processed.
    pub fn refuse(&mut self, stream: u32) -> Option<()> {
        self.put(RST_STREAM, 0, stream, &REFUSED_STREAM.to_be_bytes())
    }

    /// Resets the stream of a request with this error code.
    pub fn reset(&mut self, stream: u32, code: u32) -> Option<()> {
        self.put(RST_STREAM, 0, stream, &code.to_be_bytes())
    }

    /// Sends GOAWAY: streams after `last` will not be processed.
    pub fn go_away(&mut self, last: u32) -> Option<()> {
        self.put(GO_AWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())
    }

    fn put(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Option<()> {
        self.stream.write_all(&frame(kind, flags, stream, payload)).ok()
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
