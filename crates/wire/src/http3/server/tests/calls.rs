//! Calls whose messages are answered one by one, as they arrive.

use super::*;
use crate::grpc::{Messages, framed};
use crate::http3::request::MAX_UNRELEASED_BYTES;

impl Pair {
    fn call(&mut self, path: &str, body: &[u8]) {
        let fields = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", path),
            ("content-type", "application/grpc"),
        ];
        let request = Encoded::http3(&fields, body, false);
        self.client.send(0, &request, &request.bytes);
    }

    /// The size of the answer's body, once there is one.
    fn answered_bytes(&self) -> Option<u64> {
        self.events.iter().find_map(|event| match event {
            Event::Answered { response, .. } => Some(response.body_bytes),
            _ => None,
        })
    }
}

#[test]
fn a_server_that_does_not_process_a_request_is_sent_a_limited_part_of_it() {
    let mut pair = Pair::new();
    let body = vec![7; MAX_UNRELEASED_BYTES + (4 << 20)];
    pair.call("/echo", &body);
    let (mut received_bytes, mut rounds_without, mut echoed) = (0, 0, None);
    while rounds_without < 100 {
        rounds_without += 1;
        for event in pair.exchange() {
            match event {
                ServerEvent::Opened { stream, .. } => {
                    pair.server.begin(stream, &[(":status", "200")]);
                    echoed = Some(stream);
                }
                ServerEvent::Data { data, .. } => {
                    received_bytes += data.len();
                    rounds_without = 0;
                }
                other => panic!("{other:?}"),
            }
        }
        if received_bytes < MAX_UNRELEASED_BYTES {
            rounds_without = 0;
        }
    }
    assert_eq!(received_bytes, MAX_UNRELEASED_BYTES);
    // Once that is processed, the rest follows.
    let stream = echoed.unwrap();
    pair.server.push(stream, &vec![7; received_bytes]);
    pair.server.release(stream, received_bytes);
    while pair.answered_bytes().is_none() {
        for event in pair.exchange() {
            match event {
                ServerEvent::Data { stream, data } => {
                    pair.server.push(stream, &data);
                    pair.server.release(stream, data.len());
                }
                ServerEvent::Ended { stream } => pair.server.finish(stream, &[("grpc-status", "0")]),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(pair.answered_bytes(), Some(body.len() as u64));
}

#[test]
fn an_answer_may_end_before_its_request() {
    let mut pair = Pair::new();
    pair.call("/echo", &vec![7; 20 << 20]);
    while pair.answered_bytes().is_none() {
        for event in pair.exchange() {
            if let ServerEvent::Opened { stream, .. } = event {
                pair.server.begin(stream, &[(":status", "200")]);
                pair.server.push(stream, b"enough");
                pair.server.finish(stream, &[("grpc-status", "8")]);
            }
        }
    }
    assert_eq!(pair.answered_bytes(), Some(6));
    // The connection carries on, and the body of a call that is read as a whole is kept.
    pair.events.clear();
    pair.call("/whole", b"hop");
    while pair.answered_bytes().is_none() {
        for event in pair.exchange() {
            if let ServerEvent::Request { stream, head, body } = event {
                assert_eq!((head.path.as_str(), body.as_slice()), ("/whole", b"hop".as_slice()));
                let trailers = [("grpc-status", "0")];
                pair.server.respond(stream, &[(":status", "200")], Body::Bytes(body), &trailers);
            }
        }
    }
    assert_eq!(pair.answered_bytes(), Some(3));
}

#[test]
fn a_request_that_the_client_gives_up_is_cancelled() {
    let mut pair = Pair::new();
    pair.call("/echo", &vec![7; 1 << 20]);
    let mut cancelled = None;
    while cancelled.is_none() {
        for event in pair.exchange() {
            match event {
                ServerEvent::Opened { stream, .. } => {
                    pair.server.begin(stream, &[(":status", "200")]);
                    pair.client.cancel(0);
                }
                ServerEvent::Cancelled { stream } => cancelled = Some(stream),
                _ => {}
            }
        }
    }
    // A connection that closes cancels its requests too.
    pair.call("/echo", &vec![7; 1 << 20]);
    let (mut opened, mut closed) = (None, None);
    while closed.is_none() {
        for event in pair.exchange() {
            match event {
                ServerEvent::Opened { stream, .. } => {
                    opened = Some(stream);
                    pair.client.close();
                }
                ServerEvent::Cancelled { stream } => closed = Some(stream),
                _ => {}
            }
        }
    }
    assert!(opened == closed && closed != cancelled, "{opened:?} {closed:?} {cancelled:?}");
}

#[test]
fn a_request_is_cancelled_if_its_response_may_continue_at_the_same_moment() {
    let mut pair = Pair::new();
    pair.call("/echo", b"hop");
    let (mut opened, mut cancelled) = (None, None);
    while opened.is_none() {
        for event in pair.exchange() {
            if let ServerEvent::Opened { stream, .. } = event {
                pair.server.begin(stream, &[(":status", "200")]);
                // More than QUIC takes before it has acknowledgements.
                pair.server.push(stream, &vec![7; 16 << 20]);
                opened = Some(stream);
            }
        }
    }
    let mut datagram = Vec::new();
    for _ in 0..4 {
        pair.server.next_datagram(&mut datagram).unwrap();
        pair.client.feed(&datagram, &mut pair.events).unwrap();
    }
    // The acknowledgements, which make the stream writable, arrive with the cancellation.
    pair.client.cancel(0);
    for _ in 0..100 {
        for event in pair.exchange() {
            if let ServerEvent::Cancelled { stream } = event {
                cancelled = Some(stream);
            }
        }
    }
    assert_eq!(cancelled, opened);
}

/// A call with the messages of the client in turn, to a server that responds to each of the first `most` and then ends the call.
/// Returns the number of messages in each part of the request, the number of messages that the client reported, and true if the call
/// was as expected.
fn conversation(messages: Messages, body: &[u8], most: usize) -> (Vec<usize>, usize, bool) {
    let mut pair = Pair::new();
    let message = framed(b"hop");
    pair.client.time_messages(messages);
    pair.call("/echo", body);
    let (mut parts, mut has_ended) = (Vec::new(), false);
    while pair.answered_bytes().is_none() {
        for event in pair.exchange() {
            match event {
                ServerEvent::Opened { stream, .. } => pair.server.begin(stream, &[(":status", "200")]),
                ServerEvent::Data { stream, data } => {
                    parts.push(data.len() / message.len());
                    pair.server.push(stream, &data);
                    pair.server.release(stream, data.len());
                    if parts.len() == most {
                        pair.server.finish(stream, &[("grpc-status", "0")]);
                        has_ended = true;
                    }
                }
                ServerEvent::Ended { stream } if !has_ended => {
                    pair.server.finish(stream, &[("grpc-status", "0")]);
                }
                _ => {}
            }
        }
    }
    let reported = pair.events.iter().filter(|event| matches!(event, Event::Message { .. })).count();
    let first = pair.events.iter().position(|event| matches!(event, Event::Message { .. }));
    let begun = pair.events.iter().position(|event| matches!(event, Event::FirstByte { .. }));
    assert!(first > begun && begun.is_some(), "{:?}", pair.events);
    let response = pair.events.iter().find_map(|event| match event {
        Event::Answered { response, .. } => Some(*response),
        _ => None,
    });
    let response = response.unwrap();
    assert_eq!(response.grpc_status, Some(0));
    (parts, reported, response.is_as_expected)
}

#[test]
fn each_message_of_a_conversation_follows_the_response_to_the_previous_one() {
    let message = framed(b"hop");
    assert_eq!(conversation(Messages::InTurn(5), &message, usize::MAX), (vec![1; 5], 5, true));
    // The server ends the call after the second of five.
    let (parts, reported, is_as_expected) = conversation(Messages::InTurn(5), &message, 2);
    assert!(parts.len() < 5 && reported < 5 && !is_as_expected, "{parts:?}");
    // A body that is sent as a whole.
    let (_, reported, is_as_expected) = conversation(Messages::AtOnce, &message.repeat(4), usize::MAX);
    assert_eq!((reported, is_as_expected), (4, true));
}
