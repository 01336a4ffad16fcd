//! Reads texts that people wrote: YAML with positions, names that are nearly right, secrets, which no output repeats, characters that
//! command a terminal, and words of command lines.
pub mod command_line;
pub mod controls;
pub mod nearest;
pub mod secrets;
pub mod yaml;
