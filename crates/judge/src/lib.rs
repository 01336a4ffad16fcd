//! From the records of a study to its result, and from results to decisions. No I/O: every number is a function of the records.
//!
//! | module | what it decides |
//! |---|---|
//! | [`length`], [`precision`] | if another round begins |
//! | [`measures`] | the value of a slice in each measure |
//! | [`summary`] | records to a [`hoptax_result::StudyResult`] |
//! | [`mod@bill`] | the cost of each part of a given configuration |
//! | [`comparison`] | which arms differ from a reference |
//! | [`mod@gate`] | if a candidate exceeds limits |
//! | [`sittings`] | several sittings of one study as one |

pub mod bill;
pub mod comparison;
pub mod gate;
pub mod length;
pub mod measures;
pub mod precision;
pub mod sittings;
pub mod summary;

#[cfg(test)]
mod fixture;
