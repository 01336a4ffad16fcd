//! The agents of a load that several machines sent together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Verdict;

/// The agents of a load, and how well they agreed on its start. The parts of those that reported are in `merged.runs`, by their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    /// The most by which the starts of two agents may differ, us: the sum of the two largest errors of their clocks; 0 if one agent has a share.
    pub start_error_us: f64,
    /// All agents that were asked for, in their order.
    pub all: Vec<Agent>,
}

impl Agents {
    /// The agents that had a share of the load and did not report it, so that what they sent is not known exactly.
    pub fn lost(&self) -> impl Iterator<Item = &Agent> {
        self.with_share().filter(|agent| agent.outcome.is_lost())
    }

    /// The number of agents that had a share of the load.
    pub fn shares(&self) -> usize {
        self.with_share().count()
    }

    /// The number of those whose part is in the result.
    pub fn merged(&self) -> usize {
        self.with_share().filter(|agent| agent.outcome == AgentOutcome::Merged).count()
    }

    fn with_share(&self) -> impl Iterator<Item = &Agent> {
        self.all.iter().filter(|agent| agent.index.is_some())
    }
}

/// One agent of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The name that the load was requested with: its address, or that of its pod.
    pub name: String,
    /// The node of the cluster that its pod ran on; null if it was no pod, or never had a node.
    pub node: Option<String>,
    /// The index of its share of the load, from 0; null if it got none.
    pub index: Option<u32>,
    /// The end of its part.
    pub outcome: AgentOutcome,
    /// Reason why its part is not in the result; null if it is.
    pub reason: Option<String>,
    /// The judgement of its part by the checks of a load; null without a report.
    pub verdict: Option<Verdict>,
    /// The most by which the offset of its clock was wrong at the start, us: half of the round trip of the best exchange before it, and 100 ppm
    /// of the age of that exchange.
    pub clock_error_us: Option<f64>,
    /// Change of its clock against that of the controller from the start to the end, us, as far as the exchanges show it.
    pub clock_drift_us: Option<f64>,
    /// Its share of the planned rate, requests per second; null in a closed loop.
    pub planned_rate: Option<f64>,
    /// Requests that it sent in the record; for a lost agent, those that it had reported.
    pub sent: Option<u64>,
    /// Requests of these that were answered as expected.
    pub answered: Option<u64>,
    /// End of the time that these counts cover, seconds since the start of the record.
    pub known_until_s: Option<f64>,
    /// 99th percentile of its send lag, us.
    pub send_lag_p99_us: Option<f64>,
    /// Time that its workers were runnable but not running, us.
    pub run_delay_us: Option<f64>,
    /// Periods in which a CPU limit throttled it.
    pub throttled: Option<u64>,
}

/// The end of an agent's part of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentOutcome {
    /// Its part is in the result.
    #[default]
    Merged,
    /// It reported its part, and its own checks void it, so that it is left out.
    Void,
    /// Its connection ended before it reported.
    Died,
    /// It said nothing for so long that it was given up.
    Silent,
    /// It did not report in time.
    Late,
    /// It could not send its part, or its report cannot be read.
    Failed,
    /// It never joined, and the others divided the whole load among them.
    Absent,
}

impl AgentOutcome {
    /// True if it did not report.
    fn is_lost(self) -> bool {
        match self {
            Self::Merged | Self::Void | Self::Absent => false,
            Self::Died | Self::Silent | Self::Late | Self::Failed => true,
        }
    }

    /// It as the verb of a sentence about an agent.
    fn verb(self) -> &'static str {
        match self {
            Self::Merged => "is in the result",
            Self::Void => "is left out",
            Self::Died => "died",
            Self::Silent => "fell silent",
            Self::Late => "was late",
            Self::Failed => "failed",
            Self::Absent => "never joined",
        }
    }

    /// A sentence about an agent with this outcome. A failure whose reason says what the agent did needs no other verb: of the agent `a`, `it
    /// refused` becomes ``agent `a` refused``.
    pub fn sentence(self, agent: &str, reason: &str) -> String {
        match reason.strip_prefix("it ").filter(|_| self == Self::Failed) {
            Some(did) => format!("agent `{agent}` {did}"),
            None => format!("agent `{agent}` {}: {reason}", self.verb()),
        }
    }

    /// Its word in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Void => "void",
            Self::Died => "died",
            Self::Silent => "silent",
            Self::Late => "late",
            Self::Failed => "failed",
            Self::Absent => "absent",
        }
    }
}
