//! A sans-I/O reader of requests: bytes in, requests out.

use hoptax_wire::http1::ChunkedBody;
use httparse::Status;

use crate::answer::After;
use crate::behaviour::{BadParameter, Behaviour, HEADER_PREFIX};
use crate::table::Tables;

/// Most bytes of a request's head.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Most headers of a request.
const MAX_HEADERS: usize = 96;

/// A request that was read to its end.
#[derive(Clone, Debug)]
pub struct Request {
    /// What it asks for.
    pub(crate) behaviour: Result<Behaviour, BadParameter>,
    /// Whether it is a HEAD request, whose answer has no body.
    pub(crate) is_head: bool,
    /// What it asks to become of the connection.
    pub(crate) after: After,
    /// The key of an upgrade to WebSocket, if it asks for that.
    pub(crate) upgrade: Option<String>,
}

/// What comes next on a connection.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a box would be an allocation for each request"
)]
#[derive(Clone, Debug)]
pub enum Next {
    /// Nothing until more bytes come.
    More,
    /// The client waits for leave to send the body.
    Continue,
    /// A request.
    Request(Request),
}

/// Why bytes are no request. The connection cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Not HTTP/1.
    #[error("this is not an HTTP/1.1 request")]
    Malformed,
    /// More head than is taken.
    #[error("the request's headers are too large: at most 64 KiB and 96 headers are taken")]
    TooLarge,
    /// No telling where the body ends.
    #[error("the length of the request's body is not told properly")]
    BodyLength,
}

/// Reads the requests of one connection.
#[derive(Debug, Default)]
pub struct RequestReader {
    buffer: Vec<u8>,
    /// Bytes of the buffer that are used up.
    start: usize,
    /// The request whose body is being read.
    pending: Option<(Request, Body)>,
    /// Whether the client waits for leave to send that body.
    owes_continue: bool,
}

#[derive(Debug)]
enum Body {
    Length(u64),
    Chunked(ChunkedBody),
}

/// What a head says, beside what the request asks for.
struct Head {
    request: Request,
    body: Body,
    expects_continue: bool,
}

impl RequestReader {
    /// Takes bytes that came.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        } else if self.start > MAX_HEAD_BYTES {
            // Requests that overlap every read would otherwise be kept for ever.
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether nothing of a request has been read.
    pub fn is_idle(&self) -> bool {
        self.pending.is_none() && self.start == self.buffer.len()
    }

    /// The bytes behind the last request.
    pub(crate) fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// What comes next of the bytes so far; to be called until there is no more. A request that asks for nothing
    /// gets `defaults`.
    ///
    /// # Errors
    /// When the bytes are no request.
    pub fn next(&mut self, defaults: &Behaviour, tables: &Tables) -> Result<Next, BadRequest> {
        if self.pending.is_none() {
            let bytes = self.buffer.get(self.start..).unwrap_or_default();
            let Some((head, used)) = parse_head(bytes, defaults, tables)? else { return Ok(Next::More) };
            self.start += used;
            self.owes_continue = head.expects_continue;
            self.pending = Some((head.request, head.body));
        }
        self.read_body()
    }

    fn read_body(&mut self) -> Result<Next, BadRequest> {
        let Some((_, body)) = &mut self.pending else { return Ok(Next::More) };
        let bytes = self.buffer.get(self.start..).unwrap_or_default();
        let complete = match body {
            Body::Length(left) => {
                let taken = (bytes.len() as u64).min(*left);
                *left -= taken;
                self.start += taken as usize;
                *left == 0
            }
            Body::Chunked(chunked) => {
                let progress = chunked.feed(bytes).map_err(|_| BadRequest::BodyLength)?;
                self.start += progress.consumed;
                progress.complete
            }
        };
        if !complete {
            let owed = std::mem::take(&mut self.owes_continue);
            return Ok(if owed { Next::Continue } else { Next::More });
        }
        self.owes_continue = false;
        Ok(self.pending.take().map_or(Next::More, |(request, _)| Next::Request(request)))
    }
}

