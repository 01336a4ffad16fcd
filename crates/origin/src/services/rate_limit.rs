//! Rate limits (`envoy.service.ratelimit.v3`): one token bucket for each limit.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Service, fields, nested};

/// Maximum number of buckets. Beyond it, new limits are always exceeded.
const MAX_BUCKETS: usize = 64;

pub(super) const SERVICE: Service = Service {
    path: "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
    task: None,
    is_streaming: false,
    // Field 1 is `overall_code`: 1 is OK, 2 is OVER_LIMIT.
    reply: |message, state| {
        let is_allowed = limit(message).is_none_or(|limit| state.buckets.take(limit, Instant::now()));
        Some(vec![8, if is_allowed { 1 } else { 2 }])
    },
};

/// The limit in requests per second, from the entry `per_second` of a descriptor; None for no limit.
fn limit(message: &[u8]) -> Option<u32> {
    // Field 2 of the request is a descriptor, whose field 1 is an entry of key (1) and value (2).
    let descriptors = fields(message).filter(|(number, _)| *number == 2);
    let mut entries =
        descriptors.flat_map(|(_, descriptor)| fields(descriptor)).filter(|(number, _)| *number == 1);
    entries.find_map(|(_, entry)| {
        let value = nested(entry, &[2]).filter(|_| nested(entry, &[1]) == Some(b"per_second"))?;
        std::str::from_utf8(value).ok()?.parse().ok()
    })
}

/// Token buckets by limit. A new bucket is full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets(BTreeMap<u32, Bucket>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Buckets {
    /// Takes a token from the bucket of a limit; false if it has none.
    fn take(&mut self, per_second: u32, at: Instant) -> bool {
        if self.0.len() >= MAX_BUCKETS && !self.0.contains_key(&per_second) {
            return false;
        }
        let capacity = f64::from(per_second);
        let bucket = self.0.entry(per_second).or_insert(Bucket { tokens: capacity, filled: at });
        let since = at.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.tokens = (bucket.tokens + since * capacity).min(capacity);
        bucket.filled = at;
        let is_allowed = bucket.tokens >= 1.0;
        if is_allowed {
            bucket.tokens -= 1.0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::field;
    use super::*;

    #[test]
    fn a_bucket_allows_its_capacity_and_refills_at_its_rate() {
        let (mut buckets, start) = (Buckets::default(), Instant::now());
        let taken = |buckets: &mut Buckets, ms| {
            (0..1000).filter(|_| buckets.take(100, start + Duration::from_millis(ms))).count()
        };
        assert_eq!(taken(&mut buckets, 0), 100);
        assert_eq!(taken(&mut buckets, 505), 50);
        assert_eq!(taken(&mut buckets, 60_000), 100);
        assert!(buckets.take(7, start));
    }

    #[test]
    fn the_limit_is_read_from_a_descriptor() {
        let entry = |key: &[u8], value: &[u8]| field(1, &[field(1, key), field(2, value)].concat());
        let request = |entries: &[u8]| [field(1, b"hoptax"), field(2, entries)].concat();
        let both = [entry(b"other", b"1"), entry(b"per_second", b"100")].concat();
        assert_eq!(limit(&request(&both)), Some(100));
        assert_eq!(limit(&request(&entry(b"per_second", b"many"))), None);
        assert_eq!(limit(b""), None);
    }
}
