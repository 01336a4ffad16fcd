//! Predictions from results, without a measurement: prices on another machine, how rates grow with a size, and the cores of a service
//! graph.
pub mod prices;
pub mod scale;
pub mod size;
