//! Assigns requests to connections, and decides about requests that find no connection free.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::backlog::{Backlog, Due, Replay, Turn};
use crate::lifetime::Lifetime;

/// Order in which connections take requests. A proxy sees the difference: most recent first keeps few connections busy, round robin
/// keeps all of them warm, and with pinned connections a request waits for its own connection even if others are free, as in
/// generators that run a schedule per connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolOrder {
    /// The connection that has been free for the longest time.
    #[default]
    LeastRecent,
    /// The connection that became free last.
    MostRecent,
    /// The free connection with the next index.
    RoundRobin,
    /// Any free connection.
    Random,
    /// The connection with the next index, free or not: each connection has its own requests.
    Pinned,
}

impl PoolOrder {
    /// Every order, for help texts and error messages.
    pub const ALL: [Self; 5] =
        [Self::LeastRecent, Self::MostRecent, Self::RoundRobin, Self::Random, Self::Pinned];

    /// Its name in flags and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LeastRecent => "least-recent",
            Self::MostRecent => "most-recent",
            Self::RoundRobin => "round-robin",
            Self::Random => "random",
            Self::Pinned => "pinned",
        }
    }
}

impl fmt::Display for PoolOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PoolOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|order| order.as_str() == text).ok_or_else(|| {
            let words: Vec<String> = Self::ALL.iter().map(|order| format!("`{order}`")).collect();
            format!("must be one of {}", words.join(", "))
        })
    }
}

/// Maximum length of a limited queue. It stores each request, in 40 bytes.
const MAX_QUEUE: u32 = 1_000_000;

/// Treatment of a request that is due while every connection is busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// It waits in an unlimited queue. The wait counts towards its response time.
    #[default]
    Wait,
    /// It waits if fewer than this many requests wait, and is skipped otherwise.
    Queue(u32),
    /// It is skipped.
    Skip,
}

impl WhenBusy {
    /// Maximum number of waiting requests.
    fn limit(self) -> usize {
        match self {
            Self::Wait => usize::MAX,
            Self::Queue(limit) => limit as usize,
            Self::Skip => 0,
        }
    }
}

impl fmt::Display for WhenBusy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait => f.write_str("wait"),
            Self::Queue(limit) => write!(f, "queue={limit}"),
            Self::Skip => f.write_str("skip"),
        }
    }
}

impl FromStr for WhenBusy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("queue=").map(str::parse)) {
            ("wait", _) => Ok(Self::Wait),
            ("skip", _) => Ok(Self::Skip),
            (_, Some(Ok(limit))) if (1..=MAX_QUEUE).contains(&limit) => Ok(Self::Queue(limit)),
            _ => Err(format!("must be `wait`, `skip`, or `queue=100` with at most {MAX_QUEUE} requests")),
        }
    }
}

/// Treatment of a request that the generator itself is late to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenLate {
    /// It is sent. Its send lag counts towards its response time.
    #[default]
    Send,
    /// It is skipped if it is more than 10 ms late, so that a stall is not followed by a burst.
    Skip,
}

impl fmt::Display for WhenLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "send",
            Self::Skip => "skip",
        })
    }
}

impl FromStr for WhenLate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "send" => Ok(Self::Send),
            "skip" => Ok(Self::Skip),
            _ => Err("must be `send` or `skip`".to_owned()),
        }
    }
}

/// Waiting requests that a pool stores. Those beyond are counted and replayed from the schedule.
const MAX_STORED: usize = 65_536;

/// Send lag above which a request is skipped, nanoseconds.
pub(crate) const SKIP_LAG_NS: u64 = 10_000_000;

/// Assignment of requests to connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pooling {
    /// Order in which connections take requests.
    pub order: PoolOrder,
    /// Treatment of a request that is due while every connection is busy.
    pub when_busy: WhenBusy,
    /// Treatment of a request that the generator itself is late to send.
    pub when_late: WhenLate,
    /// The opening of connections, and their lifetime.
    pub lifetime: Lifetime,
}

/// The decision about a request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Start it on this connection.
    Start(usize),
    /// It waits.
    Queued,
    /// Skip it.
    Skip,
}

