//! Courses that people would write down, and properties over random ones in a simulated world.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn configuration(number: u64) -> Configuration {
    Configuration { number, drain: seconds(2), shutdown: seconds(3) }
}

fn process(number: u64, base: u64, epoch: u32, of: u64) -> Process {
    Process { number, base, epoch, configuration: configuration(of) }
}

/// A machine whose first process, number 1, serves the first configuration.
fn serving() -> Machine {
    let mut machine = Machine::default();
    assert_eq!(machine.step(seconds(0), Event::Asked), [Action::Prepare]);
    let first = process(1, 1, 0, 1);
    let accepted = machine.step(seconds(0), Event::Accepted(configuration(1)));
    assert_eq!(accepted, [Action::Start(first)]);
    let live = machine.step(seconds(1), Event::Live(1));
    assert_eq!(live, [Action::Report(LifecycleEvent::Serves(first))]);
    machine
}

/// The same with a successor, number 2, that is starting.
fn succeeding() -> Machine {
    let mut machine = serving();
    assert_eq!(machine.step(seconds(10), Event::Asked), [Action::Prepare]);
    let accepted = machine.step(seconds(10), Event::Accepted(configuration(2)));
    assert_eq!(accepted, [Action::Start(process(2, 1, 1, 2))]);
    machine
}

#[test]
fn a_change_starts_a_successor_and_the_next_one_waits_until_the_first_has_ended() {
    let mut machine = succeeding();
    machine.step(seconds(11), Event::Live(2));
    assert_eq!(machine.serving(), Some(process(2, 1, 1, 2)));
    machine.step(seconds(11), Event::Asked);
    let waits = machine.step(seconds(11), Event::Accepted(configuration(3)));
    assert_eq!(waits, [Action::Report(LifecycleEvent::Waits(configuration(3)))]);
    assert_eq!(machine.step(seconds(13), Event::Tick), []);
    let gone = machine.step(seconds(14), Event::Ended(1));
    let next = process(3, 1, 2, 3);
    assert_eq!(gone, [Action::Report(LifecycleEvent::Gone(process(1, 1, 0, 1))), Action::Start(next)]);
}

#[test]
fn a_successor_that_fails_is_tried_again_with_its_epoch_three_times() {
    let mut machine = succeeding();
    let mut now = seconds(11);
    for (number, wait) in [(2, 1), (3, 2)] {
        let failed = process(number, 1, 1, 2);
        let again = now + seconds(wait);
        let report = Action::Report(LifecycleEvent::NotStarted { process: failed, again: Some(again) });
        assert_eq!(machine.step(now, Event::Ended(number)), [Action::RemoveMark(1), report]);
        let early = again.checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(machine.step(early, Event::Tick), []);
        now = again;
        let started = machine.step(now, Event::Tick);
        assert_eq!(started, [Action::Start(process(number + 1, 1, 1, 2))]);
    }
    let report = Action::Report(LifecycleEvent::NotStarted { process: process(4, 1, 1, 2), again: None });
    assert_eq!(machine.step(now, Event::Ended(4)), [Action::RemoveMark(1), report]);
    assert_eq!(machine.step(now + seconds(1000), Event::Tick), []);
    assert_eq!(machine.serving(), Some(process(1, 1, 0, 1)));
}

#[test]
fn a_successor_that_does_not_become_live_is_killed_and_its_predecessor_is_not() {
    let mut machine = succeeding();
    assert_eq!(machine.step(seconds(129), Event::Tick), []);
    assert_eq!(machine.step(seconds(130), Event::Tick), [Action::Kill(2)]);
    assert_eq!(machine.step(seconds(131), Event::Tick), []);
    // Too late.
    assert_eq!(machine.step(seconds(131), Event::Live(2)), []);
    assert_eq!(machine.serving(), Some(process(1, 1, 0, 1)));
}

#[test]
fn a_file_that_is_refused_changes_nothing_unless_it_is_the_first() {
    let mut machine = serving();
    assert_eq!(machine.step(seconds(10), Event::Asked), [Action::Prepare]);
    assert_eq!(machine.step(seconds(10), Event::Refused), []);
    assert_eq!(machine.serving(), Some(process(1, 1, 0, 1)));
    let mut machine = Machine::default();
    machine.step(seconds(0), Event::Asked);
    assert_eq!(machine.step(seconds(0), Event::Refused), [Action::Exit(End::Refused)]);
}

