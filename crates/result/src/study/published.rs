//! Numbers that others published, each with its place in a study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StudyBody;
use crate::Interval;

/// A number that others published, and the number of the study that it is set beside. Study files state it, and results repeat it.
///
/// Most published numbers have no interval and come from other hardware, so directions and ratios can be compared, and values seldom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedNumber {
    /// The arm, by its id.
    #[schemars(length(min = 1))]
    pub arm: String,
    /// The load.
    #[schemars(length(min = 1))]
    pub load: String,
    /// The measure.
    pub measure: PublishedMeasure,
    /// The published value, in the unit of the measure.
    #[schemars(range(min = 0))]
    pub value: f64,
    /// The publication: its authors and its place, or its address.
    #[schemars(length(min = 1))]
    pub source: String,
    /// Remark on the published number: what it was measured on, or how it follows from what was published.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A measure in which numbers of others can be set beside those of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PublishedMeasure {
    /// Answered requests per second.
    Rate,
    /// The rate divided by that of the arm that the arm is compared with.
    RateRatio,
    /// CPU time of the origin per request, us.
    OriginCpuUsPerRequest,
}

impl PublishedMeasure {
    /// It in words, with its unit.
    pub fn words(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::RateRatio => "ratio of rates",
            Self::OriginCpuUsPerRequest => "origin CPU us",
        }
    }

    /// Its unit; empty for a ratio.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::RateRatio => "",
            Self::OriginCpuUsPerRequest => "us",
        }
    }
}

impl PublishedNumber {
    /// The numbers that round to the published one, in the unit of the measure: half a unit of its last digit to either side.
    ///
    /// **Method.** A published number is rounded, and a text such as 27,000 does not say to which digit. So its last digit is the last that
    /// is not zero: too wide an interval hides a difference, and too narrow a one would invent it. A study file has no zeros at the end
    /// of decimals either, since 0.70 is the number 0.7. The last digit of 0 is 0.
    pub fn rounding_interval(&self) -> Interval {
        let digits = self.value.to_string();
        let power = match digits.split_once('.') {
            Some((_, decimals)) => -(decimals.len() as i32),
            None if digits == "0" => 0,
            None => (digits.len() - digits.trim_end_matches('0').len()) as i32,
        };
        Interval::around(self.value, 10_f64.powi(power) / 2.0)
    }

    /// The number of a study that it is set beside; none if the study withheld it or did not measure it.
    pub fn measured(&self, study: &StudyBody) -> Option<Interval> {
        let under = study.arm(&self.arm)?.under(&self.load)?;
        match self.measure {
            PublishedMeasure::Rate => under.rate,
            PublishedMeasure::RateRatio => under.rate_ratio,
            PublishedMeasure::OriginCpuUsPerRequest => under.origin_cpu_us_per_request,
        }
    }
}