/// The head at the start of `bytes` and its length, or None while it is not complete.
fn parse_head(
    bytes: &[u8],
    defaults: &Behaviour,
    tables: &Tables,
) -> Result<Option<(Head, usize)>, BadRequest> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let used = match parsed.parse(bytes) {
        Ok(Status::Complete(used)) if used <= MAX_HEAD_BYTES => used,
        Ok(Status::Partial) if bytes.len() < MAX_HEAD_BYTES => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(BadRequest::TooLarge),
        Err(_) => return Err(BadRequest::Malformed),
    };
    let mut behaviour = Ok(defaults.clone());
    if let (Ok(behaviour_of), Some((_, query))) =
        (&mut behaviour, parsed.path.and_then(|path| path.split_once('?')))
        && let Err(error) = behaviour_of.apply_query(query, tables)
    {
        behaviour = Err(error);
    }
    let mut keep_alive = parsed.version == Some(1);
    let (mut length, mut chunked, mut expects_continue) = (None, false, false);
    let (mut is_upgrade, mut upgrade_key) = (false, None);
    for header in &*parsed.headers {
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        // Names are compared by length first: most headers are none of these.
        match header.name.len() {
            7 if header.name.eq_ignore_ascii_case("upgrade") => {
                is_upgrade = value.eq_ignore_ascii_case("websocket");
            }
            17 if header.name.eq_ignore_ascii_case("sec-websocket-key") => {
                upgrade_key = Some(value.to_owned());
            }
            6 if header.name.eq_ignore_ascii_case("expect") => {
                expects_continue = value.eq_ignore_ascii_case("100-continue");
            }
            10 if header.name.eq_ignore_ascii_case("connection") => {
                let has = |word: &str| value.split(',').any(|one| one.trim().eq_ignore_ascii_case(word));
                keep_alive = (keep_alive || has("keep-alive")) && !has("close");
            }
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let told: u64 = value.parse().map_err(|_| BadRequest::BodyLength)?;
                if length.is_some_and(|earlier| earlier != told) {
                    return Err(BadRequest::BodyLength);
                }
                length = Some(told);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err(BadRequest::BodyLength);
                }
                chunked = true;
            }
            _ => apply_header(&mut behaviour, header.name, value, tables),
        }
    }
    if chunked && length.is_some() {
        return Err(BadRequest::BodyLength);
    }
    let after = match keep_alive {
        true if parsed.version == Some(1) => After::Keep,
        true => After::KeepAndSay,
        false => After::Close,
    };
    let request = Request {
        behaviour,
        is_head: parsed.method == Some("HEAD"),
        after,
        upgrade: upgrade_key.filter(|_| is_upgrade),
    };
    let body =
        if chunked { Body::Chunked(ChunkedBody::default()) } else { Body::Length(length.unwrap_or(0)) };
    Ok(Some((Head { request, body, expects_continue }, used)))
}

fn apply_header(behaviour: &mut Result<Behaviour, BadParameter>, name: &str, value: &str, tables: &Tables) {
    let Some((prefix, parameter)) = name.split_at_checked(HEADER_PREFIX.len()) else { return };
    if !prefix.eq_ignore_ascii_case(HEADER_PREFIX) {
        return;
    }
    if let Ok(asked) = behaviour
        && let Err(error) = asked.apply(&parameter.to_ascii_lowercase(), value, tables)
    {
        *behaviour = Err(error);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything that a reader makes of `bytes`, fed in pieces that end at `cuts`.
    fn read(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Option<BadRequest>) {
        let (mut reader, mut seen, mut from) = (RequestReader::default(), Vec::new(), 0);
        for &to in cuts.iter().chain([&bytes.len()]) {
            reader.feed(&bytes[from..to]);
            from = to;
            loop {
                match reader.next(&Behaviour::default(), &Tables::default()) {
                    Ok(Next::More) => break,
                    Ok(Next::Continue) => {}
                    Ok(Next::Request(request)) => seen.push(format!("{request:?}")),
                    Err(error) => return (seen, Some(error)),
                }
            }
        }
        (seen, None)
    }

    const SEVERAL: &[u8] =
        b"GET /a?size=5 HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc\
        POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nX-Hoptax-Status: 503\r\n\r\n5\r\nhello\r\n0\r\n\r\n\
        HEAD / HTTP/1.0\r\n\r\n";

    #[test]
    fn requests_follow_each_other_on_a_connection() {
        let (seen, error) = read(SEVERAL, &[]);
        assert_eq!((seen.len(), error), (4, None));
        assert!(seen[0].contains("size: Chances { otherwise: 5") && seen[0].contains("after: Keep"));
        assert!(seen[2].contains("status: Chances { otherwise: 503"));
        assert!(seen[3].contains("is_head: true") && seen[3].contains("after: Close"));
    }

    #[test]
    fn a_client_that_waits_for_leave_gets_it_once() {
        let mut reader = RequestReader::default();
        let mut next = |bytes: &[u8]| {
            reader.feed(bytes);
            reader.next(&Behaviour::default(), &Tables::default()).unwrap()
        };
        let head = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
        assert!(matches!(next(head), Next::Continue));
        assert!(matches!(next(b"a"), Next::More));
        assert!(matches!(next(b"b"), Next::Request(_)));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let error = |bytes: &[u8]| read(bytes, &[]).1;
        assert_eq!(error(b"\x16\x03\x01\x02\x00\x01"), Some(BadRequest::Malformed));
        assert_eq!(error(b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"), Some(BadRequest::BodyLength));
        assert_eq!(
            error(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Some(BadRequest::BodyLength)
        );
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(97));
        assert_eq!(error(many.as_bytes()), Some(BadRequest::TooLarge));
        let large = format!("GET / HTTP/1.1\r\na: {}", "b".repeat(70_000));
        assert_eq!(error(large.as_bytes()), Some(BadRequest::TooLarge));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(mut cuts in prop::collection::vec(0..SEVERAL.len(), 0..8)) {
            cuts.sort_unstable();
            prop_assert_eq!(read(SEVERAL, &cuts), read(SEVERAL, &[]));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, &[]);
        }
    }
}
