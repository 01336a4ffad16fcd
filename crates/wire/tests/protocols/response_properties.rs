//! Properties of the parser of responses that hold for any bytes, however they are split.

use std::sync::Arc;

use hoptax_wire::ExpectedHeader;
use hoptax_wire::RequestFlags;
use hoptax_wire::http1::{Progress, ResponseReader};
use proptest::prelude::*;

use crate::response::read;

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8)) {
        let mut reader = ResponseReader::default();
        for piece in &pieces {
            if reader.feed(piece).is_err() {
                break;
            }
        }
        let _ = reader.end();
    }

    #[test]
    fn splitting_never_changes_the_outcome(
        tail in prop::collection::vec(prop::sample::select(b"0123456789abcdefA;\r\n: x".to_vec()), 0..60),
        chunked in any::<bool>(),
        cut in 0_usize..100,
    ) {
        let head: &[u8] = if chunked {
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        } else {
            b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n"
        };
        let bytes = [head, &tail].concat();
        let cut = cut.min(bytes.len());
        let whole = read(&bytes);
        let mut reader = ResponseReader::default();
        let split = match reader.feed(&bytes[..cut]) {
            Ok(complete @ Progress::Complete(_)) => reader.feed_unsolicited(&bytes[cut..]).map(|()| complete),
            Ok(Progress::Partial) => reader.feed(&bytes[cut..]),
            early => early,
        };
        prop_assert_eq!(whole, split);
    }
}

/// Heads of which several begin alike, and bodies that fit some of them.
fn pieces_of_responses() -> impl Strategy<Value = (Vec<u8>, bool)> {
    const HEADS: [&[u8]; 9] = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: 1\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 503 No\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
    ];
    const BODIES: [&[u8]; 4] = [b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"5\r\nhe"];
    (
        prop::sample::select(&HEADS[..]).prop_map(<[u8]>::to_vec),
        prop::sample::select(&BODIES[..]),
        any::<bool>(),
    )
        .prop_map(|(head, body, is_head)| ([head.as_slice(), body].concat(), is_head))
}

proptest! {
    #[test]
    fn a_response_is_read_as_on_a_new_connection(
        responses in prop::collection::vec((pieces_of_responses(), 0_usize..200, 0_usize..4), 1..20),
    ) {
        let expected: Arc<[ExpectedHeader]> = vec![ExpectedHeader { name: "x-a".to_owned(), value: None }].into();
        let mut reader = ResponseReader::default().expecting(Arc::clone(&expected));
        for ((bytes, is_head), cut, pieces) in responses {
            // Most responses arrive in one piece, as on most connections.
            let cut = if pieces == 0 { cut.min(bytes.len()) } else { bytes.len() };
            let mut fresh = ResponseReader::new(RequestFlags::head(is_head)).expecting(Arc::clone(&expected));
            reader.begin(RequestFlags::head(is_head));
            for piece in [&bytes[..cut], &bytes[cut..]] {
                let outcome = fresh.feed(piece);
                prop_assert_eq!(reader.feed(piece), outcome);
                if outcome != Ok(Progress::Partial) {
                    break;
                }
            }
        }
    }
}