#[test]
fn a_file_that_is_as_it_was_starts_nothing_and_is_read_again_when_it_changes() {
    let mut machine = serving();
    assert_eq!(machine.step(seconds(10), Event::Asked), [Action::Prepare]);
    assert_eq!(machine.step(seconds(10), Event::Asked), []);
    assert_eq!(machine.step(seconds(11), Event::Unchanged), [Action::Prepare]);
    assert_eq!(machine.step(seconds(12), Event::Unchanged), []);
    assert_eq!(machine.step(seconds(13), Event::Asked), [Action::Prepare]);
}

#[test]
fn a_first_process_that_does_not_start_is_the_end() {
    let mut machine = Machine::default();
    machine.step(seconds(0), Event::Asked);
    machine.step(seconds(0), Event::Accepted(configuration(1)));
    let report = Action::Report(LifecycleEvent::NotStarted { process: process(1, 1, 0, 1), again: None });
    assert_eq!(machine.step(seconds(1), Event::Ended(1)), [report, Action::Exit(End::NotStarted)]);
}

#[test]
fn a_process_that_is_lost_is_replaced_at_once_and_later_after_growing_times() {
    let mut machine = serving();
    let mut now = seconds(10);
    for (number, wait) in [(1, 0), (2, 1), (3, 2), (4, 4)] {
        let again = now + seconds(wait);
        let report = Action::Report(LifecycleEvent::Lost { process: process(number, number, 0, 1), again });
        let next = Action::Start(process(number + 1, number + 1, 0, 1));
        if wait == 0 {
            assert_eq!(machine.step(now, Event::Ended(number)), [report, next]);
        } else {
            assert_eq!(machine.step(now, Event::Ended(number)), [report]);
            assert_eq!(machine.step(again, Event::Tick), [next]);
        }
        now = again;
        machine.step(now, Event::Live(number + 1));
    }
    // After a while it is the first time again.
    now += FORGOTTEN + seconds(1);
    assert_eq!(machine.step(now, Event::Ended(5)).len(), 2);
}

#[test]
fn a_new_configuration_that_never_starts_after_a_loss_gives_way_to_the_last_good_one() {
    let mut machine = serving();
    machine.step(seconds(10), Event::Asked);
    // The process is lost while the new file is prepared.
    machine.step(seconds(10), Event::Ended(1));
    assert_eq!(machine.starting().map(|one| one.configuration.number), Some(1));
    machine.step(seconds(11), Event::Accepted(configuration(2)));
    let mut now = seconds(12);
    let mut tried = Vec::new();
    while let Some(starting) = machine.starting().filter(|_| tried.len() < 5) {
        tried.push(starting.configuration.number);
        machine.step(now, Event::Ended(starting.number));
        now += seconds(60);
        machine.step(now, Event::Tick);
    }
    assert_eq!(tried, [1, 2, 2, 2, 1]);
}

#[test]
fn a_stop_drains_and_a_second_one_does_not_wait() {
    let mut machine = succeeding();
    let first = machine.step(seconds(11), Event::Stop);
    assert_eq!(first, [Action::Terminate(2), Action::Drain(1)]);
    assert_eq!(machine.step(seconds(12), Event::Ended(2)), []);
    assert_eq!(machine.step(seconds(12), Event::Stop), [Action::Terminate(1)]);
    assert_eq!(machine.step(seconds(22), Event::Tick), [Action::Kill(1)]);
    assert_eq!(machine.step(seconds(22), Event::Ended(1)), [Action::Exit(End::Stopped)]);
}

#[test]
fn a_drain_ends_with_the_last_connection_or_with_its_time() {
    let mut machine = serving();
    assert_eq!(machine.step(seconds(10), Event::Stop), [Action::Drain(1)]);
    assert_eq!(machine.step(seconds(11), Event::Tick), []);
    assert_eq!(machine.step(seconds(11), Event::Unconnected), [Action::Terminate(1)]);
    let mut machine = serving();
    machine.step(seconds(10), Event::Stop);
    assert_eq!(machine.step(seconds(12), Event::Tick), [Action::Terminate(1)]);
}

#[test]
fn a_process_that_was_replaced_and_does_not_end_is_told_to() {
    let mut machine = succeeding();
    machine.step(seconds(11), Event::Live(2));
    assert_eq!(machine.step(seconds(23), Event::Tick), []);
    assert_eq!(machine.step(seconds(24), Event::Tick), [Action::Terminate(1)]);
    assert_eq!(machine.step(seconds(34), Event::Tick), [Action::Kill(1)]);
    assert_eq!(machine.step(seconds(90), Event::Tick), []);
}

