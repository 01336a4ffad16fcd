//! The answer of an arm, and the differences between the answers of two arms.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::BodyBytes;

/// Responses to the first requests to an arm. Later responses of a user's configuration or server are expected to have these statuses,
/// unless the load states others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Number of responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Sizes of their bodies; null without a response, and in results of earlier versions.
    pub body_bytes: Option<BodyBytes>,
    /// Requests that the proxies passed on to the origin; null if no proxy counts them, and in results of earlier versions.
    pub reached_origin: Option<u64>,
    /// Growth of statistics of the proxy meanwhile, by name; only those that grew.
    pub statistics: BTreeMap<String, u64>,
}

impl Answer {
    /// Returns the differences of `other` from this answer, one sentence each: in its statuses, in the size of its bodies, and in the
    /// requests that reach the origin. Empty if both do the same work, as far as an answer shows.
    ///
    /// Numbers of responses are not compared: how often each status comes back is a matter of chance where a filter decides at random.
    /// Sizes that vary by themselves are not compared either.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let statuses = |answer: &Self| answer.statuses.keys().copied().collect::<BTreeSet<u16>>();
        let mut differences = Vec::new();
        if statuses(self) != statuses(other) {
            differences.push(format!(
                "{} instead of {}",
                in_words(&statuses(other)),
                in_words(&statuses(self))
            ));
        }
        if let (Some(own), Some(others)) = (constant(self), constant(other))
            && own != others
        {
            differences.push(format!("bodies of {others} bytes instead of {own}"));
        }
        if let (Some(own), Some(others)) = (reached(self), reached(other))
            && own != others
        {
            differences.push(format!("{others} reach the origin instead of {own}"));
        }
        differences
    }
}

fn in_words(statuses: &BTreeSet<u16>) -> String {
    match statuses.len() {
        0 => "no response".to_owned(),
        1 => format!("status {}", statuses.iter().map(u16::to_string).collect::<String>()),
        _ => format!("statuses {}", statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(" and ")),
    }
}

/// The size of all bodies, bytes; none if they differ.
fn constant(answer: &Answer) -> Option<u64> {
    answer.body_bytes.filter(|bytes| bytes.smallest == bytes.largest).map(|bytes| bytes.smallest)
}

/// Describes which of the requests reached the origin.
fn reached(answer: &Answer) -> Option<&'static str> {
    let requests: u64 = answer.statuses.values().sum();
    answer.reached_origin.filter(|_| requests > 0).map(|reached| match reached {
        0 => "no requests",
        some if some < requests => "some requests",
        _ => "all requests",
    })
}
