//! Results in the formats of other tools.

pub mod fortio;
pub mod k6;
pub mod nighthawk;
pub mod openmetrics;
pub mod otlp;

use std::ops::RangeInclusive;
use std::time::Duration;

use hoptax_result::LoadResult;

use crate::text::date;

/// Times of a bucket in nanoseconds, and their number.
pub type Bucket = (RangeInclusive<u64>, u64);

/// When the record of a result began, RFC 3339; None if it is not known.
fn started(result: &LoadResult) -> Option<String> {
    date(Duration::try_from_secs_f64(result.recorded_from_unix_s?).ok()?)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Book, Latency, sample};

    use super::*;

    /// A result with so many requests, and these service times.
    pub(super) fn load(answered: u64, failed: u64, service: Latency) -> LoadResult {
        let mut result = sample::load();
        let sent = answered + failed;
        result.book = Book { planned: sent, sent, answered, failed, ..Book::default() };
        result.statuses = [(200, answered), (503, failed)].into();
        result.latency.service = Latency { count: answered, ..service };
        result
    }

    #[test]
    fn a_start_that_is_out_of_range_is_not_stated() {
        let started_at =
            |unix_s| started(&LoadResult { recorded_from_unix_s: Some(unix_s), ..sample::load() });
        assert_eq!(started_at(1_767_323_045.0).as_deref(), Some("2026-01-02T03:04:05.000000000Z"));
        for unix_s in [-1.0, 1e300, f64::NAN, 253_402_300_800.0] {
            assert_eq!(started_at(unix_s), None, "{unix_s}");
        }
    }
}
