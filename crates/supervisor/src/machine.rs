//! Starting, draining and ending Envoys: a state machine that receives events with their times, and returns actions. It has no side
//! effects.
//!
//! Property tests check its rules over random sequences of events:
//!
//! - At most one process starts at a time, and nothing that happens to it affects the serving process.
//! - A successor takes over only when the predecessor of the serving process has ended: Envoy would cut off its remaining requests.
//! - A failed successor is retried with the same epoch, as Envoy requires; after three failures the configuration is given up.
//! - If the serving process is lost, a new one starts with the last configuration that served.
//! - A refused file changes nothing.

#[cfg(test)]
mod tests;

use std::time::Duration;

use hoptax_subject::envoy::process::START_TIMEOUT;

/// The time since the supervisor started.
pub(crate) type Moment = Duration;

/// Grace period after its shutdown time until a process gets SIGTERM, and after that until it gets SIGKILL.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// Number of failed starts after which a configuration is given up while another one serves.
pub(crate) const MOST_FAILURES: u32 = 3;
/// Maximum delay between two attempts.
const LONGEST_DELAY: Duration = Duration::from_mins(1);
/// Time after which the loss of a process is no longer counted.
const FORGOTTEN: Duration = Duration::from_mins(5);

/// A configuration that was rendered, linted and validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// Its number; a later one is larger.
    pub(crate) number: u64,
    /// The time during which an Envoy asks its clients to reconnect.
    pub(crate) drain: Duration,
    /// The time after which an Envoy's predecessor ends.
    pub(crate) shutdown: Duration,
}

/// An Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its number; a later one is larger.
    pub(crate) number: u64,
    /// The number of the base id, which hot restarts share.
    pub(crate) base: u64,
    /// Its epoch, which is the number of its predecessors.
    pub(crate) epoch: u32,
    /// The configuration that it was started with.
    pub(crate) configuration: Configuration,
}

/// An event from outside of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The file has changed, or the user requests a restart.
    Asked,
    /// The file was accepted.
    Accepted(Configuration),
    /// The file was refused.
    Refused,
    /// The file is unchanged.
    Unchanged,
    /// A process is live.
    Live(u64),
    /// A process has ended.
    Ended(u64),
    /// The draining process has no connections left.
    Unconnected,
    /// The user requests a stop; a second request stops at once.
    Stop,
    /// Only time has passed.
    Tick,
}

/// An action that the state machine decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Render, lint and validate the current file.
    Prepare,
    /// Start an Envoy.
    Start(Process),
    /// Remove the mark that a start may have left in the shared memory of a base id, of which no process is starting.
    RemoveMark(u64),
    /// Ask a process to finish its requests and to accept no others.
    Drain(u64),
    /// Send SIGTERM to a process.
    Terminate(u64),
    /// Send SIGKILL to a process.
    Kill(u64),
    /// Write an event to the log and the status.
    Report(LifecycleEvent),
    /// End the supervisor. No process is left.
    Exit(End),
}

/// An event for the log and the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LifecycleEvent {
    /// A configuration waits until the predecessor has ended.
    Waits(Configuration),
    /// A process serves.
    Serves(Process),
    /// A process did not start.
    NotStarted {
        /// The process.
        process: Process,
        /// Time of the next attempt; none if the configuration is given up.
        again: Option<Moment>,
    },
    /// The serving process ended by itself.
    Lost {
        /// The process.
        process: Process,
        /// Time at which another one starts.
        again: Moment,
    },
    /// A replaced process has ended.
    Gone(Process),
}

/// How the supervisor ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The user requested it.
    Stopped,
    /// The first file was refused.
    Refused,
    /// The first Envoy did not start.
    NotStarted,
}

/// A starting process.
#[derive(Clone, Copy, Debug)]
struct Starting {
    process: Process,
    since: Moment,
    /// Number of earlier failures of the same configuration.
    failures: u32,
    is_killed: bool,
}

/// A replaced process, which ends by itself unless it hangs.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    process: Process,
    /// Time by which it must have ended.
    until: Moment,
    sent: SentSignal,
}

/// The last signal sent to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SentSignal {
    None,
    Terminate,
    Kill,
}

/// A configuration to start.
#[derive(Clone, Copy, Debug)]
struct PendingStart {
    configuration: Configuration,
    failures: u32,
    not_before: Moment,
    /// True if the log already says that it waits.
    is_reported: bool,
}

impl PendingStart {
    fn new(configuration: Configuration) -> Self {
        Self { configuration, failures: 0, not_before: Moment::ZERO, is_reported: false }
    }
}

/// The state of stopping all processes.
#[derive(Clone, Copy, Debug)]
struct Stopping {
    sent: SentSignal,
    /// Time of the next signal.
    until: Moment,
}

