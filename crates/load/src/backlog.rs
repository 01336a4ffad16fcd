//! The queue of an open loop's waiting requests, in constant memory. It stores some thousands of requests; those beyond
//! are counted, and a copy of the schedule generates them again when their turn comes.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::schedule::Schedule;
use crate::traffic::{Picked, Picker, Traffic};

/// Maximum number of runs in [`OfferTimes`].
const MAX_OFFER_RUNS: usize = 4_096;

/// A request that is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) intended_ns: u64,
    /// Time at which the worker saw that the request was due.
    pub(crate) offered_ns: u64,
    pub(crate) picked: Picked,
}

/// Selects every `of`th request of a host: the requests of one pinned connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Index of the connection that gets the host's next request.
    pub(crate) next: usize,
    /// Number of connections.
    pub(crate) of: usize,
    /// Index of the selected connection.
    pub(crate) selected: usize,
}

/// Generates the requests of an open loop again, from some point of the schedule on: those to one host, and with a turn
/// only those of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) schedule: Schedule,
    pub(crate) picker: Picker,
    pub(crate) traffic: Arc<Traffic>,
    /// Start of the run, from which the schedule counts.
    pub(crate) start_ns: u64,
    /// The first request, which the schedule has already passed.
    pub(crate) first: (u64, Picked),
    pub(crate) host: usize,
    pub(crate) turn: Option<Turn>,
}

impl Iterator for Replay {
    type Item = (u64, Picked);

    /// The next request; None at the end of the schedule.
    fn next(&mut self) -> Option<(u64, Picked)> {
        loop {
            let (intended_ns, picked) = self.first;
            if intended_ns == u64::MAX {
                return None;
            }
            self.first =
                (self.start_ns.saturating_add(self.schedule.peek_ns()), self.picker.pick(&self.traffic));
            self.schedule.advance();
            if self.traffic.host_of(picked.target) != self.host {
                continue;
            }
            let Some(turn) = &mut self.turn else { return Some((intended_ns, picked)) };
            let is_selected = turn.next == turn.selected;
            turn.next = (turn.next + 1) % turn.of.max(1);
            if is_selected {
                return Some((intended_ns, picked));
            }
        }
    }
}

/// A queue of requests in the order of their intended starts.
#[derive(Debug)]
pub(crate) struct Backlog {
    stored: VecDeque<Due>,
    /// Maximum number of stored requests.
    max_stored: usize,
    unstored: Option<Box<Unstored>>,
}

/// The requests behind the stored ones.
#[derive(Debug)]
struct Unstored {
    replay: Replay,
    offer_times: OfferTimes,
}

impl Backlog {
    /// An empty queue that stores `max_stored` requests, at least one.
    pub(crate) fn new(max_stored: usize) -> Self {
        Self { stored: VecDeque::new(), max_stored, unstored: None }
    }

    /// True if no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        // `pop` drops an empty remainder.
        self.stored.is_empty() && self.unstored.is_none()
    }

    /// Adds a request. `replay` returns the requests after it, all of which must enter this queue until it is empty. If
    /// `replay` returns None, the queue stores all requests.
    pub(crate) fn push(&mut self, due: Due, replay: impl FnOnce() -> Option<Replay>) {
        if let Some(unstored) = &mut self.unstored {
            return unstored.offer_times.push(due.intended_ns, due.offered_ns);
        }
        self.stored.push_back(due);
        if self.stored.len() >= self.max_stored {
            let unstored =
                |replay| Box::new(Unstored { replay, offer_times: OfferTimes::new(MAX_OFFER_RUNS) });
            self.unstored = replay().map(unstored);
        }
    }

    /// Removes and returns the first request.
    pub(crate) fn pop(&mut self) -> Option<Due> {
        let first = self.stored.pop_front().or_else(|| self.unstored.as_mut()?.pop());
        // A request after this may find a connection free and never enter the queue, so the replay ends here.
        if self.stored.is_empty()
            && self.unstored.as_ref().is_some_and(|unstored| unstored.offer_times.count == 0)
        {
            self.unstored = None;
        }
        first
    }
}

impl Unstored {
    fn pop(&mut self) -> Option<Due> {
        if self.offer_times.count == 0 {
            return None;
        }
        let (intended_ns, picked) = self.replay.next()?;
        Some(Due { intended_ns, offered_ns: self.offer_times.pop(intended_ns), picked })
    }
}

