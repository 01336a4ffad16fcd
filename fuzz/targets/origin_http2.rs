//! The origin's HTTP/2 server, with arbitrary bytes from the client.
#![no_main]

use hoptax_wire::http2::{Body, PREFACE, Server, ServerEvent};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, Vec<Vec<u8>>)| {
    let (greeted, pieces) = input;
    let mut server = Server::default();
    let (mut output, mut events) = (Vec::new(), Vec::new());
    server.open(&mut output);
    if greeted {
        let start = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
        assert!(server.feed(&start, &mut output, &mut events).is_ok());
    }
    for piece in &pieces {
        if server.feed(piece, &mut output, &mut events).is_err() {
            return;
        }
        for event in events.drain(..) {
            if let ServerEvent::Request { stream, body, .. } = event {
                server.respond(stream, &[(":status", "200")], Body::Bytes(body), &[("grpc-status", "0")], &mut output);
            }
        }
        output.clear();
        server.pump(&mut output);
    }
});
