//! Converts a short list of listeners to an Envoy configuration, and back. It opens no file and starts no process.
//!
//! [`read`] turns a text into a [`Plan`], with every name resolved and every default stated. All problems of a text are reported at once,
//! each with its line and column. [`render()`] turns a plan into Envoy's messages, and [`Form`] determines the files; [`import()`] is the
//! reverse conversion. [`check`] lists the promises of a plan, and judges them from observations.

pub mod check;
mod file;
mod import;
mod output;
pub mod phases;
mod plan;
mod problem;
mod render;
mod shape;
mod tree;

// Tests of the public API run in the program of the unit tests, because each additional program links all libraries again.
#[cfg(test)]
extern crate self as hoptax_listeners;
#[cfg(test)]
#[path = "../tests/main.rs"]
mod rendering;

pub use file::schema;
pub use import::{Imported, LeftOut, import};
pub use output::{Form, Format, Lines, Output, is_listeners};
pub use plan::{Plan, Restart, Source, read};
pub use problem::{Problem, Problems};
pub use render::{Rendered, Resource, render};
