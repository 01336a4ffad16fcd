//! The generator's HTTP/3 response parser, with arbitrary bytes on a request stream.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_wire::ExpectedHeader;
use hoptax_wire::http3::ResponseReader;

fuzz_target!(|pieces: Vec<Vec<u8>>| {
    let expected = [ExpectedHeader { name: "x-a".to_owned(), value: None }];
    let mut reader = ResponseReader::default();
    for piece in &pieces {
        if reader.feed(piece, &expected).is_err() {
            return;
        }
    }
    if let Ok(response) = reader.end(false, &expected) {
        assert!(reader.has_begun() && (200..1000).contains(&response.status));
    }
});
