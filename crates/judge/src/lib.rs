//! From the records of a study to its result, and from results to decisions. No I/O: every number is a function of the records.
//!
//! | module | what it decides |
//! |---|---|
//! | [`length`], [`precision`] | whether another round begins |
//! | [`measures`] | the value of a slice in each measure |
//! | [`summary`] | records to a [`hoptax_result::StudyResult`] |
//! | [`mod@bill`] | what the parts of a given configuration cost |
//! | [`comparison`] | which arms differ from a reference |
//! | [`mod@gate`] | whether a candidate exceeds limits |
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