/// The free connections of a host, and the requests that wait for one.
///
/// Requests must be offered in the order of their intended starts, and before any connection that becomes free later
/// is returned. A late decision then equals a timely one. No request overtakes a waiting one.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Free,
    /// Waiting requests: one queue for all connections, or one per connection.
    queues: Vec<Backlog>,
    waiting: usize,
    limit: usize,
}

/// The free connections, by pool order.
#[derive(Debug)]
enum Free {
    /// Free connections in the order in which they became free: a queue, or a stack.
    Recent { free: VecDeque<usize>, is_lifo: bool },
    /// Free connections by index, with the index to search from.
    RoundRobin { free: BTreeSet<usize>, next: usize },
    /// Free connections in no order.
    Random { free: Vec<usize>, random: Box<SmallRng> },
    /// A flag per connection, and the index of the next one.
    Pinned { free: Vec<bool>, next: usize },
}

impl Pool {
    /// A pool of `connections`, all free.
    pub(crate) fn new(order: PoolOrder, when_busy: WhenBusy, connections: usize, seed: u64) -> Self {
        let all = 0..connections;
        let (free, queues) = match order {
            PoolOrder::LeastRecent => (Free::Recent { free: all.collect(), is_lifo: false }, 1),
            PoolOrder::MostRecent => (Free::Recent { free: all.collect(), is_lifo: true }, 1),
            PoolOrder::RoundRobin => (Free::RoundRobin { free: all.collect(), next: 0 }, 1),
            PoolOrder::Random => {
                (Free::Random { free: all.collect(), random: Box::new(SmallRng::seed_from_u64(seed)) }, 1)
            }
            PoolOrder::Pinned => (Free::Pinned { free: vec![true; connections], next: 0 }, connections),
        };
        // A limited queue skips requests, so its contents cannot be replayed from the schedule: it stores all of them.
        let max_stored = match when_busy {
            WhenBusy::Wait => MAX_STORED / queues.max(1),
            WhenBusy::Queue(_) | WhenBusy::Skip => usize::MAX,
        };
        Self {
            free,
            queues: (0..queues).map(|_| Backlog::new(max_stored)).collect(),
            waiting: 0,
            limit: when_busy.limit(),
        }
    }

    /// True if the next request finds a connection free.
    pub(crate) fn has_free(&self) -> bool {
        match &self.free {
            Free::Recent { free, .. } => !free.is_empty(),
            Free::RoundRobin { free, .. } => !free.is_empty(),
            Free::Random { free, .. } => !free.is_empty(),
            Free::Pinned { free, next } => free.get(*next).copied().unwrap_or(false),
        }
    }

    /// Number of waiting requests.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Offers a request that is due. `replay` returns the later requests of this host, restricted to a turn if one is given.
    /// It is called when the queue reaches the number of requests that it stores.
    pub(crate) fn offer(
        &mut self,
        request: Due,
        replay: impl FnOnce(Option<Turn>) -> Option<Replay>,
    ) -> Offer {
        let (queue, turn) = match &mut self.free {
            Free::Pinned { free, next } => {
                let index = *next;
                *next = (index + 1) % free.len().max(1);
                let turn = Turn { next: *next, of: free.len(), selected: index };
                match free.get_mut(index) {
                    Some(is_free) if *is_free && self.queues.get(index).is_none_or(Backlog::is_empty) => {
                        *is_free = false;
                        return Offer::Start(index);
                    }
                    _ => (index, Some(turn)),
                }
            }
            _ if self.waiting > 0 => (0, None),
            _ => match self.take() {
                Some(index) => return Offer::Start(index),
                None => (0, None),
            },
        };
        match self.queues.get_mut(queue) {
            Some(queue) if self.waiting < self.limit => {
                queue.push(request, || replay(turn));
                self.waiting += 1;
                Offer::Queued
            }
            _ => Offer::Skip,
        }
    }

