//! The catalogue of Envoy's traffic functions, as data, one small file per function.
//!
//! A file of `catalogue/` describes a function, the knobs that change its cost, what a request must carry for the
//! function to be active, and the fragment of Envoy configuration that enables it. To add a function, add a file;
//! its path under `catalogue/` is its id.

mod call;
mod catalogue;
mod code_file;
mod composition;
mod document;
mod file;
mod filter_order;
mod fragment;
mod function;
mod in_listeners;
mod kept;
mod knob;
mod template;
mod unloading;

pub use call::{CallError, FunctionCall};
pub use catalogue::{Catalogue, CatalogueError};
pub use code_file::CodeFile;
pub use composition::{Component, Composition, Conflict};
pub use filter_order::FilterOrder;
pub use fragment::{Fragment, KeyExchangeGroup, count, repeat_within, repeated};
pub use function::{
    Change, Context, Family, Function, KnownAnswer, Proof, RenderError, Request, Secured, Tls,
};
pub use in_listeners::InListeners;
pub use knob::{Knob, KnobRange, KnobValue, Knobs};

/// The numeric conditions of a study that a function may list points of.
pub const NUMBERED_CONDITIONS: [&str; 5] =
    ["connections", "headers", "request_bytes", "response_bytes", "workers"];

/// The path of every request of a study, unless its load states another. Functions that use the path are rendered
/// for it.
pub const REQUEST_PATH: &str = "/hoptax";
