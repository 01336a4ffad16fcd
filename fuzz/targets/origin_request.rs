//! The origin's HTTP/1.1 request parser, with arbitrary bytes from the client.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_origin::{Behaviour, Next, RequestReader, Tables};

fuzz_target!(|pieces: Vec<Vec<u8>>| {
    let (defaults, tables) = (Behaviour::default(), Tables::default());
    let mut reader = RequestReader::default();
    for piece in &pieces {
        reader.feed(piece);
        loop {
            match reader.next(&defaults, &tables) {
                Ok(Next::More) => break,
                Ok(Next::Continue | Next::Request(_)) => {}
                Err(_) => return,
            }
        }
    }
});
