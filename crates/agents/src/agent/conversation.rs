//! Decides, without I/O, how an agent reacts to messages of its controller, to events of its load, and to silence.

use hoptax_load::trial::SETTLE_NS;
use hoptax_result::{Program, grouped};
use hoptax_session::token::Token;

use crate::message::{FromAgent, FromController, ShownToken, VERSION};
use crate::planned::PlannedShare;

/// Time without a message after which the controller counts as gone, nanoseconds. It sends one every second.
pub(crate) const SILENCE_NS: u64 = 10_000_000_000;
/// Time between two ticks above which this machine itself was stalled and could receive nothing, nanoseconds. Ticks come every second.
const STALL_NS: u64 = 2_000_000_000;
/// Maximum notice of a start, nanoseconds. A controller gives less than a second, and more over a slow network.
const LONGEST_NOTICE_NS: u64 = 60_000_000_000;

/// An input of the conversation.
#[derive(Debug)]
pub(crate) enum Input {
    /// A message of the controller.
    Frame {
        /// The message.
        message: FromController,
        /// Time of its arrival, nanoseconds.
        at_ns: u64,
    },
    /// A message of the load.
    Load(FromAgent),
    /// A second has passed.
    Tick,
    /// The connection was lost, for this reason.
    Lost(String),
    /// The agent's deadline has passed.
    Deadline,
}

/// An action to perform.
#[derive(Debug)]
pub(crate) enum Output {
    /// Send a message.
    Send(FromAgent),
    /// Prepare a share of a load.
    Begin(Box<PlannedShare>),
    /// Start it at this time on the agent's clock, nanoseconds.
    Start(u64),
    /// Stop it.
    Stop,
    /// End the conversation.
    End(End),
}

/// The end of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The controller said goodbye.
    Served,
    /// The controller is gone, for this reason. Its load ends with it.
    Gone(String),
    /// The client was not a controller.
    HandshakeFailed,
    /// The agent's deadline passed.
    Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No greeting has arrived yet.
    Greeting,
    /// No plan has arrived yet.
    Idle,
    /// The load opens its connections.
    Preparing,
    /// The connections are open.
    Ready,
    /// The start of the load is agreed.
    Sending,
    /// The load has ended.
    Ended,
}

/// The conversation with one controller.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// The token that the controller must show; None if anyone who reaches the agent may use it.
    token: Option<Token>,
    state: State,
    heard_ns: u64,
    ticked_ns: u64,
}

impl Conversation {
    pub(crate) fn new(token: Option<Token>, now_ns: u64) -> Self {
        Self { token, state: State::Greeting, heard_ns: now_ns, ticked_ns: now_ns }
    }

    /// True if there is a load, which must end before the next one begins.
    pub(crate) fn has_load(&self) -> bool {
        matches!(self.state, State::Preparing | State::Ready | State::Sending)
    }

    /// Returns the actions for an input.
    pub(crate) fn on(&mut self, input: Input, now_ns: u64) -> Vec<Output> {
        match input {
            Input::Frame { message, at_ns } => {
                self.heard_ns = now_ns;
                self.on_message(message, at_ns, now_ns)
            }
            Input::Load(message) => {
                self.state = match message {
                    FromAgent::Ready => State::Ready,
                    FromAgent::Report(_) | FromAgent::Failed { .. } => State::Ended,
                    _ => self.state,
                };
                vec![Output::Send(message)]
            }
            Input::Tick => self.tick(now_ns),
            Input::Lost(reason) => self.gone(reason),
            Input::Deadline => {
                let reason = "the deadline of the agent passed: start it with a longer --deadline".to_owned();
                let said = self.has_load().then_some(Output::Send(FromAgent::Failed { reason }));
                said.into_iter().chain([Output::Stop, Output::End(End::Deadline)]).collect()
            }
        }
    }

