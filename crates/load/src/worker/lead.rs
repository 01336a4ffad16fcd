//! The lead: how long before a request is due the worker wakes, to compensate for wake-up latency.
//!
//! A timer wakes a thread late: by 5 us on hardware, and by 40 us and more if the hypervisor halts idle virtual
//! processors. A worker that slept until a request is due would send it that much late. It therefore sleeps until a
//! *lead* before that time, and polls for the rest; it handles events as usual meanwhile. The lead is the 95th
//! percentile of the wake-up latency of the thread's own sleeps, so it is near zero where wake-ups are prompt.
//!
//! Polling takes CPU time from other tasks on the same processor, such as a server. The lead is therefore at most
//! 100 us, and a worker polls for at most a quarter of its time.

/// Increase of the lead after a sleep with a latency above it, and decrease after any other sleep. The two balance when
/// one sleep in twenty is above it (stochastic approximation of a quantile, Robbins and Monro 1951). Nanoseconds.
const INCREASE_NS: u64 = 950;
const DECREASE_NS: u64 = 50;
/// Maximum lead, nanoseconds. A longer latency means that another task has the processor, which polling does not prevent.
const MAX_LEAD_NS: u64 = 100_000;
/// Inverse of the maximum share of time spent polling.
const POLL_TIME_DIVISOR: u64 = 4;

/// The lead of one worker. It persists across runs.
#[expect(clippy::struct_field_names, reason = "the unit is part of each name")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lead {
    length_ns: u64,
    /// Start of the run, and time spent polling since.
    start_ns: u64,
    polled_ns: u64,
}

impl Lead {
    /// Starts a run. Time spent polling in earlier runs does not count.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        (self.start_ns, self.polled_ns) = (now_ns, 0);
    }

    /// Returns the time at which to stop sleeping, to be awake at `due_ns`.
    pub(crate) fn wake_at_ns(&self, due_ns: u64, now_ns: u64) -> u64 {
        let may_poll = self.polled_ns <= now_ns.saturating_sub(self.start_ns) / POLL_TIME_DIVISOR;
        if may_poll { due_ns.saturating_sub(self.length_ns) } else { due_ns }
    }

    /// Records a wait from `from_ns` to `now_ns` that returned no event; its timeout was at `until_ns`.
    pub(crate) fn record_wait(&mut self, until_ns: u64, from_ns: u64, now_ns: u64) {
        if from_ns >= until_ns {
            self.polled_ns += now_ns.saturating_sub(from_ns);
        } else if let Some(late_ns) = now_ns.checked_sub(until_ns) {
            self.length_ns = if late_ns > self.length_ns {
                (self.length_ns + INCREASE_NS).min(MAX_LEAD_NS)
            } else {
                self.length_ns.saturating_sub(DECREASE_NS)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// A lead after sleeps with these latencies, nanoseconds.
    fn after(late_ns: impl Iterator<Item = u64>) -> Lead {
        let mut lead = Lead::default();
        for late_ns in late_ns {
            lead.record_wait(1_000_000, 0, 1_000_000 + late_ns);
        }
        lead
    }

    #[test]
    fn the_lead_is_the_95th_percentile_of_the_wake_up_latency() {
        let mut random = SmallRng::seed_from_u64(7);
        let lead = after((0..20_000).map(|_| random.random_range(30_000..50_000)));
        assert!((47_500..50_000).contains(&lead.length_ns), "{lead:?}");
        let prompt = after((0..20_000).map(|_| random.random_range(0..1_000)));
        assert!(prompt.length_ns < 2_000, "{prompt:?}");
    }

    #[test]
    fn the_lead_is_bounded_and_adapts_within_a_hundred_sleeps() {
        assert!(after((0..100).map(|_| 50_000)).length_ns >= 50_000);
        assert_eq!(after((0..1_000).map(|_| 10_000_000)).length_ns, MAX_LEAD_NS);
    }

    #[test]
    fn a_sleep_ended_by_an_event_or_a_signal_does_not_change_the_lead() {
        let mut lead = after((0..100).map(|_| 50_000));
        let before = lead;
        lead.record_wait(1_000_000, 0, 999_999);
        assert_eq!(lead, before);
    }

    #[test]
    fn polling_takes_at_most_a_quarter_of_the_time() {
        let mut lead = after((0..100).map(|_| 50_000));
        lead.begin(1_000_000);
        // A request every 10 us: the whole time lies within a lead.
        let (mut now_ns, mut polls) = (1_000_000, 0_u64);
        for release in 1..=1_000 {
            let due_ns = 1_000_000 + release * 10_000;
            while now_ns < due_ns {
                let until_ns = lead.wake_at_ns(due_ns, now_ns);
                let polled = until_ns <= now_ns;
                polls += u64::from(polled);
                let woke_ns = if polled { now_ns + 500 } else { until_ns };
                lead.record_wait(until_ns, now_ns, woke_ns);
                now_ns = woke_ns;
            }
        }
        let share = polls as f64 * 500.0 / (now_ns - 1_000_000) as f64;
        assert!((0.2..0.26).contains(&share), "{share}");
        // The next run starts with a full budget.
        let mut spent = Lead { start_ns: now_ns, polled_ns: 1, ..after((0..100).map(|_| 50_000)) };
        assert_eq!(spent.wake_at_ns(now_ns + 10_000, now_ns), now_ns + 10_000);
        spent.begin(now_ns);
        assert!(spent.wake_at_ns(now_ns + 10_000, now_ns) <= now_ns);
    }
}
