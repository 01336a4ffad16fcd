//! Sizes of responses.

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