    fn tick(&mut self, now_ns: u64) -> Vec<Output> {
        let since_ns = now_ns.saturating_sub(self.ticked_ns);
        self.ticked_ns = now_ns;
        if since_ns > STALL_NS {
            self.heard_ns = self.heard_ns.saturating_add(since_ns);
        }
        if now_ns.saturating_sub(self.heard_ns) > SILENCE_NS {
            return self.gone("it sent nothing for 10 s".to_owned());
        }
        Vec::new()
    }

    fn on_message(&mut self, message: FromController, at_ns: u64, now_ns: u64) -> Vec<Output> {
        match (self.state, message) {
            (State::Greeting, FromController::Hello { version, token }) => {
                self.on_hello(version, token.as_ref())
            }
            (State::Greeting, _) => vec![Output::End(End::HandshakeFailed)],
            (_, FromController::Clock { sent_ns }) => {
                vec![Output::Send(FromAgent::Clock { sent_ns, received_ns: at_ns, replied_ns: now_ns })]
            }
            (State::Idle, FromController::Plan(share)) => {
                self.state = State::Preparing;
                vec![Output::Begin(share)]
            }
            (State::Ready, FromController::Start { at_ns, offset_ns }) => {
                self.start(at_ns, offset_ns, now_ns)
            }
            // The load may have ended at the same time.
            (State::Preparing | State::Ready | State::Sending, FromController::Stop) => vec![Output::Stop],
            (State::Ended, FromController::Stop | FromController::Start { .. }) => Vec::new(),
            (_, FromController::Goodbye) => vec![Output::Stop, Output::End(End::Served)],
            (state, _) => {
                let reason = format!(
                    "an unexpected message arrived (state {state:?}): use the same version of hoptax for both"
                );
                let mut all = vec![Output::Send(FromAgent::Failed { reason: reason.clone() })];
                all.extend(self.gone(reason));
                all
            }
        }
    }

    /// Answers a greeting, if it is of a controller that may use this agent.
    fn on_hello(&mut self, version: u32, shown: Option<&ShownToken>) -> Vec<Output> {
        let is_shown = |token: &Token| shown.is_some_and(|shown| token.equals(shown.0.as_bytes()));
        if version == VERSION && self.token.as_ref().is_none_or(is_shown) {
            self.state = State::Idle;
            return vec![Output::Send(FromAgent::Hello { version: VERSION, program: Program::this() })];
        }
        let reason = if version == VERSION {
            "it refused this controller, which sent no valid token; give the token file of the agent as --agents-token-file"
                .to_owned()
        } else {
            format!(
                "it speaks version {VERSION} of the protocol, and the controller version {version}: use the same version of hoptax for both"
            )
        };
        vec![Output::Send(FromAgent::Failed { reason }), Output::End(End::HandshakeFailed)]
    }

    /// Starts the load, unless its start has passed, or is so near that requests would be late.
    fn start(&mut self, at_ns: u64, offset_ns: i64, now_ns: u64) -> Vec<Output> {
        let latest_ns = now_ns.saturating_add(LONGEST_NOTICE_NS);
        match at_ns.checked_add_signed(offset_ns).filter(|own_ns| *own_ns <= latest_ns) {
            Some(own_ns) if own_ns >= now_ns.saturating_add(SETTLE_NS) => {
                self.state = State::Sending;
                vec![Output::Start(own_ns)]
            }
            Some(own_ns) => {
                let late_ms = (now_ns + SETTLE_NS).saturating_sub(own_ns) as f64 / 1e6;
                let reason = format!(
                    "the start command arrived {late_ms} ms too late: the network to the agent is slow, or its machine is overloaded",
                    late_ms = grouped(late_ms, 0)
                );
                // The load has ended only when it reports so.
                vec![Output::Send(FromAgent::Failed { reason }), Output::Stop]
            }
            None => self.gone("it named a start time too far in the future".to_owned()),
        }
    }