/// The times at which requests were seen to be due, in the order of their intended starts, as runs of requests with the
/// same time. Exact while `max_runs` runs suffice; beyond that, runs are merged, and a time may be too late but never
/// too early.
#[derive(Debug)]
struct OfferTimes {
    runs: VecDeque<OfferRun>,
    max_runs: usize,
    count: u64,
}

/// A run of consecutive requests.
#[derive(Clone, Copy, Debug)]
struct OfferRun {
    count: u64,
    /// Time at which the last of them was seen to be due.
    last_ns: u64,
    /// The largest delay between intended start and that time.
    lag_ns: u64,
}

impl OfferTimes {
    fn new(max_runs: usize) -> Self {
        Self { runs: VecDeque::new(), max_runs: max_runs.max(2), count: 0 }
    }

    fn push(&mut self, intended_ns: u64, offered_ns: u64) {
        self.count += 1;
        let one = OfferRun { count: 1, last_ns: offered_ns, lag_ns: offered_ns.saturating_sub(intended_ns) };
        match self.runs.back_mut() {
            Some(last) if last.last_ns == offered_ns => last.extend(one),
            _ => {
                if self.runs.len() >= self.max_runs {
                    self.merge_pairs();
                }
                self.runs.push_back(one);
            }
        }
    }

    /// Returns the time at which the first request, with this intended start, was seen to be due.
    fn pop(&mut self, intended_ns: u64) -> u64 {
        let Some(first) = self.runs.front_mut() else { return intended_ns };
        let offered_ns = intended_ns.saturating_add(first.lag_ns).min(first.last_ns);
        first.count -= 1;
        self.count -= 1;
        if first.count == 0 {
            self.runs.pop_front();
        }
        offered_ns
    }

    fn merge_pairs(&mut self) {
        let mut merged = VecDeque::with_capacity(self.runs.len());
        for run in self.runs.drain(..) {
            match merged.back_mut() {
                Some((last, is_single @ true)) => {
                    OfferRun::extend(last, run);
                    *is_single = false;
                }
                _ => merged.push_back((run, true)),
            }
        }
        self.runs = merged.into_iter().map(|(run, _)| run).collect();
    }
}

