//! How long before a release a worker stops sleeping, so that it is awake when the release falls due.
//!
//! A timer wakes a thread late: by 5 us on hardware, by 40 us and more where a host halts the processors of a virtual machine.
//! A worker that sleeps until a release sends so much late. So it sleeps until a *lead* before it, and polls for the rest: answers
//! are taken meanwhile as ever. The lead is what this thread's own sleeps were late by, at the 95th percentile, so it comes to
//! nothing where wake-ups are prompt.
//!
//! What is polled is taken from whoever else wants the processor, such as a server beside the generator. So a lead is 100 us at
//! most, and a worker polls for a quarter of its time at most.

/// What a sleep that was later than the lead adds to it, and what one that was not takes off: they balance where one sleep in
/// twenty is later (stochastic approximation of a quantile, Robbins and Monro 1951). Nanoseconds.
const LONGER_NS: u64 = 950;
const SHORTER_NS: u64 = 50;
/// Longest lead, nanoseconds. Sleeps that end later do so because another task has the processor, and polling ends no such wait.
const MOST_NS: u64 = 100_000;
/// Of how many nanoseconds one is polled at most.
const ONE_IN: u64 = 4;

/// The lead of one worker. It is kept from run to run.
#[expect(clippy::struct_field_names, reason = "the unit is part of each name")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lead {
    length_ns: u64,
    /// When the run began, and what was polled since.
    began_ns: u64,
    polled_ns: u64,
}

impl Lead {
    /// A run begins: what was polled in earlier ones does not count.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        (self.began_ns, self.polled_ns) = (now_ns, 0);
    }

    /// Until when to sleep so as to be awake at `due_ns`.
    pub(crate) fn before(&self, due_ns: u64, now_ns: u64) -> u64 {
        let may_poll = self.polled_ns <= now_ns.saturating_sub(self.began_ns) / ONE_IN;
        if may_poll { due_ns.saturating_sub(self.length_ns) } else { due_ns }
    }

    /// A wait that was to last until `until_ns` was begun at `from_ns` and had come to nothing at `now_ns`.
    pub(crate) fn waited(&mut self, until_ns: u64, from_ns: u64, now_ns: u64) {
        if from_ns >= until_ns {
            self.polled_ns += now_ns.saturating_sub(from_ns);
        } else if let Some(late_ns) = now_ns.checked_sub(until_ns) {
            self.length_ns = if late_ns > self.length_ns {
                (self.length_ns + LONGER_NS).min(MOST_NS)
            } else {
                self.length_ns.saturating_sub(SHORTER_NS)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// A lead after sleeps that were so late, nanoseconds.
    fn after(late_ns: impl Iterator<Item = u64>) -> Lead {
        let mut lead = Lead::default();
        for late_ns in late_ns {
            lead.waited(1_000_000, 0, 1_000_000 + late_ns);
        }
        lead
    }

    #[test]
    fn the_lead_is_what_one_sleep_in_twenty_is_later_than() {
        let mut random = SmallRng::seed_from_u64(7);
        let lead = after((0..20_000).map(|_| random.random_range(30_000..50_000)));
        assert!((47_500..50_000).contains(&lead.length_ns), "{lead:?}");
        let prompt = after((0..20_000).map(|_| random.random_range(0..1_000)));
        assert!(prompt.length_ns < 2_000, "{prompt:?}");
    }

    #[test]
    fn it_is_bounded_and_learned_within_a_hundred_sleeps() {
        assert!(after((0..100).map(|_| 50_000)).length_ns >= 50_000);
        assert_eq!(after((0..1_000).map(|_| 10_000_000)).length_ns, MOST_NS);
    }

    #[test]
    fn a_sleep_that_an_event_or_a_signal_ended_tells_nothing() {
        let mut lead = after((0..100).map(|_| 50_000));
        let before = lead;
        lead.waited(1_000_000, 0, 999_999);
        assert_eq!(lead, before);
    }

    #[test]
    fn no_more_than_a_quarter_of_the_time_is_polled() {
        let mut lead = after((0..100).map(|_| 50_000));
        lead.begin(1_000_000);
        // Releases every 10 us: all of the time lies within a lead.
        let (mut now_ns, mut polls) = (1_000_000, 0_u64);
        for release in 1..=1_000 {
            let due_ns = 1_000_000 + release * 10_000;
            while now_ns < due_ns {
                let until_ns = lead.before(due_ns, now_ns);
                let polled = until_ns <= now_ns;
                polls += u64::from(polled);
                let woke_ns = if polled { now_ns + 500 } else { until_ns };
                lead.waited(until_ns, now_ns, woke_ns);
                now_ns = woke_ns;
            }
        }
        let share = polls as f64 * 500.0 / (now_ns - 1_000_000) as f64;
        assert!((0.2..0.26).contains(&share), "{share}");
        // The next run begins afresh.
        let mut spent = Lead { began_ns: now_ns, polled_ns: 1, ..after((0..100).map(|_| 50_000)) };
        assert_eq!(spent.before(now_ns + 10_000, now_ns), now_ns + 10_000);
        spent.begin(now_ns);
        assert!(spent.before(now_ns + 10_000, now_ns) <= now_ns);
    }
}
