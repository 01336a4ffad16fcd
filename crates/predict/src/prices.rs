//! Carries the costs of functions in use from one machine to another, on which only a few of them are measured.
//!
//! Everything that the few cost more there, everything costs more: one factor, the geometric mean of their ratios and of that of plain
//! proxying ([`mod@factor`]). Its errors are known from machines on which everything was measured ([`errors`]): each of them is
//! predicted from another. The interval of a carried price follows from these errors.
//!
//! Nothing here reads a file or a clock. Prices that the factor says nothing about are reported as not carried: those of functions that
//! cost almost nothing on the list, and of functions that it does not know precisely.

pub mod carry;
pub mod errors;
pub mod factor;
pub mod known;
pub mod list;

pub use carry::{carry, listed, not_in_use};
pub use factor::ANCHORS;
pub use list::{Cost, List};
