//! A given Envoy configuration, made ready to be measured: read from its files or a dump, adapted to a lab, and taken apart.
//!
//! The configuration remains a tree of JSON values. This crate knows only the fields that lead to addresses, files, secrets and parts;
//! Envoy checks everything else. Nothing here opens a file or a socket.
//!
//! 1. [`read()`] joins the files, or the sections of a `/config_dump`, into one static [`Configuration`].
//! 2. [`Configuration::adapt`] replaces every address, file and secret, and lists each replacement ([`Adapted`]).
//! 3. [`parts`] lists the parts that can be removed, and [`Adapted::without`] returns the bootstrap without some of them.
//! 4. [`request`] derives a request that a listener forwards.

mod adapt;
mod alone;
mod assemble;
pub mod differences;
mod document;
#[cfg(test)]
mod fixture;
mod foreign;
mod given;
mod lab;
mod lab_keys;
mod lines;
mod manifest;
mod matcher;
mod names;
mod outside;
pub mod parts;
mod place;
mod read;
mod refusal;
pub mod request;
mod resource;
pub mod statistics;
mod template;
pub mod tree;

pub use adapt::{
    Adapted, Copied, Identity, LabFiles, LineMask, Listener, Replacement, missing_extension, without_secrets,
};
pub use assemble::{Configuration, Duplicate, Loaded, Text};
pub use given::choices;
pub use lab::Lab;
pub use lines::Way;
pub use outside::{is_loopback, leads_to};
pub use place::{Place, Problem, Problems};
pub use read::{Partly, of_value, read, read_partly};
pub use refusal::Refusal;
