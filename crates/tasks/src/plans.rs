//! The plans of the image registry, and their enforcement: the account of a pull, its count in this minute, and the refusal.
//!
//! The application (`apps/image-registry`), the WebAssembly filter (`filters/`) and the dynamic module (`modules/`) share this code.
//! Each of them reads a request, asks [`Rules::judge`], and counts a pull with [`Count::take`] where it keeps its counts. There is
//! no I/O here, no clock, and no panic for any bytes of a request.
//!
//! A plan is a number of pulls in a minute of the wall clock. Windows are the same for everyone, so a proxy that restarts continues
//! in the window that it left, provided that it finds the count.

mod count;
mod plan;
mod refusal;
mod rules;
mod token;

pub use count::{Admission, Count, WINDOW_S, minute_of};
pub use plan::{Limits, Plan};
pub use refusal::Refusal;
pub use rules::{Rules, Verdict};
pub use token::{Grant, TOKEN_LIFETIME_S};
