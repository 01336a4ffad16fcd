//! Performs the actions of the state machine: prepares files, starts, monitors and ends processes, and passes events to the machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::env;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hoptax_bootstrap::without_secrets;
use hoptax_host::child::reap_adopted;
use hoptax_host::environment::now;
use hoptax_host::service::OnLine;
use hoptax_subject::envoy::release::Envoy;
use hoptax_subject::envoy::shared_memory::BaseId;

use crate::endpoint;
use crate::folder::{self, Folder};
use crate::launch::{Common, Running, connections, drain, observe, workers};
use crate::machine::{Action, Configuration, End, Event, LifecycleEvent, Machine, Moment, Process};
use crate::observed::Observed;
use crate::prepare::{Files, Prepared, prepare};
use crate::report::Reporter;
use crate::slow::Upstreams;
use crate::status::{Serving, State};
use crate::watch::{self, Watch};

/// Maximum time without polling anything.
const TICK: Duration = Duration::from_millis(25);
/// Polling interval of the request phases, which is the update interval of Envoy's histograms.
const OBSERVED_EVERY: Duration = Duration::from_secs(5);
/// Polling interval of a draining Envoy's connections, and of adopted processes.
const COUNTED_EVERY: Duration = Duration::from_millis(200);

/// Options of a supervisor.
#[derive(Clone, Debug)]
pub struct Options {
    /// The listeners file.
    pub listeners: PathBuf,
    /// A file with services that it names.
    pub services: Option<PathBuf>,
    /// The Envoy.
    pub envoy: Envoy,
    /// The address to serve the status at.
    pub status: SocketAddr,
}

/// A user's request to a running supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read the file again, and restart Envoy even if the file is unchanged.
    Restart,
    /// Stop; a second request stops at once.
    Stop,
}

/// Reason why the supervisor could not run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The first file is refused.
    #[error("{0}")]
    Refused(String),
    /// Something is missing on this machine.
    #[error("{0}")]
    Environment(String),
}

/// A message from another thread.
enum Message {
    Prepared(u64, Result<Box<Prepared>, String>),
    Live(u64),
    Observed(u64, Result<Observed, String>),
    Connections(Result<u64, String>),
}

/// Runs until the user requests a stop. `log` receives lines for people, `on_line` the output of the Envoys. The calling thread must
/// outlive all others, because the kernel kills the Envoys when it ends.
///
/// # Errors
/// When the first file is refused, the first Envoy does not start, or the status cannot be served.
pub fn run(
    options: &Options,
    requests: &Receiver<Request>,
    log: &dyn Fn(&str),
    on_line: &OnLine,
) -> Result<(), Failure> {
    let environment =
        |what: &str, error: &dyn std::fmt::Display| Failure::Environment(format!("{what}: {error}"));
    let listener = TcpListener::bind(options.status)
        .map_err(|error| environment(&format!("cannot serve the status at {}", options.status), &error))?;
    let address = listener.local_addr().map_err(|error| environment("no address", &error))?;
    for left in folder::remove_left(&env::temp_dir()) {
        log(&format!("removed `{}`, which a killed supervisor left behind", left.display()));
    }
    let folder = Folder::create(&env::temp_dir())
        .map_err(|error| environment("cannot create a temporary folder", &error))?;
    let began = SystemTime::now();
    let reporter = Reporter::new(&options.listeners.display().to_string(), began, log);
    endpoint::serve(listener, reporter.status())
        .map_err(|error| environment("cannot start a thread", &error))?;
    let mut supervisor = Supervisor::new(options, reporter, on_line, folder, address);
    supervisor.dispatch(Event::Asked);
    let end = supervisor.run(requests);
    supervisor.stop.store(true, Ordering::Relaxed);
    match end {
        End::Stopped => Ok(()),
        End::Refused => Err(Failure::Refused(supervisor.why)),
        End::NotStarted => Err(Failure::Environment(supervisor.why)),
    }
}

