//! The cost of one more firewall rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Interval, Measure, Place};

/// The cost of a firewall rule over a series of arms that differ only in their number of rules, under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleCost {
    /// Method that looks addresses up, for example `iptables`.
    pub firewall: String,
    /// The place of the rule that matches the callers: `first`, `last` or `none`.
    #[serde(rename = "match")]
    pub matching: String,
    /// True if packets of established connections are accepted before all rules.
    pub accept_established: bool,
    /// The load.
    pub load: String,
    /// The arms of the series, in the order of their numbers of rules.
    pub arms: Vec<String>,
    /// The arm that these are compared with.
    pub compared_with: String,
    /// Their numbers of rules.
    pub rules: Vec<u32>,
    /// CPU time of generator, proxies and origins together per request and rule, nanoseconds: the slope of a straight line
    /// over the number of rules.
    pub cpu_ns_per_rule: Interval,
    /// The same per packet that arrives where the proxies are; null if packets were not counted, and if
    /// those of established connections are not looked up.
    pub cpu_ns_per_rule_and_packet: Option<Interval>,
    /// Sag of the CPU time per request below a straight line half-way through the range of rules, nanoseconds; negative if it bulges above.
    pub sag_ns: Interval,
    /// Shape of the cost over the number of rules.
    pub shape: Shape,
}

impl RuleCost {
    /// The places of the numbers that it is computed from.
    pub fn places(&self) -> impl Iterator<Item = Place<'_>> {
        let place = |arm, measure| Place {
            arm,
            compared_with: Some(self.compared_with.as_str()),
            load: Some(self.load.as_str()),
            measure,
        };
        self.arms.iter().flat_map(move |arm| {
            [Measure::Cpu, Measure::OtherCpu].map(|measure| place(arm.as_str(), measure))
        })
    }
}

/// The shape of a cost over a number of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// No cost per rule was found: the interval contains zero.
    None,
    /// A straight line: it sags or bulges by at most a tenth of its rise.
    Linear,
    /// A line that bends.
    Bent,
    /// There are too few rounds, or the line is too noisy to say.
    Undecided,
}

impl Shape {
    /// Its spelling in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Linear => "linear",
            Self::Bent => "bent",
            Self::Undecided => "undecided",
        }
    }
}
