//! Requests of an open loop that wait for a connection, in constant space: some thousands are kept one by one, and those
//! beyond are counted and planned once more, by a copy of the schedule, when their turn comes.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::schedule::Schedule;
use crate::traffic::{Picked, Picker, Traffic};

/// Most notes of when requests were taken note of; see [`Notes`].
const NOTES: usize = 4_096;

/// A request that is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) intended_ns: u64,
    /// When the generator took note of it.
    pub(crate) offered_ns: u64,
    pub(crate) picked: Picked,
}

/// Which requests of a host are those of one connection, where each has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Whose turn the next request of the host is.
    pub(crate) next: usize,
    /// Of how many.
    pub(crate) of: usize,
    /// Whose requests are wanted.
    pub(crate) own: usize,
}

/// The requests of an open loop from some moment on, planned once more: those that go to one host, and of these, with a
/// turn, those of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) schedule: Schedule,
    pub(crate) picker: Picker,
    pub(crate) traffic: Arc<Traffic>,
    /// When releases begin, which is where the times of the schedule count from.
    pub(crate) start_ns: u64,
    /// The first of them, which the schedule has passed.
    pub(crate) first: (u64, Picked),
    pub(crate) host: usize,
    pub(crate) turn: Option<Turn>,
}

impl Iterator for Replay {
    type Item = (u64, Picked);

    /// The next request; None when the schedule has come to its end.
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
            let is_own = turn.next == turn.own;
            turn.next = (turn.next + 1) % turn.of.max(1);
            if is_own {
                return Some((intended_ns, picked));
            }
        }
    }
}

/// A queue of requests, each due later than the one before it.
#[derive(Debug)]
pub(crate) struct Backlog {
    kept: VecDeque<Due>,
    /// How many are kept one by one.
    max_kept: usize,
    beyond: Option<Box<Beyond>>,
}

/// What waits behind the kept requests.
#[derive(Debug)]
struct Beyond {
    replay: Replay,
    notes: Notes,
}

impl Backlog {
    /// An empty queue, of which `max_kept` requests are kept one by one, and one at least.
    pub(crate) fn new(max_kept: usize) -> Self {
        Self { kept: VecDeque::new(), max_kept, beyond: None }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        // Behind an empty queue there is nothing: see `pop`.
        self.kept.is_empty() && self.beyond.is_none()
    }

    /// Adds a request; `replay` gives those after it, which all go into this queue for as long as it is not empty. Without
    /// it all are kept.
    pub(crate) fn push(&mut self, due: Due, replay: impl FnOnce() -> Option<Replay>) {
        if let Some(beyond) = &mut self.beyond {
            return beyond.notes.push(due.intended_ns, due.offered_ns);
        }
        self.kept.push_back(due);
        if self.kept.len() >= self.max_kept {
            let beyond = |replay| Box::new(Beyond { replay, notes: Notes::new(NOTES) });
            self.beyond = replay().map(beyond);
        }
    }

    /// Takes the first request.
    pub(crate) fn pop(&mut self) -> Option<Due> {
        let first = self.kept.pop_front().or_else(|| self.beyond.as_mut()?.pop());
        // What comes after an empty queue may find a connection: the copy of the schedule does not know of it.
        if self.kept.is_empty() && self.beyond.as_ref().is_some_and(|beyond| beyond.notes.count == 0) {
            self.beyond = None;
        }
        first
    }
}

impl Beyond {
    fn pop(&mut self) -> Option<Due> {
        if self.notes.count == 0 {
            return None;
        }
        let (intended_ns, picked) = self.replay.next()?;
        Some(Due { intended_ns, offered_ns: self.notes.pop(intended_ns), picked })
    }
}

/// When requests were taken note of, in the order in which they are due: exact for as long as that takes few notes, and
/// never too early.
#[derive(Debug)]
struct Notes {
    runs: VecDeque<Note>,
    most: usize,
    count: u64,
}

/// Some requests in a row.
#[derive(Clone, Copy, Debug)]
struct Note {
    count: u64,
    /// When the last of them was taken note of.
    last_ns: u64,
    /// How much later than planned at most.
    lag_ns: u64,
}

impl Notes {
    fn new(most: usize) -> Self {
        Self { runs: VecDeque::new(), most: most.max(2), count: 0 }
    }

    fn push(&mut self, intended_ns: u64, offered_ns: u64) {
        self.count += 1;
        let one = Note { count: 1, last_ns: offered_ns, lag_ns: offered_ns.saturating_sub(intended_ns) };
        match self.runs.back_mut() {
            Some(last) if last.last_ns == offered_ns => last.join(one),
            _ => {
                if self.runs.len() >= self.most {
                    self.halve();
                }
                self.runs.push_back(one);
            }
        }
    }