    /// Takes a free connection for a request of a closed loop. Pinned connections are taken regardless of turn.
    pub(crate) fn take(&mut self) -> Option<usize> {
        match &mut self.free {
            Free::Recent { free, is_lifo: false } => free.pop_front(),
            Free::Recent { free, is_lifo: true } => free.pop_back(),
            Free::RoundRobin { free, next } => {
                let index = free.range(*next..).next().or_else(|| free.first()).copied()?;
                free.remove(&index);
                *next = index + 1;
                Some(index)
            }
            Free::Random { free, random } => {
                if free.is_empty() {
                    return None;
                }
                let position = random.random_range(0..free.len());
                Some(free.swap_remove(position))
            }
            Free::Pinned { free, .. } => {
                let index = free.iter().position(|is_free| *is_free)?;
                free.get_mut(index).map(|is_free| *is_free = false)?;
                Some(index)
            }
        }
    }

    /// Returns a connection to the pool. If a request waits for it, the connection stays taken and the request is returned.
    pub(crate) fn put_back(&mut self, index: usize) -> Option<Due> {
        let queue = if matches!(self.free, Free::Pinned { .. }) { index } else { 0 };
        if let Some(request) = self.queues.get_mut(queue).and_then(Backlog::pop) {
            self.waiting -= 1;
            return Some(request);
        }
        self.set_free(index);
        None
    }

    /// Returns a connection to the pool without starting a waiting request, as at the end of a run.
    pub(crate) fn set_free(&mut self, index: usize) {
        match &mut self.free {
            Free::Recent { free, .. } => free.push_back(index),
            Free::RoundRobin { free, .. } => {
                free.insert(index);
            }
            Free::Random { free, .. } => free.push(index),
            Free::Pinned { free, .. } => {
                if let Some(is_free) = free.get_mut(index) {
                    *is_free = true;
                }
            }
        }
    }

