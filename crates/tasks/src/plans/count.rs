//! Counts the pulls of an account in a minute of the wall clock.

/// The length of a window, seconds.
pub const WINDOW_S: u64 = 60;

/// The minute of a time, both since 1970. A time beyond the year 10,000 has the last minute.
pub fn minute_of(now_s: u64) -> u32 {
    u32::try_from(now_s / WINDOW_S).unwrap_or(u32::MAX)
}

/// The pulls of an account in a minute. It fits into 64 bits, so one compare-and-swap replaces it as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The minute, since 1970.
    pub minute: u32,
    /// Pulls that were admitted in this minute.
    pub pulls: u32,
}

/// Decision about a pull, with the rest of its plan in this minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// True if the pull may continue.
    pub admitted: bool,
    /// Pulls per minute of the plan.
    pub limit: u32,
    /// Pulls that are left in this minute.
    pub remaining: u32,
    /// Seconds until the next minute, at least 1.
    pub reset_s: u64,
}

impl Count {
    /// The count with these bits. All bits are valid, and 0 is a count that has expired.
    pub const fn from_bits(bits: u64) -> Self {
        Self { minute: (bits >> 32) as u32, pulls: bits as u32 }
    }

    /// Its bits.
    pub const fn bits(self) -> u64 {
        ((self.minute as u64) << 32) | self.pulls as u64
    }

    /// The count at `now_s`, seconds since 1970: this one in its minute, and nothing in a later one.
    ///
    /// A clock that is set back by up to a minute does not begin another window. A count of a minute further ahead is from a clock
    /// that was wrong, and is discarded; otherwise the account would be refused until that minute.
    #[must_use]
    pub fn at(self, now_s: u64) -> Self {
        let now = minute_of(now_s);
        let is_current = self.minute == now || Some(self.minute) == now.checked_add(1);
        if is_current { self } else { Self { minute: now, pulls: 0 } }
    }

    /// The count after a pull at `now_s`, seconds since 1970, under a plan with `limit` pulls per minute.
    #[must_use]
    pub fn take(self, limit: u32, now_s: u64) -> (Self, Admission) {
        let before = self.at(now_s);
        let admitted = before.pulls < limit;
        let after = Self { pulls: before.pulls + u32::from(admitted), ..before };
        let end_s = (u64::from(after.minute) + 1) * WINDOW_S;
        let remaining = limit.saturating_sub(after.pulls);
        (after, Admission { admitted, limit, remaining, reset_s: end_s.saturating_sub(now_s).max(1) })
    }
}

impl Admission {
    /// The fields of `draft-ietf-httpapi-ratelimit-headers-10` that tell a client its plan and the rest of it in this minute.
    pub fn headers(&self) -> [(&'static str, String); 2] {
        let Self { limit, remaining, reset_s, .. } = self;
        [
            ("ratelimit-policy", format!(r#""pulls";q={limit};w={WINDOW_S}"#)),
            ("ratelimit", format!(r#""pulls";r={remaining};t={reset_s}"#)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    proptest! {
        #[test]
        fn bits_keep_a_count(bits in any::<u64>()) {
            prop_assert_eq!(Count::from_bits(bits).bits(), bits);
        }

        /// Whatever the clock does between pulls, as long as it is never a minute behind the latest time that it has shown.
        #[test]
        fn no_minute_admits_more_than_the_plan(limit in 0..20_u32, steps_s in vec(-50..50_i64, 1..200)) {
            let (mut count, mut now_s, mut latest_s) = (Count::default(), NOW_S, NOW_S);
            let mut admitted = std::collections::BTreeMap::<u32, u32>::new();
            for step_s in steps_s {
                now_s = now_s.saturating_add_signed(step_s).max(latest_s - 59);
                latest_s = latest_s.max(now_s);
                let (after, admission) = count.take(limit, now_s);
                *admitted.entry(after.minute).or_default() += u32::from(admission.admitted);
                prop_assert_eq!(admission.remaining, limit - after.pulls);
                count = after;
            }
            prop_assert!(admitted.values().all(|pulls| *pulls <= limit), "{:?}", admitted);
        }

        #[test]
        fn any_count_at_any_time_is_answered(bits in any::<u64>(), limit in any::<u32>(), now_s in any::<u64>()) {
            let (after, admission) = Count::from_bits(bits).take(limit, now_s);
            prop_assert!(!admission.admitted || after.pulls <= limit);
            prop_assert!(admission.reset_s >= 1);
        }
    }

    #[test]
    fn a_plan_is_admitted_exactly_and_again_in_the_next_minute() {
        let pulls = |count: &mut Count, now_s: u64| {
            let take = |_: &u32| {
                let (after, admission) = count.take(10, now_s);
                *count = after;
                admission.admitted
            };
            (0..25).filter(take).count()
        };
        let mut count = Count::default();
        assert_eq!(pulls(&mut count, NOW_S), 10);
        assert_eq!(pulls(&mut count, NOW_S + 59), 0);
        assert_eq!(pulls(&mut count, NOW_S + 60), 10);
    }

    #[test]
    fn an_upgrade_keeps_the_pulls_of_the_minute() {
        let used = Count { minute: minute_of(NOW_S), pulls: 10 };
        assert!(!used.take(10, NOW_S).1.admitted);
        assert_eq!(used.take(100, NOW_S).1.remaining, 89);
    }

    #[test]
    fn a_clock_that_was_wrong_locks_nobody_out() {
        let ahead = |minutes: u32| Count { minute: minute_of(NOW_S) + minutes, pulls: 10 };
        assert!(!ahead(1).take(10, NOW_S).1.admitted);
        assert!(ahead(2).take(10, NOW_S).1.admitted);
    }

    #[test]
    fn the_reset_is_the_end_of_the_minute() {
        // 1,800,000,000 is the first second of a minute.
        assert_eq!(Count::default().take(1, NOW_S).1.reset_s, 60);
        assert_eq!(Count::default().take(1, NOW_S + 59).1.reset_s, 1);
    }
}
