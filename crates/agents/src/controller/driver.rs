//! Drives the line to one agent over a stream of any kind.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_result::AgentOutcome;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::line::{AgentEvent, Input, Line, Output};
use crate::frame::{self, MAX_BYTES};
use crate::message::{FromAgent, ShownToken};

/// Interval between ticks.
const TICK: Duration = Duration::from_millis(250);
/// Time limit for writing a message to an agent.
const WRITE_TIME: Duration = Duration::from_secs(5);
/// Minimum time between two reports that a message is arriving, nanoseconds.
const ACTIVITY_EVERY_NS: u64 = 1_000_000_000;
/// Interval between attempts to connect.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// A stream to an agent: a connection, or a forwarded port.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A stream that is being opened. It must end at a deadline of its own, with its last error: nothing else limits its time.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// Connects to an agent by its address, `HOST:PORT`. Tries again until `within` is over, because the agent may be starting.
pub(super) fn by_address(address: String, within: Duration) -> Connecting {
    Box::pin(async move {
        let until = Instant::now() + within;
        let mut last = io::Error::from(io::ErrorKind::TimedOut);
        loop {
            match timeout_at(until, TcpStream::connect(address.as_str())).await {
                Ok(Ok(stream)) => {
                    // Nagle's algorithm would delay questions for the clock.
                    let _ = stream.set_nodelay(true);
                    return Ok(Box::new(stream) as Box<dyn Stream>);
                }
                Ok(Err(error)) => last = error,
                Err(_) => return Err(last),
            }
            if Instant::now() + AGAIN_AFTER >= until {
                return Err(last);
            }
            sleep(AGAIN_AFTER).await;
        }
    })
}

/// Drives the line to agent `number` until the controller or the agent ends. Its events go to `events`.
pub(super) async fn drive(
    number: usize,
    connecting: Connecting,
    token: Option<ShownToken>,
    (sender, mut inbox): (UnboundedSender<Input>, UnboundedReceiver<Input>),
    events: UnboundedSender<(usize, AgentEvent)>,
) {
    let notify = |event: AgentEvent| {
        // The controller may have ended.
        let _ = events.send((number, event));
    };
    let stream = match connecting.await {
        Ok(stream) => stream,
        Err(error) => {
            return notify(AgentEvent::Ended(AgentOutcome::Absent, format!("cannot connect to it: {error}")));
        }
    };
    let (mut from, mut to) = tokio::io::split(stream);
    // The reader is aborted when dropped, also if this line is aborted: it would otherwise keep the stream open.
    let mut reader = JoinSet::new();
    reader.spawn(async move {
        let mut sent_ns = 0;
        loop {
            let on_activity = || {
                let now = now_ns();
                if now.saturating_sub(sent_ns) >= ACTIVITY_EVERY_NS {
                    sent_ns = now;
                    // The line may have ended. Sending the message itself will show that.
                    let _ = sender.send(Input::Activity);
                }
            };
            let (input, is_end) = match frame::read::<FromAgent>(&mut from, MAX_BYTES, on_activity).await {
                Ok(Some(message)) => (Input::Frame { message, at_ns: now_ns() }, false),
                Ok(None) => (Input::Lost("its connection ended".to_owned()), true),
                Err(error) => (Input::Lost(error.to_string()), true),
            };
            if sender.send(input).is_err() || is_end {
                break;
            }
        }
    });
    let (mut line, hello) = Line::begin(token, now_ns());
    let mut outputs = vec![Output::Send(hello)];
    let mut next_tick = Instant::now() + TICK;
    'line: loop {
        for output in outputs {
            match output {
                Output::Send(message) => {
                    let failed = match timeout(WRITE_TIME, frame::write(&mut to, &message)).await {
                        Ok(Ok(())) => continue,
                        Ok(Err(error)) => error.to_string(),
                        Err(_) => "it did not accept a message in time".to_owned(),
                    };
                    for output in line.on(Input::Lost(failed), now_ns()) {
                        if let Output::Notify(event) = output {
                            notify(event);
                        }
                    }
                    break 'line;
                }
                Output::Notify(event) => notify(event),
                Output::Close => break 'line,
            }
        }
        let now = Instant::now();
        let input = if now >= next_tick {
            next_tick = now + TICK;
            Input::Tick
        } else {
            match timeout_at(next_tick, inbox.recv()).await {
                Ok(Some(input)) => input,
                // The controller and the reader have ended.
                Ok(None) => break,
                Err(_) => {
                    next_tick = Instant::now() + TICK;
                    Input::Tick
                }
            }
        };
        outputs = line.on(input, now_ns());
    }
}
