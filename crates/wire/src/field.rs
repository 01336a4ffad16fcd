//! A field of an encoded request as an entry of the table of HPACK.

use std::ops::Range;

/// A header field of a request.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its index in the static table, if the whole field is there.
    pub(crate) whole: Option<usize>,
    /// The index of its name there; 0 for none.
    pub(crate) named: usize,
    /// The range in the bytes of the request of the part that is not in the table.
    pub(crate) rest: Range<usize>,
    /// Its number among the distinct fields of all requests of a load; None for a field that differs in each
    /// request.
    pub(crate) number: Option<usize>,
    /// Entry size in the dynamic table.
    pub(crate) table_bytes: usize,
}
