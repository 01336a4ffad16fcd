//! Reads texts that people wrote: YAML with positions, names that are nearly right, and secrets, which no output repeats.
pub mod nearest;
pub mod secrets;
pub mod yaml;