struct Supervisor<'a> {
    options: &'a Options,
    reporter: Reporter<'a>,
    on_line: &'a OnLine,
    began: Instant,
    machine: Machine,
    end: Option<End>,
    common: Common,
    running: BTreeMap<u64, Running>,
    /// Accepted configurations that may still be started, by number.
    configurations: BTreeMap<u64, Prepared>,
    /// The number of the next configuration.
    next: u64,
    /// The last accepted configuration, unless it was given up.
    accepted: Option<u64>,
    /// True if the next file to be read is started even if it is unchanged.
    is_forced: bool,
    /// Set to end the waits of other threads.
    stop: Arc<AtomicBool>,
    /// Reason why the last file was refused, or the last process ended.
    why: String,
    sender: Sender<Message>,
    messages: Receiver<Message>,
    watch: Watch,
    upstreams: Upstreams,
    /// True while a query of an admin interface is in progress.
    is_asking: bool,
    looked: Moment,
    observed: Moment,
    counted: Moment,
    /// Address of the status until it has been logged.
    address: Option<SocketAddr>,
    folder: Folder,
}

impl<'a> Supervisor<'a> {
    fn new(
        options: &'a Options,
        reporter: Reporter<'a>,
        on_line: &'a OnLine,
        folder: Folder,
        address: SocketAddr,
    ) -> Self {
        let (sender, messages) = mpsc::channel();
        let program = options.envoy.program.clone();
        let paths = [Some(options.listeners.clone()), options.services.clone()];
        Self {
            options,
            reporter,
            on_line,
            began: Instant::now(),
            machine: Machine::default(),
            end: None,
            common: Common { program, folder: folder.path().to_owned(), workers: workers() },
            running: BTreeMap::new(),
            configurations: BTreeMap::new(),
            next: 1,
            accepted: None,
            is_forced: false,
            stop: Arc::default(),
            why: String::new(),
            sender,
            messages,
            watch: Watch::new(paths.into_iter().flatten().collect()),
            upstreams: Upstreams::default(),
            is_asking: false,
            looked: Moment::ZERO,
            observed: Moment::ZERO,
            counted: Moment::ZERO,
            address: Some(address),
            folder,
        }
    }

    fn now(&self) -> Moment {
        self.began.elapsed()
    }

    /// Runs the event loop until the end.
    fn run(&mut self, requests: &Receiver<Request>) -> End {
        loop {
            if let Some(end) = self.end {
                return end;
            }
            if let Ok(message) = self.messages.recv_timeout(TICK) {
                self.handle_message(message);
            }
            while let Ok(request) = requests.try_recv() {
                self.handle_request(request);
            }
            self.look();
            self.dispatch(Event::Tick);
        }
    }

    fn handle_request(&mut self, request: Request) {
        match request {
            Request::Restart => {
                self.is_forced = true;
                self.dispatch(Event::Asked);
            }
            Request::Stop => {
                self.stop.store(true, Ordering::Relaxed);
                self.reporter.stopping();
                self.dispatch(Event::Stop);
            }
        }
    }

    /// Polls files and processes.
    fn look(&mut self) {
        let now = self.now();
        for number in self.running.keys().copied().collect::<Vec<_>>() {
            let Some(running) = self.running.get_mut(&number) else { continue };
            let Ok(Some(status)) = running.service.ended() else { continue };
            let last = running.service.last_lines();
            let last = if last.is_empty() { String::new() } else { format!("; its last output:\n{last}") };
            self.why = format!("process {} ended ({status}){last}", running.service.id());
            let base = running.process.base;
            self.running.remove(&number);
            self.dispatch(Event::Ended(number));
            if !self.running.values().any(|running| running.process.base == base) {
                self.folder.forget(base);
            }
        }
        if now.saturating_sub(self.looked) >= watch::INTERVAL {
            self.looked = now;
            if self.watch.is_changed() {
                self.reporter.log("the file has changed");
                self.dispatch(Event::Asked);
            }
        }
        if now.saturating_sub(self.counted) >= COUNTED_EVERY {
            self.counted = now;
            reap_adopted();
            if self.machine.is_stopping() {
                self.ask(|admin, sender, _| drop(sender.send(Message::Connections(connections(admin)))));
            }
        }
        if now.saturating_sub(self.observed) >= OBSERVED_EVERY && !self.machine.is_stopping() {
            self.observed = now;
            self.ask(|admin, sender, number| drop(sender.send(Message::Observed(number, observe(admin)))));
        }
    }

