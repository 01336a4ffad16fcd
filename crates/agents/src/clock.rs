//! The offset of an agent's clock, from exchanges with it (RFC 5905, section 8; D. L. Mills, "Internet Time Synchronization: The Network
//! Time Protocol", 1991).
//!
//! Both clocks are monotonic, and their origins are unrelated. A message takes an unknown time each way, which is not negative. So an
//! exchange bounds the error of the offset by half of the round trip without the time at the agent. Asymmetric network paths shift the
//! offset within that bound, and the shift cannot be measured. The rates of the clocks differ slightly, too, so the bound of an exchange
//! widens with its age, like the dispersion of RFC 5905. Of several exchanges, the one with the smallest bound at the time in question is
//! the best.

/// Maximum difference of the rates of two clocks, parts per million. The frequency tolerance of an ordinary crystal is 50 ppm, and two may
/// be off in opposite directions. RFC 5905 (appendix A.1.1) assumes 15 ppm (`PHI`) for a disciplined clock, such as the monotonic clock of
/// Linux where NTP runs. Undisciplined crystals may be worse: in a survey of some 20,000 hosts, the median was 78 ppm, and a few had more
/// than 500 (D. L. Mills, "Computer Network Time Synchronization", 2006).
const TOLERANCE_PPM: u64 = 100;

/// The four times of an exchange, nanoseconds: the first and the last on the clock of the controller, the others on that of the agent.
#[expect(clippy::struct_field_names, reason = "the unit belongs into the name")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The controller sends.
    pub(crate) sent_ns: u64,
    /// The agent receives.
    pub(crate) received_ns: u64,
    /// The agent replies.
    pub(crate) replied_ns: u64,
    /// The controller receives.
    pub(crate) returned_ns: u64,
}

/// The offset of an agent's clock.
#[expect(clippy::struct_field_names, reason = "the unit belongs into the name")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The agent's clock minus the controller's, nanoseconds.
    pub(crate) offset_ns: i64,
    /// Maximum error of the offset at the exchange, without drift, nanoseconds.
    pub(crate) error_ns: u64,
    /// Start of the exchange on the controller's clock, nanoseconds.
    pub(crate) sent_ns: u64,
}

impl Exchange {
    /// The offset; None if no clocks and messages could have these times.
    pub(crate) fn offset(self) -> Option<Offset> {
        let stay_ns = self.replied_ns.checked_sub(self.received_ns)?;
        let [sent, received, replied, returned] =
            [self.sent_ns, self.received_ns, self.replied_ns, self.returned_ns].map(i128::from);
        let round_trip = (returned - sent) - i128::from(stay_ns);
        // A fast clock overstates the time at the agent.
        if round_trip < -i128::from(drift_ns(stay_ns)) {
            return None;
        }
        let offset_ns = i64::try_from(((received - sent) + (replied - returned)).div_euclid(2)).ok()?;
        // Plus two nanoseconds, for the rounding of divisions and of clock readings.
        let error_ns = u64::try_from((round_trip.max(0) + 1) / 2).ok()?.saturating_add(2);
        Some(Offset { offset_ns, error_ns, sent_ns: self.sent_ns })
    }
}

impl Offset {
    /// Maximum error of the offset at a time of the controller's clock after the exchange, nanoseconds.
    ///
    /// An exchange gives the offset in the middle of the time at the agent. Drift is counted from the start of the exchange, because that
    /// also covers the drift during the time at the agent: with the one-way times `a` and `b`, the time `s` at the agent and the drift `r`
    /// of each nanosecond, half of the stated round trip is `(a + b - r s) / 2`, and the middle is `a + s / 2` after the start.
    pub(crate) fn error_ns_at(self, at_ns: u64) -> u64 {
        self.error_ns.saturating_add(drift_ns(at_ns.saturating_sub(self.sent_ns)))
    }

    /// The better of two offsets. It stays the better one, because both errors grow at the same rate.
    pub(crate) fn better(self, other: Option<Self>) -> Self {
        let is_better = |other: &Self| {
            let at_ns = self.sent_ns.max(other.sent_ns);
            other.error_ns_at(at_ns) < self.error_ns_at(at_ns)
        };
        other.filter(is_better).unwrap_or(self)
    }
}

