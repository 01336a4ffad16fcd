//! Sizes of bodies, and their bytes over the recorded time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes of the bodies of responses as they were received, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodyBytes {
    /// The smallest.
    pub smallest: u64,
    /// The largest.
    pub largest: u64,
    /// All together.
    pub total: u64,
}

impl BodyBytes {
    /// The size of a single body.
    pub fn new(bytes: u64) -> Self {
        Self { smallest: bytes, largest: bytes, total: bytes }
    }

    /// The sizes of these bodies and of others.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            smallest: self.smallest.min(other.smallest),
            largest: self.largest.max(other.largest),
            total: self.total.saturating_add(other.total),
        }
    }
}

/// Bytes of the bodies of recorded requests and of their complete responses, in equal parts of the recorded time from its start on. Bytes
/// count in the part in which they were read or written, whenever their requests were due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BytesOverTime {
    /// Length of a part, seconds.
    pub part_s: f64,
    /// Bytes of responses, in the part in which each response was complete; absent if none had a body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub received: Vec<u64>,
    /// Bytes of requests, in the part in which each request was written; absent if none had a body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<u64>,
}

impl BytesOverTime {
    /// The bytes in parts of this length; none if no body had any.
    pub fn new(part_s: f64, received: Vec<u64>, sent: Vec<u64>) -> Option<Self> {
        let (received, sent) = (unless_zero(received), unless_zero(sent));
        let has_any = !received.is_empty() || !sent.is_empty();
        has_any.then_some(Self { part_s, received, sent })
    }
}

/// Bytes by part; empty if all are zero.
fn unless_zero(bytes: Vec<u64>) -> Vec<u64> {
    if bytes.iter().all(|part| *part == 0) { Vec::new() } else { bytes }
}
