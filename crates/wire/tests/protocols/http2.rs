//! HTTP/2 client and server against each other, and the client against servers that violate the
//! protocol.

use hoptax_wire::grpc::{Messages, framed};
use hoptax_wire::http2::{Body, Http2, PREFACE, Server, ServerEvent, Settings};
use hoptax_wire::{
    Client, ClientProtocol, Encoded, Event, Loss, Malformed, ProtocolError, Response, Truncated,
};
use proptest::prelude::*;

fn text(from: u64, most: u64) -> &'static [u8] {
    static TEXT: [u8; 1000] = [b'x'; 1000];
    let from = (from % 1000) as usize;
    &TEXT[from..1000.min(from + most as usize)]
}

fn request(body: &[u8]) -> Encoded {
    let fields =
        [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/p"), ("x-id", "7")];
    let mut request = Encoded::http2(&fields, body);
    Encoded::number_fields(std::iter::once(&mut request), |_| false);
    request
}

/// A client and a server, with all bytes in transit.
struct Pair {
    client: Http2,
    server: Server,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    events: Vec<Event>,
}

impl Pair {
    fn new(settings: Settings) -> Self {
        let (client, server) = (Http2::new(settings, None), Server::default());
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        client.open(&mut to_server);
        server.open(&mut to_client);
        Self { client, server, to_server, to_client, events: Vec::new() }
    }

    fn send(&mut self, stream: u32, request: &Encoded) {
        self.client.send(stream, request, &request.bytes, &mut self.to_server);
    }

    /// Transfers bytes in both directions, at most `piece` at once, until none are left.
    fn carry(&mut self, piece: usize, mut on_request: impl FnMut(&mut Server, u32, &mut Vec<u8>)) {
        while !self.to_server.is_empty() || !self.to_client.is_empty() {
            let bytes: Vec<u8> = self.to_server.drain(..piece.min(self.to_server.len())).collect();
            let mut requests = Vec::new();
            self.server.feed(&bytes, &mut self.to_client, &mut requests).unwrap();
            for event in requests {
                if let ServerEvent::Request { stream, head, .. } = event {
                    assert_eq!((head.method.as_str(), head.field("x-id")), ("POST", Some("7")));
                    on_request(&mut self.server, stream, &mut self.to_client);
                }
            }
            self.server.pump(&mut self.to_client);
            let bytes: Vec<u8> = self.to_client.drain(..piece.min(self.to_client.len())).collect();
            let mut events = Vec::new();
            self.client.feed(&bytes, &mut self.to_server, &mut events).unwrap();
            self.events.append(&mut events);
        }
    }

    fn responses(&self) -> Vec<(u32, u64)> {
        let answered = self.events.iter().filter_map(|event| match event {
            Event::Answered { stream, response } => Some((*stream, response.body_bytes)),
            _ => None,
        });
        answered.collect()
    }
}

fn respond(server: &mut Server, id: u32, bytes: u64, output: &mut Vec<u8>) {
    server.respond(id, &[(":status", "200"), ("x-a", "b")], Body::Text(bytes, text), &[], output);
}

#[test]
fn responses_come_back_on_their_streams_in_any_order() {
    let mut pair = Pair::new(Settings::with_streams(4));
    for stream in 0..4 {
        pair.send(stream, &request(b""));
    }
    let mut waiting = Vec::new();
    pair.carry(1000, |_, id, _| waiting.push(id));
    assert_eq!((waiting.clone(), pair.client.settings_received()), (vec![1, 3, 5, 7], true));
    for (size, id) in waiting.iter().rev().enumerate() {
        respond(&mut pair.server, *id, size as u64, &mut pair.to_client);
    }
    pair.carry(1000, |_, _, _| {});
    assert_eq!(pair.responses(), [(3, 0), (2, 1), (1, 2), (0, 3)]);
    assert!(pair.server.is_idle());
}

#[test]
fn bodies_larger_than_every_window_get_through_both_ways() {
    let settings = Settings { streams: 2, stream_window_bytes: 100_000, connection_window_bytes: 150_000 };
    let mut pair = Pair::new(settings);
    let large = request(&vec![7; 40_000_000]);
    pair.send(0, &large);
    pair.send(1, &large);
    assert!(!pair.client.is_sent(0));
    pair.carry(30_000, |server, id, output| respond(server, id, 5_000_000, output));
    assert_eq!(pair.responses().iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), [5_000_000; 2]);
    assert!(pair.client.is_sent(0));
}

