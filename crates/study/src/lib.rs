//! Studies: from a study file to a plan, from the plan to slices measured on live processes, and from slices to
//! a result.
//!
//! | step | module | pure |
//! |---|---|---|
//! | study file: YAML to [`file::StudyFile`], all problems at once | [`mod@file`] | yes |
//! | configurations: the users' Envoy configurations that a study names | [`configurations`] | no |
//! | plan: arms, loads, their order | [`plan`] | yes |
//! | suit: settings that the file leaves open, chosen by the machine | [`suit`] | yes |
//! | run: start processes, measure slices, emit events | [`runner`] | no |
//! | length: whether another round begins | [`length`], [`precision`] | yes |
//! | provenance: hashes of what was measured | [`provenance`] | no |
//! | programs: builds of the programs besides hoptax and Envoy | [`programs`] | no |
//! | summary: slices to a [`hoptax_result::StudyResult`] | [`summary`] | yes |
//! | bill: what the parts of a given configuration cost | [`mod@bill`] | yes |
//! | comparison: which arms differ from a reference | [`comparison`] | yes |
//! | gate: whether a candidate exceeds limits | [`mod@gate`] | yes |
//! | sittings: combine the results of several sittings of one study | [`sittings`] | yes |

mod as_chain;
pub mod bill;
pub mod comparison;
pub mod configurations;
pub mod disturbance;
pub mod event;
pub mod file;
pub mod gate;
pub mod length;
pub mod measure;
pub mod placement;
pub mod plan;
pub mod precision;
pub mod programs;
pub mod provenance;
pub mod record;
pub mod runner;
pub mod sittings;
pub mod suit;
pub mod summary;

#[cfg(test)]
mod fixture;