    /// Queries the serving process on another thread.
    fn ask(&mut self, question: impl FnOnce(SocketAddr, &Sender<Message>, u64) + Send + 'static) {
        let Some(serving) = self.machine.serving().filter(|_| !self.is_asking) else { return };
        let Some(admin) = self.running.get(&serving.number).and_then(Running::admin) else { return };
        let sender = self.sender.clone();
        let ask = move || question(admin, &sender, serving.number);
        // If no thread can be started, it is queried the next time.
        self.is_asking = thread::Builder::new().name("ask".to_owned()).spawn(ask).is_ok();
    }

    fn handle_message(&mut self, message: Message) {
        match message {
            Message::Prepared(number, Ok(prepared)) => self.accept(number, *prepared),
            Message::Prepared(_, Err(_)) if self.machine.is_stopping() => self.dispatch(Event::Refused),
            Message::Prepared(_, Err(why)) => {
                self.is_forced = false;
                let why = without_secrets(&why);
                if self.machine.serving().is_some() {
                    self.reporter
                        .log(&format!("the file is refused, and the previous one is still served:\n{why}"));
                }
                self.reporter.refused(&why);
                self.why = why;
                self.dispatch(Event::Refused);
            }
            Message::Live(number) => self.dispatch(Event::Live(number)),
            Message::Observed(number, Ok(observed)) => {
                self.is_asking = false;
                self.upstreams.take(self.now(), number, observed);
                self.reporter.upstreams(&self.upstreams);
            }
            Message::Observed(_, Err(why)) => {
                self.is_asking = false;
                self.reporter.change(|status| status.unknown_times = Some(why));
            }
            Message::Connections(count) => {
                self.is_asking = false;
                if count == Ok(0) {
                    self.dispatch(Event::Unconnected);
                }
            }
        }
    }

    fn accept(&mut self, number: u64, prepared: Prepared) {
        let is_forced = std::mem::take(&mut self.is_forced);
        let before = self.accepted.and_then(|before| self.configurations.get(&before));
        if !is_forced && before.is_some_and(|before| before.text == prepared.text) {
            self.reporter.log("the configuration has not changed");
            let serving = self.machine.serving().map(|one| one.configuration.number);
            self.reporter.unchanged(serving == self.accepted);
            self.dispatch(Event::Unchanged);
            return;
        }
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let restart = prepared.restart;
        let configuration =
            Configuration { number, drain: seconds(restart.drain_s), shutdown: seconds(restart.shutdown_s) };
        self.configurations.insert(number, prepared);
        self.accepted = Some(number);
        self.reporter.accepted();
        if let Some(address) = self.address.take() {
            self.reporter.log(&format!("the status is at http://{address}/"));
        }
        self.dispatch(Event::Accepted(configuration));
    }

