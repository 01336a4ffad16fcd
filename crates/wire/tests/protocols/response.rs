//! The parser of responses on valid, unusual and invalid responses, however they are split.

use hoptax_wire::http1::{Deviation, MAX_FIELDS, MAX_HEAD_BYTES, Progress, Request, ResponseReader};
use hoptax_wire::{
    Client, ClientProtocol, Encoded, Event, ExpectedHeader, Malformed, RequestFlags, Response, Truncated,
};

pub(crate) fn read(bytes: &[u8]) -> Result<Progress, Malformed> {
    ResponseReader::default().feed(bytes)
}

fn whole(status: u16, body_bytes: u64, keep_alive: bool) -> Response {
    Response { status, grpc_status: None, body_bytes, keep_alive, is_as_expected: true }
}

fn response(status: u16, body_bytes: u64, keep_alive: bool) -> Progress {
    Progress::Complete(whole(status, body_bytes, keep_alive))
}

/// Valid responses with a defined end, and their results.
fn legal() -> Vec<(&'static [u8], Progress)> {
    vec![
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", response(200, 5, true)),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", response(200, 0, true)),
        (b"HTTP/1.1 204 No Content\r\n\r\n", response(204, 0, true)),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", response(304, 0, true)),
        (b"HTTP/1.1 200 OK\r\nCONNECTION: Close\r\ncontent-length: 2\r\n\r\nok", response(200, 2, false)),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", response(200, 2, false)),
        (b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok", response(200, 2, true)),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", response(200, 1, true)),
        (
            b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 503 No\r\ncontent-length: 3, 3\r\n\r\nabc",
            response(503, 3, true),
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
            response(200, 15, true),
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n3 \r\nabc\r\n0\r\ntrailer: a\r\nb: c\r\n\r\n",
            response(200, 3, true),
        ),
        (b"HTTP/1.1 200 OK\r\nx-folded: a\r\n  b\r\ncontent-length: 1\r\n\r\nx", response(200, 1, true)),
        // A response without a body may state any length, or several.
        (b"HTTP/1.1 204 No Content\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", response(204, 0, true)),
        (b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok", response(200, 2, true)),
        // Blank lines before a response, as after the body of the one before.
        (b"\r\n\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", response(200, 2, true)),
        (b"HTTP/1.1 100 Continue\r\n\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", response(204, 0, true)),
        // Both lengths: its chunks decide, and the connection ends.
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            response(200, 5, false),
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\ncontent-length: 1, 2\r\n\r\n0\r\n\r\n",
            response(200, 0, false),
        ),
        (
            b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            response(200, 0, false),
        ),
    ]
}

#[test]
fn a_split_at_any_two_places_changes_nothing() {
    for (bytes, expected) in legal() {
        for first in 0..bytes.len() {
            for second in first..bytes.len() {
                let mut reader = ResponseReader::default();
                let mut last = Ok(Progress::Partial);
                for piece in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                    assert_eq!(last, Ok(Progress::Partial), "complete before the end");
                    last = reader.feed(piece);
                }
                assert_eq!(
                    last,
                    Ok(expected),
                    "split at {first} and {second}: {}",
                    String::from_utf8_lossy(bytes)
                );
            }
        }
    }
}

#[test]
fn the_reader_serves_one_response_after_another() {
    let mut reader = ResponseReader::default();
    for (bytes, expected) in legal() {
        assert_eq!(reader.feed(bytes), Ok(expected));
        assert!(reader.is_idle());
    }
}

#[test]
fn a_response_to_head_has_no_body() {
    let mut reader = ResponseReader::new(RequestFlags::head(true));
    assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n"), Ok(response(200, 0, true)));
    let mut reader = ResponseReader::new(RequestFlags::head(true));
    let found = reader.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    assert_eq!(found, Err(Malformed::BodyOfNone));
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let mut reader = ResponseReader::default();
    assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\n\r\nsome"), Ok(Progress::Partial));
    assert_eq!(reader.feed(b" more"), Ok(Progress::Partial));
    assert_eq!(reader.end(), Ok(Some(whole(200, 9, false))));
}