/// Fate of a process.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It is live after some ticks.
    Live(u64),
    /// It ends after some ticks.
    Fails(u64),
    /// It stays as it is until it is killed.
    Hangs,
}

/// Step of a random course.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Ticks pass.
    Wait(u64),
    /// The file changes; it is accepted or refused.
    Change(bool),
    /// The process that serves is lost.
    Lose,
    /// A process that drains does not end by itself.
    Stick,
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Serving,
    Draining,
}

/// A process of the simulated world.
#[derive(Clone, Copy, Debug)]
struct Simulated {
    process: Process,
    state: State,
    /// Time at which it ends.
    ends: Option<Moment>,
    /// Time at which it is live.
    lives: Option<Moment>,
}

/// Half a second.
const TICK: Duration = Duration::from_millis(500);

struct World {
    machine: Machine,
    now: Moment,
    alive: BTreeMap<u64, Simulated>,
    fates: Vec<Fate>,
    started: usize,
    /// Time at which the file that is read is prepared, its version, and true if it is accepted.
    prepared: Option<(Moment, u64, bool)>,
    /// The version of the file on disk, and true if it is accepted.
    file: (u64, bool),
    /// The versions of accepted files; the number of a configuration is that of its version here, from 1.
    accepted: Vec<u64>,
    /// The numbers of the configurations that are kept.
    kept: BTreeSet<u64>,
    bases: BTreeSet<u64>,
    given_up: Option<u64>,
    is_stopped: bool,
    end: Option<End>,
}

impl World {
    fn new(fates: Vec<Fate>) -> Self {
        let mut world = Self {
            machine: Machine::default(),
            now: Moment::ZERO,
            alive: BTreeMap::new(),
            fates,
            started: 0,
            prepared: None,
            file: (0, true),
            accepted: Vec::new(),
            kept: BTreeSet::new(),
            bases: BTreeSet::new(),
            given_up: None,
            is_stopped: false,
            end: None,
        };
        world.dispatch(Event::Asked);
        world
    }

    fn serving(&self) -> Option<Simulated> {
        self.alive.values().copied().find(|one| one.state == State::Serving)
    }

    /// Passes an event to the machine, and performs its actions.
    fn dispatch(&mut self, event: Event) {
        for action in self.machine.step(self.now, event) {
            assert!(self.end.is_none(), "{action:?} after the end");
            self.act(action);
        }
        let needed: BTreeSet<u64> = self.machine.needed().collect();
        self.kept.retain(|number| needed.contains(number));
    }

    fn act(&mut self, action: Action) {
        let soon = self.now + TICK;
        match action {
            Action::Prepare => {
                assert!(self.prepared.is_none(), "two files are prepared at once");
                self.prepared = Some((soon, self.file.0, self.file.1));
            }
            Action::Start(process) => self.start(process),
            Action::RemoveMark(base) => {
                let is_starting = |one: &Simulated| one.process.base == base && one.state == State::Starting;
                assert!(!self.alive.values().any(is_starting), "the mark of a start is removed");
            }
            Action::Drain(number) => assert_eq!(self.serving().map(|one| one.process.number), Some(number)),
            Action::Terminate(number) | Action::Kill(number) => {
                let one = self.alive.get_mut(&number).expect("it is told to one that has ended");
                assert!(self.is_stopped || one.state != State::Serving, "{action:?} ends what serves");
                let is_obeyed = matches!(action, Action::Kill(_)) || number % 3 > 0;
                if is_obeyed {
                    one.ends = Some(one.ends.map_or(soon, |ends| ends.min(soon)));
                }
            }
            Action::Report(LifecycleEvent::NotStarted { process, again: None }) => {
                self.given_up = Some(process.configuration.number);
            }
            Action::Report(_) => {}
            Action::Exit(end) => {
                assert!(self.alive.is_empty(), "a process is left: {:?}", self.alive);
                self.end = Some(end);
            }
        }
    }