    /// Passes an event to the machine, and performs its actions.
    fn dispatch(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.machine.step(self.now(), event) {
                events.extend(self.act(action));
            }
        }
        let leaving: Vec<u32> = self
            .machine
            .leaving()
            .filter_map(|process| Some(self.running.get(&process.number)?.service.id()))
            .collect();
        self.reporter.change(|status| status.leaving = leaving);
        // Configurations that are no longer needed are never started again.
        let needed: BTreeSet<u64> = self.machine.needed().collect();
        self.configurations.retain(|number, _| needed.contains(number));
    }

    /// Performs an action. Returns an event that follows immediately, if any.
    fn act(&mut self, action: Action) -> Option<Event> {
        let running = |number: u64| self.running.get(&number);
        match action {
            Action::Prepare => self.prepare(),
            Action::Start(process) => return self.start(process),
            Action::RemoveMark(base) => {
                if let Some(Err(error)) = self.folder.known_base(base).map(BaseId::remove_mark) {
                    self.reporter.log(&format!("the next restart may fail: {error}"));
                }
            }
            Action::Drain(number) => {
                if let Some(admin) = running(number).and_then(Running::admin) {
                    self.reporter.log("ends when no connection is left");
                    // If this fails, Envoy's drain time passes.
                    let _ = thread::Builder::new().name("drain".to_owned()).spawn(move || drain(admin));
                }
            }
            Action::Terminate(number) => {
                if let Some(running) = running(number) {
                    running.service.terminate();
                }
            }
            Action::Kill(number) => {
                if let Some(running) = running(number) {
                    self.reporter.log(&format!(
                        "process {} does not react in time, and is killed",
                        running.service.id()
                    ));
                    running.service.kill();
                }
            }
            Action::Report(event) => self.report(event),
            Action::Exit(end) => self.end = Some(end),
        }
        None
    }

    fn prepare(&mut self) {
        self.reporter.reading();
        let files =
            Files { listeners: self.options.listeners.clone(), services: self.options.services.clone() };
        let number = self.next;
        self.next += 1;
        let config = self.folder.path().join(format!("envoy-{number}.json"));
        let (envoy, stop, sender) = (self.options.envoy.clone(), Arc::clone(&self.stop), self.sender.clone());
        let prepare = move || {
            let prepared = prepare(&files, &envoy, &config, &stop);
            // The supervisor may have ended.
            let _ = sender.send(Message::Prepared(number, prepared.map(Box::new)));
        };
        if let Err(error) = thread::Builder::new().name("prepare".to_owned()).spawn(prepare) {
            let why = format!("cannot start a thread: {error}");
            let _ = self.sender.send(Message::Prepared(number, Err(why)));
        }
    }

    fn start(&mut self, process: Process) -> Option<Event> {
        let started = match self.configurations.get(&process.configuration.number) {
            Some(prepared) => self
                .folder
                .base(process.base)
                .and_then(|base| self.common.start(process, base, prepared, self.on_line)),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        let sender = self.sender.clone();
        let send_live = move || drop(sender.send(Message::Live(process.number)));
        match started.and_then(|running| running.on_live(send_live).map(|()| running)) {
            Ok(running) => {
                self.running.insert(process.number, running);
                None
            }
            Err(error) => {
                self.why = format!("cannot start `{}`: {error}", self.common.program.display());
                Some(Event::Ended(process.number))
            }
        }
    }

    fn report(&mut self, event: LifecycleEvent) {
        match event {
            LifecycleEvent::Waits(_) => {
                let reason = "until the process before the last has ended; otherwise, Envoy would cut off its requests"
                    .to_owned();
                self.reporter.log(&format!("the file is accepted, and waits {reason}"));
                self.reporter.waits(&reason);
            }
            LifecycleEvent::Serves(process) => self.serves(process),
            LifecycleEvent::NotStarted { process, again } => {
                self.reporter.change(|status| status.counts.not_started += 1);
                let is_last = self.accepted == Some(process.configuration.number);
                let next = match again {
                    Some(again) => format!("the next attempt is at {}", self.reporter.time(again)),
                    None => "it is not tried again".to_owned(),
                };
                let reason = format!("an Envoy did not start, and {next}: {}", self.why);
                self.reporter.log(&reason);
                match again {
                    _ if !is_last => {}
                    Some(_) => self.reporter.waits(&reason),
                    None => {
                        self.reporter.given_up(&reason);
                        self.accepted = None;
                    }
                }
            }
            LifecycleEvent::Lost { again, .. } => {
                let next = self.reporter.time(again);
                self.reporter.log(&format!(
                    "the Envoy that served has ended by itself; the next one starts at {next}: {}",
                    self.why
                ));
                self.reporter.change(|status| {
                    status.counts.lost += 1;
                    status.serving = None;
                    if status.state == State::Serving {
                        status.state = State::Starting;
                    }
                });
            }
            LifecycleEvent::Gone(process) => self.reporter.log(&format!("epoch {} has ended", process.epoch)),
        }
    }

    fn serves(&mut self, process: Process) {
        let number = process.configuration.number;
        let Some(running) = self.running.get(&process.number) else { return };
        let prepared = self.configurations.get(&number);
        let serving = Serving {
            envoy: self.options.envoy.version.clone(),
            process_id: running.service.id(),
            epoch: process.epoch,
            since: now(),
            listeners: prepared.map_or(0, |prepared| prepared.listeners),
            warnings: prepared.map_or(0, |prepared| prepared.warnings),
        };
        self.reporter.serves(process, serving, self.accepted == Some(number));
    }
}
