//! Carries what functions cost on one machine to another, where a few of them are measured.
//!
//! Neither microseconds nor shares of plain proxying are the same on two machines: a function that costs twice as much elsewhere
//! stands beside one that costs four times as much. But functions that are dear to move stay so. Between three machines, what a
//! function gains on its way from the first to the second says what it gains on its way to the third, with a rank correlation
//! of 0.87 over the functions that are known well of all three. That property of a function is its *stretch* ([`stretch`]). What computes in a tight
//! loop has little of it; what exchanges messages, or touches much code once, has more.
//!
//! A machine then is a line: the logarithm of what a function costs here over what it costs on the list is
//! `level + slope * stretch`, and the line is drawn through the functions that are measured here, and through plain proxying
//! ([`mod@line`]). What the line misses is known from machines where everything was measured ([`errors`]): each of them is predicted
//! from another, with the stretch that those without it give. Every carried price has the interval that these errors make.
//!
//! Nothing here reads a file or a clock. What the model does not reach is said, not guessed: what costs next to nothing on the
//! list, and what no two machines are known for.

pub mod carry;
pub mod errors;
pub mod known;
pub mod line;
pub mod list;
pub mod stretch;

pub use carry::{carry, listed};
pub use list::{Cost, List};

/// The functions that are measured on a machine to carry a list to it: such that compute, such that exchange messages, and one in
/// between, none of them cheap. They are the arms of the study `anchors`.
pub const ANCHORS: [&str; 4] = ["ext-authz/http", "jwt", "route/path{routes=1000}", "tracing/opentelemetry"];
