//! From slices to intervals: how often the interval of a cost, of a share, of a level and of a rate holds the true one
//! in simulated studies, and by how much their estimates lean, for few and for many arms.
//!
//! Every test is a fixed draw: its seed decides it, the clock and the machine do not.

mod copies;
mod few_arms;
mod judge;
mod many_arms;
mod simulation;
