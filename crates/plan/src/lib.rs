//! A study before it is measured: what its file says, what will be measured, and the form and the rules of its records. Nothing here
//! starts a process; `hoptax_run` measures a plan, and `hoptax_judge` turns the records into a result.
//!
//! | module | what it decides |
//! |---|---|
//! | [`mod@file`] | YAML to [`file::StudyFile`], all problems at once, and back |
//! | [`configurations`] | what the users' Envoy configurations that a study names become |
//! | [`plan`] | arms, loads, their order |
//! | [`suit`] | settings that the file leaves open, by the machine |
//! | [`request`] | the request of an arm, and the statuses that are expected |
//! | [`as_chain`] | arms of a file under names of their own, for studies that are made from others |
//! | [`record`] | what is recorded of each slice and each round |
//! | [`profile`] | what perf records of a proxy, its layers and its flame graphs |
//! | [`disturbance`], [`placement`] | which slices are set aside |
//! | [`quiet`] | which slices the tail of response time is taken from |
//! | [`build`] | the builds of programs |

pub mod as_chain;
pub mod build;
pub mod configurations;
pub mod disturbance;
pub mod file;
pub mod placement;
pub mod plan;
pub mod profile;
pub mod quiet;
pub mod record;
pub mod request;
pub mod suit;

// Tests of what is public, in the program of the unit tests: each further program links the libraries again.
#[cfg(test)]
extern crate self as hoptax_plan;
#[cfg(test)]
#[path = "../tests/repository/mod.rs"]
mod repository;
