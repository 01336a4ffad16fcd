//! Results in the formats of other load generators.

pub mod fortio;
