//! From slices to intervals: coverage and bias of costs, shares, levels and rates in simulated studies, for few and
//! for many arms.
//!
//! Every test has a fixed seed, so results depend neither on the clock nor on the machine.

mod copies;
mod few_arms;
mod few_rounds;
mod judge;
mod many_arms;
mod simulation;
mod sums;
