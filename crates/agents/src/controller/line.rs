//! The controller's side of the line to one agent: decisions without I/O.

use hoptax_result::{AgentOutcome, LoadResult, Program, grouped};

use crate::clock::{Exchange, Offset};
use crate::message::{FromAgent, FromController, Second, ShownToken, VERSION};
use crate::planned::PlannedShare;

/// Exchanges when an agent connects and again when it is ready, and those after the end. Of a few, one finds both machines idle.
const EXCHANGES_BEFORE: u32 = 8;
const EXCHANGES_AFTER: u32 = 4;
/// Interval between questions for the clock of an agent, nanoseconds. Its answers show that it is alive.
const ASK_EVERY_NS: u64 = 1_000_000_000;
/// Time without a message after which an agent is given up, nanoseconds: five questions.
pub(crate) const SILENCE_NS: u64 = 5_000_000_000;
/// Time between two ticks above which the controller itself was stalled and could receive nothing, nanoseconds. Ticks come four times a
/// second.
const STALL_NS: u64 = 1_000_000_000;
/// Time limit for the answer to the greeting, nanoseconds.
const GREETING_NS: u64 = 5_000_000_000;
/// Time limit for the answers to several questions for the clock, nanoseconds.
const COMPARING_NS: u64 = 15_000_000_000;

/// An input of the line.
#[derive(Debug)]
pub(crate) enum Input {
    /// A message of the agent.
    Frame {
        /// The message.
        message: FromAgent,
        /// Time of its arrival, nanoseconds.
        at_ns: u64,
    },
    /// A part of a message has arrived.
    Activity,
    /// A decision of the controller.
    Order(Order),
    /// Some time has passed.
    Tick,
    /// The connection was lost, for this reason.
    Lost(String),
}

/// A decision of the controller for one agent.
#[derive(Debug)]
pub(crate) enum Order {
    /// Prepare a share.
    Plan {
        /// The share.
        share: Box<PlannedShare>,
        /// Time by which it must be ready, nanoseconds.
        until_ns: u64,
    },
    /// Start it.
    Start {
        /// Time of the start, nanoseconds.
        at_ns: u64,
        /// Time by which its report must arrive, nanoseconds.
        until_ns: u64,
    },
    /// End the load early.
    Stop {
        /// Time by which its report must arrive, nanoseconds.
        until_ns: u64,
    },
    /// End the conversation.
    Goodbye,
}

/// An action to perform.
#[derive(Debug)]
pub(crate) enum Output {
    /// Send a message to the agent.
    Send(FromController),
    /// Notify the controller.
    Notify(AgentEvent),
    /// Close the connection.
    Close,
}

/// An event of an agent.
#[derive(Debug)]
pub(crate) enum AgentEvent {
    /// It connected; with the best offset of its clock.
    Greeted(Offset),
    /// Its connections are open; with the best offset of its clock.
    Ready(Offset),
    /// Its clock was compared again while other agents were awaited; with the best offset.
    Compared(Offset),
    /// A second of its load.
    Second(Box<Second>),
    /// Its result, and the offset of its clock at the end.
    Reported(Box<LoadResult>, Option<Offset>),
    /// It has no result, for this reason.
    Ended(AgentOutcome, String),
}

#[derive(Debug)]
enum State {
    Greeting,
    Comparing { left: u32, is_ready: bool },
    Idle,
    Preparing,
    Ready,
    Sending,
    Reporting { result: Box<LoadResult>, left: u32 },
    Ended,
}

/// The line to one agent.
#[derive(Debug)]
pub(crate) struct Line {
    state: State,
    heard_ns: u64,
    ticked_ns: u64,
    asked_ns: u64,
    /// Time by which the state must end; None without a limit.
    until_ns: Option<u64>,
    /// The best offset before the start.
    before: Option<Offset>,
    /// The best offset after the end.
    after: Option<Offset>,
}

impl Line {
    /// A line that was just connected, and its first message.
    pub(crate) fn begin(token: Option<ShownToken>, now_ns: u64) -> (Self, FromController) {
        let line = Self {
            state: State::Greeting,
            heard_ns: now_ns,
            ticked_ns: now_ns,
            asked_ns: now_ns,
            until_ns: Some(now_ns + GREETING_NS),
            before: None,
            after: None,
        };
        (line, FromController::Hello { version: VERSION, token })
    }

