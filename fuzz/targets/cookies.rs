//! The generator returns the cookies that a server sets.
#![cfg_attr(feature = "run", no_main)]
#![allow(clippy::unwrap_used, reason = "a target fails by panicking")]

use std::collections::BTreeSet;

use hoptax_fuzz::fuzz_target;
use hoptax_wire::http2::{Body, Server, ServerEvent, Settings};
use hoptax_wire::{Client, ClientProtocol, Encoded};

/// The limit of the session, repeated here so that the target notices a change of it.
const MAX_COOKIES: usize = 50;
/// The size that fits into one HTTP/2 frame with the rest of a response.
const MAX_VALUE_BYTES: usize = 16_000;

/// An HTTP/2 response whose only header is `Set-Cookie`, on a stream.
fn http2_response(stream: u32, value: &[u8]) -> Vec<u8> {
    // `:status: 200`, then a literal field without indexing (RFC 7541, section 6.2.2), whose length takes two to four bytes.
    let mut block = [&[0x88, 0, 10][..], b"set-cookie"].concat();
    let mut rest = value.len();
    if rest < 127 {
        block.push(rest as u8);
    } else {
        block.push(127);
        rest -= 127;
        while rest >= 128 {
            block.push((rest % 128 + 128) as u8);
            rest /= 128;
        }
        block.push(rest as u8);
    }
    block.extend_from_slice(value);
    let length = (block.len() as u32).to_be_bytes();
    [&length[1..], &[1, 5], &stream.to_be_bytes(), &block].concat()
}

fuzz_target!(|values: Vec<Vec<u8>>| {
    let mut http2 = Client::new(&ClientProtocol::Http2(Settings::with_streams(1)), &[].into());
    // HTTP/1.1 rejects some bytes in the value of a header; from then on, the target omits it.
    let mut http1 = Some(Client::new(&ClientProtocol::Http1, &[].into()));
    http2.keep_cookies();
    http1.as_mut().unwrap().keep_cookies();
    let fields = [(":method", "GET"), (":path", "/")];
    let (request, plain) =
        (Encoded::http2(&fields, b""), Encoded::plain(b"GET / HTTP/1.1\r\n\r\n".to_vec(), false));
    let mut server = Server::default();
    let (mut to_server, mut to_client, mut events) = (Vec::new(), Vec::new(), Vec::new());
    http2.open(&mut to_server);
    server.open(&mut to_client);
    assert!(http2.feed(&to_client, &mut to_server, &mut Vec::new()).is_ok());
    for value in values.iter().filter(|value| value.len() <= MAX_VALUE_BYTES) {
        http2.send(0, &request, &request.bytes, &mut to_server);
        assert!(server.feed(&std::mem::take(&mut to_server), &mut Vec::new(), &mut events).is_ok());
        let Some(ServerEvent::Request { stream, head, .. }) = events.pop() else { panic!("no request") };
        server.respond(stream, &[(":status", "200")], Body::Bytes(Vec::new()), &[], &mut Vec::new());

        let cookies = head.field("cookie").unwrap_or_default();
        assert!(!cookies.contains(|character: char| character.is_ascii_control()));
        let pairs: Vec<_> = cookies.split("; ").filter(|pair| !pair.is_empty()).collect();
        let names: BTreeSet<_> = pairs.iter().map(|pair| pair.split_once('=').expect("a name").0).collect();
        // Bytes that are not UTF-8 all become the same character here.
        let is_exact = !cookies.contains('\u{fffd}');
        assert!(
            pairs.len() <= MAX_COOKIES && !names.contains("") && (names.len() == pairs.len() || !is_exact)
        );
        if let Some(client) = &mut http1 {
            let mut output = Vec::new();
            client.send(0, &plain, &plain.bytes, &mut output);
            let head = String::from_utf8_lossy(&output).into_owned();
            let line = if cookies.is_empty() { String::new() } else { format!("Cookie: {cookies}\r\n") };
            assert_eq!(head, format!("GET / HTTP/1.1\r\n{line}\r\n"));
        }

        let response = http2_response(stream, value);
        assert!(http2.feed(&response, &mut to_server, &mut Vec::new()).is_ok());
        let lines =
            [b"HTTP/1.1 200 \r\nContent-Length: 0\r\nSet-Cookie: ", value.as_slice(), b"\r\n\r\n"].concat();
        let is_line = !value.contains(&b'\r') && !value.contains(&b'\n');
        http1 = http1.filter(|_| is_line).and_then(|mut client| {
            client.feed(&lines, &mut Vec::new(), &mut Vec::new()).is_ok().then_some(client)
        });
    }
});
