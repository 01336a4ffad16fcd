//! CPU time by frame: frames of stacks within those that call them, beside the same frames of a reference.

use schemars::JsonSchema;
use serde::Serialize;

/// CPU time by frame, of several arms.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Flame {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The label of the axis, with the unit.
    pub(crate) axis: String,
    /// The unit of all times.
    pub(crate) unit: &'static str,
    /// The arms.
    pub(crate) arms: Vec<FlameArm>,
}

/// CPU time by frame of an arm.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct FlameArm {
    /// Its id.
    pub(crate) arm: String,
    /// The arm that differences are from; none without differences.
    pub(crate) compared_with: Option<String>,
    /// The frames, each after the one that calls it. The first is around all.
    pub(crate) frames: Vec<FlameFrame>,
}

/// A frame within those that call it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct FlameFrame {
    /// Its name: that of a function in the code of a proxy, a library or the kernel.
    pub(crate) name: String,
    /// Number of frames around it.
    pub(crate) depth: u32,
    /// Its CPU time with that of all frames that it calls.
    pub(crate) whole: FlameTime,
    /// Its CPU time without the frames that are listed after it; none if it has none in either arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) own: Option<FlameTime>,
}

/// A CPU time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FlameTime {
    /// The time, to draw.
    pub(crate) us: f64,
    /// The time with its interval, without the unit: `4.95 ±0.65`.
    pub(crate) text: String,
    /// The difference from the same frame of the other arm; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) added: Option<FlameAdded>,
}

/// A difference of CPU times.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FlameAdded {
    /// The difference, to draw.
    pub(crate) us: f64,
    /// The difference with its interval, without the unit: `+4.95 ±0.65`.
    pub(crate) text: String,
    /// True if the interval contains zero.
    pub(crate) is_near_zero: bool,
}
