//! Uses a stated CPU time, measured by the CPU clock of the thread.
//!
//! `CLOCK_THREAD_CPUTIME_ID` is the scheduler's CPU time of a thread, which a study reads from outside. It does not advance while
//! the thread is preempted. Reading it is a system call of some tenths of a microsecond. Between two readings, the thread
//! therefore polls the monotonic clock, which needs no system call.
//!
//! The work before the first reading and after the last is the same for every budget. With a budget of zero, there is a single
//! reading. The burned times of two budgets therefore differ by the difference of the budgets, except for the overshoot of the
//! last reading. The overshoot is subtracted from later budgets of the same thread, so the mean is exact.

/// Maximum overshoot that is subtracted from later budgets, nanoseconds. It is far above the cost of clock readings and interrupts,
/// so the mean is exact, and far below the length of a slice, so an overshoot does not affect later slices. Steal by the
/// hypervisor can exceed it; a study sets such slices aside.
const MAX_CREDIT_NS: i64 = 1_000_000;

/// The CPU time that a thread still has to burn, or has burned in advance.
#[derive(Debug)]
pub(crate) struct Burner {
    /// Nanoseconds; negative if burned in advance.
    owed_ns: i64,
}

impl Burner {
    /// A burner that has burned nothing.
    pub(crate) const fn new() -> Self {
        Self { owed_ns: 0 }
    }

    /// Burns `budget_ns` of CPU time, minus earlier overshoot, and returns the burned time, nanoseconds. `clock` reads the CPU time
    /// of the thread. `wait` uses CPU time for approximately the given nanoseconds.
    ///
    /// Overshoot, for example because of an interrupt, is subtracted from later budgets, up to 1 ms.
    pub(crate) fn burn(
        &mut self,
        budget_ns: i64,
        mut clock: impl FnMut() -> i64,
        mut wait: impl FnMut(i64),
    ) -> i64 {
        let due_ns = self.owed_ns + budget_ns;
        let began = clock();
        let mut burned_ns = 0;
        while burned_ns < due_ns {
            wait(due_ns - burned_ns);
            burned_ns = clock() - began;
        }
        self.owed_ns = (due_ns - burned_ns).max(-MAX_CREDIT_NS);
        burned_ns
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A clock with a reading time of 300 ns, and a wait that ends late by a given time.
    struct Machine {
        now_ns: Cell<i64>,
        late_ns: Cell<i64>,
        readings: Cell<u32>,
    }

    impl Machine {
        fn new(late_ns: i64) -> Self {
            Self { now_ns: Cell::new(0), late_ns: Cell::new(late_ns), readings: Cell::new(0) }
        }

        fn burn(&self, burner: &mut Burner, budget_ns: i64) -> i64 {
            let read = || {
                self.readings.set(self.readings.get() + 1);
                self.now_ns.set(self.now_ns.get() + 300);
                self.now_ns.get()
            };
            let wait = |ns: i64| self.now_ns.set(self.now_ns.get() + (ns + self.late_ns.get()).max(0));
            burner.burn(budget_ns, read, wait)
        }
    }

    #[test]
    fn the_mean_equals_the_budget_although_each_burn_overshoots() {
        let (machine, mut burner) = (Machine::new(150), Burner::new());
        let burned_ns: i64 = (0..1000).map(|_| machine.burn(&mut burner, 5000)).sum();
        // The last burn overshoots by at most 450 ns, which no later budget compensates.
        assert!((5_000_000..=5_000_450).contains(&burned_ns), "{burned_ns}");
    }

    #[test]
    fn a_budget_of_zero_reads_the_clock_once() {
        let (machine, mut burner) = (Machine::new(0), Burner::new());
        assert_eq!(machine.burn(&mut burner, 0), 0);
        assert_eq!(machine.readings.get(), 1);
    }

    #[test]
    fn a_wait_that_ends_early_is_repeated() {
        let (machine, mut burner) = (Machine::new(-900), Burner::new());
        let burned_ns = machine.burn(&mut burner, 5000);
        assert!(burned_ns >= 5000, "{burned_ns}");
        assert!(machine.readings.get() > 2);
    }

    #[test]
    fn a_long_interruption_is_compensated_up_to_a_millisecond() {
        let (machine, mut burner) = (Machine::new(20_000_000), Burner::new());
        assert!(machine.burn(&mut burner, 5000) >= 20_000_000);
        machine.late_ns.set(0);
        let burned_ns: Vec<i64> = (0..201).map(|_| machine.burn(&mut burner, 5000)).collect();
        assert!(burned_ns[..200].iter().all(|ns| *ns == 0), "{burned_ns:?}");
        assert!(burned_ns[200] >= 5000, "{burned_ns:?}");
    }
}
