//! Parses the head of a response in one piece, and explains why it cannot be parsed.

use std::mem::MaybeUninit;

use httparse::{Error, Header, ParserConfig, Response, Status};

use crate::malformed::Malformed;

/// Maximum size of a response's head: that of curl (`MAX_HTTP_RESP_HEADER_SIZE`).
pub const MAX_HEAD_BYTES: usize = 300 * 1024;
/// Maximum number of header fields of a response: that of curl (`MAX_HTTP_RESP_HEADER_COUNT`).
pub const MAX_FIELDS: usize = 5_000;
/// Number of header fields up to which a head is parsed without an allocation.
const USUAL_FIELDS: usize = 128;

/// Parses a whole head and passes its length and its parts to `read`; None if it is incomplete.
///
/// # Errors
/// When it is invalid or exceeds a limit, and when `read` fails.
#[inline]
pub(crate) fn parse<T>(
    bytes: &[u8],
    read: impl FnOnce(usize, &Response<'_, '_>) -> Result<T, Malformed>,
) -> Result<Option<T>, Malformed> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut fields = [const { MaybeUninit::uninit() }; USUAL_FIELDS];
    let mut response = Response::new(&mut []);
    match config().parse_response_with_uninit_headers(&mut response, bytes, &mut fields) {
        Ok(Status::Complete(length)) if length > MAX_HEAD_BYTES => Err(Malformed::HeadTooLarge),
        Ok(Status::Complete(length)) => read(length, &response).map(Some),
        Ok(Status::Partial) => Ok(None),
        Err(Error::TooManyHeaders) => parse_many(bytes, read),
        Err(error) => explain(bytes, error).map_or(Ok(None), Err),
    }
}

/// As [`parse`], for a head of more fields than usual.
#[cold]
fn parse_many<T>(
    bytes: &[u8],
    read: impl FnOnce(usize, &Response<'_, '_>) -> Result<T, Malformed>,
) -> Result<Option<T>, Malformed> {
    let mut fields: Box<[MaybeUninit<Header<'_>>]> = Box::new_uninit_slice(MAX_FIELDS);
    let mut response = Response::new(&mut []);
    match config().parse_response_with_uninit_headers(&mut response, bytes, &mut fields) {
        Ok(Status::Complete(length)) if length > MAX_HEAD_BYTES => Err(Malformed::HeadTooLarge),
        Ok(Status::Complete(length)) => read(length, &response).map(Some),
        Ok(Status::Partial) => Ok(None),
        Err(Error::TooManyHeaders) => Err(Malformed::TooManyFields),
        Err(error) => explain(bytes, error).map_or(Ok(None), Err),
    }
}

fn config() -> ParserConfig {
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    config
}

/// The length of the blank lines at the start of `bytes`. A response may be preceded by some, which are not part of it (RFC 9112, section
/// 6.3).
pub(crate) fn blank_lines(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += match bytes.get(length..) {
            Some([b'\r', b'\n', ..]) => 2,
            Some([b'\n', ..]) => 1,
            _ => return length,
        };
    }
}

/// Returns the violation of bytes that the parser refuses with `error`. None if it is in an incomplete line: the explanation then depends
/// on the following bytes.
#[cold]
fn explain(bytes: &[u8], error: Error) -> Option<Malformed> {
    let bytes = bytes.get(blank_lines(bytes)..).unwrap_or_default();
    match error {
        Error::Version => return Some(explain_first(bytes)),
        Error::Status | Error::Token => return Some(explain_status(bytes)),
        _ => {}
    }
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    if !first.ends_with(b"\n") {
        return None;
    }
    if is_cut_by_cr(first) {
        return Some(Malformed::BareCr);
    }
    for line in lines {
        if !line.ends_with(b"\n") {
            return None;
        }
        if let Some(found) = explain_line(line) {
            return Some(found);
        }
    }
    Some(match error {
        Error::HeaderName => Malformed::FieldName,
        Error::HeaderValue => Malformed::FieldValue,
        _ => Malformed::StatusLine,
    })
}

/// Returns the violation of bytes that do not begin with a version of HTTP/1. The first byte identifies other protocols, even if no other
/// byte has arrived.
fn explain_first(bytes: &[u8]) -> Malformed {
    match bytes {
        // Content types of TLS records (RFC 8446, section 5.1).
        [0x14..=0x17, ..] => Malformed::Tls,
        // The length of an HTTP/2 frame begins with 0 if it is below 64 KiB.
        [0, ..] => Malformed::Http2,
        _ if bytes.starts_with(b"HTTP/") => Malformed::Version,
        _ => Malformed::NotHttp,
    }
}

/// Returns the violation of the rest of the first line.
fn explain_status(bytes: &[u8]) -> Malformed {
    let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let code = line.get("HTTP/1.1 ".len()..).unwrap_or_default();
    let has_code = matches!(code, [a, b, c, ..] if [a, b, c].iter().all(|digit| digit.is_ascii_digit()));
    if has_code && is_cut_by_cr(line) { Malformed::BareCr } else { Malformed::StatusLine }
}

/// Returns the violation of a line of a head, with its end; None if there is none.
fn explain_line(line: &[u8]) -> Option<Malformed> {
    if is_cut_by_cr(line) {
        return Some(Malformed::BareCr);
    }
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // The end of the head, and a line that continues the value of the one before.
    let (name, value) = match line.iter().position(|byte| *byte == b':') {
        _ if line.is_empty() || line.starts_with(b" ") || line.starts_with(b"\t") => (None, line),
        None => return Some(Malformed::NoColon),
        Some(colon) => (line.get(..colon), line.get(colon + 1..).unwrap_or_default()),
    };
    if let Some(name) = name {
        if name.ends_with(b" ") || name.ends_with(b"\t") {
            return Some(Malformed::SpaceBeforeColon);
        }
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        if name.is_empty() || !name.iter().all(is_token) {
            return Some(Malformed::FieldName);
        }
    }
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    value.iter().any(is_control).then_some(Malformed::FieldValue)
}

/// True if a line, which ends with a line feed, contains a carriage return anywhere but before it.
fn is_cut_by_cr(line: &[u8]) -> bool {
    line.windows(2).any(|pair| matches!(pair, [b'\r', other] if *other != b'\n'))
}
