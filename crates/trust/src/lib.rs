//! Whether numbers can be trusted: [`calibrate`] compares the load generator with truths that are known beforehand, and [`crosscheck`]
//! compares it and others with what servers record of the same load.

pub mod calibrate;
pub mod crosscheck;
