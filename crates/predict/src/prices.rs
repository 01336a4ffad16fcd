//! Converts the costs of functions in use from one machine to another, on which only a few of them are measured.
//!
//! All costs are scaled by one factor: the geometric mean of the cost ratios of the measured functions and of plain proxying
//! ([`mod@factor`]). Its errors are known from machines on which everything was measured ([`errors`]): each is predicted from the others.
//! These errors give the interval of a converted price.
//!
//! Nothing here reads a file or a clock. Some prices cannot be converted, and are reported as such: those of functions that cost almost
//! nothing on the list, and of functions whose cost it does not state precisely.

pub mod convert;
pub mod errors;
pub mod factor;
pub mod known;
pub mod list;

pub use convert::{conversion_obstacle, convert, listed};
pub use factor::ANCHORS;
pub use list::{Cost, List};