/// The state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    serving: Option<Process>,
    starting: Option<Starting>,
    leaving: Vec<Leaving>,
    pending: Option<PendingStart>,
    /// The last configuration that served.
    good: Option<Configuration>,
    is_asked: bool,
    is_preparing: bool,
    stopping: Option<Stopping>,
    is_over: bool,
    processes: u64,
    bases: u64,
    /// Number of consecutive losses of serving processes.
    losses: u32,
    last_loss: Moment,
    /// Earliest start of another process after a loss.
    after_loss: Moment,
}

impl Machine {
    /// The serving process.
    pub(crate) fn serving(&self) -> Option<Process> {
        self.serving
    }

    /// The starting process, if any.
    pub(crate) fn starting(&self) -> Option<Process> {
        self.starting.map(|starting| starting.process)
    }

    /// The replaced processes that have not ended, the latest last.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = Process> {
        self.leaving.iter().map(|leaving| leaving.process)
    }

    /// The numbers of the configurations with which processes were started or may be.
    pub(crate) fn needed(&self) -> impl Iterator<Item = u64> {
        let pending = self.pending.map(|pending| pending.configuration);
        let of_processes = self.alive().map(|process| process.configuration);
        of_processes.chain(pending).chain(self.good).map(|configuration| configuration.number)
    }

    /// Returns true if the supervisor is stopping.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// Returns the actions after an event.
    pub(crate) fn step(&mut self, now: Moment, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.is_over {
            return actions;
        }
        match event {
            Event::Asked => self.is_asked = true,
            Event::Accepted(configuration) => {
                self.is_preparing = false;
                self.pending = Some(PendingStart::new(configuration));
            }
            Event::Refused => {
                self.is_preparing = false;
                if self.good.is_none() && self.starting.is_none() && self.stopping.is_none() {
                    self.exit(End::Refused, &mut actions);
                }
            }
            Event::Unchanged => self.is_preparing = false,
            Event::Live(number) => self.live(now, number, &mut actions),
            Event::Ended(number) => self.ended(now, number, &mut actions),
            Event::Stop => self.stop(now, &mut actions),
            Event::Unconnected => {
                if let Some(stopping) = self.stopping.as_mut().filter(|one| one.sent == SentSignal::None) {
                    stopping.until = now;
                }
            }
            Event::Tick => {}
        }
        if self.stopping.is_some() {
            self.advance_stop(now, &mut actions);
        } else if !self.is_over {
            self.advance(now, &mut actions);
        }
        actions
    }

    fn exit(&mut self, end: End, actions: &mut Vec<Action>) {
        self.is_over = true;
        actions.push(Action::Exit(end));
    }

    fn live(&mut self, now: Moment, number: u64, actions: &mut Vec<Action>) {
        // A process that was killed or told to end will end, even if it has become live.
        let Some(started) = self.starting.filter(|one| one.process.number == number && !one.is_killed) else {
            return;
        };
        if self.stopping.is_some() {
            return;
        }
        self.starting = None;
        if let Some(process) = self.serving.take() {
            let until = now + started.process.configuration.shutdown + GRACE;
            self.leaving.push(Leaving { process, until, sent: SentSignal::None });
        }
        self.serving = Some(started.process);
        self.good = Some(started.process.configuration);
        actions.push(Action::Report(LifecycleEvent::Serves(started.process)));
    }

    fn ended(&mut self, now: Moment, number: u64, actions: &mut Vec<Action>) {
        if let Some(at) = self.leaving.iter().position(|leaving| leaving.process.number == number) {
            actions.push(Action::Report(LifecycleEvent::Gone(self.leaving.remove(at).process)));
        } else if let Some(process) = self.serving.take_if(|process| process.number == number) {
            if self.stopping.is_none() {
                self.lost(now, process, actions);
            }
        } else if let Some(failed) = self.starting.take_if(|one| one.process.number == number)
            && self.stopping.is_none()
        {
            self.not_started(now, failed, actions);
        }
    }

    fn lost(&mut self, now: Moment, process: Process, actions: &mut Vec<Action>) {
        if now.saturating_sub(self.last_loss) > FORGOTTEN {
            self.losses = 0;
        }
        self.last_loss = now;
        // The first loss has no delay.
        self.after_loss = self.losses.checked_sub(1).map_or(now, |before| now + delay(before));
        self.losses += 1;
        actions.push(Action::Report(LifecycleEvent::Lost { process, again: self.after_loss }));
    }

    fn not_started(&mut self, now: Moment, failed: Starting, actions: &mut Vec<Action>) {
        let process = failed.process;
        if process.epoch > 0 {
            actions.push(Action::RemoveMark(process.base));
        }
        let Some(good) = self.good else {
            actions.push(Action::Report(LifecycleEvent::NotStarted { process, again: None }));
            self.exit(End::NotStarted, actions);
            return;
        };
        let failures = failed.failures + 1;
        let again = now + delay(failed.failures);
        let is_given_up =
            failures >= MOST_FAILURES && (self.serving.is_some() || good != process.configuration);
        // A later file is tried next, in any case.
        if self.pending.is_none() && !is_given_up {
            self.pending = Some(PendingStart {
                failures,
                not_before: again,
                ..PendingStart::new(process.configuration)
            });
        }
        if self.serving.is_none() {
            self.after_loss = self.after_loss.max(again);
        }
        let again = (!is_given_up).then_some(again);
        actions.push(Action::Report(LifecycleEvent::NotStarted { process, again }));
    }

    fn stop(&mut self, now: Moment, actions: &mut Vec<Action>) {
        match &mut self.stopping {
            Some(stopping) if stopping.sent == SentSignal::None => stopping.until = now,
            Some(_) => {}
            None => {
                if let Some(starting) = &self.starting {
                    actions.push(Action::Terminate(starting.process.number));
                }
                let drain = self.serving.map(|serving| {
                    actions.push(Action::Drain(serving.number));
                    serving.configuration.drain
                });
                let until = now + drain.unwrap_or_default();
                self.stopping = Some(Stopping { sent: SentSignal::None, until });
            }
        }
    }

    fn advance_stop(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let numbers: Vec<u64> = self.alive().map(|process| process.number).collect();
        if numbers.is_empty() {
            self.exit(End::Stopped, actions);
            return;
        }
        let is_unserved = self.serving.is_none();
        let Some(stopping) = &mut self.stopping else { return };
        if now < stopping.until && !(is_unserved && stopping.sent == SentSignal::None) {
            return;
        }
        stopping.until = now + GRACE;
        match stopping.sent {
            SentSignal::None => {
                stopping.sent = SentSignal::Terminate;
                actions.extend(numbers.into_iter().map(Action::Terminate));
            }
            SentSignal::Terminate | SentSignal::Kill => {
                stopping.sent = SentSignal::Kill;
                actions.extend(numbers.into_iter().map(Action::Kill));
            }
        }
    }

    /// All processes that have not ended.
    fn alive(&self) -> impl Iterator<Item = Process> {
        self.serving.into_iter().chain(self.starting()).chain(self.leaving())
    }

    fn advance(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if self.is_asked && !self.is_preparing {
            self.is_asked = false;
            self.is_preparing = true;
            actions.push(Action::Prepare);
        }
        for leaving in &mut self.leaving {
            if now >= leaving.until && leaving.sent < SentSignal::Kill {
                let number = leaving.process.number;
                let is_first = leaving.sent == SentSignal::None;
                leaving.until = now + GRACE;
                leaving.sent = if is_first { SentSignal::Terminate } else { SentSignal::Kill };
                actions.push(if is_first { Action::Terminate(number) } else { Action::Kill(number) });
            }
        }
        if let Some(starting) = &mut self.starting {
            if now.saturating_sub(starting.since) >= START_TIMEOUT && !starting.is_killed {
                starting.is_killed = true;
                actions.push(Action::Kill(starting.process.number));
            }
            return;
        }
        if self.serving.is_none() && self.pending.is_none() {
            self.pending = self.good.map(PendingStart::new);
        }
        self.start_pending(now, actions);
    }

    fn start_pending(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let Some(pending) = &mut self.pending else { return };
        let (base, epoch) = match self.serving {
            Some(serving) => {
                if self.leaving.iter().any(|leaving| leaving.process.base == serving.base) {
                    if !pending.is_reported {
                        pending.is_reported = true;
                        actions.push(Action::Report(LifecycleEvent::Waits(pending.configuration)));
                    }
                    return;
                }
                (serving.base, serving.epoch + 1)
            }
            None if now < self.after_loss => return,
            None => (self.bases + 1, 0),
        };
        if now < pending.not_before {
            return;
        }
        self.processes += 1;
        self.bases = self.bases.max(base);
        let process = Process { number: self.processes, base, epoch, configuration: pending.configuration };
        self.starting = Some(Starting { process, since: now, failures: pending.failures, is_killed: false });
        self.pending = None;
        actions.push(Action::Start(process));
    }
}

/// The delay before the next attempt after this many failures, which doubles each time.
fn delay(before: u32) -> Duration {
    Duration::from_secs(1).saturating_mul(1 << before.min(6)).min(LONGEST_DELAY)
}