#[test]
fn a_close_in_the_middle_is_truncation_and_before_it_is_not() {
    for (cut, place) in [
        ("HTTP/1.1 2", Truncated::Head),
        ("HTTP/1.1 103 Early Hints\r\n\r\n", Truncated::Interim),
        ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP", Truncated::Head),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel", Truncated::Length),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", Truncated::Chunks),
    ] {
        let mut reader = ResponseReader::default();
        assert_eq!(reader.feed(cut.as_bytes()), Ok(Progress::Partial));
        assert_eq!(reader.end(), Err(place));
    }
    let mut reader = ResponseReader::default();
    assert_eq!(reader.end(), Ok(None));
    // The interim response to the request before is none to this one.
    reader.feed(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").unwrap();
    reader.begin(RequestFlags::default());
    assert_eq!(reader.end(), Ok(None));
}

/// Invalid responses, each with its violation.
fn illegal() -> Vec<(Vec<u8>, Malformed)> {
    let of = |head: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\nok");
    let chunks = |body: &str| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}");
    let cases = [
        ("garbage\r\n\r\n".to_owned(), Malformed::NotHttp),
        ("\x16\x03\x01\x02\x00\x01".to_owned(), Malformed::Tls),
        ("\0\0\x12\x04\0\0\0\0\0".to_owned(), Malformed::Http2),
        ("HTTP/2 200 OK\r\n\r\n".to_owned(), Malformed::Version),
        ("HTTP/1.1 2x0 OK\r\n\r\n".to_owned(), Malformed::StatusLine),
        ("HTTP/1.1 099 OK\r\n\r\n".to_owned(), Malformed::StatusLine),
        ("HTTP/1.1 200 OK\rcontent-length: 2\r\n\r\nok".to_owned(), Malformed::BareCr),
        (of("x: a\rb"), Malformed::BareCr),
        (of("content-length"), Malformed::NoColon),
        (of("Content-Length : 2"), Malformed::SpaceBeforeColon),
        (of("Content-Length\t: 2"), Malformed::SpaceBeforeColon),
        (of("x: 1\r\nContent Length: 2"), Malformed::FieldName),
        (of(": 2"), Malformed::FieldName),
        (of("x: a\0b"), Malformed::FieldValue),
        (of("content-length: -1"), Malformed::Length),
        (of("content-length: "), Malformed::Length),
        (of("content-length: 2, x"), Malformed::Length),
        (of("content-length: 99999999999999999999999"), Malformed::LengthTooLarge),
        (of("content-length: 18446744073709551616, 2"), Malformed::LengthTooLarge),
        (of("content-length: 1\r\ncontent-length: 2"), Malformed::TwoLengths),
        (of("content-length: 1, 2"), Malformed::TwoLengths),
        (of("content-length: 2, 2\r\ncontent-length: 3"), Malformed::TwoLengths),
        (of("Transfer-Encoding: identity\r\nContent-Length: 2"), Malformed::Identity),
        (of("content-length: 2\r\ntransfer-encoding: chunked, gzip"), Malformed::NotChunked),
        (of("content-length: 1"), Malformed::Excess),
        (of("content-length: 2") + "HTTP/1.1 200 OK\r\n", Malformed::SecondResponse),
        (of("content-length: 2") + "\r\nHTTP/1.1 200 OK\r\n", Malformed::SecondResponse),
        (of("content-length: 2") + "\r\r\n", Malformed::Excess),
        ("HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n".to_owned(), Malformed::Switched),
        (chunks("xyz\r\n"), Malformed::ChunkSize),
        (chunks("\r\n"), Malformed::ChunkSize),
        (chunks("fffffffffffffffff\r\n"), Malformed::ChunkTooLarge),
        (chunks("3\r\nabcd\r\n"), Malformed::ChunkEnd),
        (chunks("3\r\nabc\rd"), Malformed::ChunkEnd),
        (chunks("3\rabc"), Malformed::ChunkLine),
        (chunks("3;x\nabc"), Malformed::ChunkLine),
        (chunks("3\nabc\n0\n\n"), Malformed::ChunkLine),
        (chunks("3\r\nabc\n"), Malformed::ChunkLine),
        (chunks("\nabc"), Malformed::ChunkSize),
        ("HTTP/1.1 204 No Content\r\n\r\nok".to_owned(), Malformed::BodyOfNone),
        ("HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\nok".to_owned(), Malformed::BodyOfNone),
        (chunks(&format!("3;{}", "x".repeat(20_000))), Malformed::ChunkLineTooLong),
        (of(&format!("x: {}", "a".repeat(MAX_HEAD_BYTES))), Malformed::HeadTooLarge),
        (of(&"x: y\r\n".repeat(MAX_FIELDS + 1)), Malformed::TooManyFields),
    ];
    cases.into_iter().map(|(text, what)| (text.into_bytes(), what)).collect()
}

