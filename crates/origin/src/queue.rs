//! The one server of a worker, which is only computed: requests wait for each other and no CPU time is burnt.

/// A first-come, first-served queue at one server. Times are nanoseconds of any one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// When it has served all requests so far.
    free_ns: u64,
    /// When the first request came.
    first_ns: Option<u64>,
}

/// A time in which the server stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// How long after the first request, nanoseconds.
    pub after_ns: u64,
    /// For how long, nanoseconds.
    pub length_ns: u64,
}

impl Queue {
    /// Takes a request that arrives with so much service and answers when it departs: Lindley's recursion,
    /// `max(arrival, departure of the one before) + service`, and work that a freeze meets is done that much later.
    pub fn take(&mut self, arrived_ns: u64, service_ns: u64, freeze: Option<Freeze>) -> u64 {
        let first_ns = *self.first_ns.get_or_insert(arrived_ns);
        let mut begins_ns = arrived_ns.max(self.free_ns);
        let mut departs_ns = begins_ns + service_ns;
        if let Some(freeze) = freeze {
            let from_ns = first_ns + freeze.after_ns;
            let until_ns = from_ns + freeze.length_ns;
            if (from_ns..until_ns).contains(&begins_ns) {
                begins_ns = until_ns;
                departs_ns = begins_ns + service_ns;
            } else if begins_ns < from_ns && departs_ns > from_ns {
                departs_ns += freeze.length_ns;
            }
        }
        self.free_ns = departs_ns;
        departs_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_each_other() {
        let mut queue = Queue::default();
        assert_eq!([0, 5, 40].map(|arrived_ns| queue.take(arrived_ns, 10, None)), [10, 20, 50]);
    }

    #[test]
    fn a_freeze_moves_what_it_meets_and_what_comes_in_it() {
        let freeze = Some(Freeze { after_ns: 25, length_ns: 100 });
        let mut queue = Queue::default();
        // Before it, under way when it begins, behind that, and after it.
        let departs = [0, 20, 60, 300].map(|arrived_ns| queue.take(arrived_ns, 10, freeze));
        assert_eq!(departs, [10, 130, 140, 310]);
        let mut queue = Queue::default();
        queue.take(0, 10, freeze);
        assert_eq!(queue.take(50, 10, freeze), 135, "what comes in it begins after it");
    }
}
