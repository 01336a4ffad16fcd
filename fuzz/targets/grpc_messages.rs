//! The generator counts and times the messages of a gRPC server.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::grpc::{Messages, framed};
use hoptax_wire::http2::{Server, ServerEvent, Settings};
use hoptax_wire::{Client, ClientProtocol, Encoded, Event};

/// The number of complete messages in a body, from their length prefixes.
fn complete(mut body: &[u8]) -> usize {
    let mut count = 0;
    while let [_, a, b, c, d, rest @ ..] = body {
        let Some(behind) = rest.get(u32::from_be_bytes([*a, *b, *c, *d]) as usize..) else { break };
        body = behind;
        count += 1;
    }
    count
}

fuzz_target!(|input: (u8, Vec<Vec<u8>>)| {
    let (turns, pieces) = input;
    let messages = if turns == 0 { Messages::AtOnce } else { Messages::InTurn(turns.into()) };
    let mut client = Client::new(&ClientProtocol::Http2(Settings::with_streams(1)), &[].into());
    client.time_messages(messages);
    let mut server = Server::streaming(|_| true);
    let message = framed(b"hop");
    let fields = [(":method", "POST"), (":path", "/")];
    let request = Encoded::http2(&fields, &message);
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    client.open(&mut to_server);
    server.open(&mut to_client);
    client.send(0, &request, &request.bytes, &mut to_server);
    let (mut body, mut counted, mut asked_bytes, mut stream) = (Vec::new(), 0, 0, 1);
    for piece in std::iter::once(&Vec::new()).chain(&pieces) {
        body.extend_from_slice(piece);
        server.push(stream, piece, &mut to_client);
        while !to_server.is_empty() || !to_client.is_empty() {
            let (mut asked, mut told) = (Vec::new(), Vec::new());
            assert!(server.feed(&std::mem::take(&mut to_server), &mut to_client, &mut asked).is_ok());
            for event in asked {
                match event {
                    ServerEvent::Opened { stream: opened, .. } => {
                        stream = opened;
                        server.begin(stream, &[(":status", "200")], &mut to_client);
                    }
                    ServerEvent::Data { stream, data } => {
                        asked_bytes += data.len();
                        server.release(stream, data.len(), &mut to_client);
                    }
                    _ => {}
                }
            }
            server.pump(&mut to_client);
            assert!(client.feed(&std::mem::take(&mut to_client), &mut to_server, &mut told).is_ok());
            counted += told.iter().filter(|event| matches!(event, Event::Message { .. })).count();
        }
        let complete = complete(&body);
        assert_eq!(counted, complete);
        let asked = if turns == 0 { 1 } else { usize::from(turns).min(complete + 1) };
        assert_eq!(asked_bytes, asked * message.len());
    }
});
