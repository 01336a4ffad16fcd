//! Bounds the time by which the generator may have delayed a response, because it sends late and reads late. The response time minus this
//! time is a lower bound of the response time that a prompt generator would have measured.
//!
//! **Sending late.** In an open loop, a request that is sent late may be answered later by the same time, and so may the requests that meet
//! it at the server: they queue behind a burst of late requests. If a request is sent earlier by some time, assume that the server answers
//! it earlier by at most that time, as first-come-first-served queues do. Then no response is delayed by more than the largest lag since
//! the worker last had no request in flight. Requests of other workers are not considered, although their bursts may lengthen the queue,
//! too.
//!
//! **Reading late.** A response waits in its socket until the worker reads it: while the worker handles other events, and while it waits
//! for a processor. If the worker slept in its wait, it had nothing to read before; from then on it is late by its run delay in that wait,
//! and by the time since. If it did not sleep, it may have been late since its last wait.
//!
//! A request that waits for a connection starts when the previous response has been read. For such a request, all delays of the worker
//! since it last had nothing in flight count.

use hoptax_host::accounting::ThreadAccount;

/// Minimum wait for which the run delay is read, nanoseconds: the worker may not have slept in a shorter one.
const SHORT_WAIT_NS: u64 = 10_000;
/// Minimum sleep in a wait, nanoseconds: a shorter one may be the time of the system call.
const SLEPT_NS: u64 = 5_000;

/// A response of the current turn.
#[derive(Clone, Copy, Debug)]
struct Answered {
    intended_ns: u64,
    response_ns: u64,
    /// Time from writing the request to reading the response, which bounds how late it was read.
    service_ns: u64,
    read_ns: u64,
    /// The request of the traffic, and whether it waited for a connection.
    target: u32,
    blocked: bool,
    most_lag_ns: u64,
    busy_from_ns: u64,
}

/// The delays of one worker in one run.
#[derive(Debug)]
pub(crate) struct GeneratorDelay {
    account: Option<ThreadAccount>,
    /// The worker's run delay when it was last read.
    run_delay_ns: u64,
    /// Time at which the last wait returned, and by how much earlier its events may have happened.
    returned_ns: u64,
    before_ns: u64,
    /// Total time that the worker did not sleep, from the start of the run until the last wait returned.
    awake_ns: u64,
    /// The value of `awake_ns` when the worker last had nothing in flight, and the largest lag since then.
    busy_from_ns: u64,
    most_lag_ns: u64,
    turn: Vec<Answered>,
}

impl GeneratorDelay {
    /// The delays of the calling thread from `now_ns` on. Without its account, every wait counts as a delay.
    pub(crate) fn new(account: Option<ThreadAccount>, now_ns: u64) -> Self {
        let run_delay_ns = account.as_ref().and_then(read).unwrap_or_default();
        Self {
            account,
            run_delay_ns,
            returned_ns: now_ns,
            before_ns: 0,
            awake_ns: 0,
            busy_from_ns: 0,
            most_lag_ns: 0,
            turn: Vec::new(),
        }
    }

    /// Records that a request starts late by `lag_ns`. `is_first` is true if no other is in flight or waits.
    pub(crate) fn start(&mut self, lag_ns: u64, is_first: bool) {
        if is_first {
            (self.busy_from_ns, self.most_lag_ns) = (self.awake_ns, lag_ns);
        } else {
            self.most_lag_ns = self.most_lag_ns.max(lag_ns);
        }
    }

    /// Records that a response to request `target` of the traffic has been read.
    pub(crate) fn read(
        &mut self,
        target: usize,
        intended_ns: u64,
        response_ns: u64,
        service_ns: u64,
        read_ns: u64,
        blocked: bool,
    ) {
        let Self { most_lag_ns, busy_from_ns, .. } = *self;
        self.turn.push(Answered {
            intended_ns,
            response_ns,
            service_ns,
            read_ns,
            target: target as u32,
            blocked,
            most_lag_ns,
            busy_from_ns,
        });
    }

    /// Records that a wait from `from_ns` returned at `now_ns`.
    pub(crate) fn returned(&mut self, from_ns: u64, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(from_ns);
        let delayed_ns = if waited_ns < SHORT_WAIT_NS { None } else { self.run_delay() };
        let handled_ns = from_ns.saturating_sub(self.returned_ns);
        self.awake_ns += handled_ns;
        match delayed_ns {
            Some(delayed_ns) if waited_ns > delayed_ns + SLEPT_NS => {
                self.before_ns = delayed_ns;
                self.awake_ns += delayed_ns;
            }
            _ => {
                self.before_ns = handled_ns + waited_ns;
                self.awake_ns += waited_ns;
            }
        }
        self.returned_ns = now_ns;
    }