/// The begin of bytes, to name them in a message.
fn begin(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned()
}

#[test]
fn what_is_wrong_with_a_response_is_known() {
    for (bytes, expected) in illegal() {
        assert_eq!(read(&bytes), Err(expected), "{}", begin(&bytes));
    }
}

#[test]
fn what_is_wrong_does_not_depend_on_where_a_response_is_split() {
    for (bytes, expected) in illegal() {
        // Long ones are cut at the ends and at a few places between.
        let step = (bytes.len() / 100).max(1);
        for cut in (0..bytes.len().min(100)).chain((0..bytes.len()).step_by(step)) {
            let mut reader = ResponseReader::default();
            let found = match reader.feed(&bytes[..cut]) {
                Ok(Progress::Complete(_)) => reader.feed_unsolicited(&bytes[cut..]).err(),
                Ok(Progress::Partial) => reader.feed(&bytes[cut..]).err(),
                Err(error) => Some(error),
            };
            // The bytes after a response are other ones if the first of them arrived with it.
            let is_excess =
                |what| matches!(what, Malformed::SecondResponse | Malformed::Excess | Malformed::BodyOfNone);
            let is_found = found == Some(expected) || is_excess(expected) && found.is_none_or(is_excess);
            assert!(is_found, "{found:?}, not {expected:?}, split at {cut}: {}", begin(&bytes));
        }
    }
}

#[test]
fn heads_that_curl_reads_are_read() {
    let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 2\r\n\r\nok", "a".repeat(300_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}content-length: 2\r\n\r\nok", "x: y\r\n".repeat(MAX_FIELDS - 1));
    for text in [large, many] {
        assert_eq!(read(text.as_bytes()), Ok(response(200, 2, true)));
        let mut reader = ResponseReader::default();
        let pieces = text.as_bytes().chunks(9_999);
        let last = pieces.map(|piece| reader.feed(piece)).last().unwrap();
        assert_eq!(last, Ok(response(200, 2, true)), "in pieces: {}", begin(text.as_bytes()));
    }
}

#[test]
fn blank_lines_after_a_response_are_discarded() {
    const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    for rest in [&b"\r\n"[..], b"\n", b"\r", b"\r\n\r\n\n"] {
        let mut reader = ResponseReader::default();
        for _ in 0..3 {
            assert_eq!(reader.feed(&[RESPONSE, rest].concat()), Ok(response(200, 2, true)), "{rest:?}");
            assert_eq!(reader.feed_unsolicited(rest), Ok(()), "{rest:?}");
            reader.begin(RequestFlags::default());
            // The line feed after the end of the read that completed the response.
            assert_eq!(reader.feed(b"\n"), Ok(Progress::Partial));
            assert!(reader.is_idle() && !reader.begins());
        }
        assert_eq!(reader.end(), Ok(None), "blank lines begin no response");
    }
    let mut bodiless = ResponseReader::default();
    assert_eq!(bodiless.feed(b"HTTP/1.1 204 No Content\r\n\r\n"), Ok(response(204, 0, true)));
    assert_eq!(bodiless.feed_unsolicited(b"ok"), Err(Malformed::BodyOfNone));
    let reader = ResponseReader::default();
    assert_eq!(reader.feed_unsolicited(RESPONSE), Err(Malformed::SecondResponse));
    assert_eq!(reader.feed_unsolicited(b"x"), Err(Malformed::Excess));
}

