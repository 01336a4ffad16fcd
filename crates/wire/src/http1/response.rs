//! An incremental parser of responses.
//!
//! Only one request is in flight per connection, so a response that is followed by further bytes is malformed.
//! The length of a body follows RFC 9112, section 6.3. Heads are parsed with `httparse`, in place if they arrive in
//! one piece. A head with the same bytes as the one before is not parsed again.

use std::sync::Arc;

use thiserror::Error;

use super::chunked::{ChunkedBody, ChunkedProgress};
use super::malformed::Malformed;
use crate::body::{BodyKeeper, ExpectedBody};
use crate::cookies::Cookies;
use crate::response::{ExpectedHeader, Response, decimal};

/// Maximum size of a response's head. Envoy's own default limit is 60 KiB.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Maximum size of a head that is remembered.
const MAX_KNOWN_BYTES: usize = 1024;
/// Maximum number of header fields of a response.
const MAX_HEADERS: usize = 128;

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Partial,
    /// The response is complete; the reader is ready for the next.
    Complete(Response),
}

/// The peer closed the connection before the end of a response.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the server closed the connection before the end of the response")]
pub struct Truncated;

/// Parses the responses of one connection.
#[derive(Debug, Default)]
pub struct ResponseReader {
    state: State,
    /// Whether the last bytes fed include the first of what is, as far as they tell, the final response.
    begins: bool,
    /// The head so far, if it arrived in more than one piece.
    head: Vec<u8>,
    /// Whether the request was a `HEAD`, whose response has no body regardless of its headers.
    request_was_head: bool,
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
}

/// The bytes of a head, and their meaning as the response to a request that is or is not a `HEAD`.
#[derive(Debug)]
struct KnownHead {
    bytes: Vec<u8>,
    request_was_head: bool,
    head: Head,
}

impl ResponseReader {
    /// A reader for the responses to `HEAD` requests if `request_is_head`, otherwise to other requests.
    pub fn new(request_is_head: bool) -> Self {
        Self { request_was_head: request_is_head, ..Self::default() }
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

    /// Resets the reader for the response to a request, which is a `HEAD` if `request_is_head`.
    pub fn begin(&mut self, request_is_head: bool) {
        self.state = State::Head;
        self.head.clear();
        self.kept.begin();
        self.request_was_head = request_is_head;
    }

    /// Whether no byte of a response has arrived yet.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Head) && self.head.is_empty()
    }

    /// Whether the last bytes fed include the first byte of the final response, as far as is known. If that response turns out to be
    /// interim, this is true once more, for the bytes that follow it.
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
            State::Head if self.head.is_empty() => Ok(None),
            State::Body { response, body: Body::UntilClose } => Ok(Some(self.judged(response))),
            State::Head | State::Body { .. } => Err(Truncated),
        }
    }

    fn complete(&mut self, response: Response, rest: &[u8]) -> Result<Progress, Malformed> {
        self.state = State::Head;
        if rest.is_empty() { Ok(Progress::Complete(self.judged(response))) } else { Err(Malformed::Excess) }
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
                && known.request_was_head == self.request_was_head
                && let Some(rest) = bytes.strip_prefix(known.bytes.as_slice())
            {
                *bytes = rest;
                return Ok(Some(known.head));
            }
            let (expected, cookies) = (self.expected.as_deref(), self.cookies.as_deref_mut());
            let Some(head) = parse_head(bytes, self.request_was_head, expected, cookies)? else {
                return self.keep_head(bytes);
            };
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
        let Some(head) = parse_head(&self.head, self.request_was_head, expected, cookies)? else {
            return if self.head.len() > MAX_HEAD_BYTES { Err(Malformed::HeadTooLarge) } else { Ok(None) };
        };
        *bytes = bytes.get(head.bytes.saturating_sub(before)..).unwrap_or_default();
        self.head.clear();
        Ok(Some(head))
    }

    /// Remembers a head, unless it must be parsed each time for its cookies, or precedes the one that would repeat.
    fn remember(&mut self, bytes: &[u8], head: Head) {
        if self.cookies.is_some() || head.interim || bytes.len() > MAX_KNOWN_BYTES {
            return;
        }
        let request_was_head = self.request_was_head;
        let known = self.known.get_or_insert(KnownHead { bytes: Vec::new(), request_was_head, head });
        known.bytes.clear();
        known.bytes.extend_from_slice(bytes);
        (known.request_was_head, known.head) = (request_was_head, head);
    }

    fn keep_head(&mut self, bytes: &[u8]) -> Result<Option<Head>, Malformed> {
        if bytes.len() > MAX_HEAD_BYTES {
            return Err(Malformed::HeadTooLarge);
        }
        self.head.extend_from_slice(bytes);
        Ok(None)
    }
}

