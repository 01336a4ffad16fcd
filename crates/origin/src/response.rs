//! Responses: heads of HTTP/1.1, those of HTTP/2 and HTTP/3 as fields and trailers, and bodies of any size for all protocols.

use std::io::Write;
use std::sync::LazyLock;

use hoptax_wire::http2::Body;

/// Size of the text that bodies consist of, bytes. Longer bodies repeat it.
const TEXT_BYTES: usize = 64 * 1024;

/// The header with the type of a body.
pub(crate) const CONTENT_TYPE: &str = "content-type";
/// The type of bodies, if the request asks for no other.
pub(crate) const TEXT_TYPE: &str = "text/plain";

/// A response of HTTP/2 or HTTP/3.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Body,
    pub(crate) trailers: Vec<(String, String)>,
}

/// The text of all bodies: generated words, which give a compressor as much work as ordinary text does.
static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    const SYLLABLES: [&str; 16] =
        ["ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "za"];
    let mut text = String::with_capacity(TEXT_BYTES + 16);
    // A linear congruential generator modulo 2^64 with Knuth's MMIX constants: the text is the same on every machine.
    let mut state: u64 = 1;
    while text.len() < TEXT_BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = state >> 33;
        for syllable in 0..=(bits % 4) {
            let number = (bits >> (4 + 4 * syllable)) % 16;
            text.push_str(SYLLABLES.get(number as usize).copied().unwrap_or_default());
        }
        text.push(if bits.is_multiple_of(11) { '\n' } else { ' ' });
    }
    text.truncate(TEXT_BYTES);
    text.into_bytes()
});

/// The part of a body at `offset`, at most `max_bytes` long; empty only if `max_bytes` is 0.
pub(crate) fn body_piece(offset: u64, max_bytes: u64) -> &'static [u8] {
    let at = (offset % TEXT_BYTES as u64) as usize;
    let rest = TEXT.get(at..).unwrap_or_default();
    rest.get(..(max_bytes.min(rest.len() as u64)) as usize).unwrap_or(rest)
}

/// A body being sent, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct BodyPieces {
    size_bytes: u64,
    buffered_bytes: u64,
}

impl BodyPieces {
    pub(crate) fn new(size_bytes: u64) -> Self {
        Self { size_bytes, buffered_bytes: 0 }
    }

    /// Returns true if all of it is buffered.
    pub(crate) fn is_buffered(&self) -> bool {
        self.buffered_bytes == self.size_bytes
    }

    /// Appends the next piece of it, which is never longer than [`TEXT_BYTES`].
    pub(crate) fn buffer(&mut self, output: &mut Vec<u8>) {
        let piece = body_piece(self.buffered_bytes, self.size_bytes - self.buffered_bytes);
        output.extend_from_slice(piece);
        self.buffered_bytes += piece.len() as u64;
    }
}

/// Connection persistence after a response (RFC 9112, section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// Persistent by default: HTTP/1.1.
    Implicit,
    /// Persistent on request: HTTP/1.0, which requires `connection: keep-alive` in the response.
    Explicit,
    /// The connection is closed.
    Close,
}

/// Returns true if headers state the type of the body. Otherwise it is [`TEXT_TYPE`].
pub(crate) fn states_type(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE))
}

/// Appends the head of a response to `output`.
pub(crate) fn write_head(
    output: &mut Vec<u8>,
    status: u16,
    size: u64,
    persistence: Persistence,
    headers: &[(String, String)],
) {
    // Writing into a Vec cannot fail.
    if status == 200 {
        output.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    } else {
        let _ = write!(output, "HTTP/1.1 {status} {}\r\n", reason(status));
    }
    if !states_type(headers) {
        let _ = write!(output, "{CONTENT_TYPE}: {TEXT_TYPE}\r\n");
    }
    let _ = write!(output, "content-length: {size}");
    for (name, value) in headers {
        let _ = write!(output, "\r\n{name}: {value}");
    }
    output.extend_from_slice(match persistence {
        Persistence::Implicit => b"\r\n\r\n".as_slice(),
        Persistence::Explicit => b"\r\nconnection: keep-alive\r\n\r\n",
        Persistence::Close => b"\r\nconnection: close\r\n\r\n",
    });
}

/// Appends a response with a line of text.
pub(crate) fn write_text(
    output: &mut Vec<u8>,
    status: u16,
    line: &str,
    persistence: Persistence,
    is_head: bool,
) {
    let text = format!("{line}\n");
    write_head(output, status, text.len() as u64, persistence, &[]);
    if !is_head {
        output.extend_from_slice(text.as_bytes());
    }
}

/// Returns true if a response with this status has no body (RFC 9110, section 6.4.1).
pub(crate) fn has_no_body(status: u16) -> bool {
    matches!(status, 204 | 304)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        // The reason phrase is optional (RFC 9112, section 4).
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_pieces_are_contiguous() {
        let size = 3 * TEXT_BYTES as u64 + 17;
        let mut body = Vec::new();
        while (body.len() as u64) < size {
            let piece = body_piece(body.len() as u64, size - body.len() as u64);
            assert!(!piece.is_empty());
            body.extend_from_slice(piece);
        }
        assert_eq!(body.len() as u64, size);
        assert_eq!(body[..TEXT_BYTES], body[TEXT_BYTES..2 * TEXT_BYTES]);
        assert!(body.iter().all(u8::is_ascii));
    }

    #[test]
    fn a_head_has_status_length_headers_and_persistence() {
        let mut head = Vec::new();
        write_head(&mut head, 503, 7, Persistence::Close, &[("x-a".to_owned(), "b".to_owned())]);
        let expected = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\ncontent-length: 7\r\n\
                        x-a: b\r\nconnection: close\r\n\r\n";
        assert_eq!(String::from_utf8(head).unwrap(), expected);
    }

    #[test]
    fn a_stated_type_of_the_body_replaces_the_usual_one() {
        let mut head = Vec::new();
        let headers = [("Content-Type".to_owned(), "application/json".to_owned())];
        write_head(&mut head, 200, 7, Persistence::Implicit, &headers);
        let expected = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\nContent-Type: application/json\r\n\r\n";
        assert_eq!(String::from_utf8(head).unwrap(), expected);
    }
}
