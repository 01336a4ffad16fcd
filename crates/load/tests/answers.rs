//! Responses before the request is sent, requests and responses that end their connection, and reasons of failures.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use hoptax_load::trial::TrialSpec;
use hoptax_load::{Arrivals, Pace, Protocol, RequestSpec, Target, Traffic};
use hoptax_result::LoadResult;

use crate::secure::{Peer, server_tls, spec_of};
use crate::support::http2::PREFACE;
use crate::support::{OK, answering, few, only_failure, read_head, read_request, run, server, spec};

const REFUSAL: &[u8] = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/// Until the connection ends, which its reset cuts.
const REFUSAL_WITHOUT_LENGTH: &[u8] = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\n\r\nno";
/// Sizes of bodies: within the buffers of the sockets, and beyond.
const BODIES: [usize; 3] = [1, 1 << 20, 5 << 20];
const REQUESTS: u64 = 50;

/// A number of requests with a body of this size.
fn posts(address: SocketAddr, scheme: &str, protocol: Protocol, body_bytes: usize) -> TrialSpec {
    let url = format!("{scheme}://{address}/");
    let body = vec![b'x'; body_bytes];
    let asked =
        RequestSpec { url: &url, method: "POST", body, protocol: Some(protocol), ..RequestSpec::default() };
    TrialSpec { traffic: spec_of(address, &asked).traffic, ..few(address, REQUESTS) }
}

fn assert_refused(result: &LoadResult, what: &str) {
    assert_eq!(
        result.statuses,
        [(413, REQUESTS)].into(),
        "{what}: {:?} {:?}",
        result.failures,
        result.reasons
    );
    assert_eq!(result.failures, [("status-4xx".to_owned(), REQUESTS)].into(), "{what}");
}

/// Closes with the rest of the request unread, so that the kernel resets the connection.
fn refuse(mut stream: TcpStream, refusal: &[u8]) {
    let mut head = [0; 64];
    let _ = stream.read(&mut head);
    let _ = stream.write_all(refusal);
}

#[test]
fn a_refusal_is_read_although_the_rest_of_the_request_cannot_be_sent() {
    for refusal in [REFUSAL, REFUSAL_WITHOUT_LENGTH] {
        let address = server(move |stream| refuse(stream, refusal));
        for bytes in BODIES {
            let spec = posts(address, "http", Protocol::Http1, bytes);
            assert_refused(&run(&spec), &format!("{bytes} bytes"));
        }
    }
}

#[test]
fn a_refusal_is_read_over_tls() {
    let tls = server_tls(Vec::new());
    let address = server(move |stream| {
        let mut peer = Peer::new(stream, &tls);
        if peer.read(|request| !request.is_empty()).is_some() {
            peer.abandon(REFUSAL);
        }
    });
    for bytes in BODIES {
        let spec = posts(address, "https", Protocol::Http1, bytes);
        assert_refused(&run(&spec), &format!("{bytes} bytes"));
    }
}

#[test]
fn a_refusal_is_read_over_http2_whatever_the_server_does_with_stream_and_connection() {
    // SETTINGS with a window of 8 MiB for each stream, and a larger window of the connection: all of the body may be sent.
    let settings =
        [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 128, 0, 0][..], &[0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 128, 0, 0]]
            .concat();
    let headers = [0, 0, 5, 1, 5, 0, 0, 0, 1, 0x08, 3, b'4', b'1', b'3'];
    let reset = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    // The server resets the stream, and goes on or closes the connection with bytes unread.
    for (closes, frames) in [(false, [&headers[..], &reset].concat()), (true, headers.to_vec())] {
        let settings = settings.clone();
        let address = server(move |mut stream| {
            let mut first = [0; PREFACE.len()];
            if stream.read_exact(&mut first).is_err() || stream.write_all(&settings).is_err() {
                return;
            }
            // Until the first bytes of a body, which is all of one byte.
            let mut received = Vec::new();
            let mut piece = [0; 256];
            while !received.contains(&b'x') {
                match stream.read(&mut piece) {
                    Ok(count) if count > 0 => received.extend_from_slice(&piece[..count]),
                    _ => return,
                }
            }
            let _ = stream.write_all(&frames);
            if !closes {
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
        });
        for bytes in BODIES {
            let mut spec = posts(address, "http", Protocol::Http2, bytes);
            // One request on each connection: the server answers the first stream.
            spec.pooling.lifetime.requests = Some("1".parse().unwrap());
            assert_refused(&run(&spec), &format!("{bytes} bytes, closes: {closes}"));
        }
    }
}

