//! Using a stated CPU time, by the thread's own clock.
//!
//! `CLOCK_THREAD_CPUTIME_ID` is the account that the scheduler keeps of a thread, the same that a study reads from the
//! outside. It stands still while the thread is preempted. Reading it is a system call of some tenths of a microsecond, so
//! the time between two readings is spent looking at the monotonic clock, which costs no system call.
//!
//! What comes before the first reading and after the last is the same for every budget, and a budget of nothing is one
//! reading, which is the first and the last. So what two budgets burn differs by as much as they do, but for what the last
//! reading comes too late. That is taken off the next budgets of the same thread: the mean is exact.

/// What is taken off later budgets at the most, nanoseconds. It is far above what the clock and interrupts of the machine come
/// to, so that the mean is exact, and far below a slice of a study, so that a slice pays for its own. What a host takes
/// from the machine may be more; a study sets such slices aside.
const PAY_BACK_NS: i64 = 1_000_000;

/// What a thread still has to burn, or burned in advance.
#[derive(Debug)]
pub(crate) struct Burner {
    /// Nanoseconds; negative for what was burned in advance.
    owed_ns: i64,
}

impl Burner {
    /// One that has burned nothing.
    pub(crate) const fn new() -> Self {
        Self { owed_ns: 0 }
    }

    /// Burns `budget_ns` of the CPU time that `clock` tells, less what was burned too much before, and returns what was burned.
    /// `wait` is to use CPU time for about as many nanoseconds as it is given.
    ///
    /// What is burned too much, because of an interrupt for example, is taken off the next budgets, up to 1 ms.
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
        self.owed_ns = (due_ns - burned_ns).max(-PAY_BACK_NS);
        burned_ns
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A clock whose reading takes 300 ns, and a wait that is late by as much as it is told.
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
    fn the_mean_is_the_budget_although_each_burn_ends_late() {
        let (machine, mut burner) = (Machine::new(150), Burner::new());
        let burned_ns: i64 = (0..1000).map(|_| machine.burn(&mut burner, 5000)).sum();
        // The last one ends 450 ns late at most, and nothing takes that off.
        assert!((5_000_000..=5_000_450).contains(&burned_ns), "{burned_ns}");
    }

    #[test]
    fn nothing_to_burn_is_one_reading_of_the_clock() {
        let (machine, mut burner) = (Machine::new(0), Burner::new());
        assert_eq!(machine.burn(&mut burner, 0), 0);
        assert_eq!(machine.readings.get(), 1);
    }

    #[test]
    fn a_wait_that_ends_early_is_gone_on_with() {
        let (machine, mut burner) = (Machine::new(-900), Burner::new());
        let burned_ns = machine.burn(&mut burner, 5000);
        assert!(burned_ns >= 5000, "{burned_ns}");
        assert!(machine.readings.get() > 2);
    }

    #[test]
    fn a_long_interruption_is_paid_back_for_a_millisecond_and_no_more() {
        let (machine, mut burner) = (Machine::new(20_000_000), Burner::new());
        assert!(machine.burn(&mut burner, 5000) >= 20_000_000);
        machine.late_ns.set(0);
        let burned_ns: Vec<i64> = (0..201).map(|_| machine.burn(&mut burner, 5000)).collect();
        assert!(burned_ns[..200].iter().all(|ns| *ns == 0), "{burned_ns:?}");
        assert!(burned_ns[200] >= 5000, "{burned_ns:?}");
    }
}