    /// The worker's run delay since the last call.
    fn run_delay(&mut self) -> Option<u64> {
        let now_ns = self.account.as_ref().and_then(read)?;
        Some(now_ns.saturating_sub(std::mem::replace(&mut self.run_delay_ns, now_ns)))
    }

    /// Passes each response of the turn to `record`: the index of its request in the traffic, its intended start, and its response time
    /// without the delays of the generator.
    pub(crate) fn end_turn(&mut self, mut record: impl FnMut(usize, u64, u64)) {
        for one in self.turn.drain(..) {
            let since_ns = one.read_ns.saturating_sub(self.returned_ns);
            let busy_ns = self.awake_ns.saturating_sub(one.busy_from_ns);
            let late_ns = if one.blocked {
                busy_ns + since_ns
            } else {
                (self.before_ns + since_ns).min(one.service_ns)
            };
            let without_ns = one.response_ns.saturating_sub(one.most_lag_ns + late_ns);
            record(one.target as usize, one.intended_ns, without_ns);
        }
    }
}

/// The run delay of a thread, nanoseconds.
fn read(account: &ThreadAccount) -> Option<u64> {
    account.read().ok().map(|used| used.run_delay_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Response times without the delays, of the responses of one turn.
    fn end(generator_delay: &mut GeneratorDelay) -> Vec<u64> {
        let mut all = Vec::new();
        generator_delay.end_turn(|_, _, ns| all.push(ns));
        all
    }

    /// A worker whose run delay is not known, so that its waits count as delays.
    fn worker() -> GeneratorDelay {
        GeneratorDelay::new(None, 1_000)
    }

    #[test]
    fn a_response_is_earlier_by_the_lag_of_its_request_and_by_the_time_until_it_was_read() {
        let mut generator_delay = worker();
        // Due at 1,000, sent 300 late, read 200 after the wait of a worker that did not sleep for 500.
        generator_delay.start(300, true);
        generator_delay.returned(1_400, 1_900);
        generator_delay.read(0, 1_000, 1_100, 800, 2_100, false);
        // The worker handled other events for 400, waited for 500, and took 200 to read; the request was out for 800 alone.
        assert_eq!(end(&mut generator_delay), [0]);
        generator_delay.returned(2_150, 2_160);
        generator_delay.read(0, 1_000, 1_300, 900, 2_200, false);
        // Since the wait before: 250, and 60 of its own. The lag is 300.
        assert_eq!(end(&mut generator_delay), [1_300 - 300 - 250 - 10 - 40]);
    }

    #[test]
    fn a_request_that_meets_a_late_one_may_be_delayed_as_much() {
        let mut generator_delay = worker();
        generator_delay.start(5_000, true);
        generator_delay.start(0, false);
        generator_delay.returned(1_000, 1_000);
        generator_delay.read(0, 0, 9_000, 9_000, 1_000, false);
        assert_eq!(end(&mut generator_delay), [4_000]);
        // Alone again.
        generator_delay.start(0, true);
        generator_delay.read(0, 0, 9_000, 9_000, 1_000, false);
        assert_eq!(end(&mut generator_delay), [9_000]);
    }

    #[test]
    fn a_request_that_waited_for_a_connection_is_delayed_by_everything_before() {
        let mut generator_delay = worker();
        generator_delay.start(0, true);
        generator_delay.returned(1_500, 1_600);
        end(&mut generator_delay);
        generator_delay.returned(1_700, 1_800);
        generator_delay.read(0, 0, 9_000, 100, 1_850, true);
        // 500 and 100 of the first turn, 100 and 100 of the second, and 50 until it was read.
        assert_eq!(end(&mut generator_delay), [9_000 - 850]);
    }

    #[test]
    fn a_thread_that_slept_was_late_by_its_run_delay_alone() {
        let account = ThreadAccount::current().unwrap();
        let mut generator_delay = GeneratorDelay::new(Some(account), 0);
        generator_delay.start(0, true);
        // It has been waiting for a second, in which its run delay cannot have grown by as much.
        generator_delay.returned(1_000, 1_000_001_000);
        generator_delay.read(0, 0, 2_000_000_000, 2_000_000_000, 1_000_001_000, false);
        let left_ns = end(&mut generator_delay)[0];
        assert!(left_ns > 1_500_000_000, "{left_ns}");
    }
}
