//! The catalogue of traffic functions: what Envoy can be told to do, as data, one small file per function.
//!
//! A file of `catalogue/` says what a function is, which knobs change its cost, what a request must carry for the
//! function to have work, and the fragment of Envoy configuration that turns it on. Adding a function is adding a
//! file; its path under `catalogue/` is its id.
//!
//! ```
//! use hoptax_functions::{Catalogue, Context, FunctionCall};
//!
//! let catalogue = Catalogue::load().expect("the embedded catalogue is sound");
//! let call = FunctionCall::parse("route/path{routes=200}")?;
//! let (function, knobs) = catalogue.resolve(&call).expect("`route/path` has this knob");
//! let fragment = function.render(&knobs, &Context { directory: "/tmp/arm".as_ref(), companion: None })?;
//! assert_eq!(fragment.routes.len(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod catalogue;
mod file;
mod fragment;
mod function;
mod knob;

pub use call::{CallError, FunctionCall};
pub use catalogue::{Catalogue, CatalogueError};
pub use file::FileError;
pub use fragment::{Fragment, KeyExchangeGroup};
pub use function::{
    Change, Context, Family, Function, KnownAnswer, Proof, RenderError, Request, Secured, Tls, WASM_FILTERS,
};
pub use knob::{Knob, KnobRange, KnobValue, Knobs};

/// The conditions of a study, beside the function, that a function may name points of. Each is a number.
pub const NUMBERED_CONDITIONS: [&str; 5] =
    ["connections", "headers", "request_bytes", "response_bytes", "workers"];

/// The path that every request of a study carries unless its load says otherwise. Functions that look at the path
/// are rendered for it.
pub const REQUEST_PATH: &str = "/hoptax";