/// Parses a whole head; None if it is incomplete.
fn parse_head(
    bytes: &[u8],
    request_was_head: bool,
    expected: Option<&[ExpectedHeader]>,
    cookies: Option<&mut Cookies>,
) -> Result<Option<Head>, Malformed> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut fields = [const { std::mem::MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut fields);
    let head_bytes = match parsed {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLarge),
        Err(_) => return Err(Malformed::Head),
    };
    if head_bytes > MAX_HEAD_BYTES {
        return Err(Malformed::HeadTooLarge);
    }
    let status = response.code.ok_or(Malformed::Head)?;
    if !(100..1000).contains(&status) {
        return Err(Malformed::Head);
    }
    let mut keep_alive = response.version == Some(1);
    let mut length: Option<u64> = None;
    let mut transfer_encoding = false;
    let mut chunked = false;
    for header in response.headers.iter() {
        let name = header.name;
        if is_named(name, "content-length") {
            let value = parse_length(header.value).ok_or(Malformed::Length)?;
            if length.is_some_and(|earlier| earlier != value) {
                return Err(Malformed::Length);
            }
            length = Some(value);
        } else if is_named(name, "transfer-encoding") {
            transfer_encoding = true;
            // Only the last coding determines the framing (RFC 9112, section 6.1).
            chunked = last_word(header.value).eq_ignore_ascii_case(b"chunked");
        } else if is_named(name, "connection") {
            for word in header.value.split(|&byte| byte == b',') {
                let word = word.trim_ascii();
                if word.eq_ignore_ascii_case(b"close") {
                    keep_alive = false;
                } else if word.eq_ignore_ascii_case(b"keep-alive") && response.version == Some(0) {
                    keep_alive = true;
                }
            }
        }
    }
    if let Some(cookies) = cookies {
        let set = response.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("set-cookie"));
        set.for_each(|header| cookies.set(header.value));
    }
    let interim = (100..200).contains(&status) && status != 101;
    let no_body = request_was_head || interim || matches!(status, 101 | 204 | 304);
    let body = if no_body {
        None
    } else if transfer_encoding {
        if length.is_some() {
            // Both headers at once are a means of request smuggling, so such a response is rejected.
            return Err(Malformed::Length);
        }
        Some(if chunked { Body::Chunked(ChunkedBody::default()) } else { Body::UntilClose })
    } else {
        match length {
            Some(0) => None,
            Some(bytes) => Some(Body::Length(bytes)),
            None => Some(Body::UntilClose),
        }
    };
    keep_alive &= !matches!(body, Some(Body::UntilClose)) && status != 101;
    let is_as_expected = expected.is_none_or(|expected| {
        expected
            .iter()
            .all(|one| response.headers.iter().any(|header| one.is(header.name.as_bytes(), header.value)))
    });
    let response = Response { status, grpc_status: None, body_bytes: 0, keep_alive, is_as_expected };
    Ok(Some(Head { bytes: head_bytes, response, body, interim }))
}

/// Whether a header has a name, which is given in lower case. Most servers send names in lower case, and comparing equal
/// bytes is faster than ignoring case.
fn is_named(name: &str, lower_case: &str) -> bool {
    name == lower_case || name.eq_ignore_ascii_case(lower_case)
}

/// The value of `Content-Length`; a list of equal values counts as one (RFC 9110, section 8.6).
fn parse_length(value: &[u8]) -> Option<u64> {
    if let Some(length) = decimal(value) {
        return Some(length);
    }
    let mut length = None;
    for part in value.split(|&byte| byte == b',') {
        let number = decimal(part.trim_ascii())?;
        if length.is_some_and(|earlier| earlier != number) {
            return None;
        }
        length = Some(number);
    }
    length
}

fn last_word(value: &[u8]) -> &[u8] {
    value.rsplit(|&byte| byte == b',').next().unwrap_or_default().trim_ascii()
}
