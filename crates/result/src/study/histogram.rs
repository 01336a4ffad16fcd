//! Response times over a whole study, decoded.

/// Response times of an arm under a load, over all slices that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHistogram {
    /// The arm.
    pub arm: String,
    /// The load.
    pub load: String,
    /// Times in nanoseconds with their counts, ascending.
    pub counts: Vec<(u64, u64)>,
}