    /// Returns the actions for an input.
    pub(crate) fn on(&mut self, input: Input, now_ns: u64) -> Vec<Output> {
        match input {
            Input::Frame { message, at_ns } => {
                self.heard_ns = now_ns;
                self.on_message(message, at_ns, now_ns)
            }
            Input::Activity => {
                self.heard_ns = now_ns;
                Vec::new()
            }
            Input::Order(order) => self.on_order(order),
            Input::Tick => self.tick(now_ns),
            Input::Lost(reason) => {
                self.allow_for_stall(now_ns);
                // Before its greeting, it has said nothing that the time could be counted from.
                let reason = if matches!(self.state, State::Greeting) {
                    reason
                } else {
                    format!("{reason}, {} s after its last message", self.unheard_s(now_ns))
                };
                let mut outputs = self.end(AgentOutcome::Died, reason);
                // The agent receives nothing more.
                outputs.retain(|output| matches!(output, Output::Notify(_)));
                outputs.push(Output::Close);
                outputs
            }
        }
    }

    fn on_message(&mut self, message: FromAgent, at_ns: u64, now_ns: u64) -> Vec<Output> {
        match message {
            FromAgent::Clock { sent_ns, received_ns, replied_ns } => {
                let exchange = Exchange { sent_ns, received_ns, replied_ns, returned_ns: at_ns };
                self.compare(exchange.offset(), now_ns)
            }
            FromAgent::Hello { version, program } if matches!(self.state, State::Greeting) => {
                if let Some(reason) = version_mismatch(version, &program) {
                    return self.end(AgentOutcome::Failed, reason);
                }
                self.state = State::Comparing { left: EXCHANGES_BEFORE, is_ready: false };
                self.until_ns = Some(now_ns + COMPARING_NS);
                vec![self.ask(now_ns)]
            }
            FromAgent::Ready if matches!(self.state, State::Preparing) => {
                // The first exchanges are outdated.
                self.state = State::Comparing { left: EXCHANGES_BEFORE, is_ready: true };
                self.until_ns = Some(now_ns + COMPARING_NS);
                vec![self.ask(now_ns)]
            }
            FromAgent::Second(second) if matches!(self.state, State::Sending) => {
                vec![Output::Notify(AgentEvent::Second(second))]
            }
            FromAgent::Report(result) if matches!(self.state, State::Sending) => {
                self.state = State::Reporting { result, left: EXCHANGES_AFTER };
                vec![self.ask(now_ns)]
            }
            FromAgent::Failed { reason } => self.end(AgentOutcome::Failed, reason),
            FromAgent::Busy => {
                let reason = "it serves another controller: wait for its end, or use another agent";
                self.end(AgentOutcome::Failed, reason.to_owned())
            }
            // A load that was stopped before its start reports, too.
            FromAgent::Hello { .. } | FromAgent::Ready | FromAgent::Second(_) | FromAgent::Report(_) => {
                Vec::new()
            }
        }
    }

    /// Takes an answer about the clock, and asks again while exchanges are left.
    fn compare(&mut self, offset: Option<Offset>, now_ns: u64) -> Vec<Output> {
        let better = |known: Option<Offset>| offset.map(|offset| offset.better(known)).or(known);
        match &mut self.state {
            State::Comparing { left, is_ready } => {
                let is_ready = *is_ready;
                self.before = better(self.before);
                *left -= 1;
                if *left > 0 {
                    return vec![self.ask(now_ns)];
                }
                let Some(before) = self.before else {
                    let reason = "its clock runs backwards, or its answers are invalid".to_owned();
                    return self.end(AgentOutcome::Failed, reason);
                };
                let (state, event) = if is_ready {
                    (State::Ready, AgentEvent::Ready(before))
                } else {
                    (State::Idle, AgentEvent::Greeted(before))
                };
                (self.state, self.until_ns) = (state, None);
                vec![Output::Notify(event)]
            }
            State::Idle | State::Preparing => {
                self.before = better(self.before);
                Vec::new()
            }
            State::Ready => {
                self.before = better(self.before);
                self.before.map(|before| Output::Notify(AgentEvent::Compared(before))).into_iter().collect()
            }
            State::Reporting { left, .. } => {
                self.after = better(self.after);
                *left -= 1;
                if *left > 0 {
                    return vec![self.ask(now_ns)];
                }
                self.until_ns = None;
                match std::mem::replace(&mut self.state, State::Ended) {
                    State::Reporting { result, .. } => {
                        vec![Output::Notify(AgentEvent::Reported(result, self.after))]
                    }
                    _ => Vec::new(),
                }
            }
            State::Greeting | State::Sending | State::Ended => Vec::new(),
        }
    }