/// A server that answers every request, and the number of requests of each connection whose line ends in this way.
fn counting(lines: &'static [&'static str]) -> (SocketAddr, Arc<Mutex<Vec<Vec<usize>>>>) {
    let connections = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&connections);
    let address = server(move |mut stream| {
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(Vec::new());
            seen.len() - 1
        };
        while let Some(head) = read_head(&mut stream) {
            let line = lines.iter().position(|line| head.starts_with(line)).unwrap();
            seen.lock().unwrap()[number].push(line);
            let _ = stream.write_all(OK);
        }
    });
    (address, connections)
}

#[test]
fn after_a_request_that_closes_the_connection_nothing_is_sent_on_it() {
    let (address, connections) = counting(&["GET /last ", "GET /plain "]);
    let target = |path: &str, headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Target::new(&format!("http://{address}{path}"), "GET", headers, Vec::new()).unwrap()
    };
    let last = target("/last", &[("CONNECTION", "x, Close")]);
    let mut spec = few(address, 300);
    spec.traffic = Traffic::in_turn(vec![target("/plain", &[]), last.clone(), target("/plain", &[])]);
    let result = run(&spec);
    assert_eq!((result.book.answered, result.book.failed), (300, 0), "{:?}", result.failures);
    let seen = connections.lock().unwrap().clone();
    assert_eq!(seen.iter().flatten().filter(|line| **line == 0).count(), 100);
    for connection in &seen {
        let before = connection.split_last().map_or(&[][..], |(_, before)| before);
        assert!(!before.contains(&0), "a request followed the last one: {seen:?}");
    }
    assert!(seen.iter().any(|connection| connection.len() > 1), "other requests share a connection");
    connections.lock().unwrap().clear();
    spec.traffic = last.into();
    assert_eq!(run(&spec).book.answered, 300);
    let seen = connections.lock().unwrap();
    assert!(seen.iter().all(|connection| connection.len() <= 1), "{seen:?}");
}

#[test]
fn a_switch_of_protocols_that_nobody_asked_for_is_a_failure_of_its_own() {
    const SWITCH: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n";
    let address = answering(SWITCH);
    let result = run(&spec(address));
    assert_eq!(only_failure(&result), "switched");
    assert_eq!(result.reasons.by_frequency("switched").len(), 1);
    let mut asked = spec(address);
    let headers =
        vec![("Upgrade".to_owned(), "x".to_owned()), ("Connection".to_owned(), "upgrade".to_owned())];
    asked.traffic = Target::new(&format!("http://{address}/"), "GET", headers, Vec::new()).unwrap().into();
    let result = run(&asked);
    assert!(result.book.answered > 0 && result.book.failed == 0, "{:?}", result.failures);
}

