//! The controller's knowledge of each agent, without I/O. The order in which agents speak changes nothing of it.

use hoptax_load::trial::LiveLine;
use hoptax_result::{AgentOutcome, LoadResult};

use super::line::Told;
use super::seconds::Seconds;
use crate::clock::Offset;

/// An agent, as far as it is known.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) standing: Standing,
    /// The index of its share; none if it got none.
    pub(crate) index: Option<u32>,
    /// The offset of its clock before the start, and after the end.
    pub(crate) before: Option<Offset>,
    pub(crate) after: Option<Offset>,
    /// The counts of its seconds so far.
    pub(crate) known: Known,
}

impl Entry {
    /// The error of its clock before the start, us.
    pub(crate) fn clock_error_us(&self) -> Option<f64> {
        self.before.map(|before| before.error_ns as f64 / 1e3)
    }
}

/// How far an agent has come.
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

/// Something to say or to show.
#[derive(Debug)]
pub(crate) enum News {
    /// An agent that sent its share is lost.
    Problem(String),
    /// A second of all agents.
    Live(LiveLine),
}

/// All agents.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) entries: Vec<Entry>,
    /// The seconds of all, if somebody watches.
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

    /// Takes the word of an agent.
    pub(crate) fn take(&mut self, agent: usize, told: Told) -> Vec<News> {
        let Some(entry) = self.entries.get_mut(agent) else { return Vec::new() };
        match told {
            Told::Greeted(before) => {
                (entry.standing, entry.before) = (Standing::Greeted, Some(before));
                Vec::new()
            }
            Told::Ready(before) => {
                (entry.standing, entry.before) = (Standing::Ready, Some(before));
                Vec::new()
            }
            Told::Second(second) => {
                let known = &mut entry.known;
                known.sent = known.sent.saturating_add(second.sent);
                known.answered = known.answered.saturating_add(second.answered);
                known.until_ns = known.until_ns.max(second.to_ns);
                self.watched(|seconds| seconds.add(&second))
            }
            Told::Reported(result, after) => {
                (entry.standing, entry.after) = (Standing::Reported(result), after);
                self.watched(Seconds::lose)
            }
            Told::Ended(outcome, reason) => {
                // Before the start, the controller says it with what becomes of the load.
                let is_sending = matches!(entry.standing, Standing::Sending);
                let problem = is_sending.then(|| outcome.sentence(&entry.name, &reason));
                entry.standing = Standing::Ended(outcome, reason);
                let mut news: Vec<News> = problem.map(News::Problem).into_iter().collect();
                news.extend(self.watched(Seconds::lose));
                news
            }
        }
    }

    /// Gives up all agents of which more was to be heard.
    pub(crate) fn give_up(&mut self, reason: &str) -> Vec<News> {
        let is_open = |standing: &Standing| !matches!(standing, Standing::Reported(_) | Standing::Ended(..));
        let entries = self.entries.iter().enumerate();
        let open = entries.filter(|(_, entry)| is_open(&entry.standing)).map(|(number, _)| number);
        let open: Vec<usize> = open.collect();
        let ended = || Told::Ended(AgentOutcome::Failed, reason.to_owned());
        open.into_iter().flat_map(|number| self.take(number, ended())).collect()
    }

    fn watched(&mut self, of: impl FnOnce(&mut Seconds) -> Vec<LiveLine>) -> Vec<News> {
        self.seconds.as_mut().map(of).unwrap_or_default().into_iter().map(News::Live).collect()
    }
}

/// The most by which the starts of two agents that have a share differ, us: the sum of the two largest errors of their clocks.
pub(crate) fn start_error_us(entries: &[Entry]) -> f64 {
    let shares = entries.iter().filter(|entry| entry.index.is_some());
    let mut errors_us: Vec<f64> = shares.filter_map(Entry::clock_error_us).collect();
    errors_us.sort_by(|a, b| b.total_cmp(a));
    errors_us.iter().take(2).sum()
}
