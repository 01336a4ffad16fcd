//! An incremental parser of responses.
//!
//! Only one request is in flight per connection, so a response that is followed by further bytes is malformed.
//! The length of a body follows RFC 9112, section 6.3. Heads are parsed with `httparse`, in place if they arrive in
//! one piece. A head with the same bytes as the one before is not parsed again.

use std::sync::Arc;

use super::chunked::{ChunkedBody, ChunkedProgress};
use super::head::{MAX_HEAD_BYTES, blank_lines, parse};
use crate::body::{BodyKeeper, ExpectedBody};
use crate::cookies::Cookies;
use crate::malformed::{Malformed, Truncated};
use crate::number::same_length;
use crate::request_flags::RequestFlags;
use crate::response::{ExpectedHeader, Response};

/// Maximum size of a head that is remembered.
const MAX_KNOWN_BYTES: usize = 1024;

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Partial,
    /// The response is complete; the reader is ready for the next.
    Complete(Response),
}

/// A rule that a response violates although its end is known. Its connection carries nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// It has a `Content-Length` beside `Transfer-Encoding: chunked`, and was read by its chunks (RFC 9112, section 6.3).
    LengthAndChunks,
    /// It is HTTP/1.0 with a `Transfer-Encoding` (RFC 9112, section 6.1).
    CodingOfHttp10,
    /// Its body ends with the connection, and TLS did not announce that end, so it may be cut (RFC 9112, section 9.8).
    EndOfTls,
}

impl Deviation {
    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LengthAndChunks => "both Content-Length and Transfer-Encoding: chunked",
            Self::CodingOfHttp10 => "Transfer-Encoding in HTTP/1.0",
            Self::EndOfTls => "a body that ends with the connection, without the close_notify of TLS",
        }
    }
}

/// Parses the responses of one connection.
#[derive(Debug, Default)]
pub struct ResponseReader {
    state: State,
    /// True if the last bytes fed include the first byte of the final response, as far as these bytes tell.
    begins: bool,
    /// The head so far, if it arrived in more than one piece.
    head: Vec<u8>,
    /// Properties of the request that affect the reading of its response and the connection.
    flags: RequestFlags,
    /// True if an interim response to the request has arrived.
    has_interim: bool,
    /// True if the last response can have no body, regardless of its headers.
    is_bodiless: bool,
    /// Rule that the last response violates, if its connection carries nothing after it.
    deviation: Option<Deviation>,
    expected: Option<Arc<[ExpectedHeader]>>,
    kept: BodyKeeper,
    /// Present if cookies are sent.
    cookies: Option<Box<Cookies>>,
    /// The last head that arrived in one piece. Most responses of a connection have the same head, and comparing bytes is
    /// faster than parsing them.
    known: Option<KnownHead>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Body {
        response: Response,
        body: Body,
    },
}

#[derive(Clone, Copy, Debug)]
enum Body {
    Length(u64),
    Chunked(ChunkedBody),
    UntilClose,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    bytes: usize,
    response: Response,
    /// None if the response ends with its head.
    body: Option<Body>,
    interim: bool,
    deviation: Option<Deviation>,
}

/// The bytes of a head, and their meaning as the response to a request with the same properties.
#[derive(Debug)]
struct KnownHead {
    bytes: Vec<u8>,
    flags: RequestFlags,
    head: Head,
}

impl ResponseReader {
    /// A reader for the responses to requests with these properties.
    pub fn new(flags: RequestFlags) -> Self {
        Self { flags, ..Self::default() }
    }

    /// Makes the reader check responses for these headers.
    #[must_use]
    pub fn expecting(self, headers: Arc<[ExpectedHeader]>) -> Self {
        Self { expected: Some(headers).filter(|headers| !headers.is_empty()), ..self }
    }

    /// Checks the bodies of the following responses. Bodies are buffered only for these checks.
    pub fn check_bodies(&mut self, expected: Option<Arc<ExpectedBody>>) {
        self.kept = BodyKeeper::new(expected);
    }

    /// Stores cookies that responses set, and sends them with the following requests.
    pub fn keep_cookies(&mut self) {
        self.cookies.get_or_insert_default();
        self.known = None;
    }