    fn on_order(&mut self, order: Order) -> Vec<Output> {
        match order {
            Order::Plan { share, until_ns } if matches!(self.state, State::Idle) => {
                (self.state, self.until_ns) = (State::Preparing, Some(until_ns));
                vec![Output::Send(FromController::Plan(share))]
            }
            Order::Start { at_ns, until_ns } if matches!(self.state, State::Ready) => {
                (self.state, self.until_ns) = (State::Sending, Some(until_ns));
                let offset_ns = self.before.map_or(0, |before| before.offset_ns);
                vec![Output::Send(FromController::Start { at_ns, offset_ns })]
            }
            Order::Stop { until_ns } if self.has_load() => {
                self.until_ns = Some(until_ns);
                vec![Output::Send(FromController::Stop)]
            }
            Order::Goodbye => {
                self.state = State::Ended;
                vec![Output::Send(FromController::Goodbye), Output::Close]
            }
            // The agent ended before the order reached it.
            Order::Plan { .. } | Order::Start { .. } | Order::Stop { .. } => Vec::new(),
        }
    }

    /// True if the agent has a load that may still send.
    fn has_load(&self) -> bool {
        let is_ready = matches!(self.state, State::Comparing { is_ready: true, .. } | State::Ready);
        is_ready || matches!(self.state, State::Preparing | State::Sending)
    }

    /// Leaves out the time in which the controller itself was stalled.
    fn allow_for_stall(&mut self, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.ticked_ns);
        self.ticked_ns = now_ns;
        if since_ns > STALL_NS {
            self.heard_ns = self.heard_ns.saturating_add(since_ns);
            self.until_ns = self.until_ns.map(|until_ns| until_ns.saturating_add(since_ns));
        }
    }

    /// The seconds since the last message of the agent, as text. There are 6 at most: a tick ends a line that has been silent for
    /// [`SILENCE_NS`], and the next tick comes within [`STALL_NS`].
    fn unheard_s(&self, now_ns: u64) -> String {
        grouped(now_ns.saturating_sub(self.heard_ns) as f64 / 1e9, 1)
    }

    fn tick(&mut self, now_ns: u64) -> Vec<Output> {
        self.allow_for_stall(now_ns);
        let has_ended = matches!(self.state, State::Ended);
        if !has_ended && now_ns.saturating_sub(self.heard_ns) > SILENCE_NS {
            let reason = format!(
                "it sent nothing for {} s: its machine, its process or the network has stalled",
                self.unheard_s(now_ns)
            );
            return self.end(AgentOutcome::Silent, reason);
        }
        if self.until_ns.is_some_and(|until_ns| now_ns > until_ns) {
            let reason = match self.state {
                State::Greeting => "it did not answer the greeting: it is not an agent, or it is overloaded",
                State::Comparing { .. } => "it did not answer questions about its clock in time",
                State::Preparing => {
                    "its connections were not open in time: check the server and the machine of the agent"
                }
                _ => "it did not report in time: its machine or the network is overloaded",
            };
            return self.end(AgentOutcome::Late, reason.to_owned());
        }
        let asks =
            !matches!(self.state, State::Greeting) && now_ns.saturating_sub(self.asked_ns) >= ASK_EVERY_NS;
        // An agent that has ended is asked, too: otherwise, it would consider the controller gone before the other agents have reported.
        // While clocks are compared, each answer is followed by the next question, and a stream loses no message.
        let is_comparing = matches!(self.state, State::Comparing { .. } | State::Reporting { .. });
        if asks && !is_comparing { vec![self.ask(now_ns)] } else { Vec::new() }
    }

    fn ask(&mut self, now_ns: u64) -> Output {
        self.asked_ns = now_ns;
        Output::Send(FromController::Clock { sent_ns: now_ns })
    }

    /// Ends the line without a result, once. The load of the agent is stopped if the agent can still be told: its requests no longer count.
    fn end(&mut self, outcome: AgentOutcome, reason: String) -> Vec<Output> {
        self.until_ns = None;
        let has_load = self.has_load();
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => Vec::new(),
            // The result of the load is complete; only the clock at the end is missing.
            State::Reporting { result, .. } => vec![Output::Notify(AgentEvent::Reported(result, self.after))],
            // An agent that did not answer the greeting needs no goodbye.
            State::Greeting => vec![Output::Notify(AgentEvent::Ended(outcome, reason)), Output::Close],
            _ if has_load => {
                vec![Output::Notify(AgentEvent::Ended(outcome, reason)), Output::Send(FromController::Stop)]
            }
            _ => vec![Output::Notify(AgentEvent::Ended(outcome, reason))],
        }
    }
}

/// Reason why an agent cannot work with this controller.
fn version_mismatch(version: u32, program: &Program) -> Option<String> {
    let own = Program::this();
    (version != VERSION || program.version != own.version).then(|| {
        format!(
            "it is hoptax {} with version {version} of the protocol, and this is hoptax {} with version {VERSION}: use the same version of \
             hoptax for both",
            program.version, own.version
        )
    })
}

#[cfg(test)]
mod tests;
