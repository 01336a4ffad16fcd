//! The origin's HTTP/2 server, with arbitrary bytes from the client.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::http2::{Body, PREFACE, Server, ServerEvent};

fuzz_target!(|input: (bool, Vec<Vec<u8>>)| {
    let (greeted, pieces) = input;
    // The origin answers half of the requests while they arrive.
    let mut server = Server::streaming(|head| head.path.len() % 2 == 0);
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
            match event {
                ServerEvent::Request { stream, body, .. } => {
                    server.respond(
                        stream,
                        &[(":status", "200")],
                        Body::Bytes(body),
                        &[("grpc-status", "0")],
                        &mut output,
                    );
                }
                ServerEvent::Opened { stream, .. } => {
                    server.begin(stream, &[(":status", "200")], &mut output);
                }
                ServerEvent::Data { stream, data } => {
                    server.push(stream, &data, &mut output);
                    server.release(stream, data.len(), &mut output);
                }
                ServerEvent::Ended { stream } => server.finish(stream, &[("grpc-status", "0")], &mut output),
                ServerEvent::Cancelled { .. } => {}
            }
        }
        output.clear();
        server.pump(&mut output);
    }
});
