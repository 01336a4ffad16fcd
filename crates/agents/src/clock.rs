//! The offset of an agent's clock, from exchanges with it (RFC 5905, section 8; D. L. Mills, "Internet Time Synchronization: The Network
//! Time Protocol", 1991).
//!
//! Both clocks are monotonic clocks of machines, which share no origin. A message takes an unknown time each way, which is not negative: so
//! the offset is known up to half of the round trip without the time at the agent, and of several exchanges the one with the smallest
//! round trip bounds it best. Asymmetric ways shift it within that bound; nothing can tell by how much.

/// Four times of an exchange, nanoseconds: the first and the last by the clock of the controller, the others by that of the agent.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The agent's clock less the controller's, nanoseconds.
    pub(crate) offset_ns: i64,
    /// The most by which that may be wrong, nanoseconds.
    pub(crate) error_ns: u64,
}

impl Exchange {
    /// The offset; None if the times are in no order that clocks and messages allow.
    pub(crate) fn offset(self) -> Option<Offset> {
        let [sent, received, replied, returned] =
            [self.sent_ns, self.received_ns, self.replied_ns, self.returned_ns].map(i128::from);
        let round_trip = (returned - sent) - (replied - received);
        if replied < received || round_trip < 0 {
            return None;
        }
        let offset_ns = i64::try_from(((received - sent) + (replied - returned)).div_euclid(2)).ok()?;
        // Half a nanosecond more for the one that the division drops.
        let error_ns = u64::try_from((round_trip + 1) / 2).ok()?.saturating_add(1);
        Some(Offset { offset_ns, error_ns })
    }
}

impl Offset {
    /// The better of two.
    pub(crate) fn better(self, other: Option<Self>) -> Self {
        other.filter(|other| other.error_ns < self.error_ns).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An exchange with a clock of this offset over ways that take these times.
    fn exchange(sent_ns: u64, offset_ns: i64, there_ns: u64, stay_ns: u64, back_ns: u64) -> Exchange {
        let of_agent = |at_ns: u64| at_ns.checked_add_signed(offset_ns).unwrap();
        Exchange {
            sent_ns,
            received_ns: of_agent(sent_ns + there_ns),
            replied_ns: of_agent(sent_ns + there_ns + stay_ns),
            returned_ns: sent_ns + there_ns + stay_ns + back_ns,
        }
    }

    proptest! {
        #[test]
        fn the_offset_is_within_its_error_however_long_each_way_takes(
            sent_ns in 1_u64 << 60..1 << 61, offset_ns in -(1_i64 << 59)..1 << 59,
            there_ns in 0..10_000_000_000_u64, stay_ns in 0..1_000_000_u64, back_ns in 0..10_000_000_000_u64,
        ) {
            let found = exchange(sent_ns, offset_ns, there_ns, stay_ns, back_ns).offset().unwrap();
            prop_assert!(found.offset_ns.abs_diff(offset_ns) <= found.error_ns, "{:?}", found);
            // No more than half of the round trip, but for rounding.
            prop_assert!(found.error_ns <= u64::midpoint(there_ns, back_ns) + 2);
        }
    }

    #[test]
    fn symmetric_ways_give_the_offset_and_the_shortest_round_trip_the_least_error() {
        let near = exchange(1_000_000, 500, 100, 7, 100).offset().unwrap();
        assert_eq!((near.offset_ns, near.error_ns), (500, 101));
        let far = exchange(2_000_000, 500, 9_000, 7, 100).offset().unwrap();
        assert_eq!(far.better(Some(near)), near);
        assert_eq!(near.better(Some(far)), near);
        assert_eq!(near.better(None), near);
    }

    #[test]
    fn times_in_an_impossible_order_are_no_exchange() {
        let good = exchange(1_000, 0, 10, 5, 10);
        assert!(good.offset().is_some());
        assert_eq!(Exchange { replied_ns: good.received_ns - 1, ..good }.offset(), None);
        assert_eq!(Exchange { returned_ns: good.sent_ns, ..good }.offset(), None);
    }
}
