//! What functions cost: a published list, or the same as it should be on another machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, Interval};

/// A list of prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricesResult {
    /// Name and version of this format: `hoptax.prices/1`.
    pub format: String,
    /// The study that the list was measured by.
    pub study: String,
    /// The machine that it was measured on.
    pub listed: PricedMachine,
    /// The machine that it was carried to; null for the list as it was measured.
    pub here: Option<CarriedTo>,
    /// One entry for each function, dearest first.
    pub prices: Vec<Price>,
}

impl PricesResult {
    /// The name of the format that is written.
    pub const FORMAT: &str = "hoptax.prices/1";
}

/// A machine with prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricedMachine {
    /// What it is.
    pub environment: Environment,
    /// CPU time of plain proxying per request, microseconds.
    pub plain_us: Option<Interval>,
    /// Whether its processors were kept from being halted.
    pub never_halted: bool,
}

/// How a list was carried to a machine, and how well that works elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarriedTo {
    /// The machine.
    pub machine: PricedMachine,
    /// By what factor a function of the usual stretch is dearer here.
    pub factor: f64,
    /// How many times as much the differences of stretch count here as between the machines that stretch is known from.
    pub slope: f64,
    /// What the line was drawn through: functions by their ids, and `plain proxying`.
    pub anchors: Vec<String>,
    /// How far carried prices were off on machines where the truth is known, by class of cost.
    pub errors: Vec<CarryError>,
}

/// How far carried prices are off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarryError {
    /// The least cost of the class on the list, as a share of plain proxying there, 0.1 for a tenth; up to that of the class before.
    pub from_share: f64,
    /// Prices that were carried and held against a measurement.
    pub count: u32,
    /// Functions that they are of.
    pub functions: u32,
    /// Error, as a share of the true cost: the median.
    pub median_share: f64,
    /// The 90th percentile.
    pub p90_share: f64,
    /// The factor that the true cost is within, both ways: so far off was the worst of nearly all functions.
    pub factor: f64,
    /// For which share of other functions the factor holds on all machines like these.
    pub confidence: f64,
}

/// What one function costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The arm of the list, for example `route/path{routes=200}`.
    pub id: String,
    /// CPU time of the proxy that it adds to a request, microseconds, as listed.
    pub listed_us: Option<Interval>,
    /// The same here; null where the list was not carried.
    pub here_us: Option<Interval>,
    /// How the price was made.
    pub made: PriceMade,
    /// Why it was not carried.
    pub reason: Option<String>,
}

/// How a price was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PriceMade {
    /// As it stands in the list.
    Listed,
    /// Measured on this machine.
    Measured,
    /// Carried to this machine by the model.
    Carried,
    /// The model does not reach it.
    NotCarried,
}

impl PriceMade {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::Measured => "measured here",
            Self::Carried => "carried",
            Self::NotCarried => "not carried",
        }
    }
}
