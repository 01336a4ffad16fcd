//! The generator's HTTP/1.1 response parser, with arbitrary bytes from the server.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::RequestFlags;
use hoptax_wire::http1::{Progress, ResponseReader};

fuzz_target!(|input: (bool, Vec<Vec<u8>>)| {
    let (is_head, pieces) = input;
    let mut reader = ResponseReader::new(RequestFlags::head(is_head));
    for piece in &pieces {
        match reader.feed(piece) {
            Ok(Progress::Partial) => {}
            Ok(Progress::Complete(_)) => reader = ResponseReader::new(RequestFlags::head(is_head)),
            Err(_) => return,
        }
    }
    let _ = reader.end();
});