#[test]
fn a_status_of_grpc_is_in_the_trailers() {
    let mut pair = Pair::new(Settings::with_streams(1));
    pair.send(0, &request(b"x"));
    pair.carry(7, |server, id, output| {
        server.respond(id, &[(":status", "200")], Body::Bytes(vec![0; 9]), &[("grpc-status", "5")], output);
    });
    let expected =
        Response { status: 200, grpc_status: Some(5), body_bytes: 9, keep_alive: true, is_as_expected: true };
    // The server's settings come first.
    let limit = Event::Limit { streams: pair.client.max_streams() };
    assert_eq!(
        pair.events,
        [limit, Event::FirstByte { stream: 0 }, Event::Answered { stream: 0, response: expected }]
    );
}

#[test]
fn header_blocks_larger_than_a_frame_are_continued() {
    let long = "x".repeat(40_000);
    let mut pair = Pair::new(Settings::with_streams(1));
    pair.send(0, &request(b""));
    let mut sent = Vec::new();
    pair.carry(1000, |server, id, output| {
        let from = output.len();
        let fields = [(":status", "200"), ("x-long", long.as_str())];
        let trailers = [("grpc-status", "5"), ("x-long", long.as_str())];
        server.respond(id, &fields, Body::Bytes(vec![0; 9]), &trailers, output);
        sent.extend_from_slice(&output[from..]);
    });
    // Types and flags: END_STREAM is in the first frame of the trailers, END_HEADERS in the last of each block.
    let (mut frames, mut rest) = (Vec::new(), sent.as_slice());
    while let Some((head, behind)) = rest.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        assert!(length <= 16_384, "{length}");
        frames.push((head[3], head[4]));
        rest = &behind[length..];
    }
    assert_eq!(frames, [(1, 0), (9, 0), (9, 4), (0, 0), (1, 1), (9, 0), (9, 4)]);
    let Some(Event::Answered { response, .. }) = pair.events.last() else { panic!("{:?}", pair.events) };
    assert_eq!((response.grpc_status, response.body_bytes), (Some(5), 9));
}

#[test]
fn a_cancelled_request_frees_its_stream() {
    let mut pair = Pair::new(Settings::with_streams(1));
    pair.send(0, &request(b""));
    let mut first = 0;
    pair.carry(1000, |_, id, _| first = id);
    pair.client.cancel(0, &mut pair.to_server);
    // The response crosses the reset, and the next request occupies the stream by then.
    respond(&mut pair.server, first, 10, &mut pair.to_client);
    pair.send(0, &request(b""));
    pair.carry(1000, |server, id, output| respond(server, id, 20, output));
    assert_eq!(pair.responses(), [(0, 20)]);
}

/// The events of a client with two requests, for bytes that follow valid settings.
fn client_takes(bytes: &[u8]) -> Result<Vec<Event>, ProtocolError> {
    let mut client = Http2::new(Settings::with_streams(2), None);
    let (mut output, mut events) = (Vec::new(), Vec::new());
    client.open(&mut output);
    client.send(0, &request(b""), &request(b"").bytes, &mut output);
    client.send(1, &request(b""), &request(b"").bytes, &mut output);
    client.feed(&[0, 0, 0, 4, 0, 0, 0, 0, 0], &mut output, &mut events)?;
    client.feed(bytes, &mut output, &mut events)?;
    Ok(events)
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn resets_and_goaways_are_reported_by_stream() {
    let reset = client_takes(&frame(3, 0, 3, &[0, 0, 0, 7])).unwrap();
    assert_eq!(reset, [Event::Lost { stream: 1, loss: Loss::Reset { code: 7, stated: 7 } }]);
    let away = client_takes(&frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11])).unwrap();
    assert_eq!(away, [Event::Draining { code: 11 }, Event::Lost { stream: 1, loss: Loss::Unprocessed(11) }]);
    let mut short = frame(1, 4, 1, &[0x88, 0x0f, 0x0d, 1, b'5']);
    short.extend(frame(0, 1, 1, b"abc"));
    let loss = Loss::Malformed("a body whose size differs from its content-length");
    assert!(client_takes(&short).unwrap().contains(&Event::Lost { stream: 0, loss }));
    let interim = |status: &[u8; 3], flags: u8| {
        client_takes(&frame(1, flags, 1, &[0x08, 3, status[0], status[1], status[2]])).unwrap()
    };
    assert_eq!(interim(b"103", 4), []);
    let loss = Loss::Malformed("an interim response that ends its stream");
    assert_eq!(interim(b"103", 5), [Event::Lost { stream: 0, loss }]);
    for flags in [4, 5] {
        assert_eq!(interim(b"101", flags), [Event::Lost { stream: 0, loss: Loss::Switched }]);
    }
}