impl OfferRun {
    fn extend(&mut self, next: Self) {
        self.count += next.count;
        self.last_ns = next.last_ns;
        self.lag_ns = self.lag_ns.max(next.lag_ns);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pace::Pace;
    use crate::schedule::Arrivals;
    use crate::target::Target;

    const START_NS: u64 = 1_000_000;

    fn traffic(hosts: u16) -> Arc<Traffic> {
        let target = |port: u16| Target::get(&format!("http://127.0.0.1:{port}/{{random}}"));
        let targets: Vec<Target> = (1..=hosts).map(|port| target(port).unwrap()).collect();
        let weights: Vec<f64> = (1..=hosts).map(f64::from).collect();
        Arc::new(Traffic::by_weight(targets, &weights))
    }

    /// The requests of a worker, in order.
    struct Source {
        schedule: Schedule,
        picker: Picker,
        traffic: Arc<Traffic>,
        next: (u64, Picked),
    }

    impl Source {
        fn new(arrivals: Arrivals, pace: Pace, hosts: u16) -> Self {
            let schedule = Schedule::new(arrivals, pace, 7, 0, 1);
            let (picker, traffic) = (Picker::new(3, 0, 1), traffic(hosts));
            let mut source = Self { schedule, picker, traffic, next: (0, Picked::default()) };
            source.take();
            source
        }

        fn take(&mut self) -> (u64, Picked) {
            let next = (START_NS.saturating_add(self.schedule.peek_ns()), self.picker.pick(&self.traffic));
            self.schedule.advance();
            std::mem::replace(&mut self.next, next)
        }

        fn replay(&self, host: usize, turn: Option<Turn>) -> Replay {
            Replay {
                schedule: self.schedule.clone(),
                picker: self.picker.clone(),
                traffic: Arc::clone(&self.traffic),
                start_ns: START_NS,
                first: self.next,
                host,
                turn,
            }
        }
    }

    fn arrivals() -> impl Strategy<Value = (Arrivals, Pace)> {
        let pace =
            || prop_oneof![Just(Pace::Constant(1e5)), Just("0:1000@1s,1000:0@1s,5:500@60s".parse().unwrap())];
        let arrivals = prop_oneof![
            Just(Arrivals::Uniform),
            Just(Arrivals::Poisson),
            Just(Arrivals::Jitter(0.5)),
            Just(Arrivals::Burst(7))
        ];
        (arrivals, pace())
    }

    proptest! {
        /// The queue returns the requests that entered it, however few it stores, with one host or several, with or without
        /// turns.
        #[test]
        fn replayed_requests_equal_the_waiting_ones(
            (arrivals, pace) in arrivals(),
            hosts in 1_u16..4,
            connections in 0_usize..4,
            max_stored in 0_usize..20,
            steps in prop::collection::vec((0_usize..30, 0_usize..40, 1_u64..50_000), 1..40),
        ) {
            let mut source = Source::new(arrivals, pace, hosts);
            let host = source.traffic.host_of(0);
            let mut backlog = Backlog::new(max_stored);
            let mut simple: VecDeque<Due> = VecDeque::new();
            let mut turns = 0;
            for (pushes, pops, lag_ns) in steps {
                let now = source.next.0.saturating_add(lag_ns * pushes as u64);
                for _ in 0..pushes {
                    let (intended_ns, picked) = source.take();
                    if intended_ns == u64::MAX || source.traffic.host_of(picked.target) != host {
                        continue;
                    }
                    // Without turns, every request of the host waits here; with turns, those of the first connection.
                    let is_selected = connections == 0 || turns % connections == 0;
                    turns += 1;
                    let turn = (connections > 0).then(|| Turn { next: turns % connections, of: connections, selected: 0 });
                    if is_selected {
                        let due = Due { intended_ns, offered_ns: now.max(intended_ns), picked };
                        backlog.push(due, || Some(source.replay(host, turn)));
                        simple.push_back(due);
                    }
                }
                prop_assert_eq!(backlog.is_empty(), simple.is_empty());
                for _ in 0..pops {
                    prop_assert_eq!(backlog.pop(), simple.pop_front());
                }
            }
            while let Some(due) = simple.pop_front() {
                prop_assert_eq!(backlog.pop(), Some(due));
            }
            prop_assert_eq!(backlog.pop(), None);
        }

        /// A time of merged runs is never too early, and never later than the largest delay.
        #[test]
        fn a_merged_time_is_never_too_early(lags_ns in prop::collection::vec(0_u64..1_000, 1..200), max_runs in 2_usize..10) {
            let mut offer_times = OfferTimes::new(max_runs);
            let planned = |number: usize| number as u64 * 100;
            // Times of detection never decrease.
            let offered: Vec<u64> = lags_ns.iter().enumerate().scan(0, |last, (number, lag_ns)| {
                *last = (*last).max(planned(number) + lag_ns);
                Some(*last)
            }).collect();
            for (number, offered_ns) in offered.iter().enumerate() {
                offer_times.push(planned(number), *offered_ns);
            }
            prop_assert!(offer_times.runs.len() <= max_runs);
            let worst_ns = offered.iter().enumerate().map(|(number, ns)| ns - planned(number)).max().unwrap();
            for (number, offered_ns) in offered.iter().enumerate() {
                let read_ns = offer_times.pop(planned(number));
                prop_assert!((*offered_ns..=planned(number) + worst_ns).contains(&read_ns));
            }
        }
    }

    #[test]
    fn millions_of_waiting_requests_need_no_more_memory_than_thousands() {
        let mut source = Source::new(Arrivals::Uniform, Pace::Constant(1e6), 1);
        let mut backlog = Backlog::new(1_000);
        let mut last = Due::default();
        for number in 0..2_000_000_u64 {
            let (intended_ns, picked) = source.take();
            // A run for every ten of them.
            last = Due {
                intended_ns,
                offered_ns: intended_ns.max(START_NS + number / 10 * 10_000 + 9_000),
                picked,
            };
            backlog.push(last, || Some(source.replay(0, None)));
        }
        assert!(backlog.stored.len() <= 1_000);
        assert!(backlog.unstored.as_ref().unwrap().offer_times.runs.len() <= MAX_OFFER_RUNS);
        let popped =
            std::iter::from_fn(|| backlog.pop()).inspect(|due| assert!(due.offered_ns >= due.intended_ns));
        let (count, end) = popped.fold((0, Due::default()), |(count, _), due| (count + 1, due));
        assert_eq!((count, end), (2_000_000, last));
    }
}