    fn start(&mut self, process: Process) {
        assert!(!self.is_stopped, "a start after a stop");
        assert!(!self.alive.values().any(|one| one.state == State::Starting), "two starts at once");
        assert!(self.kept.contains(&process.configuration.number), "it was not accepted, or is not kept");
        if let Some(serving) = self.serving() {
            let before = serving.process;
            assert_eq!((process.base, process.epoch), (before.base, before.epoch + 1));
            let is_cut = |one: &Simulated| one.process.base == before.base && one.state == State::Draining;
            assert!(!self.alive.values().any(is_cut), "requests of a process that drains are cut off");
        } else {
            assert_eq!(process.epoch, 0);
            assert!(self.bases.insert(process.base), "the base id had processes before");
        }
        let fate = self.fates.get(self.started).copied().unwrap_or(Fate::Live(1));
        self.started += 1;
        let after = |ticks: u64| Some(self.now + TICK * (ticks as u32 + 1));
        let (lives, ends) = match fate {
            Fate::Live(ticks) => (after(ticks), None),
            Fate::Fails(ticks) => (None, after(ticks)),
            Fate::Hangs => (None, None),
        };
        let simulated = Simulated { process, state: State::Starting, ends, lives };
        self.alive.insert(process.number, simulated);
    }

    fn tick(&mut self, sticks: bool) {
        self.now += TICK;
        if let Some((_, version, is_accepted)) = self.prepared.take_if(|(at, ..)| *at <= self.now) {
            if is_accepted {
                self.accepted.push(version);
                self.kept.insert(self.accepted.len() as u64);
                self.dispatch(Event::Accepted(configuration(self.accepted.len() as u64)));
            } else {
                self.dispatch(Event::Refused);
            }
        }
        let numbers: Vec<u64> = self.alive.keys().copied().collect();
        for number in numbers {
            let Some(one) = self.alive.get(&number).copied() else { continue };
            if one.ends.is_some_and(|at| at <= self.now) {
                self.alive.remove(&number);
                self.dispatch(Event::Ended(number));
            } else if one.state == State::Starting && one.lives.is_some_and(|at| at <= self.now) {
                for before in self.alive.values_mut().filter(|before| before.state == State::Serving) {
                    before.state = State::Draining;
                    before.ends = (!sticks).then_some(self.now + one.process.configuration.shutdown);
                }
                if let Some(one) = self.alive.get_mut(&number) {
                    one.state = State::Serving;
                }
                self.dispatch(Event::Live(number));
            }
        }
        self.dispatch(Event::Tick);
    }
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => (0_u64..6).prop_map(Fate::Live),
        2 => (0_u64..6).prop_map(Fate::Fails),
        1 => Just(Fate::Hangs),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1_u64..20).prop_map(Step::Wait),
        1 => (200_u64..700).prop_map(Step::Wait),
        4 => prop::bool::weighted(0.7).prop_map(Step::Change),
        1 => Just(Step::Lose),
        1 => Just(Step::Stick),
    ]
}

proptest! {
    // Each case has up to sixty steps and two thousand ticks.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_happens_the_rules_hold_and_the_last_good_file_is_served_at_last(
        fates in prop::collection::vec(any_fate(), 0..30),
        steps in prop::collection::vec(any_step(), 1..60),
        is_stopped in any::<bool>(),
    ) {
        let mut world = World::new(fates);
        let mut sticks = false;
        let stop = is_stopped.then_some(Step::Stop);
        for step in steps.into_iter().chain(stop) {
            match step {
                Step::Wait(ticks) => (0..ticks).for_each(|_| world.tick(sticks)),
                Step::Change(is_accepted) => {
                    world.file = (world.file.0 + 1, is_accepted);
                    world.dispatch(Event::Asked);
                }
                Step::Lose => {
                    if let Some(serving) = world.serving() {
                        world.alive.remove(&serving.process.number);
                        world.dispatch(Event::Ended(serving.process.number));
                    }
                }
                Step::Stick => sticks = !sticks,
                Step::Stop => {
                    world.is_stopped = true;
                    world.dispatch(Event::Stop);
                }
            }
        }
        // From here on nothing fails, and the times of all that may still hang pass.
        world.fates.truncate(world.started);
        for _ in 0..2_000 {
            world.tick(false);
        }
        if is_stopped || world.end.is_some() {
            prop_assert!(world.end.is_some() && world.alive.is_empty());
            prop_assert!(!is_stopped || world.end.is_some());
        } else {
            let serving = world.serving().map(|one| one.process.configuration.number);
            prop_assert!(serving.is_some(), "nothing serves");
            let last = world.accepted.len() as u64;
            prop_assert!(serving == Some(last) || world.given_up == Some(last));
            let (version, is_accepted) = world.file;
            prop_assert!(!is_accepted || world.accepted.last() == Some(&version), "the file on disk was not read");
            prop_assert_eq!(world.alive.len(), 1);
            prop_assert_eq!(world.machine.serving().map(|one| one.configuration.number), serving);
            prop_assert_eq!(world.kept.into_iter().collect::<Vec<_>>(), Vec::from_iter(serving));
        }
    }
}
