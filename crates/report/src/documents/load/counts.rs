//! Times of a load with their counts, as charts draw them.

use hoptax_result::CountedTime;

/// Responses above a quantile that a point of a chart must rest on.
pub(super) const LEAST_ABOVE: f64 = 10.0;
pub(super) const NS_PER_US: f64 = 1_000.0;

/// Times with their counts, ascending.
pub(super) type Counts = Vec<CountedTime>;
