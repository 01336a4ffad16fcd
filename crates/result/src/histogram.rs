//! A distribution as results hold it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An `HdrHistogram` in encoding V2, compressed and in base64, as read by the libraries of all languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Histogram(pub String);
