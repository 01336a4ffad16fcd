//! A simulated single-server queue, for the parameter `service`: it delays responses and uses no CPU time.

/// A first-come, first-served queue with one server. Times are nanoseconds of the same clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Departure of the last request.
    free_ns: u64,
    /// Arrival of the first request.
    first_ns: Option<u64>,
}

/// A period in which the server of a queue stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Start after the arrival of the first request, nanoseconds.
    pub after_ns: u64,
    /// Length, nanoseconds.
    pub length_ns: u64,
}

impl Queue {
    /// Adds a request and returns its departure: Lindley's recursion, `max(arrival, previous departure) + service`. A freeze
    /// delays work that it interrupts by its own length, and work that would begin during it until its end.
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
    fn a_request_waits_for_those_before_it() {
        let mut queue = Queue::default();
        assert_eq!([0, 5, 40].map(|arrived_ns| queue.take(arrived_ns, 10, None)), [10, 20, 50]);
    }

    #[test]
    fn a_freeze_delays_interrupted_work_and_later_arrivals() {
        let freeze = Some(Freeze { after_ns: 25, length_ns: 100 });
        let mut queue = Queue::default();
        // Before the freeze, interrupted by it, queued behind that, and after it.
        let departs = [0, 20, 60, 300].map(|arrived_ns| queue.take(arrived_ns, 10, freeze));
        assert_eq!(departs, [10, 130, 140, 310]);
        let mut queue = Queue::default();
        queue.take(0, 10, freeze);
        assert_eq!(queue.take(50, 10, freeze), 135, "an arrival during the freeze is served after it");
    }
}
