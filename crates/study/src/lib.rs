//! Studies: from a study file to a plan, from the plan to slices measured on live processes, and from those to a
//! result.
//!
//! | step | module | pure |
//! |---|---|---|
//! | study file: YAML to [`file::StudyFile`], every error at once | [`mod@file`] | yes |
//! | plan: arms, loads, their order | [`plan`] | yes |
//! | run: processes up, slices measured, events told | [`runner`] | no |
//! | summary: slices to a [`hoptax_result::StudyResult`] | [`summary`] | yes |

pub mod disturbance;
pub mod event;
pub mod file;
pub mod measure;
pub mod plan;
pub mod record;
pub mod runner;
pub mod summary;
