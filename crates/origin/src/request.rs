//! A sans-I/O parser of HTTP/1.1 requests.

use hoptax_wire::http1::ChunkedBody;
use httparse::Status;

use crate::behaviour::{BadParameter, Behaviour, HEADER_PREFIX};
use crate::response::Persistence;
use crate::table::Tables;

/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Maximum number of header fields of a request.
const MAX_HEADERS: usize = 96;

/// A complete request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its parameters, or the first invalid one.
    pub(crate) behaviour: Result<Behaviour, BadParameter>,
    /// True for a `HEAD` request, whose response has no body.
    pub(crate) is_head: bool,
    /// The connection persistence that it requests.
    pub(crate) persistence: Persistence,
    /// The `Sec-WebSocket-Key` of an upgrade to WebSocket.
    pub(crate) upgrade: Option<String>,
}

/// The result of [`RequestReader::next`].
#[expect(
    clippy::large_enum_variant,
    reason = "it is destructured at once, and a box would cost an allocation per request"
)]
#[derive(Clone, Debug)]
pub enum Next {
    /// More bytes are needed.
    More,
    /// The client waits for `100 Continue` before it sends the body.
    Continue,
    /// A complete request.
    Request(Request),
}

/// A malformed request. The connection is unusable afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// The head is not HTTP/1.
    #[error("not an HTTP/1.1 request")]
    Malformed,
    /// The head exceeds a limit.
    #[error("the request head exceeds 64 KiB or 96 headers")]
    TooLarge,
    /// The body length is invalid or ambiguous.
    #[error("invalid body length, or unsupported transfer coding")]
    BodyLength,
}

/// Parses the requests of one connection.
#[derive(Debug, Default)]
pub struct RequestReader {
    buffer: Vec<u8>,
    /// Consumed bytes of the buffer.
    start: usize,
    /// The request whose body is being read.
    pending: Option<(Request, Body)>,
    /// True if `100 Continue` is due for that body.
    owes_continue: bool,
}

#[derive(Debug)]
enum Body {
    Length(u64),
    Chunked(ChunkedBody),
}

/// A parsed head.
struct Head {
    request: Request,
    body: Body,
    expects_continue: bool,
}

impl RequestReader {
    /// Appends received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        } else if self.start > MAX_HEAD_BYTES {
            // Without this, the buffer would grow without bound if every read ends within a request.
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns true if no byte of a request is buffered.
    pub fn is_idle(&self) -> bool {
        self.pending.is_none() && self.start == self.buffer.len()
    }

    /// The bytes after the last request.
    pub(crate) fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Parses the next request from the buffered bytes. Call it until it returns [`Next::More`]. Parameters that a request
    /// does not set have the values of `defaults`.
    ///
    /// # Errors
    /// If the request is malformed.
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

/// Parses the head at the start of `bytes`; None if it is incomplete. Returns its length too.
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
    if let (Ok(parameters), Some((_, query))) =
        (&mut behaviour, parsed.path.and_then(|path| path.split_once('?')))
        && let Err(error) = parameters.apply_query(query, tables)
    {
        behaviour = Err(error);
    }
    let mut keep_alive = parsed.version == Some(1);
    let (mut length, mut chunked, mut expects_continue) = (None, false, false);
    let (mut is_upgrade, mut upgrade_key) = (false, None);
    for header in &*parsed.headers {
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        // Comparing lengths first rejects most headers.
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
                let stated: u64 = value.parse().map_err(|_| BadRequest::BodyLength)?;
                if length.is_some_and(|earlier| earlier != stated) {
                    return Err(BadRequest::BodyLength);
                }
                length = Some(stated);
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
    if let Ok(parameters) = &behaviour
        && let Err(error) = parameters.check()
    {
        behaviour = Err(error);
    }
    let persistence = match keep_alive {
        true if parsed.version == Some(1) => Persistence::Implicit,
        true => Persistence::Explicit,
        false => Persistence::Close,
    };
    let request = Request {
        behaviour,
        is_head: parsed.method == Some("HEAD"),
        persistence,
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
    if let Ok(parameters) = behaviour
        && let Err(error) = parameters.apply(&parameter.to_ascii_lowercase(), value, tables)
    {
        *behaviour = Err(error);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The requests, and the error if any, that a reader parses from `bytes`, fed in pieces that end at `cuts`.
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
    fn pipelined_requests_are_parsed_in_order() {
        let (seen, error) = read(SEVERAL, &[]);
        assert_eq!((seen.len(), error), (4, None));
        assert!(seen[0].contains("size: Weighted { default: 5") && seen[0].contains("persistence: Implicit"));
        assert!(seen[2].contains("status: Weighted { default: 503"));
        assert!(seen[3].contains("is_head: true") && seen[3].contains("persistence: Close"));
    }

    #[test]
    fn continue_is_sent_once_to_a_client_that_expects_it() {
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
    fn malformed_requests_are_rejected() {
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
        fn the_split_into_reads_does_not_change_the_result(mut cuts in prop::collection::vec(0..SEVERAL.len(), 0..8)) {
            cuts.sort_unstable();
            prop_assert_eq!(read(SEVERAL, &cuts), read(SEVERAL, &[]));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, &[]);
        }
    }
}
