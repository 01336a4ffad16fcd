//! A short list of listeners as an Envoy configuration, and back; it opens no file and starts nothing.
//!
//! [`read`] turns a text into a [`Plan`]: every name is resolved, every default stated. All problems of a text are reported at once, each
//! with its line and column. [`render()`] turns a plan into Envoy's messages, and [`Form`] says in which files; [`import()`] goes the other
//! way. [`check`] lists the promises of a plan, and judges them by observations.

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

// Tests of what is public, in the program of the unit tests: each further program links the libraries again.
#[cfg(test)]
extern crate self as hoptax_listeners;
#[cfg(test)]
#[path = "../tests/main.rs"]
mod rendering;

pub use file::schema;
pub use import::{Imported, import};
pub use output::{Form, Format, Lines, Output, is_listeners};
pub use plan::{Plan, Restart, Source, read};
pub use problem::{Problem, Problems};
pub use render::{Rendered, Resource, render};