#[test]
fn a_response_whose_fields_http2_forbids_is_malformed_and_the_others_go_on() {
    let field =
        |name: &[u8], value: &[u8]| [&[0, name.len() as u8], name, &[value.len() as u8], value].concat();
    let [two, three] = [b"2", b"3"].map(|length| field(b"content-length", length.as_slice()));
    for (fields, what) in [
        ([two.clone(), three.clone()].concat(), Malformed::TwoLengths),
        (field(b"content-length", b"abc"), Malformed::Length),
        (field(b"connection", b"close"), Malformed::OfConnection),
        (field(b"X-Foo", b"a"), Malformed::UpperCase),
        (field(b"x", b"a\r\nb"), Malformed::FieldValue),
        (field(b":path", b"/"), Malformed::Pseudo),
    ] {
        let block = [&[0x88][..], &fields].concat();
        let answer = frame(1, 5, 3, &[0x88]);
        let events = client_takes(&[frame(1, 4, 1, &block), frame(0, 1, 1, b"ok"), answer].concat()).unwrap();
        let lost = Event::Lost { stream: 0, loss: Loss::Fields(what) };
        assert_eq!(events[0], lost, "{what}");
        assert!(
            matches!(
                events[1..],
                [_, Event::Answered { stream: 1, .. }] | [Event::Answered { stream: 1, .. }]
            ),
            "{events:?}"
        );
    }
    // Trailers have no pseudo-header.
    let trailers = [frame(1, 4, 1, &[0x88]), frame(1, 5, 1, &[0x88])].concat();
    let lost = Event::Lost { stream: 0, loss: Loss::Fields(Malformed::Pseudo) };
    assert_eq!(client_takes(&trailers).unwrap().last(), Some(&lost));
}

#[test]
fn a_connection_that_ends_after_an_interim_response_ends_within_the_response() {
    let mut client = Client::new(&ClientProtocol::Http2(Settings::with_streams(2)), &Vec::new().into());
    let (mut output, request) = (Vec::new(), request(b""));
    client.open(&mut output);
    let settings = frame(4, 0, 0, &[]);
    for stream in [1, 3] {
        client.send(0, &request, &request.bytes, &mut output);
        assert_eq!(client.end(0), Ok(None), "nothing has arrived of this one");
        let interim = frame(1, 4, stream, &[0x08, 3, b'1', b'0', b'3']);
        let bytes = [if stream == 1 { settings.clone() } else { Vec::new() }, interim].concat();
        client.feed(&bytes, &mut output, &mut Vec::new()).unwrap();
        assert_eq!(client.end(0), Err(Truncated::Interim));
        client.cancel(0, &mut output);
    }
}

#[test]
fn settings_that_are_too_large_are_those_of_http2() {
    let mut client = Http2::new(Settings::with_streams(1), None);
    let settings = frame(4, 0, 0, &vec![0; 18_000]);
    let error = client.feed(&settings, &mut Vec::new(), &mut Vec::new()).unwrap_err();
    assert_eq!(error, ProtocolError::Http2("a frame larger than 16 KiB"));
}

#[test]
fn a_refusal_before_the_end_of_the_request_is_a_response_and_ends_the_request() {
    let body = vec![b'x'; 1 << 20];
    let (mut client, mut output, mut events) =
        (Http2::new(Settings::with_streams(1), None), Vec::new(), Vec::new());
    client.open(&mut output);
    client.send(0, &request(&body), &request(&body).bytes, &mut output);
    client.feed(&[0, 0, 0, 4, 0, 0, 0, 0, 0], &mut output, &mut events).unwrap();
    assert!(!client.is_sent(0), "it waits for windows");
    output.clear();
    // The response ends its stream; then the server resets it without an error (RFC 9113, section 8.1), and grows the windows.
    let refusal = frame(1, 5, 1, &[0x08, 3, b'4', b'1', b'3']);
    let reset = frame(3, 0, 1, &[0; 4]);
    let windows = [frame(8, 0, 1, &[0, 16, 0, 0]), frame(8, 0, 0, &[0, 16, 0, 0])].concat();
    client.feed(&[refusal, reset, windows].concat(), &mut output, &mut events).unwrap();
    let [Event::Answered { stream: 0, response }] = events[..] else { panic!("{events:?}") };
    assert_eq!(response.status, 413);
    assert!(client.is_sent(0));
    assert_eq!(output, frame(3, 0, 1, &[0, 0, 0, 8]), "CANCEL, and none of the body");
}

