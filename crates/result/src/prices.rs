//! Price lists: the cost of functions, as published or as predicted for another machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, CostMeasure, Environment, Interval, LoadSpec, Report};

/// A price list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricesBody {
    /// The study that measured the list.
    pub study: String,
    /// The machine that it was measured on.
    pub listed: PricedMachine,
    /// The machine that the prices are predicted for; null for the list as measured.
    pub here: Option<ConvertedTo>,
    /// One entry per function, in descending order of cost.
    pub prices: Vec<Price>,
}

impl PricesBody {
    /// True if only one of the two machines was kept from halting when idle: the list's, or the one that the prices are converted to.
    pub fn halts_differently(&self) -> bool {
        self.here.as_ref().is_some_and(|here| here.machine.never_halted != self.listed.never_halted)
    }
}

/// Its report.
pub type PricesResult = Report<PricesBody>;

impl Body for PricesBody {
    const FORMAT: &'static str = "hoptax.prices/3";
    // The machine that the prices are for.
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.study.clone()
    }
}

/// A machine with prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricedMachine {
    /// Its properties.
    pub environment: Environment,
    /// CPU time of plain proxying per request, us.
    pub plain_us: Option<Interval>,
    /// True if its processors were kept from halting.
    pub never_halted: bool,
    /// The loads of the study that measured it; empty in results of earlier versions.
    #[serde(default)]
    pub loads: Vec<LoadSpec>,
}

/// Conversion of a list to a machine, and the errors of the method on known machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvertedTo {
    /// The machine.
    pub machine: PricedMachine,
    /// The factor by which functions cost more here than on the list: the geometric mean of those of the anchors.
    pub factor: f64,
    /// Anchors that the factor was measured with: functions by their ids, and `plain proxying`.
    pub anchors: Vec<String>,
    /// Errors of converted prices on machines where the true costs are known. Null if there are none.
    pub error: Option<ConversionError>,
}

/// Errors of converted prices, for functions that are known precisely on several machines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversionError {
    /// Number of functions whose converted prices were compared with a measurement. Each counts once, with its largest error.
    pub functions: u32,
    /// Number of machines that they were converted between.
    pub machines: u32,
    /// Median error, as a share of the true cost.
    pub median_share: f64,
    /// The factor within which the true cost lies, either way: the largest error of nearly all functions.
    pub factor: f64,
    /// The share of other functions for which the factor holds on all machines like these.
    pub confidence: f64,
}

/// The price of one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The arm of the list, for example `route/path{routes=200}`.
    pub id: String,
    /// CPU time that it adds to the proxy per request, as a share of that of plain proxying under the same traffic, as
    /// listed: 0.1 for a tenth more.
    pub listed_share: Option<Interval>,
    /// The same in us.
    pub listed_us: Option<Interval>,
    /// The listed numbers whose sign is not supported once all costs of the list are judged together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed_uncertain_signs: Vec<CostMeasure>,
    /// The same in us on this machine; null if the list was not converted.
    pub here_us: Option<Interval>,
    /// True if it was measured on this machine, and its sign is not supported once all costs of that study are judged together.
    #[serde(default)]
    pub here_has_uncertain_sign: bool,
    /// The origin of the price.
    pub made: PriceMade,
    /// Reason why it was not converted; null if it was.
    pub reason: Option<String>,
}

/// The origin of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PriceMade {
    /// As listed.
    Listed,
    /// Measured on this machine.
    MeasuredHere,
    /// Converted to this machine by the model.
    Converted,
    /// Neither measured nor converted, for the reason that the price states.
    NoPrice,
}

impl PriceMade {
    /// Its name in outputs: that in JSON, with spaces.
    pub fn words(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::MeasuredHere => "measured here",
            Self::Converted => "converted",
            Self::NoPrice => "no price",
        }
    }
}