    /// The value of the `Cookie` header of the next request; None without cookies.
    pub(crate) fn cookies(&self) -> Option<&[u8]> {
        self.cookies.as_ref()?.header()
    }

    /// Resets the reader for the response to a request.
    pub fn begin(&mut self, flags: RequestFlags) {
        self.state = State::Head;
        self.head.clear();
        self.kept.begin();
        self.flags = flags;
        self.has_interim = false;
    }

    /// True if no byte of a response has arrived yet.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Head) && self.head.is_empty()
    }

    /// Returns the rule that the last response of a connection violates although its end is known; None if it violates none.
    pub fn deviation(&self) -> Option<Deviation> {
        self.deviation
    }

    /// Processes bytes that arrive without a request. Blank lines are no response, and are discarded (RFC 9112, section 6.3).
    ///
    /// # Errors
    /// When they are anything else; the connection is then unusable.
    pub fn feed_unsolicited(&self, bytes: &[u8]) -> Result<(), Malformed> {
        match excess(bytes, self.is_bodiless) {
            None => Ok(()),
            Some(found) => Err(found),
        }
    }

    /// True if the last bytes fed include the first byte of the final response, as far as is known. If that response turns out to be an
    /// interim one, this is true again for the bytes that follow it.
    pub fn begins(&self) -> bool {
        self.begins
    }

    /// Processes the bytes of one read.
    ///
    /// # Errors
    /// When they cannot be a response; the connection is then unusable.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Progress, Malformed> {
        self.begins = self.is_idle() && !bytes.is_empty();
        loop {
            match &mut self.state {
                State::Head => {
                    let Some(head) = self.feed_head(&mut bytes)? else { return Ok(Progress::Partial) };
                    if head.interim {
                        // 1xx is an interim response; the final one follows.
                        self.begins = !bytes.is_empty();
                        self.has_interim = true;
                        continue;
                    }
                    match head.body {
                        None => return self.complete(head.response, bytes),
                        Some(body) => self.state = State::Body { response: head.response, body },
                    }
                }
                State::Body { response, body } => {
                    let done = match body {
                        Body::Length(left) => {
                            let taken = (bytes.len() as u64).min(*left);
                            *left -= taken;
                            response.body_bytes += taken;
                            let (data, rest) = bytes.split_at(taken as usize);
                            self.kept.take(data);
                            bytes = rest;
                            *left == 0
                        }
                        Body::Chunked(chunked) => {
                            let ChunkedProgress { consumed, data_bytes, complete } =
                                chunked.feed_to(bytes, |data| self.kept.take(data))?;
                            response.body_bytes += data_bytes;
                            bytes = bytes.get(consumed..).unwrap_or_default();
                            complete
                        }
                        Body::UntilClose => {
                            response.body_bytes += bytes.len() as u64;
                            self.kept.take(bytes);
                            return Ok(Progress::Partial);
                        }
                    };
                    if !done {
                        return Ok(Progress::Partial);
                    }
                    let response = *response;
                    return self.complete(response, bytes);
                }
            }
        }
    }

    /// Handles the peer's close of the connection. Returns the response that this completes (a body without a
    /// length ends this way), or nothing when none had begun.
    ///
    /// # Errors
    /// When a response had begun and was not complete.
    pub fn end(&mut self) -> Result<Option<Response>, Truncated> {
        match std::mem::take(&mut self.state) {
            State::Head if self.head.is_empty() && self.has_interim => Err(Truncated::Interim),
            State::Head if self.head.is_empty() => Ok(None),
            State::Head => Err(Truncated::Head),
            State::Body { response, body: Body::UntilClose } => Ok(Some(self.judged(response))),
            State::Body { body: Body::Length(_), .. } => Err(Truncated::Length),
            State::Body { body: Body::Chunked(_), .. } => Err(Truncated::Chunks),
        }
    }

    /// Handles a reset of the connection by the peer. Returns the response whose head has arrived if that says that the request
    /// failed: a server that refuses a request before it has read all of it, and closes, resets the connection, which may cut the
    /// body of its response (RFC 9112, section 9.6).
    pub fn reset(&mut self) -> Option<Response> {
        match std::mem::take(&mut self.state) {
            State::Body { response, .. } if response.status >= 400 => Some(self.judged(response)),
            State::Body { .. } | State::Head => None,
        }
    }

    fn complete(&mut self, response: Response, rest: &[u8]) -> Result<Progress, Malformed> {
        self.state = State::Head;
        self.is_bodiless = self.flags.is_head() || matches!(response.status, 204 | 304);
        // Bytes after a switch of protocols belong to the new one.
        if !rest.is_empty()
            && response.status != 101
            && let Some(found) = excess(rest, self.is_bodiless)
        {
            return Err(found);
        }
        Ok(Progress::Complete(self.judged(response)))
    }

    /// A complete response, with the result of the check of its body.
    fn judged(&mut self, response: Response) -> Response {
        let is_as_expected = response.is_as_expected && self.kept.is_as_expected();
        self.kept.begin();
        Response { is_as_expected, ..response }
    }

    /// Parses a head at the front of `bytes` (after earlier pieces) and advances `bytes` past it.
    fn feed_head(&mut self, bytes: &mut &[u8]) -> Result<Option<Head>, Malformed> {
        if self.head.is_empty() {
            if let Some(known) = &self.known
                && known.flags == self.flags
                && let Some(rest) = bytes.strip_prefix(known.bytes.as_slice())
            {
                *bytes = rest;
                return Ok(Some(known.head));
            }
            self.skip_blank_lines(bytes);
            let (expected, cookies) = (self.expected.as_deref(), self.cookies.as_deref_mut());
            let Some(head) = parse_head(bytes, self.flags, expected, cookies)? else {
                return self.keep_head(bytes);
            };
            self.deviation = head.deviation;
            let (head_bytes, rest) = bytes.split_at(head.bytes);
            self.remember(head_bytes, head);
            *bytes = rest;
            return Ok(Some(head));
        }
        let before = self.head.len();
        // Bytes beyond the limit cannot be part of an acceptable head, but may be body: do not look at them.
        let taken = bytes.len().min(MAX_HEAD_BYTES.saturating_sub(before) + 1);
        self.head.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        let (expected, cookies) = (self.expected.as_deref(), self.cookies.as_deref_mut());
        let Some(head) = parse_head(&self.head, self.flags, expected, cookies)? else {
            return if self.head.len() > MAX_HEAD_BYTES { Err(Malformed::HeadTooLarge) } else { Ok(None) };
        };
        self.deviation = head.deviation;
        *bytes = bytes.get(head.bytes.saturating_sub(before)..).unwrap_or_default();
        self.head.clear();
        Ok(Some(head))
    }

    /// Advances `bytes` past blank lines before a response, which are not part of it.
    fn skip_blank_lines(&mut self, bytes: &mut &[u8]) {
        let skipped = blank_lines(bytes);
        if skipped > 0 {
            *bytes = bytes.get(skipped..).unwrap_or_default();
            self.begins &= !bytes.is_empty();
        }
    }

    /// Remembers a head, unless it must be parsed each time for its cookies, is that of an interim response, is the last of its connection,
    /// or is too large.
    fn remember(&mut self, bytes: &[u8], head: Head) {
        if self.cookies.is_some() || head.interim || head.deviation.is_some() || bytes.len() > MAX_KNOWN_BYTES
        {
            return;
        }
        let flags = self.flags;
        let known = self.known.get_or_insert(KnownHead { bytes: Vec::new(), flags, head });
        known.bytes.clear();
        known.bytes.extend_from_slice(bytes);
        (known.flags, known.head) = (flags, head);
    }

    fn keep_head(&mut self, bytes: &[u8]) -> Result<Option<Head>, Malformed> {
        if bytes.len() > MAX_HEAD_BYTES {
            return Err(Malformed::HeadTooLarge);
        }
        self.head.extend_from_slice(bytes);
        Ok(None)
    }
}

