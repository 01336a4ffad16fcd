//! Growth of the rate of a study's arms with a size, such as the number of connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Interval, Report};

/// Dimension of a size: the thing that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaleDimension {
    /// Connections of the closed loop.
    Connections,
    /// Worker threads of the first proxy, and of all others that have as many.
    Workers,
    /// Processors of the first proxy, and of all others that may use as many.
    Processors,
    /// Clones of the last proxy.
    Clones,
    /// Bytes in the body of each request.
    RequestBytes,
    /// Bytes in the body of each response.
    ResponseBytes,
}

impl ScaleDimension {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Connections,
        Self::Workers,
        Self::Processors,
        Self::Clones,
        Self::RequestBytes,
        Self::ResponseBytes,
    ];

    /// Its name, as serialised: that of the key in study files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Workers => "workers",
            Self::Processors => "processors",
            Self::Clones => "clones",
            Self::RequestBytes => "request_bytes",
            Self::ResponseBytes => "response_bytes",
        }
    }
}

/// The Universal Scalability Law, fitted to the rates of a study:
/// `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleBody {
    /// Name of the study.
    pub study: String,
    /// Dimension of the sizes.
    pub over: ScaleDimension,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// One entry for each series of arms and closed loops that differ only in their size.
    pub series: Vec<ScaleSeries>,
}

/// Its report.
pub type ScaleResult = Report<ScaleBody>;

impl Body for ScaleBody {
    const FORMAT: &'static str = "hoptax.scale/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.study.clone()
    }
}

/// Points that differ only in their size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleSeries {
    /// The arm of its smallest size, without the condition that varies.
    pub name: String,
    /// The points of the fit, by ascending size.
    pub points: Vec<ScalePoint>,
    /// The points that are not in the fit, because something other than the proxies limited their rates, or because a check
    /// withholds them.
    pub left_out: Vec<ScaleLeftOut>,
    /// The law; null if the points do not suffice.
    pub fit: Option<ScaleFit>,
    /// Reason why there is no fit; null if there is one.
    pub no_fit: Option<String>,
}

/// A point of the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScalePoint {
    /// Its size.
    pub size: u32,
    /// Its arm.
    pub arm: String,
    /// Its closed loop.
    pub load: String,
    /// Answered requests per second, as in the result of the study.
    pub rate: Interval,
    /// The rate of the law at this size, requests per second; null without a fit.
    pub fitted_rate: Option<Interval>,
    /// The deviation of the measured rate from that of the law, as a share of the latter; null without a fit. An interval without
    /// 0 speaks against the law; by chance, one in twenty has none.
    pub deviation_share: Option<Interval>,
}

/// A point that is not in the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleLeftOut {
    /// Its size.
    pub size: u32,
    /// Its arm.
    pub arm: String,
    /// Its closed loop.
    pub load: String,
    /// Answered requests per second, whatever limited them; null if a check withholds them.
    pub rate: Option<Interval>,
    /// Reason why it is left out.
    pub reason: String,
}

/// The law as fitted. Intervals are over rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleFit {
    /// Rate at size 1, requests per second.
    pub lambda: Interval,
    /// Contention: the share of the work at size 1 that cannot be done in parallel, 0 to 1.
    pub sigma: Interval,
    /// Coherency: the work that each pair of size 1 adds for a request, as a share of the work at size 1.
    pub kappa: Interval,
    /// The highest fitted rate.
    pub peak: ScalePeak,
    /// True if the measured rates deviate from the law by more than chance explains, over all sizes together. The law then does not hold,
    /// and its numbers describe no more than the curve that is nearest to the rates.
    pub is_refuted: bool,
    /// Rounds with a rate at every size of the fit.
    pub rounds: u32,
}

/// The highest fitted rate, from the smallest measured size to twice the largest. Nothing is stated beyond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScalePeak {
    /// Place of the law's peak: within or outside of that range.
    pub place: PeakPlace,
    /// The size with the highest fitted rate in that range. A number at an end of the range means this size or a size
    /// outside of the range.
    pub size: Interval,
    /// The fitted rate there, requests per second.
    pub rate: Interval,
}

/// Place of a law's peak, `sqrt((1 - sigma) / kappa)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PeakPlace {
    /// At the smallest measured size or below: the rate falls from there on.
    Below,
    /// Between the smallest measured size and twice the largest.
    Within,
    /// At twice the largest measured size or beyond: the rate rises up to there.
    Beyond,
}