    /// Removes all waiting requests.
    pub(crate) fn drain_waiting(&mut self) -> impl Iterator<Item = Due> {
        self.waiting = 0;
        self.queues.iter_mut().flat_map(|queue| std::iter::from_fn(|| queue.pop()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Offers a request without a replay: these tests stay below the number of stored requests.
    fn offer(pool: &mut Pool, intended_ns: u64) -> Offer {
        pool.offer(Due { intended_ns, ..Due::default() }, |_| unreachable!("the queue is below its limit"))
    }

    fn put_back(pool: &mut Pool, index: usize) -> Option<u64> {
        pool.put_back(index).map(|due| due.intended_ns)
    }

    fn pool(order: PoolOrder, when_busy: WhenBusy, connections: usize) -> Pool {
        Pool::new(order, when_busy, connections, 1)
    }

    /// Takes two of four connections, returns both in the same order, and takes three more.
    fn taken(order: PoolOrder) -> Vec<usize> {
        let mut pool = pool(order, WhenBusy::Wait, 4);
        let start = |pool: &mut Pool| match offer(pool, 0) {
            Offer::Start(index) => index,
            other => panic!("{order}: {other:?}"),
        };
        let (first, second) = (start(&mut pool), start(&mut pool));
        assert_eq!((put_back(&mut pool, first), put_back(&mut pool, second)), (None, None));
        [first, second].into_iter().chain((0..3).map(|_| start(&mut pool))).collect()
    }

    #[test]
    fn every_order_takes_its_connection() {
        assert_eq!(taken(PoolOrder::LeastRecent), [0, 1, 2, 3, 0]);
        assert_eq!(taken(PoolOrder::MostRecent), [3, 2, 2, 3, 1]);
        assert_eq!(taken(PoolOrder::RoundRobin), [0, 1, 2, 3, 0]);
        assert_eq!(taken(PoolOrder::Pinned), [0, 1, 2, 3, 0]);
    }

    #[test]
    fn round_robin_skips_a_busy_connection_and_pinned_waits_for_its_own() {
        for (order, expected) in
            [(PoolOrder::RoundRobin, Offer::Start(1)), (PoolOrder::Pinned, Offer::Queued)]
        {
            let mut pool = pool(order, WhenBusy::Wait, 3);
            for index in 0..3 {
                assert_eq!(offer(&mut pool, index as u64), Offer::Start(index), "{order}");
            }
            assert_eq!(put_back(&mut pool, 1), None);
            assert_eq!(offer(&mut pool, 3), expected, "{order}");
        }
        let mut pool = pool(PoolOrder::Pinned, WhenBusy::Wait, 2);
        for intended_ns in 0..4 {
            offer(&mut pool, intended_ns);
        }
        // Requests 2 and 3 wait for connections 0 and 1.
        assert_eq!(
            (put_back(&mut pool, 1), put_back(&mut pool, 1), put_back(&mut pool, 0)),
            (Some(3), None, Some(2))
        );
        assert_eq!(offer(&mut pool, 4), Offer::Queued);
    }

    #[test]
    fn random_uses_every_connection_and_depends_on_the_seed() {
        let sequence = |seed| {
            let mut pool = Pool::new(PoolOrder::Random, WhenBusy::Wait, 8, seed);
            let take = |_| {
                let index = pool.take().unwrap();
                pool.put_back(index);
                index
            };
            (0..200).map(take).collect::<Vec<usize>>()
        };
        assert_eq!(sequence(1), sequence(1));
        assert_ne!(sequence(1), sequence(2));
        assert!((0..8).all(|index| sequence(1).contains(&index)));
    }

    #[test]
    fn no_request_overtakes_a_waiting_one() {
        for order in [PoolOrder::LeastRecent, PoolOrder::Pinned] {
            let mut pool = pool(order, WhenBusy::Wait, 1);
            assert_eq!((offer(&mut pool, 0), offer(&mut pool, 1)), (Offer::Start(0), Offer::Queued));
            // The run has ended, so the waiting request is not sent.
            pool.set_free(0);
            assert_eq!(offer(&mut pool, 2), Offer::Queued, "{order}");
        }
    }

    #[test]
    fn requests_beyond_the_queue_limit_are_refused() {
        for (when_busy, waits) in [(WhenBusy::Skip, 0), (WhenBusy::Queue(2), 2), (WhenBusy::Wait, 5)] {
            let mut pool = pool(PoolOrder::LeastRecent, when_busy, 1);
            assert_eq!(offer(&mut pool, 0), Offer::Start(0));
            let offers: Vec<Offer> = (1..=5).map(|intended_ns| offer(&mut pool, intended_ns)).collect();
            assert_eq!(offers.iter().filter(|offer| **offer == Offer::Queued).count(), waits);
            assert_eq!(pool.waiting(), waits);
            // In the order of their intended starts.
            let left: Vec<u64> = pool.drain_waiting().map(|due| due.intended_ns).collect();
            assert_eq!(left, (1..=waits as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn names_parse_to_the_values_that_print_them() {
        for order in PoolOrder::ALL {
            assert_eq!(order.as_str().parse(), Ok(order));
        }
        for when_busy in [WhenBusy::Wait, WhenBusy::Queue(7), WhenBusy::Skip] {
            assert_eq!(when_busy.to_string().parse(), Ok(when_busy));
        }
        assert!("fifo".parse::<PoolOrder>().unwrap_err().contains("`pinned`"));
        assert!("queue=0".parse::<WhenBusy>().is_err() && "queue=-1".parse::<WhenBusy>().is_err());
        assert!("queue=1000001".parse::<WhenBusy>().unwrap_err().contains("at most 1000000"));
    }

    proptest! {
        /// Over random sequences of offers and returns, each connection is free or busy, never both or neither.
        #[test]
        fn no_connection_is_lost_or_taken_twice(order in prop::sample::select(PoolOrder::ALL.to_vec()), steps in prop::collection::vec((any::<bool>(), 0_usize..5), 0..200)) {
            let mut pool = pool(order, WhenBusy::Queue(3), 5);
            let mut busy: Vec<usize> = Vec::new();
            for (is_offer, which) in steps {
                if is_offer {
                    if let Offer::Start(index) = offer(&mut pool, 0) {
                        prop_assert!(!busy.contains(&index));
                        busy.push(index);
                    }
                } else if !busy.is_empty() {
                    let index = busy[which % busy.len()];
                    if pool.put_back(index).is_none() {
                        busy.retain(|one| *one != index);
                    }
                }
            }
            for index in busy.drain(..) {
                pool.set_free(index);
            }
            let mut all: Vec<usize> = (0..5).filter_map(|_| pool.take()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, [0, 1, 2, 3, 4]);
        }
    }
}
