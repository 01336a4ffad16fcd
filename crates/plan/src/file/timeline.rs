//! Subject of the observation of a study, costs or a course over time, and the events of a timeline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Object of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Observe {
    /// Costs of requests, in short slices of all arms in turn.
    #[default]
    Costs,
    /// Responses that callers see over time, in one long slice of each arm and round.
    Timeline,
}

/// An event at a time within each slice of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventSection {
    /// Time since the start of the slice, for example `20s`: a multiple of `interval`, before the end of the slice.
    pub at: String,
    /// The origin that changes, from 1. Default: all origins. The change replaces the one of an earlier event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16))]
    pub origin: Option<u32>,
    /// The origin delays each response by this time, for example `500ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<String>,
    /// The origin answers with this status, for example 503.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 200, max = 599))]
    pub status: Option<u16>,
    /// The origin closes connections that are idle for this time, for example `5s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
    /// The origin is stopped: the kernel accepts connections and requests for it, but nothing responds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// The origin responds as before the first event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovers: bool,
    /// A proxy is restarted: `cold`, which ends it with its connections before it is started again, `hot`, by a successor that takes
    /// over its sockets (Envoy's hot restart), or `broken`, by a successor whose configuration is invalid. A restart must be at least
    /// 4 s after a hot one of the same proxy, and only `cold` can follow `broken`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<RestartWord>,
    /// The name of the proxy that is restarted. Default: the first of each arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub proxy: Option<String>,
}

/// Kind of restart of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum RestartWord {
    /// It ends with its connections, and is started again at the same address.
    Cold,
    /// A successor takes over its sockets.
    Hot,
    /// A successor starts with an invalid configuration.
    Broken,
}
