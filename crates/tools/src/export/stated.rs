//! Common parts of all exports: the start of the result, and the quantiles that are not known.

use std::time::Duration;

use hoptax_result::{Latency, LoadResult};

use crate::text::date;

/// Returns the start of the record of a result, RFC 3339; None if it is not known.
pub(super) fn started(result: &LoadResult) -> Option<String> {
    date(Duration::try_from_secs_f64(result.recorded_from_unix_s?).ok()?)
}

/// Names of the percentiles that a result withholds of a distribution, and of those that are lower bounds, such as `p99, p99.9`. Its
/// histogram has quantiles there all the same, so a format of histograms must name them.
pub(super) fn unstated(latency: &Latency) -> (String, String) {
    let Latency { p50_us, p90_us, p99_us, p99_9_us, at_least, .. } = *latency;
    let all = [
        ("p50", p50_us, at_least.p50_us),
        ("p90", p90_us, at_least.p90_us),
        ("p99", p99_us, at_least.p99_us),
        ("p99.9", p99_9_us, at_least.p99_9_us),
    ];
    let names = |is_bounded: bool| {
        let unstated = all.into_iter().filter(|(_, us, bound)| us.is_none() && bound.is_some() == is_bounded);
        unstated.map(|(name, ..)| name).collect::<Vec<_>>().join(", ")
    };
    (names(false), names(true))
}
