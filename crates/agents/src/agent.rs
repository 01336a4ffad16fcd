//! The agent: a program that listens, serves one controller at a time, and sends its share of a load to allowed targets.

mod conversation;
mod engine;
mod serve;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hoptax_session::targets::{AllowedTarget, AllowedTargets, is_loopback};
use hoptax_session::token::Token;
use hoptax_session::{Failure, Interrupt, machine};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;
use tokio::time::{self, Instant};

use crate::frame::{self, GREETING_BYTES};
use crate::message::{FromAgent, FromController};

pub use conversation::End;
pub use engine::Engine;
pub use serve::{Events, Generator, Orders, serve};

/// Interval between checks for the end of the agent.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time limit for telling a client that it is refused.
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// Time for which a new connection waits for the end of the previous conversation: its controller may just have said goodbye.
const ENDING_TIME: Duration = Duration::from_secs(2);
/// Maximum lifetime of an agent.
const LONGEST_DEADLINE: Duration = Duration::from_hours(24 * 365);

/// Options of an agent.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// The token that a controller shows; None if anyone who reaches the agent may send load to its targets.
    pub token: Option<Token>,
    /// The targets that its loads may go to.
    pub targets: Vec<AllowedTarget>,
    /// The time after which it ends, even during a load.
    pub deadline: Duration,
}

/// An agent that listens.
#[derive(Debug)]
pub struct Agent {
    listener: TcpListener,
    address: SocketAddr,
    engine: Engine,
    token: Option<Token>,
    deadline: Duration,
}

impl Agent {
    /// Starts to listen. Connections are not served yet.
    ///
    /// # Errors
    /// When the options are not safe, or the address cannot be listened on.
    pub fn bind(options: Options) -> Result<Self, Failure> {
        let Options { listen, token, targets, deadline } = options;
        if token.is_none() && !is_loopback(listen) {
            return Err(Failure::bad_input(format!(
                "others can reach {listen}, and could send load to the targets of the agent: give it a --token-file, or listen on loopback and \
                 let the controller come through `ssh -L` or `kubectl port-forward`"
            )));
        }
        if deadline > LONGEST_DEADLINE {
            return Err(Failure::bad_input("`--deadline` is more than a year"));
        }
        if targets.is_empty() {
            return Err(Failure::bad_input(
                "an agent needs the targets that loads may go to: `--allow-target HOST:PORT`",
            ));
        }
        let (listener, address) = machine::listen(listen)?;
        let engine = Engine::new(AllowedTargets::named_alone(targets, address));
        Ok(Self { listener, address, engine, token, deadline })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves controllers, one at a time, until the deadline or an interrupt. Its loads end with it.
    ///
    /// # Errors
    /// When a controller disappears without a goodbye, when the deadline ends a load, and when a system call fails that serving needs.
    pub fn run(self, interrupt: &Interrupt) -> Result<(), Failure> {
        // Loads have their own threads, to which the other processors are left.
        on_this_thread(self.serve_all(interrupt))
    }

    async fn serve_all(self, interrupt: &Interrupt) -> Result<(), Failure> {
        let Self { listener, engine, token, deadline, .. } = self;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(Failure::environment)?;
        let engine = Arc::new(engine);
        let ends_at = Instant::now() + deadline;
        let mut serving: Option<JoinHandle<End>> = None;
        loop {
            if interrupt.is_requested() || (serving.is_none() && Instant::now() >= ends_at) {
                return Ok(());
            }
            let accepted = time::timeout(LOOK_EVERY, listener.accept()).await;
            if let Some(handle) = &mut serving {
                let patience = if matches!(accepted, Ok(Ok(_))) { ENDING_TIME } else { Duration::ZERO };
                if let Ok(end) = time::timeout(patience, handle).await {
                    serving = None;
                    if let Some(ended) = after(end.map_err(Failure::environment)?) {
                        return ended;
                    }
                }
            }
            match accepted {
                Ok(Ok((stream, _))) if serving.is_some() => {
                    tokio::spawn(refuse(stream));
                }
                Ok(Ok((stream, _))) => {
                    // Nagle's algorithm would delay answers about the clock.
                    let _ = stream.set_nodelay(true);
                    let (engine, token) = (Arc::clone(&engine), token.clone());
                    serving =
                        Some(tokio::spawn(async move { serve(stream, &*engine, token, ends_at).await }));
                }
                // No file descriptor is left until another connection ends.
                Ok(Err(_)) => time::sleep(LOOK_EVERY).await,
                Err(_) => {}
            }
        }
    }
}

/// Serves with one thread, which is this one.
pub(crate) fn on_this_thread(serving: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime =
        Builder::new_current_thread().enable_io().enable_time().build().map_err(Failure::environment)?;
    let served = runtime.block_on(serving);
    runtime.shutdown_background();
    served
}

/// The result of the agent after the end of a conversation; None if it waits for another controller.
fn after(end: End) -> Option<Result<(), Failure>> {
    match end {
        End::Served | End::HandshakeFailed => None,
        End::Gone(reason) => Some(Err(Failure::environment(format!("the controller is gone: {reason}")))),
        End::Deadline => Some(Err(Failure::environment(
            "the deadline of the agent passed while it served a controller: start it with a longer --deadline",
        ))),
    }
}

/// Tells a client that the agent serves another controller.
async fn refuse(mut stream: TcpStream) {
    let refusal = async {
        // Read its greeting first: closing a connection with unread bytes resets it, and the refusal would be lost.
        let _ = frame::read::<FromController>(&mut stream, GREETING_BYTES, || ()).await;
        // A client that does not read the refusal sees the end of the connection.
        let _ = frame::write(&mut stream, &FromAgent::Busy).await;
    };
    let _ = time::timeout(REFUSAL_TIME, refusal).await;
}
