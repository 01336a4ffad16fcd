//! Writes numbers that another tool may not state: 0 as null. A trial has 0 only where it did nothing.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a number, or null for 0.
pub(super) fn serialize<S, T>(number: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Default + PartialEq + Serialize,
{
    Some(number).filter(|number| **number != T::default()).serialize(serializer)
}

/// Reads a number; null is 0.
pub(super) fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