/// Returns the violation of bytes after the end of a response; None for blank lines, the last of which may be incomplete.
#[cold]
fn excess(bytes: &[u8], is_bodiless: bool) -> Option<Malformed> {
    const VERSION: &[u8] = b"HTTP/1.";
    match bytes.get(blank_lines(bytes)..).unwrap_or_default() {
        b"" | b"\r" => None,
        rest if rest.starts_with(VERSION) || VERSION.starts_with(rest) => Some(Malformed::SecondResponse),
        _ if is_bodiless => Some(Malformed::BodyOfNone),
        _ => Some(Malformed::Excess),
    }
}

/// Parses a whole head; None if it is incomplete.
#[inline]
fn parse_head(
    bytes: &[u8],
    flags: RequestFlags,
    expected: Option<&[ExpectedHeader]>,
    cookies: Option<&mut Cookies>,
) -> Result<Option<Head>, Malformed> {
    parse(bytes, |head_bytes, response| read_head(head_bytes, response, flags, expected, cookies))
}

fn read_head(
    head_bytes: usize,
    response: &httparse::Response<'_, '_>,
    flags: RequestFlags,
    expected: Option<&[ExpectedHeader]>,
    cookies: Option<&mut Cookies>,
) -> Result<Head, Malformed> {
    let status = response.code.filter(|status| (100..1000).contains(status)).ok_or(Malformed::StatusLine)?;
    let is_http10 = response.version == Some(0);
    let mut keep_alive = !is_http10;
    let mut length: Option<Result<u64, Malformed>> = None;
    let mut coding = None;
    for header in response.headers.iter() {
        let name = header.name;
        if is_named(name, "content-length") {
            length = Some(same_length(length, header.value));
        } else if is_named(name, "transfer-encoding") {
            // Only the last coding determines the framing (RFC 9112, section 6.1).
            coding = Some(last_word(header.value));
        } else if is_named(name, "connection") {
            for word in header.value.split(|&byte| byte == b',') {
                let word = word.trim_ascii();
                if word.eq_ignore_ascii_case(b"close") {
                    keep_alive = false;
                } else if word.eq_ignore_ascii_case(b"keep-alive") && is_http10 {
                    keep_alive = true;
                }
            }
        }
    }
    if let Some(cookies) = cookies {
        let set = response.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("set-cookie"));
        set.for_each(|header| cookies.set(header.value));
    }
    if status == 101 && !flags.is_upgrade() {
        return Err(Malformed::Switched);
    }
    let interim = (100..200).contains(&status) && status != 101;
    let has_body = !(flags.is_head() || interim || matches!(status, 101 | 204 | 304));
    let (body, deviation) = if has_body { body(coding, length, is_http10)? } else { (None, None) };
    keep_alive &= !matches!(body, Some(Body::UntilClose)) && deviation.is_none();
    keep_alive &= status != 101 && !flags.is_last();
    let is_as_expected = expected.is_none_or(|expected| {
        expected
            .iter()
            .all(|one| response.headers.iter().any(|header| one.is(header.name.as_bytes(), header.value)))
    });
    let response = Response { status, grpc_status: None, body_bytes: 0, keep_alive, is_as_expected };
    Ok(Head { bytes: head_bytes, response, body, interim, deviation })
}

