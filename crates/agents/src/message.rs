//! The messages between controller and agent.
//!
//! The controller connects, because it runs on its user's machine and the agents may be in a cluster. It greets, compares clocks, sends the
//! plan, compares clocks again when the agent is ready, and sends the time of the start when all agents are ready. The agent answers,
//! reports every second, and sends its result. The controller also asks for the clock every second, so that each side knows that the other
//! is alive.

use std::collections::BTreeMap;
use std::fmt;

use hoptax_load::encoded::encode;
use hoptax_load::interval::Interval;
use hoptax_result::{Histogram, LoadResult, Program};
use serde::{Deserialize, Serialize};

use crate::planned::PlannedShare;

/// The version of this protocol. A side that receives another version ends the conversation.
pub const VERSION: u32 = 2;

/// A message of the controller.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromController {
    /// The first message.
    Hello {
        /// Its version of the protocol.
        version: u32,
        /// The agent's token; none if its owner gave it none.
        token: Option<ShownToken>,
    },
    /// Asks for the agent's clock.
    Clock {
        /// Time of sending on the controller's clock, nanoseconds.
        sent_ns: u64,
    },
    /// The share of a load that the agent is to send.
    Plan(Box<PlannedShare>),
    /// The start.
    Start {
        /// Start of the warm-up on the controller's clock, nanoseconds.
        at_ns: u64,
        /// The agent's clock minus the controller's, nanoseconds.
        offset_ns: i64,
    },
    /// Ends the load early; the agent reports what it has.
    Stop,
    /// The last message.
    Goodbye,
}

/// A message of an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromAgent {
    /// The answer to the greeting.
    Hello {
        /// Its version of the protocol.
        version: u32,
        /// Its program.
        program: Program,
    },
    /// The agent's clock.
    Clock {
        /// The time in the question.
        sent_ns: u64,
        /// Time at which the question arrived, on the agent's clock, nanoseconds.
        received_ns: u64,
        /// Time at which it was answered, on the agent's clock, nanoseconds.
        replied_ns: u64,
    },
    /// All connections of its share are open.
    Ready,
    /// A second of the load.
    Second(Box<Second>),
    /// The result of its share. No check has judged it.
    Report(Box<LoadResult>),
    /// It cannot send its share, or not all of it.
    Failed {
        /// Why, and what to do.
        reason: String,
    },
    /// It serves another controller.
    Busy,
}

/// A token as it is shown to an agent. Its `Debug` output omits it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShownToken(pub String);

impl fmt::Debug for ShownToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

/// The counts and times of a second of an agent. The warm-up does not count, as in intervals of `hoptax load --every`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// Its start, since the start of the record, nanoseconds.
    pub from_ns: u64,
    /// Its end. The last one is shorter or longer than a second.
    pub to_ns: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered as expected.
    pub answered: u64,
    /// Requests with another outcome, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Response times of the answered requests; none without any.
    pub response: Option<Histogram>,
    /// Their send lags.
    pub send_lag: Option<Histogram>,
}

impl From<&Interval> for Second {
    fn from(interval: &Interval) -> Self {
        Self {
            from_ns: interval.from_ns,
            to_ns: interval.to_ns,
            sent: interval.sent,
            answered: interval.answered,
            failures: interval.failures.clone(),
            response: encode(&interval.response),
            send_lag: encode(&interval.send_lag),
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;

    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let report = FromAgent::Report(Box::new(sample::load()));
        let text = serde_json::to_string(&report).unwrap();
        let FromAgent::Report(read) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert_eq!(*read, sample::load());
        let text =
            serde_json::to_string(&FromController::Start { at_ns: u64::MAX, offset_ns: i64::MIN }).unwrap();
        assert_eq!(text, r#"{"start":{"at_ns":18446744073709551615,"offset_ns":-9223372036854775808}}"#);
        assert_eq!(serde_json::to_string(&FromController::Stop).unwrap(), r#""stop""#);
        assert!(serde_json::from_str::<FromController>(r#"{"hello":{"version":1,"more":2}}"#).is_err());
        let hello = FromController::Hello { version: 1, token: Some(ShownToken("secret".to_owned())) };
        let text = serde_json::to_string(&hello).unwrap();
        assert_eq!(text, r#"{"hello":{"version":1,"token":"secret"}}"#);
        assert!(!format!("{hello:?}").contains("secret"));
    }
}
