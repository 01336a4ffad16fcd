//! Carries the costs of functions from one machine to another, on which only a few of them are measured.
//!
//! Neither microseconds nor shares of plain proxying are the same on two machines: from one machine to another, the cost of one
//! function doubles and that of another quadruples. But the order is stable. Between three machines, the gain of a function from
//! the first to the second predicts its gain to the third, with a rank correlation of 0.87 over the functions with precise costs
//! on all three. This property of a function is its *stretch* ([`stretch`]). Functions that compute in a tight loop have little;
//! functions that exchange messages, or execute much code once, have more.
//!
//! A machine is then a line: the logarithm of the ratio of a function's cost here to its cost on the list is
//! `level + slope * stretch`. The line is fitted to plain proxying and the functions that are measured here ([`mod@line`]). Its
//! errors are known from machines on which everything was measured ([`errors`]): each of them is predicted from another, with the
//! stretch derived without it. The interval of a carried price follows from these errors.
//!
//! Nothing here reads a file or a clock. Prices that the model does not cover are reported as not carried: those of functions
//! that cost almost nothing on the list, and of functions without precise costs on two machines.

pub mod carry;
pub mod errors;
pub mod known;
pub mod line;
pub mod list;
pub mod stretch;

pub use carry::{carry, listed, loads_differ};
pub use line::ANCHORS;
pub use list::{Cost, List};