#[test]
fn each_kind_of_failure_has_its_reasons() {
    let responses: [&[u8]; 5] = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok",
        b"",
    ];
    let next = Mutex::new(0);
    let address = server(move |mut stream| {
        let number = {
            let mut next = next.lock().unwrap();
            *next += 1;
            *next - 1
        };
        if read_request(&mut stream) {
            let _ = stream.write_all(responses[number % responses.len()]);
        }
    });
    let mut spec = few(address, 50);
    spec.connections = 1;
    let result = run(&spec);
    let reasons = |kind: &str| -> BTreeMap<String, u64> {
        result
            .reasons
            .by_frequency(kind)
            .into_iter()
            .map(|(reason, count)| (reason.to_owned(), count))
            .collect()
    };
    let ten = |texts: &[&str]| texts.iter().map(|text| ((*text).to_owned(), 10)).collect::<BTreeMap<_, _>>();
    let malformed =
        ten(&["two different lengths", "space before the colon", "a second, unsolicited response"]);
    assert_eq!(reasons("malformed"), malformed, "{:?}", result.failures);
    assert_eq!(reasons("truncated"), ten(&["closed before the end of the Content-Length"]));
    assert_eq!(reasons("closed"), ten(&["before the first byte of the response"]));
}

#[test]
fn a_response_with_both_lengths_is_answered_and_named() {
    let address = answering(
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    );
    let result = run(&few(address, 100));
    assert_eq!((result.book.answered, result.book.failed), (100, 0), "{:?}", result.failures);
    assert_eq!(result.deviations.values().sum::<u64>(), 100);
}

#[test]
fn a_response_on_an_idle_connection_is_named_although_it_fails_no_request() {
    let address = server(|mut stream| {
        if read_request(&mut stream) && stream.write_all(OK).is_ok() {
            // The client has read the response, and awaits nothing.
            std::thread::sleep(std::time::Duration::from_millis(20));
            let _ = stream.write_all(OK);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    let mut spec = few(address, 8);
    spec.open = Some((Pace::Constant(20.0), Arrivals::Uniform));
    let result = run(&spec);
    assert_eq!((result.book.answered, result.book.failed), (8, 0), "{:?}", result.failures);
    let what = "a second, unsolicited response, while no request was in flight";
    let count = result.deviations.get(what).copied().unwrap_or(0);
    assert!(count >= 7, "{:?}", result.deviations);
    assert_eq!(result.closed, [("violation".to_owned(), count)].into());
}

#[test]
fn who_closed_the_connections_is_known() {
    const BAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok";
    const CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    const BOTH: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let keeps = |response: &'static [u8]| answering(response);
    let closes = |response: &'static [u8]| {
        server(move |mut stream| {
            if read_request(&mut stream) {
                let _ = stream.write_all(response);
            }
        })
    };
    let close = vec![("Connection".to_owned(), "close".to_owned())];
    for (address, headers, per_connection, expected) in [
        (keeps(OK), close.clone(), None, "request"),
        (closes(CLOSE), close, None, "request"),
        (keeps(CLOSE), Vec::new(), None, "server"),
        (closes(OK), Vec::new(), None, "server"),
        (closes(b""), Vec::new(), None, "server"),
        (keeps(BAD), Vec::new(), None, "violation"),
        (keeps(BOTH), Vec::new(), None, "violation"),
        (keeps(OK), Vec::new(), Some("5"), "plan"),
    ] {
        let mut spec = few(address, 100);
        spec.traffic = Target::new(&format!("http://{address}/"), "GET", headers, Vec::new()).unwrap().into();
        spec.pooling.lifetime.requests = per_connection.map(|requests: &str| requests.parse().unwrap());
        let result = run(&spec);
        assert_eq!(result.closed.keys().collect::<Vec<_>>(), [expected], "{:?}", result.failures);
        assert!(result.closed[expected] >= 10, "{:?}", result.closed);
    }
}

#[test]
fn blank_lines_between_responses_are_discarded() {
    let address = server(|mut stream| {
        while read_request(&mut stream) {
            // The bytes arrive in one piece, and once more when the client awaits nothing or the next response.
            let _ = stream.write_all(&[OK, b"\r\n"].concat());
            std::thread::yield_now();
            let _ = stream.write_all(b"\r\n");
        }
    });
    let result = run(&spec(address));
    assert_eq!(result.book.answered, result.book.planned, "{:?} {:?}", result.failures, result.reasons);
    assert!(result.book.answered > 8);
}