    fn gone(&self, reason: String) -> Vec<Output> {
        let end = if self.state == State::Greeting { End::HandshakeFailed } else { End::Gone(reason) };
        vec![Output::Stop, Output::End(end)]
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;

    use super::*;
    use crate::planned::SentLoad;

    const SECOND_NS: u64 = 1_000_000_000;

    const HELLO: FromController = FromController::Hello { version: VERSION, token: None };

    fn new() -> Conversation {
        Conversation::new(None, 0)
    }

    fn say(conversation: &mut Conversation, message: FromController, now_ns: u64) -> Vec<Output> {
        conversation.on(Input::Frame { message, at_ns: now_ns }, now_ns)
    }

    fn plan() -> FromController {
        FromController::Plan(Box::new(PlannedShare { index: 0, of: 1, load: SentLoad::default() }))
    }

    fn greeted() -> Conversation {
        let mut conversation = new();
        let said = say(&mut conversation, HELLO, 0);
        assert!(matches!(said.as_slice(), [Output::Send(FromAgent::Hello { .. })]), "{said:?}");
        conversation
    }

    fn ready() -> Conversation {
        let mut conversation = greeted();
        assert!(matches!(say(&mut conversation, plan(), 1).as_slice(), [Output::Begin(_)]));
        conversation.on(Input::Load(FromAgent::Ready), 2);
        conversation
    }

    /// Ticks every second from one time up to another, nanoseconds. Returns the first outputs.
    fn ticks(conversation: &mut Conversation, from_ns: u64, to_ns: u64) -> Vec<Output> {
        let times = (from_ns..=to_ns).step_by(SECOND_NS as usize);
        times.map(|at_ns| conversation.on(Input::Tick, at_ns)).find(|all| !all.is_empty()).unwrap_or_default()
    }

    fn end(outputs: &[Output]) -> Option<&End> {
        outputs.iter().find_map(|output| match output {
            Output::End(end) => Some(end),
            _ => None,
        })
    }

    fn stops(outputs: &[Output]) -> bool {
        outputs.iter().any(|output| matches!(output, Output::Stop))
    }

    #[test]
    fn a_load_is_prepared_started_at_the_agreed_instant_and_reported() {
        let mut conversation = ready();
        let start = FromController::Start { at_ns: 1_000 * SECOND_NS, offset_ns: -999 * SECOND_NS as i64 };
        let outputs = say(&mut conversation, start, 100);
        assert!(matches!(outputs.as_slice(), [Output::Start(SECOND_NS)]), "{outputs:?}");
        assert!(conversation.has_load());
        let report = FromAgent::Report(Box::new(sample::load()));
        let outputs = conversation.on(Input::Load(report), 3 * SECOND_NS);
        assert!(matches!(outputs.as_slice(), [Output::Send(FromAgent::Report(_))]));
        assert!(!conversation.has_load());
        let outputs = say(&mut conversation, FromController::Goodbye, 4 * SECOND_NS);
        assert_eq!(end(&outputs), Some(&End::Served));
    }

    #[test]
    fn a_word_to_start_that_comes_too_late_starts_nothing() {
        let mut conversation = ready();
        let start = FromController::Start { at_ns: SECOND_NS, offset_ns: 0 };
        let outputs = say(&mut conversation, start, SECOND_NS - SETTLE_NS + 1);
        assert!(stops(&outputs) && !outputs.iter().any(|output| matches!(output, Output::Start(_))));
        assert!(
            matches!(&outputs[0], Output::Send(FromAgent::Failed { reason }) if reason.contains("too late"))
        );
    }

    #[test]
    fn a_controller_that_is_gone_silent_or_speaks_otherwise_stops_the_load() {
        let mut conversation = ready();
        let outputs = conversation.on(Input::Lost("its connection ended".to_owned()), 3);
        assert!(stops(&outputs) && matches!(end(&outputs), Some(End::Gone(_))));
        let mut conversation = ready();
        let outputs = ticks(&mut conversation, 2, SILENCE_NS + 3 * SECOND_NS);
        assert!(stops(&outputs) && matches!(end(&outputs), Some(End::Gone(_))));
        let never = FromController::Start { at_ns: u64::MAX, offset_ns: 0 };
        for message in [plan(), HELLO, never] {
            let outputs = say(&mut ready(), message, 3);
            assert!(stops(&outputs) && matches!(end(&outputs), Some(End::Gone(_))));
        }
    }

    #[test]
    fn a_word_of_the_controller_is_a_sign_of_life() {
        let mut conversation = ready();
        assert!(ticks(&mut conversation, 2, 9 * SECOND_NS).is_empty());
        let outputs = say(&mut conversation, FromController::Clock { sent_ns: 7 }, 9 * SECOND_NS);
        let [Output::Send(FromAgent::Clock { sent_ns: 7, received_ns, replied_ns })] = outputs.as_slice()
        else {
            panic!("{outputs:?}");
        };
        assert_eq!((*received_ns, *replied_ns), (9 * SECOND_NS, 9 * SECOND_NS));
        assert!(ticks(&mut conversation, 10 * SECOND_NS, 19 * SECOND_NS).is_empty());
        assert!(!ticks(&mut conversation, 20 * SECOND_NS, 21 * SECOND_NS).is_empty());
    }

    #[test]
    fn a_machine_that_stood_still_has_heard_nobody_and_nobody_is_gone_for_it() {
        let mut conversation = ready();
        assert!(ticks(&mut conversation, 2, 5 * SECOND_NS).is_empty());
        // A minute later, what was said meanwhile waits to be read.
        assert!(conversation.on(Input::Tick, 65 * SECOND_NS).is_empty());
        assert!(!ticks(&mut conversation, 66 * SECOND_NS, 80 * SECOND_NS).is_empty());
    }

    #[test]
    fn whoever_does_not_greet_is_no_controller_whose_end_matters() {
        let other = FromController::Hello { version: VERSION + 1, token: None };
        for message in [plan(), FromController::Stop, other] {
            let outputs = say(&mut new(), message, 1);
            assert_eq!(end(&outputs), Some(&End::HandshakeFailed));
        }
        let outputs = new().on(Input::Lost("its connection ended".to_owned()), 1);
        assert_eq!(end(&outputs), Some(&End::HandshakeFailed));
    }

    #[test]
    fn a_controller_of_an_older_version_is_told_both_versions_before_it_sends_a_plan() {
        let outputs = say(&mut new(), FromController::Hello { version: 1, token: None }, 1);
        let [Output::Send(FromAgent::Failed { reason }), Output::End(End::HandshakeFailed)] =
            outputs.as_slice()
        else {
            panic!("{outputs:?}")
        };
        let versions = format!("version {VERSION} of the protocol, and the controller version 1");
        assert_eq!(*reason, format!("it speaks {versions}: use the same version of hoptax for both"));
    }

    #[test]
    fn an_agent_with_a_token_answers_only_whoever_shows_it() {
        let answered = |shown: Option<&str>| {
            let token = Token::of_text("0123456789abcdef").unwrap();
            let mut conversation = Conversation::new(Some(token), 0);
            let token = shown.map(|shown| ShownToken(shown.to_owned()));
            say(&mut conversation, FromController::Hello { version: VERSION, token }, 1)
        };
        assert!(matches!(
            answered(Some("0123456789abcdef")).as_slice(),
            [Output::Send(FromAgent::Hello { .. })]
        ));
        for shown in [None, Some(""), Some("0123456789abcdeg"), Some("0123456789abcdeff")] {
            let outputs = answered(shown);
            assert_eq!(end(&outputs), Some(&End::HandshakeFailed));
            assert!(!outputs.iter().any(|output| matches!(output, Output::Send(FromAgent::Hello { .. }))));
        }
    }

    #[test]
    fn the_end_of_its_time_stops_a_load_and_is_said() {
        let outputs = ready().on(Input::Deadline, 3);
        assert!(stops(&outputs) && end(&outputs) == Some(&End::Deadline));
        assert!(
            matches!(&outputs[0], Output::Send(FromAgent::Failed { reason }) if reason.contains("--deadline"))
        );
        let outputs = greeted().on(Input::Deadline, 3);
        assert!(!outputs.iter().any(|output| matches!(output, Output::Send(_))));
    }
}
