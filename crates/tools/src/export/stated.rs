//! Common parts of all exports: the start of the result, its requests by outcome, and the unknown quantiles.

use std::time::Duration;

use hoptax_result::{Book, Latency, LoadResult, Percentile};

use crate::import::quantiles;
use crate::text::date;

/// Returns the start of a result's record, RFC 3339; None if it is unknown.
pub(super) fn started(result: &LoadResult) -> Option<String> {
    date(Duration::try_from_secs_f64(result.recorded_from_unix_s?).ok()?)
}

/// Requests by outcome.
pub(super) fn outcomes(book: &Book) -> [(&'static str, u64); 5] {
    [
        ("answered", book.answered),
        ("failed", book.failed),
        ("timed-out", book.timed_out),
        ("unfinished", book.unfinished),
        ("unsent", book.unsent),
    ]
}

/// Names of the percentiles of a distribution that a result withholds, and of those that are lower bounds, such as `p99, p99.9`.
/// `requested` are percentiles of response time in addition to the default ones. A histogram still contains these quantiles, so histogram
/// formats must name them.
pub(super) fn unstated(latency: &Latency, requested: &[Percentile]) -> (String, String) {
    let mut latency = *latency;
    let usual = quantiles(&mut latency).into_iter().map(|one| (one.percentile, *one.us, *one.at_least_us));
    let mut all: Vec<(f64, Option<f64>, Option<f64>)> = usual.collect();
    all.extend(requested.iter().map(|one| (one.percentile, one.response_us, one.response_at_least_us)));
    all.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    all.dedup_by_key(|(percentile, ..)| *percentile);
    let names = |is_bounded: bool| {
        let unstated = all.iter().filter(|(_, us, bound)| us.is_none() && bound.is_some() == is_bounded);
        unstated.map(|(percentile, ..)| format!("p{percentile}")).collect::<Vec<_>>().join(", ")
    };
    (names(false), names(true))
}
