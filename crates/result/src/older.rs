//! Readers of older versions of formats: each turns the fields of a file into those of the next version.
//!
//! A reader is a file of its own, named after the kind and the version that it reads (`older/study_3.rs` reads `hoptax.study/3`), and
//! a line of [`READERS`]. A file of an older version goes through one reader after the other until it is one of today, so a reader is
//! never changed when a later version comes. The release that changes a format brings the reader of the version before.

use serde_json::{Map, Value};

/// The version that a reader reads, such as `hoptax.study/3`, and its function. What the function does not find where it expects it, it
/// leaves alone: the reader of today's format refuses it.
pub type Reader = (&'static str, fn(&mut Map<String, Value>));

/// All readers. There is none yet: no format has changed since the first release.
pub(crate) const READERS: &[Reader] = &[];
