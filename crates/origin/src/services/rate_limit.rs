//! Rate limits (`envoy.service.ratelimit.v3`): a bucket of tokens for each limit that is asked for.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Service, fields};

/// Most buckets that are kept.
const MAX_BUCKETS: usize = 64;

pub(super) const SERVICE: Service = Service {
    path: "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
    is_streaming: false,
    // Field 1 is `overall_code`: 1 is OK, 2 is OVER_LIMIT.
    answer: |message, companion| {
        let passes = limit(message).is_none_or(|limit| companion.buckets.take(limit, Instant::now()));
        Some(vec![8, if passes { 1 } else { 2 }])
    },
};

/// The requests per second that a descriptor asks for, by the entry `per_second`; None for no limit.
fn limit(message: &[u8]) -> Option<u32> {
    // Field 2 of the request is a descriptor, whose field 1 is an entry of key (1) and value (2).
    let descriptors = fields(message).filter(|(number, _)| *number == 2);
    let mut entries =
        descriptors.flat_map(|(_, descriptor)| fields(descriptor)).filter(|(number, _)| *number == 1);
    entries.find_map(|(_, entry)| {
        let of = |wanted: u64| fields(entry).find(|(number, _)| *number == wanted).map(|(_, bytes)| bytes);
        let value = of(2).filter(|_| of(1) == Some(b"per_second"))?;
        std::str::from_utf8(value).ok()?.parse().ok()
    })
}

/// Buckets of tokens, each by its limit, and full at first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets(BTreeMap<u32, Bucket>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Buckets {
    /// Takes a token from the bucket of a limit, if there is one.
    fn take(&mut self, per_second: u32, at: Instant) -> bool {
        if self.0.len() >= MAX_BUCKETS && !self.0.contains_key(&per_second) {
            return false;
        }
        let most = f64::from(per_second);
        let bucket = self.0.entry(per_second).or_insert(Bucket { tokens: most, filled: at });
        let since = at.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.tokens = (bucket.tokens + since * most).min(most);
        bucket.filled = at;
        let passes = bucket.tokens >= 1.0;
        if passes {
            bucket.tokens -= 1.0;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_gives_what_it_holds_and_what_is_filled_in() {
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
    fn the_limit_is_in_a_descriptor() {
        let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
        let entry = |key: &[u8], value: &[u8]| field(1, &[field(1, key), field(2, value)].concat());
        let request = |entries: &[u8]| [field(1, b"hoptax"), field(2, entries)].concat();
        let both = [entry(b"other", b"1"), entry(b"per_second", b"100")].concat();
        assert_eq!(limit(&request(&both)), Some(100));
        assert_eq!(limit(&request(&entry(b"per_second", b"many"))), None);
        assert_eq!(limit(b""), None);
    }
}