/// Maximum drift between two clocks in a time, nanoseconds.
fn drift_ns(time_ns: u64) -> u64 {
    time_ns.div_ceil(1_000_000 / TOLERANCE_PPM)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const BEGIN_NS: u64 = 1 << 60;

    /// An agent's clock.
    #[derive(Clone, Copy)]
    struct Clock {
        /// Its offset at [`BEGIN_NS`].
        offset_ns: i64,
        /// Its drift from then on, parts per billion.
        drift_ppb: i64,
    }

    impl Clock {
        fn offset_ns_at(self, at_ns: u64) -> i64 {
            let drift = i128::from(at_ns - BEGIN_NS) * i128::from(self.drift_ppb);
            self.offset_ns + i64::try_from(drift.div_euclid(1_000_000_000)).unwrap()
        }

        fn read(self, at_ns: u64) -> u64 {
            at_ns.checked_add_signed(self.offset_ns_at(at_ns)).unwrap()
        }

        /// An exchange with it that begins at a time, over ways that take these times.
        fn exchange(self, sent_ns: u64, there_ns: u64, stay_ns: u64, back_ns: u64) -> Exchange {
            Exchange {
                sent_ns,
                received_ns: self.read(sent_ns + there_ns),
                replied_ns: self.read(sent_ns + there_ns + stay_ns),
                returned_ns: sent_ns + there_ns + stay_ns + back_ns,
            }
        }
    }

    /// A clock that is 500 ns ahead.
    const AHEAD: Clock = Clock { offset_ns: 500, drift_ppb: 0 };

    proptest! {
        #[test]
        fn the_offset_is_within_its_error_however_long_each_way_takes(
            offset_ns in -(1_i64 << 59)..1 << 59,
            there_ns in 0..10_000_000_000_u64, stay_ns in 0..1_000_000_u64, back_ns in 0..10_000_000_000_u64,
        ) {
            let clock = Clock { offset_ns, drift_ppb: 0 };
            let found = clock.exchange(BEGIN_NS, there_ns, stay_ns, back_ns).offset().unwrap();
            prop_assert!(found.offset_ns.abs_diff(offset_ns) <= found.error_ns, "{:?}", found);
            // No more than half of the round trip, but for rounding.
            prop_assert!(found.error_ns <= u64::midpoint(there_ns, back_ns) + 3);
        }

        #[test]
        fn a_clock_that_drifts_within_the_tolerance_never_leaves_the_bound_of_its_best_exchange(
            offset_ns in -(1_i64 << 59)..1 << 59,
            drift_ppb in prop_oneof![Just(-100_000_i64), Just(100_000_i64), -100_000..=100_000_i64],
            exchanges in prop::collection::vec(
                (0..20 * SECOND_NS, 0..10_000_000_u64, 0..SECOND_NS, 0..10_000_000_u64), 1..10,
            ),
            until_start_ns in 0..100 * SECOND_NS,
        ) {
            let clock = Clock { offset_ns, drift_ppb };
            let (mut now_ns, mut best) = (BEGIN_NS, None);
            for (pause_ns, there_ns, stay_ns, back_ns) in exchanges {
                let exchange = clock.exchange(now_ns + pause_ns, there_ns, stay_ns, back_ns);
                now_ns = exchange.returned_ns;
                best = Some(exchange.offset().unwrap().better(best));
            }
            let (best, at_ns) = (best.unwrap(), now_ns + until_start_ns);
            let wrong_ns = best.offset_ns.abs_diff(clock.offset_ns_at(at_ns));
            prop_assert!(wrong_ns <= best.error_ns_at(at_ns), "{} ns {:?}", wrong_ns, best);
        }
    }

    #[test]
    fn the_bound_widens_by_the_tolerance_and_no_more() {
        let at_ns = BEGIN_NS + 10 * SECOND_NS;
        for (drift_ppb, is_within) in [(100_000, true), (-100_000, true), (100_001, false), (-100_001, false)]
        {
            let clock = Clock { drift_ppb, ..AHEAD };
            let found = clock.exchange(BEGIN_NS, 0, 0, 0).offset().unwrap();
            assert_eq!((found.error_ns_at(BEGIN_NS), found.error_ns_at(at_ns)), (2, 1_000_002));
            let wrong_ns = found.offset_ns.abs_diff(clock.offset_ns_at(at_ns));
            assert_eq!(wrong_ns <= found.error_ns_at(at_ns), is_within, "{drift_ppb} {wrong_ns}");
        }
    }

    #[test]
    fn symmetric_ways_give_the_offset_and_the_shortest_round_trip_the_least_error() {
        let near = AHEAD.exchange(BEGIN_NS, 100, 7, 100).offset().unwrap();
        assert_eq!((near.offset_ns, near.error_ns, near.sent_ns), (500, 102, BEGIN_NS));
        let far = AHEAD.exchange(BEGIN_NS + 1_000, 9_000, 7, 100).offset().unwrap();
        assert_eq!(far.better(Some(near)), near);
        assert_eq!(near.better(Some(far)), near);
        assert_eq!(near.better(None), near);
    }

    #[test]
    fn an_old_exchange_is_worse_than_a_new_one_that_took_longer() {
        let old = AHEAD.exchange(BEGIN_NS, 100, 7, 100).offset().unwrap();
        // In a second, the bound of the old one widens by 100 us.
        let later_ns = BEGIN_NS + SECOND_NS;
        let new = AHEAD.exchange(later_ns, 90_000, 7, 90_000).offset().unwrap();
        assert_eq!((new.better(Some(old)), old.better(Some(new))), (new, new));
        let slow = AHEAD.exchange(later_ns, 110_000, 7, 110_000).offset().unwrap();
        assert_eq!((slow.better(Some(old)), old.better(Some(slow))), (old, old));
    }

    #[test]
    fn times_in_an_impossible_order_are_no_exchange() {
        let good = AHEAD.exchange(BEGIN_NS, 10, 5, 10);
        assert!(good.offset().is_some());
        assert_eq!(Exchange { replied_ns: good.received_ns - 1, ..good }.offset(), None);
        assert_eq!(Exchange { returned_ns: good.sent_ns, ..good }.offset(), None);
        // The agent states 1 ms more than the exchange took: 100 ppm of its time explain 100 us.
        let slow = AHEAD.exchange(BEGIN_NS, 0, SECOND_NS, 0);
        assert_eq!(Exchange { replied_ns: slow.replied_ns + 1_000_000, ..slow }.offset(), None);
        let fast = Exchange { replied_ns: slow.replied_ns + 100_000, ..slow };
        assert!(fast.offset().is_some());
    }
}