/// Returns the framing of a body (RFC 9112, section 6.3), and the rule that its head violates; no body if its length is zero.
fn body(
    coding: Option<&[u8]>,
    length: Option<Result<u64, Malformed>>,
    is_http10: bool,
) -> Result<(Option<Body>, Option<Deviation>), Malformed> {
    let Some(coding) = coding else {
        return Ok(match length.transpose()? {
            Some(0) => (None, None),
            Some(bytes) => (Some(Body::Length(bytes)), None),
            None => (Some(Body::UntilClose), None),
        });
    };
    let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
    if length.is_some() && !is_chunked {
        // The body would end with the connection, but servers that mean the length keep the connection open.
        let is_identity = coding.eq_ignore_ascii_case(b"identity");
        return Err(if is_identity { Malformed::Identity } else { Malformed::NotChunked });
    }
    let deviation = if length.is_some() {
        Some(Deviation::LengthAndChunks)
    } else {
        is_http10.then_some(Deviation::CodingOfHttp10)
    };
    let body = if is_chunked { Body::Chunked(ChunkedBody::default()) } else { Body::UntilClose };
    Ok((Some(body), deviation))
}

/// True if a header has a name, which is given in lower case. Most servers send names in lower case, and comparing equal bytes is faster
/// than ignoring case.
fn is_named(name: &str, lower_case: &str) -> bool {
    name == lower_case || name.eq_ignore_ascii_case(lower_case)
}

fn last_word(value: &[u8]) -> &[u8] {
    value.rsplit(|&byte| byte == b',').next().unwrap_or_default().trim_ascii()
}
