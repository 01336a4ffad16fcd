//! The address of a number of a study: its arm, its load and its measure. Findings name the numbers in their scope by it.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::RoundMeasure;

/// The measure of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = with_measures_of_rounds)]
pub enum Measure {
    /// CPU time of the proxies.
    Cpu,
    /// CPU time of origin and companion, and of all together.
    OtherCpu,
    /// Requests per second, whatever limited them.
    Rate,
    /// Highest rate of a proxy, requests per second.
    MaxRate,
    /// Median response time.
    ResponseP50,
    /// 90th percentile of response time.
    ResponseP90,
    /// 99th percentile of response time, and shares of slow responses.
    ResponseP99,
    /// 99th percentile of response time in quiet slices.
    ResponseQuietP99,
    /// Bytes on a link.
    LinkBytes,
    /// Requests that a limit admitted.
    Admitted,
    /// Connections opened, and handshakes, per second.
    NewConnections,
    /// Experience of callers over time: failed and late requests, and the duration of harm.
    Timeline,
    /// A measure that an arm has once per round, by its id.
    #[serde(untagged)]
    #[schemars(skip)]
    OfRounds(RoundMeasure),
}

fn with_measures_of_rounds(schema: &mut Schema) {
    let measures = RoundMeasure::ALL.into_iter().map(RoundMeasure::definition);
    let described = measures.map(|measure| (measure.id, measure.summary));
    RoundMeasure::insert_into(schema, Some("new-connections"), described);
}

impl Measure {
    /// Quantiles of response time.
    pub const RESPONSES: [Self; 4] =
        [Self::ResponseP50, Self::ResponseP90, Self::ResponseP99, Self::ResponseQuietP99];
    /// Measures that depend on the timing of requests and responses.
    pub const TIMED: [Self; 7] = [
        Self::Rate,
        Self::MaxRate,
        Self::NewConnections,
        Self::ResponseP50,
        Self::ResponseP90,
        Self::ResponseP99,
        Self::ResponseQuietP99,
    ];

    /// Measures that depend on the rate of a load: all but the bytes of requests and the measures that an arm has once per round.
    pub fn of_the_rate() -> Vec<Self> {
        let others = [Self::Cpu, Self::OtherCpu, Self::Admitted, Self::Timeline];
        Self::TIMED.into_iter().chain(others).collect()
    }

    /// Its name in findings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::OtherCpu => "CPU time of origin and companion",
            Self::Rate => "rate",
            Self::MaxRate => "maximum rate",
            Self::ResponseP50 => "p50",
            Self::ResponseP90 => "p90",
            Self::ResponseP99 => "p99",
            Self::ResponseQuietP99 => "quiet p99",
            Self::LinkBytes => "bytes",
            Self::Admitted => "admitted",
            Self::NewConnections => "new connections",
            Self::Timeline => "timeline",
            Self::OfRounds(measure) => measure.definition().words,
        }
    }
}

/// The address of a number in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The arm.
    pub arm: &'a str,
    /// The arm that it is a difference from; none for the arm's own level.
    pub compared_with: Option<&'a str>,
    /// The load that it was measured under; none if all loads contribute.
    pub load: Option<&'a str>,
    /// Its measure.
    pub measure: Measure,
}