#[test]
fn a_response_with_both_lengths_is_named() {
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n", Some(Deviation::LengthAndChunks)),
        ("HTTP/1.0 200 OK\r\n", Some(Deviation::CodingOfHttp10)),
        ("HTTP/1.1 200 OK\r\n", None),
    ] {
        let text = format!("{head}transfer-encoding: chunked\r\n\r\n0\r\n\r\n");
        for cut in 0..text.len() {
            let mut reader = ResponseReader::default();
            assert_eq!(reader.feed(&text.as_bytes()[..cut]), Ok(Progress::Partial));
            assert!(matches!(reader.feed(&text.as_bytes()[cut..]), Ok(Progress::Complete(_))));
            assert_eq!(reader.deviation(), expected, "{text}");
        }
    }
}

/// A request with a header.
fn request(name: &str, value: &str) -> Encoded {
    let headers = vec![(name.to_owned(), value.to_owned())];
    let (method, target, host) = ("GET".to_owned(), "/".to_owned(), "a".to_owned());
    Encoded::http1(&Request { method, target, host, headers, body: Vec::new() }).unwrap()
}

/// Returns for each of several requests with the same response if the connection is kept.
fn kept(requests: &[&Encoded], text: &str) -> Vec<bool> {
    let mut client = Client::new(&ClientProtocol::Http1, &Vec::new().into());
    let each = requests.iter().map(|request| {
        let mut events = Vec::new();
        client.send(0, request, &request.bytes, &mut Vec::new());
        client.feed(text.as_bytes(), &mut Vec::new(), &mut events).unwrap();
        let Some(Event::Answered { response, .. }) = events.last() else { panic!("{events:?}") };
        response.keep_alive
    });
    each.collect()
}

#[test]
fn after_a_request_that_closes_the_connection_it_carries_nothing() {
    let (plain, last) = (request("x", "close"), request("Connection", "te, Close"));
    for head in ["HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n"] {
        let text = format!("{head}content-length: 2\r\n\r\nok");
        // Whatever the head before it meant, which has the same bytes.
        assert_eq!(kept(&[&plain, &last, &plain, &plain, &last], &text), [true, false, true, true, false]);
    }
}

#[test]
fn a_switch_of_protocols_is_a_response_only_if_it_was_asked_for() {
    const SWITCH: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n";
    let feed = |request: &Encoded, rest: &[u8]| {
        let mut client = Client::new(&ClientProtocol::Http1, &Vec::new().into());
        client.send(0, request, &request.bytes, &mut Vec::new());
        let mut events = Vec::new();
        client.feed(&[SWITCH, rest].concat(), &mut Vec::new(), &mut events).map(|()| events)
    };
    for rest in [&b""[..], b"bytes of another protocol"] {
        let answered = Event::Answered { stream: 0, response: whole(101, 0, false) };
        assert_eq!(feed(&request("upgrade", "x"), rest), Ok(vec![answered]));
        assert_eq!(feed(&request("connection", "upgrade"), rest), Err(Malformed::Switched.into()));
    }
}

#[test]
fn a_refusal_counts_even_if_a_reset_cuts_its_body() {
    let reset = |text: &str| {
        let mut reader = ResponseReader::default();
        assert_eq!(reader.feed(text.as_bytes()), Ok(Progress::Partial));
        reader.reset().map(|response| response.status)
    };
    assert_eq!(reset("HTTP/1.1 413 No\r\nconnection: close\r\n\r\ntoo"), Some(413));
    assert_eq!(reset("HTTP/1.1 503 No\r\ncontent-length: 5\r\n\r\n"), Some(503));
    // The body of any other response must be complete.
    assert_eq!(reset("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell"), None);
    assert_eq!(reset("HTTP/1.1 413 No\r\n"), None);
    assert_eq!(ResponseReader::default().reset(), None);
}

