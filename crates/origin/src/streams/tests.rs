use std::cell::Cell;
use std::time::Duration;

use hoptax_wire::grpc::framed;
use proptest::prelude::*;

use super::*;

/// Records the frames that are sent.
#[derive(Debug, Default)]
struct Recorder {
    /// Streams with a complete response.
    responses: Vec<u64>,
    replies: Vec<(u64, Vec<u8>)>,
    resets: Vec<u64>,
    /// The unsent bytes, and how often they were counted.
    unsent_bytes: u64,
    counted: Cell<u64>,
}

impl StreamSender for Recorder {
    fn respond(&mut self, stream: u64, _: Response) {
        self.responses.push(stream);
    }

    fn begin(&mut self, _: u64) {}

    fn reply(&mut self, stream: u64, reply: &Reply) {
        self.replies.push((stream, reply.bytes.clone()));
    }

    fn finish(&mut self, stream: u64, _: Status) {
        self.responses.push(stream);
    }

    fn reset(&mut self, stream: u64) {
        self.resets.push(stream);
    }

    fn close(&mut self, stream: u64) -> bool {
        self.resets.push(stream);
        false
    }

    fn unsent_bytes(&self) -> u64 {
        self.counted.set(self.counted.get() + 1);
        self.unsent_bytes
    }
}

fn head(query: &str, is_call: bool) -> Head {
    let path = if is_call { "/hoptax.echo.v1.Echo/Bidirectional" } else { "/" };
    Head { method: "POST".to_owned(), path: format!("{path}?{query}"), ..Head::default() }
}

fn opened(stream: u64, query: &str) -> ServerEvent<u64> {
    ServerEvent::Opened { stream, head: head(query, true) }
}

fn data(stream: u64, data: Vec<u8>) -> ServerEvent<u64> {
    ServerEvent::Data { stream, data }
}

#[test]
fn a_call_is_recorded_once_from_its_head_to_its_end() {
    let context = &mut Context::recording();
    let (mut streams, mut sent) = (Streams::new(7), Recorder::default());
    streams.handle(1, opened(1, "service=3ms"), &mut sent, context);
    for (message, stream) in [(b"a", 1), (b"b", 1)] {
        streams.handle(stream, data(stream, framed(message)), &mut sent, context);
        streams.delay_expired(stream, &mut sent, context);
    }
    assert!(context.served.as_ref().unwrap().is_empty() && context.report.answered == 0);
    streams.handle(1, ServerEvent::Ended { stream: 1 }, &mut sent, context);
    let served = context.served.as_ref().unwrap();
    let [served] = served[..] else { panic!("{served:?}") };
    assert_eq!((served.connection, served.service_ns), (7, Some(6_000_000)));
    assert!(served.arrived_ns > 0 && served.departs_ns >= served.arrived_ns + 6_000_000, "{served:?}");
    assert!(served.written_ns > served.arrived_ns && context.report.answered == 1, "{served:?}");
    assert_eq!((sent.responses, sent.replies.len()), (vec![1], 2));
}

#[test]
fn a_call_that_fails_or_closes_is_recorded_too() {
    let context = &mut Context::recording();
    let (mut streams, mut sent) = (Streams::new(0), Recorder::default());
    streams.handle(1, opened(1, "status=503"), &mut sent, context);
    streams.handle(3, opened(3, "close=true"), &mut sent, context);
    assert_eq!((context.served.as_ref().unwrap().len(), context.report.answered), (2, 2));
    assert_eq!((sent.responses, sent.resets), (vec![1], vec![3]));
    assert!(streams.is_idle());
}

#[test]
fn unsent_bytes_are_counted_only_near_the_limit() {
    let context = &mut Context::recording();
    let mut streams = Streams { max_held_bytes: 1000, ..Streams::new(0) };
    let mut sent = Recorder::default();
    streams.handle(1, opened(1, ""), &mut sent, context);
    let message = framed(&[0; 95]);
    for _ in 0..50 {
        streams.handle(1, data(1, message.clone()), &mut sent, context);
    }
    // The eleventh exceeds the limit; none is unsent then.
    assert_eq!((sent.resets.len(), sent.counted.get()), (0, 4));
    sent.unsent_bytes = 1001;
    for _ in 0..11 {
        streams.handle(1, data(1, message.clone()), &mut sent, context);
    }
    assert_eq!(sent.resets, [1]);
    assert!(streams.is_idle());
}

#[test]
fn the_call_with_which_the_calls_of_a_connection_exceed_the_limit_is_reset() {
    let context = &mut Context::recording();
    let mut streams = Streams { max_held_bytes: 1000, ..Streams::new(0) };
    let mut sent = Recorder::default();
    for stream in [1, 3] {
        streams.handle(stream, opened(stream, "delay=1s"), &mut sent, context);
        streams.handle(stream, data(stream, framed(&[0; 495])), &mut sent, context);
    }
    assert!(sent.resets.is_empty());
    streams.handle(1, data(1, vec![0; 6]), &mut sent, context);
    assert_eq!((sent.resets, streams.delayed(), context.in_flight), (vec![1], 1, 1));
    assert_eq!(streams.held_bytes, 500);
}

/// An event of one of a few streams.
#[derive(Clone, Copy, Debug)]
enum Step {
    Request,
    Open,
    Data(usize),
    End,
    Cancel,
    Expire,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let step = prop_oneof![
        Just(Step::Request),
        Just(Step::Open),
        (0..40_usize).prop_map(Step::Data),
        Just(Step::End),
        Just(Step::Cancel),
        Just(Step::Expire),
    ];
    (0..3_u64, step)
}

proptest! {
    #[test]
    fn counts_agree_with_the_streams_whatever_happens(steps in prop::collection::vec(step(), 0..60)) {
        let context = &mut Context::recording();
        let (mut streams, mut sent) = (Streams::new(0), Recorder::default());
        // A stream carries one request, so each position takes a new one for each.
        let (mut current, mut next) = ([None; 3], 3);
        for (position, step) in steps {
            let place = &mut current[position as usize];
            let stream = place.unwrap_or(position);
            let event = match step {
                Step::Request | Step::Open if place.is_none() => {
                    *place = Some(next);
                    next += 3;
                    let stream = next - 3;
                    if matches!(step, Step::Open) {
                        Some((stream, opened(stream, "delay=1ms")))
                    } else {
                        let head = head("delay=1ms", false);
                        Some((stream, ServerEvent::Request { stream, head, body: Vec::new() }))
                    }
                }
                Step::Request | Step::Open => None,
                Step::Data(bytes) => Some((stream, data(stream, framed(b"abc").repeat(9)[..bytes].to_vec()))),
                Step::End => Some((stream, ServerEvent::Ended { stream })),
                Step::Cancel => {
                    *place = None;
                    Some((stream, ServerEvent::Cancelled { stream }))
                }
                Step::Expire => {
                    streams.delay_expired(stream, &mut sent, context);
                    None
                }
            };
            if let Some((stream, event)) = event {
                streams.handle(stream, event, &mut sent, context);
            }
            for place in &mut current {
                *place = place.filter(|stream| !sent.responses.contains(stream));
            }
            let held_bytes: usize = streams.calls.values().map(Call::held_bytes).sum();
            prop_assert_eq!(streams.held_bytes, held_bytes as u64);
            prop_assert_eq!(streams.delayed(), context.in_flight);
            prop_assert_eq!(context.report.answered, sent.responses.len() as u64);
            prop_assert_eq!(context.served.as_ref().unwrap().len(), sent.responses.len());
        }
        prop_assert!(context.delays.iter().all(|(delay, _)| *delay == Duration::from_millis(1)));
    }
}