    /// When the first request, which was planned then, was taken note of.
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

    fn halve(&mut self) {
        let mut halved = VecDeque::with_capacity(self.runs.len());
        for note in self.runs.drain(..) {
            match halved.back_mut() {
                Some((last, is_open @ true)) => {
                    Note::join(last, note);
                    *is_open = false;
                }
                _ => halved.push_back((note, true)),
            }
        }
        self.runs = halved.into_iter().map(|(note, _)| note).collect();
    }
}

impl Note {
    fn join(&mut self, next: Self) {
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
        let target = |port: u16| {
            Target::new(&format!("http://127.0.0.1:{port}/{{random}}"), "GET", Vec::new(), Vec::new())
        };
        let targets: Vec<Target> = (1..=hosts).map(|port| target(port).unwrap()).collect();
        let weights: Vec<f64> = (1..=hosts).map(f64::from).collect();
        Arc::new(Traffic::by_weight(targets, &weights))
    }

    /// A loop over all requests, as a worker has it.
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
        /// Whatever waits comes out as it went in, however few are kept: of one host of several, with turns and without.
        #[test]
        fn what_is_planned_once_more_is_what_waited(
            (arrivals, pace) in arrivals(),
            hosts in 1_u16..4,
            connections in 0_usize..4,
            max_kept in 0_usize..20,
            steps in prop::collection::vec((0_usize..30, 0_usize..40, 1_u64..50_000), 1..40),
        ) {
            let mut source = Source::new(arrivals, pace, hosts);
            let host = source.traffic.host_of(0);
            let mut backlog = Backlog::new(max_kept);
            let mut simple: VecDeque<Due> = VecDeque::new();
            let mut turns = 0;
            for (pushes, pops, lag_ns) in steps {
                let now = source.next.0.saturating_add(lag_ns * pushes as u64);
                for _ in 0..pushes {
                    let (intended_ns, picked) = source.take();
                    if intended_ns == u64::MAX || source.traffic.host_of(picked.target) != host {
                        continue;
                    }
                    // Without turns every request of the host waits here, with them those of the first connection.
                    let is_own = connections == 0 || turns % connections == 0;
                    turns += 1;
                    let turn = (connections > 0).then(|| Turn { next: turns % connections, of: connections, own: 0 });
                    if is_own {
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

        /// With too few notes a time is never too early, and never later than the worst lag.
        #[test]
        fn a_note_is_never_too_early(lags_ns in prop::collection::vec(0_u64..1_000, 1..200), most in 2_usize..10) {
            let mut notes = Notes::new(most);
            let planned = |number: usize| number as u64 * 100;
            // Times of notes never decrease.
            let offered: Vec<u64> = lags_ns.iter().enumerate().scan(0, |last, (number, lag_ns)| {
                *last = (*last).max(planned(number) + lag_ns);
                Some(*last)
            }).collect();
            for (number, offered_ns) in offered.iter().enumerate() {
                notes.push(planned(number), *offered_ns);
            }
            prop_assert!(notes.runs.len() <= most);
            let worst_ns = offered.iter().enumerate().map(|(number, ns)| ns - planned(number)).max().unwrap();
            for (number, offered_ns) in offered.iter().enumerate() {
                let read_ns = notes.pop(planned(number));
                prop_assert!((*offered_ns..=planned(number) + worst_ns).contains(&read_ns));
            }
        }
    }

    #[test]
    fn millions_that_wait_take_no_more_space_than_thousands() {
        let mut source = Source::new(Arrivals::Uniform, Pace::Constant(1e6), 1);
        let mut backlog = Backlog::new(1_000);
        let mut last = Due::default();
        for number in 0..2_000_000_u64 {
            let (intended_ns, picked) = source.take();
            // A note for every ten of them.
            last = Due {
                intended_ns,
                offered_ns: intended_ns.max(START_NS + number / 10 * 10_000 + 9_000),
                picked,
            };
            backlog.push(last, || Some(source.replay(0, None)));
        }
        assert!(backlog.kept.len() <= 1_000);
        assert!(backlog.beyond.as_ref().unwrap().notes.runs.len() <= NOTES);
        let popped =
            std::iter::from_fn(|| backlog.pop()).inspect(|due| assert!(due.offered_ns >= due.intended_ns));
        let (count, end) = popped.fold((0, Due::default()), |(count, _), due| (count + 1, due));
        assert_eq!((count, end), (2_000_000, last));
    }
}
