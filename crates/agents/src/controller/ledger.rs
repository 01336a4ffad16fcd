//! The controller's knowledge of each agent, without I/O. It does not depend on the order in which messages of different agents arrive.

use hoptax_load::trial::LiveLine;
use hoptax_result::{AgentOutcome, LoadResult};

use super::line::AgentEvent;
use super::seconds::Seconds;
use crate::clock::Offset;

/// The known state of an agent.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) standing: Standing,
    /// The index of its share; none if it got none.
    pub(crate) index: Option<u32>,
    /// The best offset of its clock before the start, and the best one after the end.
    pub(crate) before: Option<Offset>,
    pub(crate) after: Option<Offset>,
    /// The counts of its seconds so far.
    pub(crate) known: Known,
}

impl Entry {
    /// Maximum error of the offset of its clock at a time of the controller's clock, such as the start, us.
    pub(crate) fn clock_error_us(&self, at_ns: u64) -> Option<f64> {
        self.before.map(|before| before.error_ns_at(at_ns) as f64 / 1e3)
    }
}

/// The progress of an agent.
#[derive(Debug)]
pub(crate) enum Standing {
    Awaited,
    Greeted,
    Planned,
    Ready,
    Sending,
    Reported(Box<LoadResult>),
    Ended(AgentOutcome, String),
}

/// The counts of some seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    /// End of the last second, since the start of the record, nanoseconds.
    pub(crate) until_ns: u64,
}

/// Something to report to the user.
#[derive(Debug)]
pub(crate) enum LedgerEvent {
    /// An agent that sent its share is lost.
    Problem(String),
    /// One second of all agents.
    Live(LiveLine),
}

/// All agents.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) entries: Vec<Entry>,
    /// The seconds of all agents, if the load is watched.
    pub(crate) seconds: Option<Seconds>,
}

impl Ledger {
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Self {
        let entry = |name| Entry {
            name,
            standing: Standing::Awaited,
            index: None,
            before: None,
            after: None,
            known: Known::default(),
        };
        Self { entries: names.into_iter().map(entry).collect(), seconds: None }
    }

    /// True if no agent is in a standing.
    pub(crate) fn has_no(&self, is_in: impl Fn(&Standing) -> bool) -> bool {
        !self.entries.iter().any(|entry| is_in(&entry.standing))
    }

    /// Applies an event of an agent.
    pub(crate) fn apply(&mut self, agent: usize, event: AgentEvent) -> Vec<LedgerEvent> {
        let Some(entry) = self.entries.get_mut(agent) else { return Vec::new() };
        match event {
            AgentEvent::Greeted(before) => {
                (entry.standing, entry.before) = (Standing::Greeted, Some(before));
                Vec::new()
            }
            AgentEvent::Ready(before) => {
                (entry.standing, entry.before) = (Standing::Ready, Some(before));
                Vec::new()
            }
            AgentEvent::Compared(before) => {
                entry.before = Some(before);
                Vec::new()
            }
            AgentEvent::Second(second) => {
                let known = &mut entry.known;
                known.sent = known.sent.saturating_add(second.sent);
                known.answered = known.answered.saturating_add(second.answered);
                known.until_ns = known.until_ns.max(second.to_ns);
                self.watched(|seconds| seconds.add(&second))
            }
            AgentEvent::Reported(result, after) => {
                (entry.standing, entry.after) = (Standing::Reported(result), after);
                self.watched(Seconds::remove_agent)
            }
            AgentEvent::Ended(outcome, reason) => {
                // Before the start, the controller reports it with the outcome of the load.
                let is_sending = matches!(entry.standing, Standing::Sending);
                let problem = is_sending.then(|| outcome.sentence(&entry.name, &reason));
                entry.standing = Standing::Ended(outcome, reason);
                let mut events: Vec<LedgerEvent> = problem.map(LedgerEvent::Problem).into_iter().collect();
                events.extend(self.watched(Seconds::remove_agent));
                events
            }
        }
    }

    /// Gives up all agents that have not ended yet.
    pub(crate) fn give_up(&mut self, reason: &str) -> Vec<LedgerEvent> {
        let is_open = |standing: &Standing| !matches!(standing, Standing::Reported(_) | Standing::Ended(..));
        let entries = self.entries.iter().enumerate();
        let open = entries.filter(|(_, entry)| is_open(&entry.standing)).map(|(number, _)| number);
        let open: Vec<usize> = open.collect();
        let ended = || AgentEvent::Ended(AgentOutcome::Failed, reason.to_owned());
        open.into_iter().flat_map(|number| self.apply(number, ended())).collect()
    }

    fn watched(&mut self, of: impl FnOnce(&mut Seconds) -> Vec<LiveLine>) -> Vec<LedgerEvent> {
        self.seconds.as_mut().map(of).unwrap_or_default().into_iter().map(LedgerEvent::Live).collect()
    }
}

/// Maximum difference between the starts of two agents that have a share, us: the sum of the two largest errors of their clocks at the
/// start. 0 if there is one agent.
pub(crate) fn start_error_us(entries: &[Entry], start_ns: u64) -> f64 {
    let shares = entries.iter().filter(|entry| entry.index.is_some());
    let mut errors_us: Vec<f64> = shares.filter_map(|entry| entry.clock_error_us(start_ns)).collect();
    errors_us.sort_by(|a, b| b.total_cmp(a));
    match errors_us.as_slice() {
        [first, second, ..] => first + second,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// A ledger of agents that are ready, with the errors of their exchanges, which began at 0, nanoseconds.
    fn ready(errors_ns: &[u64]) -> Ledger {
        let mut ledger = Ledger::new(errors_ns.iter().map(ToString::to_string));
        for (number, error_ns) in errors_ns.iter().enumerate() {
            ledger.entries[number].index = u32::try_from(number).ok();
            ledger.apply(number, AgentEvent::Ready(Offset { offset_ns: 0, error_ns: *error_ns, sent_ns: 0 }));
        }
        ledger
    }

    fn is_near(one_us: f64, other_us: f64) -> bool {
        (one_us - other_us).abs() < 1e-9
    }

    #[test]
    fn the_start_error_is_that_of_the_two_worst_clocks_and_grows_with_the_age_of_their_exchanges() {
        let ledger = ready(&[1_000, 9_000, 4_000]);
        assert!(is_near(start_error_us(&ledger.entries, 0), 13.0));
        // Each of the two drifts by 100 us in a second.
        assert!(is_near(start_error_us(&ledger.entries, SECOND_NS), 213.0));
        assert!(is_near(start_error_us(&ready(&[9_000]).entries, SECOND_NS), 0.0));
    }

    #[test]
    fn an_exchange_while_others_are_awaited_makes_the_start_error_smaller_and_no_agent_ready_again() {
        let mut ledger = ready(&[1_000, 4_000]);
        let new = Offset { offset_ns: 0, error_ns: 2_000, sent_ns: SECOND_NS };
        for number in 0..2 {
            ledger.entries[number].standing = Standing::Sending;
            assert!(ledger.apply(number, AgentEvent::Compared(new)).is_empty());
        }
        assert!(is_near(start_error_us(&ledger.entries, SECOND_NS), 4.0));
        assert!(ledger.has_no(|standing| !matches!(standing, Standing::Sending)));
    }
}
