//! The controller: connects to agents, gives each its share of a load, starts all at one instant, collects, and merges.
//!
//! The load starts only if all agents with a share are ready. The loss of an agent after the start ends nothing: the others send their
//! shares, which are as exact as they would have been, and the result states which share is missing.

mod driver;
mod ended;
mod ledger;
mod line;
mod merged;
mod seconds;

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc;
use std::time::Duration;

use hoptax_host::clock::{now_ns, since_1970};
use hoptax_load::trial::LiveLine;
use hoptax_result::{AgentOutcome, grouped};
use hoptax_session::load::{Lengths, Sending};
use hoptax_session::token::Token;
use hoptax_session::{Failure, Interrupt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::message::ShownToken;
use crate::planned::{PlannedShare, SentLoad};
use ledger::{Ledger, LedgerEvent, Standing};
use line::{AgentEvent, Input, Order};
use merged::Common;
use seconds::Seconds;

pub use driver::{Connecting, Stream};
pub use merged::MergedLoad;

/// Time in which an agent at an address has to come.
const ARRIVAL: Duration = Duration::from_secs(10);
/// Time limit for opening connections, in addition to the request timeout and the ramp-up.
const PREPARATION: Duration = Duration::from_secs(15);
/// Notice of the start, in addition to the errors of clocks. Every agent must receive it within this time: an agent behind a slower network
/// is too late.
const NOTICE: Duration = Duration::from_millis(500);
/// Time limit for the report of an agent, after its last response may have arrived.
const REPORT_TIME: Duration = Duration::from_secs(10);
/// Time limit for the goodbyes.
const GOODBYE_TIME: Duration = Duration::from_secs(2);
/// Interval between checks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A requested load of agents.
#[derive(Debug)]
pub struct LoadRequest<'a> {
    /// The load, its checks and its conditions. It must have no files.
    pub sending: &'a Sending<'a>,
    /// The agents.
    pub agents: Vec<RemoteAgent>,
    /// Problems of agents that another source reports, such as the cluster that they run in. They are passed on as they arrive. None if
    /// there is no such source.
    pub news: Option<mpsc::Receiver<String>>,
    /// The next step if an agent does not connect, as the end of a sentence.
    pub advice: &'static str,
    /// The token of the agents; none if they need none.
    pub token: Option<Token>,
    /// Minimum number of agents that must connect. All that do share the load.
    pub least: usize,
    /// True if the load is watched: the histograms of every second are then added up.
    pub is_watched: bool,
}

/// An agent to connect to.
pub struct RemoteAgent {
    /// Its name in messages and in the result: its address, or that of its pod.
    pub name: String,
    /// The stream to it.
    pub stream: Connecting,
}

impl RemoteAgent {
    /// The agent that listens on an address, `HOST:PORT`. It may be starting.
    pub fn at(address: &str) -> Self {
        Self { name: address.to_owned(), stream: driver::by_address(address.to_owned(), ARRIVAL) }
    }

    /// An agent behind a stream of its own, such as a forwarded port.
    pub fn behind<T: Stream + 'static>(
        name: String,
        stream: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> Self {
        let stream = async move { stream.await.map(|stream| Box::new(stream) as Box<dyn Stream>) };
        Self { name, stream: Box::pin(stream) }
    }
}

