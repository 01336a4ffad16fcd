//! From slices to intervals: coverage and bias of costs, shares, levels and rates in simulated studies, for few and
//! for many arms.

mod copies;
mod few_arms;
mod few_rounds;
mod judge;
mod many_arms;
pub(crate) mod simulation;
mod sums;
