//! Times of a load with their counts, for charts.

use hoptax_result::CountedTime;

/// Minimum number of responses above a quantile for it to be drawn.
pub(super) const LEAST_ABOVE: f64 = 10.0;
pub(super) const NS_PER_US: f64 = 1_000.0;

/// Times with their counts, ascending.
pub(super) type Counts = Vec<CountedTime>;