#[test]
fn a_header_block_as_large_as_a_head_of_http1_may_be_is_read() {
    let head = |value_bytes: usize| {
        // A literal field without indexing: `x`, and a value whose length is an integer of 7 bits with three more bytes.
        let rest = value_bytes - 127;
        let length = [0x7f, (rest & 0x7f) as u8 | 0x80, (rest >> 7 & 0x7f) as u8 | 0x80, (rest >> 14) as u8];
        let block = [&[0x88, 0, 1, b'x'][..], &length, &vec![b'a'; value_bytes]].concat();
        let (first, rest) = block.split_at(16_384);
        let mut frames = frame(1, 1, 1, first);
        let count = rest.len().div_ceil(16_384);
        for (number, piece) in rest.chunks(16_384).enumerate() {
            frames.extend(frame(9, if number + 1 == count { 4 } else { 0 }, 1, piece));
        }
        client_takes(&frames)
    };
    assert!(matches!(head(300_000).unwrap()[..], [Event::Answered { stream: 0, .. }]));
    assert!(head(310_000).unwrap_err().to_string().contains("larger than 300 KiB"));
}

#[test]
fn protocol_violations_are_named() {
    let violation = |bytes: &[u8]| client_takes(bytes).unwrap_err().to_string();
    assert!(violation(&frame(0, 1, 1, b"x")).contains("data before headers"));
    assert!(violation(&frame(0, 1, 9, b"x")).contains("without a request"));
    assert!(violation(&frame(1, 4, 2, &[0x88])).contains("without a request"));
    assert!(violation(&frame(1, 4, 1, &[0xff])).contains("cannot be read"));
    assert!(violation(&frame(1, 4, 1, &[0x58, 1, b'a'])).contains("without a status"));
    assert!(violation(&frame(1, 0x0c, 1, &[9, 0x88])).contains("padding"));
    assert!(violation(&[frame(1, 0, 1, &[0x88]), frame(6, 0, 0, &[0; 8])].concat()).contains("interrupted"));
    assert!(violation(&frame(9, 4, 1, &[0x88])).contains("interrupted"));
    assert!(violation(&frame(8, 0, 0, &[0; 4])).contains("of zero"));
    assert!(violation(&frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff])).contains("larger than 2 GiB"));
    assert!(violation(&frame(5, 4, 1, &[0, 0, 0, 2])).contains("push"));
    // A window that the setting enlarges beyond the maximum (RFC 9113, section 6.9.2).
    let grown =
        [frame(8, 0, 1, &1_u32.to_be_bytes()), frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff])].concat();
    assert!(violation(&grown).contains("larger than 2 GiB"));
    assert!(violation(&[0xff; 9]).contains("larger than 16 KiB"));
    let flood: Vec<u8> = std::iter::once(frame(1, 0, 1, &[0; 16_000]))
        .chain((0..20).map(|_| frame(9, 0, 1, &[0; 16_000])))
        .flatten()
        .collect();
    assert!(violation(&flood).contains("larger than 300 KiB"));
    let mut client = Http2::new(Settings::with_streams(1), None);
    let response = client.feed(b"HTTP/1.1 400 Bad Request\r\n\r\n", &mut Vec::new(), &mut Vec::new());
    assert_eq!(response, Err(ProtocolError::NotHttp2));
    let mut server = Server::default();
    assert_eq!(
        server.feed(b"GET / HTTP/1.1\r\n", &mut Vec::new(), &mut Vec::new()),
        Err(ProtocolError::NotHttp2)
    );
}

