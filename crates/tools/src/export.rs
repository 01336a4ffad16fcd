//! Results in the formats of other tools.

pub mod fortio;
pub mod otlp;
