//! Three tasks that a study performs in every extension mechanism of Envoy: add a header, check a token, rewrite a JSON body.
//!
//! The dynamic module (`modules/`), the WebAssembly filter (`filters/`) and the gRPC services (`hoptax_origin`) share this
//! code, so their costs differ by the mechanism alone. Envoy's own filters and the Lua scripts of the catalogue do the same
//! in their own code, and a test compares their results with those of this crate. [`plans`], which two of them
//! enforce, are of the image registry, and [`Key`] signs their tokens, too.

mod json;
pub mod plans;
mod token;

pub use json::rewrite_json;
pub use token::{Key, is_valid_token};

/// The name of the header that is added to requests.
pub const ADDED_HEADER: &str = "x-hoptax-added";
/// The value of the header that is added to requests, and of the member that is added to JSON bodies.
pub const ADDED_VALUE: &str = "hoptax";
/// The name of the header with the token.
pub const TOKEN_HEADER: &str = "x-hoptax-token";
