//! Studies: from a study file to a plan, from the plan to slices measured on live processes, and from those to a
//! result.
//!
//! | step | module | pure |
//! |---|---|---|
//! | study file: YAML to [`file::StudyFile`], every error at once | [`mod@file`] | yes |
//! | plan: arms, loads, their order | [`plan`] | yes |
//! | suit: what the file leaves open, by the machine | [`suit`] | yes |
//! | run: processes up, slices measured, events told | [`runner`] | no |
//! | length: whether another round begins | [`length`], [`precision`] | yes |
//! | provenance: hashes of what was measured | [`provenance`] | no |
//! | summary: slices to a [`hoptax_result::StudyResult`] | [`summary`] | yes |
//! | sittings: results of one study, put together | [`sittings`] | yes |

pub mod disturbance;
pub mod event;
pub mod file;
pub mod length;
pub mod measure;
pub mod plan;
pub mod precision;
pub mod provenance;
pub mod record;
pub mod runner;
pub mod sittings;
pub mod suit;
pub mod summary;
