//! Connections of strangers, who need no token to open one.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::{PLACES, Running, STREAMS, Serving, load, rest, sent};

/// More than a server has places for, and fewer than its queue of connections holds besides.
const SILENT: usize = 300;

#[test]
fn hundreds_of_connections_that_say_nothing_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::begin(&folder);
    let address = server.address;
    // One says that a body follows, and does not send it.
    let mut slow = TcpStream::connect(address).unwrap();
    write!(
        slow,
        "POST /api/v1/loads HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\
         Connection: close\r\n\r\n"
    )
    .unwrap();
    let silent: Vec<TcpStream> = (0..SILENT).map(|_| TcpStream::connect(address).unwrap()).collect();
    // The last in the queue is answered once the first are sent away.
    let text = rest(sent(address, "GET /metrics", ""));
    let open = text.lines().find_map(|line| line.strip_prefix("hoptax_serve_connections ")).unwrap();
    let open: usize = open.parse().unwrap();
    assert!((1..=PLACES).contains(&open), "{open}");
    for socket in silent.into_iter().take(PLACES / 2) {
        assert_eq!(rest(socket), "");
    }
    let answer = rest(slow);
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("{\"error\":"), "{answer}");
    server.end();
}

#[test]
fn a_thousand_followers_of_a_job_keep_nobody_out() {
    let (folder, origin) = (tempfile::tempdir().unwrap(), Running::origin(""));
    let server = Serving::begin(&folder);
    let address = server.address;
    let started = rest(sent(address, "POST /api/v1/loads", &load(origin.address, "1h").to_string()));
    assert!(started.starts_with("HTTP/1.1 202 "), "{started}");
    let mut followers: Vec<TcpStream> =
        (0..1_000).map(|_| sent(address, "GET /api/v1/jobs/1/events", "")).collect();
    let mut statuses: Vec<[u8; 12]> = Vec::new();
    for follower in &mut followers {
        let mut status = [0; 12];
        follower.read_exact(&mut status).unwrap();
        statuses.push(status);
    }
    let of = |status: &[u8; 12]| statuses.iter().filter(|one| *one == status).count();
    assert_eq!((of(b"HTTP/1.1 200"), of(b"HTTP/1.1 429")), (STREAMS, 1_000 - STREAMS));
    // While all of them stay, others are answered.
    let text = rest(sent(address, "GET /metrics", ""));
    assert!(text.lines().any(|line| line == format!("hoptax_serve_event_streams {STREAMS}")), "{text}");
    server.end();
    let ended = followers.into_iter().zip(statuses).filter(|(_, status)| status == b"HTTP/1.1 200");
    for (follower, _) in ended {
        let events = rest(follower);
        assert!(events.contains("\"state\":\"interrupted\""), "{events}");
    }
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::begin(&folder);
    let address = server.address;
    // A little more than the server reads, so that nothing is left unread.
    for (length, status) in [(16 * 1024, "200"), (32 * 1024, "431")] {
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nX-Long: ");
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        socket.write_all(&vec![b'a'; length - request.len()]).unwrap();
        if status == "200" {
            socket.write_all(b"\r\n\r\n").unwrap();
        }
        let answer = rest(socket);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{length}: {answer}");
    }
    server.end();
}
