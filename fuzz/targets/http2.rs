//! The generator's HTTP/2 client, with arbitrary bytes from the server.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::http2::Settings;
use hoptax_wire::{Client, ClientProtocol, Encoded, Event, ExpectedHeader};

const STREAMS: u32 = 3;

fuzz_target!(|input: (bool, Vec<Vec<u8>>)| {
    let (settled, pieces) = input;
    let expected = [ExpectedHeader { name: "x-a".to_owned(), value: None }];
    let mut client = Client::new(&ClientProtocol::Http2(Settings::with_streams(STREAMS)), &expected.into());
    let fields = [(":method", "POST"), (":path", "/")];
    let request = Encoded::http2(&fields, &vec![7; 100_000]);
    let (mut output, mut events) = (Vec::new(), Vec::new());
    client.open(&mut output);
    let mut in_flight = [true; STREAMS as usize];
    for stream in 0..STREAMS {
        client.send(stream, &request, &request.bytes, &mut output);
    }
    if settled {
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        assert!(client.feed(&settings, &mut output, &mut events).is_ok());
    }
    for piece in &pieces {
        events.clear();
        let is_valid = client.feed(piece, &mut output, &mut events).is_ok();
        for event in &events {
            if let Event::Answered { stream, .. } | Event::Lost { stream, .. } = event {
                // Each request ends exactly once.
                assert!(std::mem::take(&mut in_flight[*stream as usize]));
            }
        }
        if !is_valid {
            return;
        }
    }
    for stream in 0..STREAMS {
        let _ = client.end(stream);
        client.cancel(stream, &mut output);
    }
});
