//! Serves one controller over a stream of any kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_session::token::Token;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::conversation::{Conversation, End, Input, Output};
use crate::frame::{self, GREETING_BYTES, MAX_BYTES};
use crate::message::{FromAgent, FromController};
use crate::planned::PlannedShare;

/// Maximum number of messages of both sides that wait to be handled. Beyond it, the sender waits.
const WAITING: usize = 256;
/// Interval between ticks.
const TICK: Duration = Duration::from_secs(1);
/// Time limit for writing a message to the controller.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// Time limit for writing the last message after the agent's deadline.
const LAST_WORD_TIME: Duration = Duration::from_secs(1);
/// Time limit for the end of a stopped load, before the next controller is served.
const STOP_TIME: Duration = Duration::from_secs(30);

/// Sends a share of a load: the engine, or a simulation of it.
pub trait Generator: Send + Sync + 'static {
    /// Begins to prepare a share, and returns at once. It sends to `events` that it is [`FromAgent::Ready`], every second after its start,
    /// and at the end its report or the reason why there is none.
    fn begin(&self, share: PlannedShare, orders: Orders, events: Events);
}

/// The orders for a load.
#[derive(Debug)]
pub struct Orders {
    /// Its start on the clock of this machine, nanoseconds. If the sender is dropped, there is no start.
    pub start: oneshot::Receiver<u64>,
    /// Set when it should stop.
    pub stop: Arc<AtomicBool>,
}

/// Sender of the events of a load.
#[derive(Clone, Debug)]
pub struct Events(mpsc::Sender<Input>);

impl Events {
    /// Sends an event from a thread outside the runtime. False if the receiver has ended.
    pub fn blocking_send(&self, event: FromAgent) -> bool {
        self.0.blocking_send(Input::Load(event)).is_ok()
    }

    /// Sends an event. False if the receiver has ended.
    pub async fn send(&self, event: FromAgent) -> bool {
        self.0.send(Input::Load(event)).await.is_ok()
    }
}

/// Serves the controller at the other end of a stream, until one of them ends, or until `ends_at`. With a token, a client that does not
/// show it is not a controller.
pub async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    generator: &dyn Generator,
    token: Option<Token>,
    ends_at: Instant,
) -> End {
    let (mut from, mut to) = tokio::io::split(stream);
    let (sender, mut inbox) = mpsc::channel(WAITING);
    let heard = sender.clone();
    // The reader is aborted when dropped, also if this conversation is aborted: it would otherwise keep the stream open.
    let mut reader = JoinSet::new();
    reader.spawn(async move {
        // The first message may come from anyone.
        let mut most_bytes = GREETING_BYTES;
        loop {
            let read = frame::read::<FromController>(&mut from, most_bytes, || ()).await;
            most_bytes = MAX_BYTES;
            let (input, is_end) = match read {
                Ok(Some(message)) => (Input::Frame { message, at_ns: now_ns() }, false),
                Ok(None) => (Input::Lost("its connection ended".to_owned()), true),
                Err(error) => (Input::Lost(error.to_string()), true),
            };
            if heard.send(input).await.is_err() || is_end {
                break;
            }
        }
    });
    let mut conversation = Conversation::new(token, now_ns());
    let mut load = Load::default();
    let mut next_tick = Instant::now() + TICK;
    let end = 'conversation: loop {
        let now = Instant::now();
        let input = if now >= ends_at {
            Input::Deadline
        } else if now >= next_tick {
            next_tick = now + TICK;
            Input::Tick
        } else {
            match timeout_at(next_tick.min(ends_at), inbox.recv()).await {
                Ok(Some(input)) => input,
                // The wait timed out. The inbox cannot be closed, because this function has a sender.
                Ok(None) | Err(_) => continue,
            }
        };
        for output in conversation.on(input, now_ns()) {
            match output {
                Output::Send(message) => {
                    let until = (Instant::now() + WRITE_TIME).min(ends_at + LAST_WORD_TIME);
                    let written = timeout_at(until, frame::write(&mut to, &message)).await;
                    if !matches!(written, Ok(Ok(()))) {
                        load.stop();
                        break 'conversation End::Gone("it did not accept a message in time".to_owned());
                    }
                }
                Output::Begin(share) => load.begin(generator, *share, Events(sender.clone())),
                Output::Start(at_ns) => load.start(at_ns),
                Output::Stop => load.stop(),
                Output::End(end) => break 'conversation end,
            }
        }
    };
    if end == End::Served && conversation.has_load() {
        return ended(&mut inbox, end, ends_at).await;
    }
    end
}

/// Waits until a load that was stopped has ended.
async fn ended(inbox: &mut mpsc::Receiver<Input>, end: End, ends_at: Instant) -> End {
    let until = (Instant::now() + STOP_TIME).min(ends_at);
    loop {
        match timeout_at(until, inbox.recv()).await {
            Ok(Some(Input::Load(FromAgent::Report(_) | FromAgent::Failed { .. }))) => return end,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return End::Gone("its load does not end".to_owned()),
        }
    }
}

/// The controls of the running load.
#[derive(Debug, Default)]
struct Load {
    start: Option<oneshot::Sender<u64>>,
    stop: Arc<AtomicBool>,
}

impl Load {
    fn begin(&mut self, generator: &dyn Generator, share: PlannedShare, events: Events) {
        let (sender, start) = oneshot::channel();
        self.start = Some(sender);
        generator.begin(share, Orders { start, stop: Arc::clone(&self.stop) }, events);
    }

    fn start(&mut self, at_ns: u64) {
        if let Some(start) = self.start.take() {
            // A load that has ended has reported so.
            let _ = start.send(at_ns);
        }
    }

    /// Stops the load, also while it waits for its start.
    fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.start = None;
    }
}
