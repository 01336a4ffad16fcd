//! Reads texts that people wrote: YAML with positions, names that are nearly right, secrets, which no output repeats, characters that
//! command a terminal, words of command lines, lists in sentences, and texts in JSON. Reads files up to a size.
pub mod command_line;
pub mod controls;
pub mod file;
pub mod json_texts;
pub mod list;
pub mod nearest;
pub mod secrets;
pub mod yaml;
