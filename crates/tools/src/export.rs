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
