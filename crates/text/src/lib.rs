//! Reads texts that people wrote: YAML with positions, names that are nearly right, secrets, which no output repeats, and characters that
//! command a terminal.
pub mod controls;
pub mod nearest;
pub mod secrets;
pub mod yaml;
