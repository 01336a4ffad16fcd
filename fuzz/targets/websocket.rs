//! The WebSocket parsers of generator and origin, with arbitrary bytes from the peer.
#![cfg_attr(feature = "run", no_main)]
#![allow(clippy::unwrap_used, reason = "a target fails by panicking")]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::websocket::{FrameReader, accept_key, upgrade_request};
use hoptax_wire::{Client, ClientProtocol, Encoded};

fuzz_target!(|input: (bool, Vec<Vec<u8>>)| {
    let (upgraded, pieces) = input;
    let upgrade = upgrade_request("/", "a", &[]);
    let key = std::str::from_utf8(&upgrade).unwrap().split("Sec-WebSocket-Key: ").nth(1).unwrap();
    let agreed = format!("HTTP/1.1 101 \r\nSec-WebSocket-Accept: {}\r\n\r\n", accept_key(&key[..24]));
    let mut client = Client::new(&ClientProtocol::WebSocket { upgrade: upgrade.into() }, &[].into());
    let (mut output, mut events) = (Vec::new(), Vec::new());
    client.open(&mut output);
    if upgraded {
        assert!(client.feed(agreed.as_bytes(), &mut output, &mut events).is_ok() && client.may_send());
        let message = Encoded::websocket(b"hello");
        client.send(0, &message, &message.bytes, &mut output);
    }
    for piece in &pieces {
        if client.feed(piece, &mut output, &mut events).is_err() {
            break;
        }
    }
    let mut reader = FrameReader::default();
    for piece in &pieces {
        let mut bytes = piece.as_slice();
        loop {
            match reader.next(&mut bytes, true) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