#[test]
fn an_endless_head_in_small_pieces_is_refused() {
    let mut reader = ResponseReader::default();
    assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\nx: "), Ok(Progress::Partial));
    let refused = (0..1000).find_map(|_| reader.feed(&[b'a'; 1000]).err());
    assert_eq!(refused, Some(Malformed::HeadTooLarge));
}

#[test]
fn cookies_of_equal_responses_are_all_stored() {
    let head = |value: u8| format!("HTTP/1.1 204 No Content\r\nset-cookie: a={value}\r\n\r\n");
    let mut client = Client::new(&ClientProtocol::Http1, &Vec::new().into());
    client.keep_cookies();
    let mut sent = Vec::new();
    for value in [1, 1, 2, 1] {
        let request = Encoded::plain(b"GET / HTTP/1.1\r\n\r\n".to_vec(), false);
        sent.clear();
        client.send(0, &request, &request.bytes, &mut sent);
        client.feed(head(value).as_bytes(), &mut Vec::new(), &mut Vec::new()).unwrap();
    }
    assert_eq!(String::from_utf8_lossy(&sent), "GET / HTTP/1.1\r\nCookie: a=2\r\n\r\n");
}

#[test]
fn the_first_byte_is_that_of_the_final_response() {
    const FINAL: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
    let events = |pieces: &[&str]| -> Vec<Vec<Event>> {
        let mut client = Client::new(&ClientProtocol::Http1, &Vec::new().into());
        let request = Encoded::plain(b"GET / HTTP/1.1\r\n\r\n".to_vec(), false);
        client.send(0, &request, &request.bytes, &mut Vec::new());
        let each = pieces.iter().map(|piece| {
            let mut events = Vec::new();
            client.feed(piece.as_bytes(), &mut Vec::new(), &mut events).unwrap();
            events
        });
        each.collect()
    };
    let begun = Event::FirstByte { stream: 0 };
    let answered = Event::Answered { stream: 0, response: whole(200, 2, true) };
    let (half, rest) = FINAL.split_at(3);
    assert_eq!(events(&[half, rest, "ok"]), [vec![begun], vec![], vec![answered]]);
    assert_eq!(events(&[FINAL, "o", "k"]), [vec![begun], vec![], vec![answered]]);
    // Interim responses that arrive whole.
    let interim = "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n";
    assert_eq!(events(&[interim, interim, FINAL, "ok"]), [vec![], vec![], vec![begun], vec![answered]]);
    let joined = [interim, half].concat();
    assert_eq!(events(&[joined.as_str(), rest, "ok"]), [vec![begun], vec![], vec![answered]]);
    let joined = [interim, FINAL, "ok"].concat();
    assert_eq!(events(&[joined.as_str()]), [vec![answered]]);
    // The first bytes may belong to the final response.
    let (half, rest) = interim.split_at(10);
    assert_eq!(events(&[half, rest, FINAL, "ok"]), [vec![begun], vec![], vec![begun], vec![answered]]);
    let joined = [rest, FINAL].concat();
    assert_eq!(events(&[half, joined.as_str(), "ok"]), [vec![begun], vec![begun], vec![answered]]);
    let joined = [rest, FINAL, "ok"].concat();
    assert_eq!(events(&[half, joined.as_str()]), [vec![begun], vec![begun, answered]]);
}

#[test]
fn header_names_are_case_insensitive() {
    let header = |name: &str, value: Option<&str>| ExpectedHeader {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    };
    let has = |expected: Vec<ExpectedHeader>| {
        let mut reader = ResponseReader::default().expecting(expected.into());
        match reader.feed(b"HTTP/1.1 204 No Content\r\nServer:  envoy \r\nX-A: 1\r\nx-a: 2\r\n\r\n") {
            Ok(Progress::Complete(response)) => response.is_as_expected,
            other => panic!("{other:?}"),
        }
    };
    assert!(has(vec![header("server", Some("envoy")), header("X-A", Some("2"))]));
    assert!(has(vec![header("x-a", None)]) && has(Vec::new()));
    assert!(!has(vec![header("server", Some("Envoy"))]) && !has(vec![header("etag", None)]));
}