proptest! {
    #[test]
    fn pieces_do_not_matter(piece in 1_usize..200) {
        let mut pair = Pair::new(Settings::with_streams(2));
        pair.send(0, &request(&[1; 3000]));
        pair.send(1, &request(b""));
        pair.carry(piece, |server, id, output| respond(server, id, 4000, output));
        prop_assert_eq!(pair.responses().len(), 2);
    }

    #[test]
    fn the_limit_on_streams_is_that_of_the_last_settings_that_were_acknowledged(
        limits in prop::collection::vec(0_u32..5, 1..20),
        piece in 1_usize..40,
    ) {
        let mut client = Http2::new(Settings::with_streams(4), None);
        let (mut output, mut reported) = (Vec::new(), u32::MAX);
        let of = |limit: u32| frame(4, 0, 0, &[&[0, 3], limit.to_be_bytes().as_slice()].concat());
        let bytes: Vec<u8> = limits.iter().flat_map(|limit| of(*limit)).collect();
        for bytes in bytes.chunks(piece) {
            let mut events = Vec::new();
            client.feed(bytes, &mut output, &mut events).unwrap();
            for event in events {
                let Event::Limit { streams } = event else { panic!("{event:?}") };
                prop_assert!(streams != reported, "a limit that has not changed is not reported");
                reported = streams;
            }
            // The client has sent nothing but acknowledgements.
            let ack = frame(4, 1, 0, &[]);
            prop_assert!(output.chunks(ack.len()).all(|one| one == ack));
            let acknowledged = output.len() / ack.len();
            let expected = acknowledged.checked_sub(1).map_or(u32::MAX, |last| limits[last]);
            prop_assert_eq!((client.max_streams(), reported), (expected, expected));
        }
    }

    #[test]
    fn no_bytes_panic(kind in 0_u8..11, flags: u8, stream in 0_u32..6, payload in prop::collection::vec(any::<u8>(), 0..60)) {
        let bytes = frame(kind, flags, stream, &payload);
        let _ = client_takes(&bytes);
        let _ = client_takes(&payload);
        let mut server = Server::default();
        let start = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0], &frame(1, 4, 1, &[0x82, 0x84])].concat();
        let _ = server.feed(&start, &mut Vec::new(), &mut Vec::new());
        let _ = server.feed(&bytes, &mut Vec::new(), &mut Vec::new());
    }
}

/// A server that responds to each message of a call with `per_message` messages as it comes, and ends the call after `most`. Returns
/// the number of messages in each read of it, and the events of the client.
fn conversation(messages: Messages, per_message: u32, most: u32) -> (Vec<usize>, Vec<Event>) {
    let mut client = Http2::new(Settings::with_streams(1), None);
    let mut server = Server::streaming(|_| true);
    let (mut to_server, mut to_client, mut events) = (Vec::new(), Vec::new(), Vec::new());
    client.time_messages(messages);
    client.open(&mut to_server);
    server.open(&mut to_client);
    let message = framed(b"hop");
    let request = request(&message);
    client.send(0, &request, &request.bytes, &mut to_server);
    let (mut reads, mut received, mut has_ended) = (Vec::new(), 0, false);
    while !to_server.is_empty() || !to_client.is_empty() {
        let mut server_events = Vec::new();
        server.feed(&std::mem::take(&mut to_server), &mut to_client, &mut server_events).unwrap();
        for event in server_events {
            match event {
                ServerEvent::Opened { stream, .. } => {
                    server.begin(stream, &[(":status", "200")], &mut to_client);
                }
                ServerEvent::Data { stream, data } => {
                    reads.push(data.len() / message.len());
                    received += reads[reads.len() - 1] as u32;
                    (0..per_message).for_each(|_| server.push(stream, &message, &mut to_client));
                    if received == most && !has_ended {
                        server.finish(stream, &[("grpc-status", "0")], &mut to_client);
                        has_ended = true;
                    }
                }
                ServerEvent::Ended { stream } if !has_ended => {
                    server.finish(stream, &[("grpc-status", "0")], &mut to_client);
                    has_ended = true;
                }
                _ => {}
            }
        }
        server.pump(&mut to_client);
        client.feed(&std::mem::take(&mut to_client), &mut to_server, &mut events).unwrap();
    }
    (reads, events)
}

/// Returns the number of messages that were reported, and true if the response was as expected.
fn reported(events: &[Event]) -> (usize, Option<bool>) {
    let messages = events.iter().filter(|event| matches!(event, Event::Message { .. })).count();
    let response = events.iter().find_map(|event| match event {
        Event::Answered { response, .. } => Some(response.is_as_expected),
        _ => None,
    });
    (messages, response)
}

#[test]
fn each_message_of_a_bidirectional_call_follows_the_response_to_the_previous_one() {
    let (reads, events) = conversation(Messages::InTurn(5), 1, u32::MAX);
    assert_eq!(reads, [1; 5]);
    assert_eq!(reported(&events), (5, Some(true)));
    // The server ends the call after the second of five.
    let (reads, events) = conversation(Messages::InTurn(5), 1, 2);
    assert!(reads.len() < 5, "{reads:?}");
    assert_eq!(reported(&events).1, Some(false));
    // A server that does not respond, and waits for the end, would wait for ever: nothing more is sent.
    let (reads, events) = conversation(Messages::InTurn(2), 0, u32::MAX);
    assert_eq!((reads, reported(&events)), (vec![1], (0, None)));
}

#[test]
fn each_message_of_a_stream_of_responses_is_reported() {
    let (reads, events) = conversation(Messages::AtOnce, 7, u32::MAX);
    assert_eq!((reads, reported(&events)), (vec![1], (7, Some(true))));
}
