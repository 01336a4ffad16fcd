//! Numbers in the output of a load generator.

use hoptax_result::{CountRange, ImportedRange, Latency};

/// Percentiles that results have.
pub(crate) const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// The report of a tool. Values that it does not report are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// The target.
    pub url: Option<String>,
    /// Its start, RFC 3339.
    pub started_at: Option<String>,
    /// Requested rate, requests per second.
    pub target: Option<f64>,
    /// Number of threads.
    pub workers: Option<u32>,
    /// Number of connections.
    pub connections: Option<u32>,
    /// Answered requests. A range if counters overlap or do not determine the number.
    pub answered: Option<CountRange>,
    /// Failed requests.
    pub failed: Option<CountRange>,
    /// Requests per second, as the tool states them.
    pub rate: Option<f64>,
    /// The number of requests that this rate covers.
    pub rated: Option<CountRange>,
    /// Length of the run, seconds.
    pub seconds: Option<f64>,
    /// Its latency; [`Tool::not_reported`](crate::Tool::not_reported) states what it does not include.
    pub latency: Latency,
    /// True if its latency begins at the intended start of each request, and false if it begins at the send.
    pub is_from_intended_start: bool,
    /// The buckets of interpolated quantiles.
    pub buckets: Vec<ImportedRange>,
    /// Sums that its counts must satisfy.
    pub sums: Vec<Sum>,
    /// Numbers that this output lacks or that are unreadable; [`Tool::not_reported`](crate::Tool::not_reported) is about all outputs.
    pub unread: Vec<String>,
}

impl Reported {
    /// A report of only quantiles, each of which is the end of its bucket.
    pub(crate) fn from_buckets(bucket: impl Fn(f64) -> Option<ImportedRange>) -> Self {
        let buckets = PERCENTILES.map(bucket);
        let [p50_us, p90_us, p99_us, p99_9_us] = buckets.map(|bucket| bucket.map(|bucket| bucket.high_us));
        Self {
            latency: Latency { p50_us, p90_us, p99_us, p99_9_us, ..Latency::default() },
            buckets: buckets.into_iter().flatten().collect(),
            ..Self::default()
        }
    }
}

/// Counts of a report that are part of another count.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// How the parts relate to the whole, for example `requests of its status codes`.
    pub name: &'static str,
    /// The sum of the parts.
    pub parts: u64,
    /// The whole as the report states it: the range that must contain `parts`.
    pub whole: CountRange,
}

impl Sum {
    /// Parts that do not exceed the whole.
    pub fn some(name: &'static str, parts: u64, whole: u64) -> Self {
        Self { name, parts, whole: CountRange { at_least: 0, at_most: whole } }
    }

    /// Parts that add up to the whole.
    pub fn all(name: &'static str, parts: u64, whole: u64) -> Self {
        Self { name, parts, whole: CountRange::exactly(whole) }
    }
}
