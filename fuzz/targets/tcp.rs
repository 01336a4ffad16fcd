//! The generator's TCP client, with arbitrary bytes from the server.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::{Client, ClientProtocol, Encoded, Event};

fuzz_target!(|input: (u16, Vec<Vec<u8>>)| {
    let (response_bytes, pieces) = input;
    let response_bytes = u64::from(response_bytes).max(1);
    let mut client = Client::new(&ClientProtocol::Tcp { response_bytes }, &[].into());
    let (mut output, mut events) = (Vec::new(), Vec::new());
    let request = Encoded::plain(vec![7; 10], false);
    client.send(0, &request, &request.bytes, &mut output);
    for piece in &pieces {
        events.clear();
        if client.feed(piece, &mut output, &mut events).is_err() {
            return;
        }
        if let Some(Event::Answered { response, .. }) = events.last() {
            assert_eq!(response.body_bytes, response_bytes);
            client.send(0, &request, &request.bytes, &mut output);
        }
    }
    let _ = client.end(0);
});
