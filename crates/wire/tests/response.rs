//! The parser of responses on valid, unusual and invalid responses, however they are split.

use std::sync::Arc;

use hoptax_wire::http1::{Malformed, Progress, ResponseReader, Truncated};
use hoptax_wire::{Client, ClientProtocol, Encoded, Event, ExpectedHeader, Response};
use proptest::prelude::*;

fn read(bytes: &[u8]) -> Result<Progress, Malformed> {
    ResponseReader::new(false).feed(bytes)
}

fn response(status: u16, body_bytes: u64, keep_alive: bool) -> Progress {
    Progress::Complete(Response { status, grpc_status: None, body_bytes, keep_alive, is_as_expected: true })
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
    ]
}

#[test]
fn valid_responses_are_parsed_correctly() {
    for (bytes, expected) in legal() {
        assert_eq!(read(bytes), Ok(expected), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_split_at_any_two_places_changes_nothing() {
    for (bytes, expected) in legal() {
        for first in 0..bytes.len() {
            for second in first..bytes.len() {
                let mut reader = ResponseReader::new(false);
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
    let mut reader = ResponseReader::new(false);
    for (bytes, expected) in legal() {
        assert_eq!(reader.feed(bytes), Ok(expected));
        assert!(reader.is_idle());
    }
}

#[test]
fn a_response_to_head_has_no_body() {
    let mut reader = ResponseReader::new(true);
    assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n"), Ok(response(200, 0, true)));
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let mut reader = ResponseReader::new(false);
    assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\n\r\nsome"), Ok(Progress::Partial));
    assert_eq!(reader.feed(b" more"), Ok(Progress::Partial));
    assert_eq!(
        reader.end(),
        Ok(Some(Response {
            status: 200,
            grpc_status: None,
            body_bytes: 9,
            keep_alive: false,
            is_as_expected: true
        }))
    );
}

#[test]
fn a_close_in_the_middle_is_truncation_and_before_it_is_not() {
    for cut in ["HTTP/1.1 2", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"] {
        let mut reader = ResponseReader::new(false);
        assert_eq!(reader.feed(cut.as_bytes()), Ok(Progress::Partial));
        assert_eq!(reader.end(), Err(Truncated));
    }
    assert_eq!(ResponseReader::new(false).end(), Ok(None));
}

#[test]
fn illegal_responses_are_malformed() {
    let huge = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(70_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(200));
    let cases: Vec<(&[u8], Malformed)> = vec![
        (b"garbage\r\n\r\n", Malformed::Head),
        (b"\x16\x03\x01\x02\x00\x01", Malformed::Head),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", Malformed::Length),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", Malformed::Length),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n", Malformed::Length),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", Malformed::Length),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", Malformed::Chunk),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcd\r\n", Malformed::Chunk),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n", Malformed::Chunk),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n", Malformed::Excess),
        (huge.as_bytes(), Malformed::HeadTooLarge),
        (many.as_bytes(), Malformed::HeadTooLarge),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read(bytes), Err(expected), "{}", String::from_utf8_lossy(&bytes[..bytes.len().min(80)]));
    }
}

#[test]
fn an_endless_head_in_small_pieces_is_refused() {
    let mut reader = ResponseReader::new(false);
    assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\nx: "), Ok(Progress::Partial));
    let refused = (0..200).find_map(|_| reader.feed(&[b'a'; 1000]).err());
    assert_eq!(refused, Some(Malformed::HeadTooLarge));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8)) {
        let mut reader = ResponseReader::new(false);
        for piece in &pieces {
            if reader.feed(piece).is_err() {
                break;
            }
        }
        let _ = reader.end();
    }

    #[test]
    fn splitting_never_changes_the_outcome(
        tail in prop::collection::vec(prop::sample::select(b"0123456789abcdefA;\r\n: x".to_vec()), 0..60),
        chunked in any::<bool>(),
        cut in 0_usize..100,
    ) {
        let head: &[u8] = if chunked {
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        } else {
            b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n"
        };
        let bytes = [head, &tail].concat();
        let cut = cut.min(bytes.len());
        let whole = read(&bytes);
        let mut reader = ResponseReader::new(false);
        let split = match reader.feed(&bytes[..cut]) {
            Ok(Progress::Complete(_)) if cut < bytes.len() => Err(Malformed::Excess),
            Ok(Progress::Partial) => reader.feed(&bytes[cut..]),
            early => early,
        };
        prop_assert_eq!(whole, split);
    }
}

/// Heads of which several begin alike, and bodies that fit some of them.
fn pieces_of_responses() -> impl Strategy<Value = (Vec<u8>, bool)> {
    const HEADS: [&[u8]; 9] = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: 1\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 503 No\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
    ];
    const BODIES: [&[u8]; 4] = [b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"5\r\nhe"];
    (
        prop::sample::select(&HEADS[..]).prop_map(<[u8]>::to_vec),
        prop::sample::select(&BODIES[..]),
        any::<bool>(),
    )
        .prop_map(|(head, body, is_head)| ([head.as_slice(), body].concat(), is_head))
}

proptest! {
    #[test]
    fn a_response_is_read_as_on_a_new_connection(
        responses in prop::collection::vec((pieces_of_responses(), 0_usize..200, 0_usize..4), 1..20),
    ) {
        let expected: Arc<[ExpectedHeader]> = vec![ExpectedHeader { name: "x-a".to_owned(), value: None }].into();
        let mut reader = ResponseReader::new(false).expecting(Arc::clone(&expected));
        for ((bytes, is_head), cut, pieces) in responses {
            // Most responses arrive in one piece, as on most connections.
            let cut = if pieces == 0 { cut.min(bytes.len()) } else { bytes.len() };
            let mut fresh = ResponseReader::new(is_head).expecting(Arc::clone(&expected));
            reader.begin(is_head);
            for piece in [&bytes[..cut], &bytes[cut..]] {
                let outcome = fresh.feed(piece);
                prop_assert_eq!(reader.feed(piece), outcome);
                if outcome != Ok(Progress::Partial) {
                    break;
                }
            }
        }
    }
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
    let Progress::Complete(response) = response(200, 2, true) else { unreachable!() };
    let answered = Event::Answered { stream: 0, response };
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
    // What arrived first may have been the final response.
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
        let mut reader = ResponseReader::new(false).expecting(expected.into());
        match reader.feed(b"HTTP/1.1 204 No Content\r\nServer:  envoy \r\nX-A: 1\r\nx-a: 2\r\n\r\n") {
            Ok(Progress::Complete(response)) => response.is_as_expected,
            other => panic!("{other:?}"),
        }
    };
    assert!(has(vec![header("server", Some("envoy")), header("X-A", Some("2"))]));
    assert!(has(vec![header("x-a", None)]) && has(Vec::new()));
    assert!(!has(vec![header("server", Some("Envoy"))]) && !has(vec![header("etag", None)]));
}