impl std::fmt::Debug for RemoteAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteAgent").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An event of a load of agents.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// A fact that the user may want to know.
    Note(&'a str),
    /// An agent is lost, or does not connect.
    Problem(&'a str),
    /// One second of all agents.
    Live(&'a LiveLine),
}

/// The current time since 1970, seconds, on the clock of `recorded_from_unix_s` of a load that this process sends.
pub fn now_unix_s() -> f64 {
    since_1970(now_ns()).as_secs_f64()
}

/// Sends a load in a new runtime. See [`run`].
///
/// # Errors
/// As [`run`], and when the runtime cannot be created.
pub fn send(
    request: LoadRequest<'_>,
    interrupt: &Interrupt,
    notify: &mut dyn FnMut(Notice<'_>),
) -> Result<MergedLoad, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(Failure::environment)?;
    let sent = runtime.block_on(run(request, interrupt, notify));
    // Do not wait for a pending name lookup: it may take longer than a user who ends a load waits.
    runtime.shutdown_background();
    sent
}

/// Sends a load: waits for the agents, plans, starts, collects and merges.
///
/// # Errors
/// When agents cannot send the load; when an agent is named twice, or fewer are named than must connect; when too few connect, or one
/// cannot prepare its share, in which case nothing is sent; when no agent reports, or the reports cannot be merged; and when it is
/// interrupted before the start.
pub async fn run(
    request: LoadRequest<'_>,
    interrupt: &Interrupt,
    notify: &mut dyn FnMut(Notice<'_>),
) -> Result<MergedLoad, Failure> {
    let LoadRequest { sending, agents, news, advice, token, least, is_watched } = request;
    let least = least.max(1);
    check_names(&agents, least)?;
    let planned = SentLoad::from_sending(sending)?;
    planned.check_agents(least)?;
    let lengths = sending.schedule.lengths()?;
    let token = token.map(|token| ShownToken(token.secret().to_owned()));
    let mut control = Control::begin(agents, token.as_ref(), (news, advice), interrupt, notify);
    let started = control.start(&planned, lengths, least, is_watched).await;
    let common = match started {
        Ok(common) => common,
        Err(failure) => {
            control.end().await;
            return Err(failure);
        }
    };
    control.collect(planned.timeout()).await;
    control.end().await;
    merged::merged_load(control.ledger.entries, common, sending)
}

/// Refuses duplicate agents, since each sends one share, and fewer agents than must connect.
fn check_names(agents: &[RemoteAgent], least: usize) -> Result<(), Failure> {
    let mut known = BTreeSet::new();
    if let Some(twice) = agents.iter().find(|agent| !known.insert(agent.name.as_str())) {
        return Err(Failure::bad_input(format!(
            "agent `{}` is named twice: an agent sends one share",
            twice.name
        )));
    }
    if least > agents.len() {
        return Err(Failure::bad_input(format!(
            "at least {least} agents are required, and only {} are named",
            agents.len()
        )));
    }
    Ok(())
}

/// The lines to all agents.
struct Control<'a> {
    ledger: Ledger,
    orders: Vec<UnboundedSender<Input>>,
    events: UnboundedReceiver<(usize, AgentEvent)>,
    lines: Vec<JoinHandle<()>>,
    news: Option<mpsc::Receiver<String>>,
    advice: &'static str,
    interrupt: &'a Interrupt,
    notify: &'a mut dyn FnMut(Notice<'_>),
}

impl<'a> Control<'a> {
    fn begin(
        agents: Vec<RemoteAgent>,
        token: Option<&ShownToken>,
        (news, advice): (Option<mpsc::Receiver<String>>, &'static str),
        interrupt: &'a Interrupt,
        notify: &'a mut dyn FnMut(Notice<'_>),
    ) -> Self {
        let (event_sender, events) = unbounded_channel();
        let ledger = Ledger::new(agents.iter().map(|agent| agent.name.clone()));
        let (mut orders, mut lines) = (Vec::new(), Vec::new());
        for (number, agent) in agents.into_iter().enumerate() {
            let (sender, inbox) = unbounded_channel();
            orders.push(sender.clone());
            let (event_sender, token) = (event_sender.clone(), token.cloned());
            let line = driver::drive(number, agent.stream, token, (sender, inbox), event_sender);
            lines.push(tokio::spawn(line));
        }
        Self { ledger, orders, events, lines, news, advice, interrupt, notify }
    }

    /// Waits for the agents, plans, and starts those that connected.
    async fn start(
        &mut self,
        planned: &SentLoad,
        Lengths { warmup, record }: Lengths,
        least: usize,
        is_watched: bool,
    ) -> Result<Common, Failure> {
        self.wait(|ledger| ledger.has_no(|standing| matches!(standing, Standing::Awaited))).await?;
        let came: Vec<usize> = self.numbers(|standing| matches!(standing, Standing::Greeted));
        if came.len() < least {
            return Err(self.nothing_sent());
        }
        for entry in &self.ledger.entries {
            if let Standing::Ended(outcome, reason) = &entry.standing {
                (self.notify)(Notice::Problem(&outcome.sentence(&entry.name, reason)));
            }
        }
        planned.check_agents(came.len())?;
        let of = u32::try_from(came.len()).map_err(Failure::bad_input)?;
        let until_ns = after(now_ns(), &[PREPARATION, planned.timeout(), planned.ramp_up()]);
        for (index, number) in (0..of).zip(came.iter().copied()) {
            if let Some(entry) = self.ledger.entries.get_mut(number) {
                (entry.index, entry.standing) = (Some(index), Standing::Planned);
            }
            let share = Box::new(PlannedShare { index, of, load: planned.clone() });
            self.order(number, Order::Plan { share, until_ns });
        }
        let is_decided = |ledger: &Ledger| {
            has_lost(ledger) || ledger.has_no(|standing| matches!(standing, Standing::Planned))
        };
        self.wait(is_decided).await?;
        if has_lost(&self.ledger) {
            return Err(self.nothing_sent());
        }
        let errors_ns = self.ledger.entries.iter().filter_map(|entry| entry.before);
        let error_ns = errors_ns.map(|before| before.error_ns).max().unwrap_or_default();
        // The largest error is half of the longest round trip.
        let at_ns = after(now_ns(), &[NOTICE]) + 4 * error_ns;
        let until_ns = after(at_ns, &[warmup, record, planned.timeout(), REPORT_TIME]);
        if is_watched {
            let (warmup_s, record_s) = (warmup.as_secs_f64(), record.as_secs_f64());
            self.ledger.seconds = Some(Seconds::new(came.len(), planned.rate.is_some(), warmup_s, record_s));
        }
        for number in came {
            if let Some(entry) = self.ledger.entries.get_mut(number) {
                entry.standing = Standing::Sending;
            }
            self.order(number, Order::Start { at_ns, until_ns });
        }
        let note = match of {
            1 => "1 agent starts".to_owned(),
            _ => format!(
                "{of} agents start together; their starts differ by at most {} us",
                grouped(ledger::start_error_us(&self.ledger.entries, at_ns), 0)
            ),
        };
        (self.notify)(Notice::Note(&note));
        let from_unix_s = since_1970(at_ns).saturating_add(warmup).as_secs_f64();
        Ok(Common { rate: planned.rate, of, start_ns: at_ns, from_unix_s })
    }

    /// Waits until every agent has reported or is lost. An interrupt stops the load, and the agents report what they have.
    async fn collect(&mut self, request_time: Duration) {
        let has_ended = |ledger: &Ledger| ledger.has_no(|standing| matches!(standing, Standing::Sending));
        if self.wait(has_ended).await.is_err() {
            let until_ns = after(now_ns(), &[request_time, REPORT_TIME]);
            for number in self.numbers(|standing| matches!(standing, Standing::Sending)) {
                self.order(number, Order::Stop { until_ns });
            }
            // Continue to wait: a line gives up an agent that does not report by then.
            while !has_ended(&self.ledger) {
                self.handle_events().await;
            }
        }
    }

    /// Says goodbye to all agents. Another source may know why an agent did not connect.
    async fn end(&mut self) {
        self.notify_problems();
        let until_ns = after(now_ns(), &[GOODBYE_TIME]);
        for number in 0..self.orders.len() {
            self.order(number, Order::Stop { until_ns });
            self.order(number, Order::Goodbye);
        }
        let until = Instant::now() + GOODBYE_TIME;
        for line in self.lines.drain(..) {
            let abort = line.abort_handle();
            if timeout_at(until, line).await.is_err() {
                abort.abort();
            }
        }
    }

    /// Handles events of agents until `is_done` is true.
    ///
    /// # Errors
    /// When it is interrupted.
    async fn wait(&mut self, is_done: impl Fn(&Ledger) -> bool) -> Result<(), Failure> {
        while !is_done(&self.ledger) {
            self.interrupt.check()?;
            self.handle_events().await;
        }
        Ok(())
    }

    /// Handles the next event of an agent, if one arrives in a short time.
    async fn handle_events(&mut self) {
        self.notify_problems();
        let Ok(event) = timeout(LOOK_EVERY, self.events.recv()).await else { return };
        let all = match event {
            Some((number, event)) => self.ledger.apply(number, event),
            // Every line reports its end.
            None => self.ledger.give_up("its conversation ended without a report, which is a bug in hoptax"),
        };
        for event in all {
            match event {
                LedgerEvent::Problem(problem) => (self.notify)(Notice::Problem(&problem)),
                LedgerEvent::Live(line) => (self.notify)(Notice::Live(&line)),
            }
        }
    }

    /// Passes on the problems that another source reports.
    fn notify_problems(&mut self) {
        for problem in self.news.iter().flat_map(mpsc::Receiver::try_iter) {
            (self.notify)(Notice::Problem(&problem));
        }
    }

    fn order(&self, number: usize, order: Order) {
        if let Some(orders) = self.orders.get(number) {
            // A line that has ended has reported why.
            let _ = orders.send(Input::Order(order));
        }
    }

    /// The numbers of the agents in a standing.
    fn numbers(&self, is_in: impl Fn(&Standing) -> bool) -> Vec<usize> {
        let entries = self.ledger.entries.iter().enumerate();
        entries.filter(|(_, entry)| is_in(&entry.standing)).map(|(number, _)| number).collect()
    }

    /// The failure of a load that was not started. It names the agents that caused it: those that lost their share or, if there are no
    /// shares yet, all that did not connect.
    fn nothing_sent(&self) -> Failure {
        let has_shares = self.ledger.entries.iter().any(|entry| entry.index.is_some());
        let of = self.ledger.entries.iter().filter(|entry| entry.index.is_some() == has_shares);
        let ended = of.filter_map(|entry| match &entry.standing {
            Standing::Ended(outcome, reason) => Some((entry.name.as_str(), *outcome, reason.as_str())),
            _ => None,
        });
        let ended: Vec<(&str, AgentOutcome, &str)> = ended.collect();
        let is_absent = ended.iter().any(|(_, outcome, _)| *outcome == AgentOutcome::Absent);
        let reasons = ended::reasons(&ended);
        let advice = if is_absent {
            format!("; {}, or allow fewer with --least-agents", self.advice)
        } else {
            String::new()
        };
        let before = if reasons.len() == 1 { ' ' } else { '\n' };
        Failure::environment(format!("nothing was sent:{before}{}{advice}", reasons.join("\n")))
    }
}

/// The time `from_ns` plus all of these times, nanoseconds.
fn after(from_ns: u64, times: &[Duration]) -> u64 {
    let times_ns = times.iter().map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    times_ns.fold(from_ns, u64::saturating_add)
}

/// True if an agent that has a share is lost.
fn has_lost(ledger: &Ledger) -> bool {
    let is_lost = |standing: &Standing| matches!(standing, Standing::Ended(..));
    ledger.entries.iter().any(|entry| entry.index.is_some() && is_lost(&entry.standing))
}
