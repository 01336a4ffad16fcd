//! Searches of a server in virtual time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hoptax_checks::objective::Objective;
use hoptax_checks::thresholds::Limits;
use hoptax_load::trial::TrialSpec;
use hoptax_load::{Arrivals, Target};
use hoptax_result::{Book, Environment, FindEnd, FindResult, FindState, LoadResult, sample};
use hoptax_stats::search::{self as steps, Search, SearchError, Step};
use hoptax_subject::envoy::release::EnvoyChoice;

use super::common::{criteria, goals, refusal};
use super::options::Options;
use super::server::{Aim, Goal, Server, on_server, search};
use super::trials::judged;
use super::virtual_server::VirtualServer;
use super::{Found, Preset};
use crate::awake::NeverHalt;
use crate::failure::{Failure, Kind};
use crate::interrupt::Interrupt;
use crate::load::{Load, Requests};
use crate::update::tests::noted;
use crate::update::{Say, Update};

/// Input of a search.
#[derive(Default)]
struct Asked<'a> {
    objectives: &'a [&'a str],
    goal: Goal,
    range: (Option<f64>, Option<f64>),
    sweep: bool,
    /// The load during which the search is interrupted.
    interrupted_in: Option<usize>,
}

impl Asked<'_> {
    /// Searches a server in virtual time. Returns the result with the lines of its progress.
    fn search(&self, subject: VirtualServer) -> (Found<FindResult>, Vec<String>) {
        noted(|say| self.told(subject, say))
    }

    /// Searches a server in virtual time, and tells of it.
    fn told(&self, subject: VirtualServer, say: Say<'_>) -> Found<FindResult> {
        let objectives: Vec<Objective> = self.objectives.iter().map(|text| text.parse().unwrap()).collect();
        let limits = Limits::default();
        let options = Options {
            objectives: &objectives,
            preset: Preset::Quick,
            min_rate: self.range.0,
            max_rate: self.range.1,
            budget: Some(Duration::from_hours(1)),
            limits: &limits,
            envoy: EnvoyChoice::default(),
            never_halt: NeverHalt::Never,
        };
        let target = Target::new("http://127.0.0.1:1/", "GET", Vec::new(), Vec::new()).unwrap();
        let aim = Aim { arrivals: Arrivals::Uniform, goal: self.goal, each: false, sweep: self.sweep };
        let server = Server { spec: TrialSpec::new(target), aim };
        let (interrupt, sent) = (Interrupt::default(), AtomicUsize::new(0));
        let send_load = |spec: &TrialSpec| {
            if self.interrupted_in == Some(sent.fetch_add(1, Ordering::Relaxed)) {
                interrupt.flag().store(true, Ordering::Relaxed);
            }
            Ok(subject.load(spec))
        };
        search(server, &options, Environment::default(), Box::new(send_load), &interrupt, say).unwrap()
    }
}

#[test]
fn a_trial_without_a_request_does_not_count() {
    let objectives: [Objective; 1] = ["errors<=0%".parse().unwrap()];
    let range = steps::Limits::new(1.0, 10.0);
    let search = Search::new(&criteria(&objectives), &goals(objectives.len(), false), range).unwrap();
    let Step::Trial(planned) = search.next() else { panic!("no trial is planned") };
    let tried = |result| judged(result, &planned, planned.duration, &objectives, &Limits::default());
    assert!(tried(sample::load()).measured.samples.is_some());
    let mut empty = sample::load();
    empty.book = Book::default();
    let empty = tried(empty);
    assert_eq!(empty.measured.samples, None);
    assert!(
        empty.trial.generator_limits.iter().any(|one| one.starts_with("no-request: ")),
        "{:?}",
        empty.trial
    );
}

#[test]
fn a_budget_that_is_too_short_is_refused_with_one_that_suffices() {
    let error = SearchError::Budget { budget: Duration::ZERO, trial: Duration::from_millis(1_300) };
    let refused = refusal(&error, "no time", |trial| Duration::from_secs(11) + trial).to_string();
    assert_eq!(refused, "no time: 1.3 s are needed, and 0.0 s are left; raise it to `--budget 14s`");
}

#[test]
fn an_empty_range_is_refused_before_anything_is_sent() {
    let limits = Limits::default();
    for (min_rate, max_rate, expected) in [
        (Some(20.0), Some(20.0), "must be below the highest"),
        (Some(20.0), Some(10.0), "must be below the highest"),
        (None, Some(0.5), "must be below the highest"),
        (Some(0.5), None, "must be at least 1"),
    ] {
        let options = Options {
            objectives: &[],
            preset: Preset::Quick,
            min_rate,
            max_rate,
            budget: None,
            limits: &limits,
            envoy: EnvoyChoice::default(),
            never_halt: NeverHalt::Never,
        };
        let target = Target::new("http://127.0.0.1:1/", "GET", Vec::new(), Vec::new()).unwrap();
        let aim = Aim { arrivals: Arrivals::Uniform, ..Aim::default() };
        let server = Server { spec: TrialSpec::new(target), aim };
        let send_load = |_: &TrialSpec| -> Result<LoadResult, Failure> { panic!("a load was sent") };
        let found = search(
            server,
            &options,
            Environment::default(),
            Box::new(send_load),
            &Interrupt::default(),
            &|_: Update<'_>| {},
        );
        let why = found.unwrap_err().to_string();
        assert!(why.contains(expected), "{min_rate:?} {max_rate:?}: {why}");
    }
}

#[test]
fn a_search_without_an_objective_or_with_one_of_unnamed_processes_is_refused_before_anything_is_sent() {
    let limits = Limits::default();
    let of_processes: [Objective; 1] = ["cpu_us<50".parse().unwrap()];
    let none: [Objective; 0] = [];
    for (objectives, expected) in [
        (&none[..], "name an objective that must hold"),
        (&of_processes[..], "need processes on this machine"),
    ] {
        let options = Options {
            objectives,
            preset: Preset::Quick,
            min_rate: None,
            max_rate: None,
            budget: None,
            limits: &limits,
            envoy: EnvoyChoice::default(),
            never_halt: NeverHalt::Never,
        };
        // Without a URL, nothing could be sent.
        let refused =
            on_server(&Load::default(), Aim::default(), &options, &Interrupt::default(), &|_: Update<'_>| {});
        let why = refused.unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_search_that_is_interrupted_while_its_load_is_prepared_does_not_begin() {
    let limits = Limits::default();
    let objectives: [Objective; 1] = ["p99<5ms".parse().unwrap()];
    let options = Options {
        objectives: &objectives,
        preset: Preset::Quick,
        // The search would refuse it.
        min_rate: Some(0.5),
        max_rate: None,
        budget: None,
        limits: &limits,
        envoy: EnvoyChoice::default(),
        never_halt: NeverHalt::Never,
    };
    let urls = vec!["http://127.0.0.1:1/".to_owned().into()];
    let load = Load { requests: Requests { urls, ..Requests::default() }, ..Load::default() };
    let ended_by = |is_interrupted: bool| {
        let interrupt = Interrupt::default();
        interrupt.flag().store(is_interrupted, Ordering::Relaxed);
        on_server(&load, Aim::default(), &options, &interrupt, &|_: Update<'_>| {}).unwrap_err().kind
    };
    assert_eq!([true, false].map(ended_by), [Kind::Interrupted, Kind::BadInput]);
}

#[test]
fn the_look_for_a_fastest_mode_stays_within_the_highest_rate() {
    let server = VirtualServer::Crowded(Duration::from_millis(5), 8, Duration::from_millis(200));
    let asked = Asked { goal: Goal::FastestMode, range: (None, Some(5.0)), ..Asked::default() };
    let (found, lines) = asked.search(server);
    let loads = &found.result.fastest_mode.as_ref().unwrap().loads;
    let rates: Vec<Option<f64>> = loads.iter().map(|load| load.rate).collect();
    assert_eq!(rates, [None, Some(5.0)], "{lines:#?}");
}

#[test]
fn the_capacity_of_a_server_is_found_whatever_the_time_of_a_request() {
    for service_us in [500, 2_000, 8_000] {
        let asked = Asked { objectives: &["p90<100ms"], ..Asked::default() };
        let (found, lines) = asked.search(VirtualServer::OneAtATime(Duration::from_micros(service_us)));
        let (goal, capacity) = (&found.result.goals[0], 1e6 / service_us as f64);
        assert!([FindState::Found, FindState::Bounded].contains(&goal.state), "{goal:?}\n{lines:#?}");
        let estimate = goal.estimate.unwrap();
        assert!(
            (0.94 * capacity..1.04 * capacity).contains(&estimate),
            "{service_us} us: {goal:?}\n{lines:#?}"
        );
        assert_eq!(goal.limited_by, ["p90<100ms"]);
        assert_eq!(found.result.ended_by, FindEnd::Complete);
        let of_trials: Vec<&String> = lines.iter().filter(|line| line.contains("p90<100ms: ")).collect();
        assert_eq!(of_trials.len(), found.result.trials.len(), "{lines:#?}");
        assert!(of_trials.iter().all(|line| line.chars().count() <= 100), "{lines:#?}");
        assert!(of_trials.last().is_some_and(|line| line.contains("; so far ")), "{lines:#?}");
    }
}

#[test]
fn a_search_tells_before_each_trial_what_is_known() {
    let (states, ended) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let say = |update: Update<'_>| match update {
        Update::Search(state) => states.lock().unwrap().push(state.clone()),
        Update::Trial(trial) => ended.lock().unwrap().push(trial.clone()),
        _ => {}
    };
    let asked = Asked { objectives: &["p90<100ms"], ..Asked::default() };
    let result = asked.told(VirtualServer::OneAtATime(Duration::from_millis(2)), &say).result;
    assert_eq!(ended.into_inner().unwrap(), result.trials, "each trial is told when it has ended");
    let states = states.into_inner().unwrap();
    assert_eq!(states.len(), result.trials.len(), "{states:#?}");
    assert!(states.iter().zip(0..).all(|(state, trials)| state.trials == trials), "{states:#?}");
    assert!(states.iter().all(|state| state.now.starts_with("trial at ") && state.known.len() == 1));
    let (first, last) = (&states[0].known[0], &states[states.len() - 1].known[0]);
    assert_eq!((first.of.as_str(), first.holds, first.fails), ("p90<100ms", None, None));
    assert!(last.holds.or(last.fails).is_some(), "{last:?}");
    let between = first.min..=first.max;
    assert!(last.holds.into_iter().chain(last.fails).all(|rate| between.contains(&rate)), "{last:?}");
}

#[test]
fn a_sweep_visits_each_rate_in_each_block_and_finds_the_knee() {
    let asked =
        Asked { objectives: &["p50<1s"], range: (Some(500.0), Some(505.0)), sweep: true, ..Asked::default() };
    let (found, lines) = asked.search(VirtualServer::OneAtATime(Duration::from_micros(1_900)));
    assert_eq!(found.result.goals[0].state, FindState::MaximumHeld, "{lines:#?}");
    assert!(lines.contains(&"sweep up to 505 requests/s: about 1m 18s".to_owned()), "{lines:#?}");
    let sweep = found.result.sweep.as_ref().unwrap();
    let visited: Vec<(f64, u32)> = sweep.points.iter().map(|point| (point.rate, point.trials)).collect();
    assert!((1..=10).zip(&visited).all(|(step, (rate, _))| (rate - 50.5 * f64::from(step)).abs() < 1e-9));
    let is_in_each_block = |(_, trials): &(f64, u32)| (*trials, sweep.blocks) == (6, 6);
    assert!(visited.len() == 10 && visited.iter().all(is_in_each_block), "{visited:?}");
    let means_us: Vec<f64> = sweep.points.iter().filter_map(|point| Some(point.mean_us?.estimate)).collect();
    assert!(means_us.len() == 10 && means_us.iter().all(|us| (us - 1_900.0).abs() < 0.1), "{sweep:#?}");
}

#[test]
fn an_interrupt_in_the_second_block_of_a_sweep_keeps_its_trials() {
    let asked =
        Asked { objectives: &["p50<1s"], range: (Some(500.0), Some(505.0)), sweep: true, ..Asked::default() };
    let server = VirtualServer::OneAtATime(Duration::from_micros(1_900));
    let (whole, _) = asked.search(server);
    // The closed loop, the search, and twelve trials of the sweep.
    let interrupted_in = Some(1 + whole.result.trials.len() + 12);
    let (found, lines) = Asked { interrupted_in, ..asked }.search(server);
    assert_eq!(found.result.ended_by, FindEnd::Interrupt, "{lines:#?}");
    let sweep = found.result.sweep.as_ref().unwrap();
    let trials: Vec<u32> = sweep.points.iter().map(|point| point.trials).collect();
    assert!(trials.iter().sum::<u32>() == 12 && trials.iter().all(|one| [1, 2].contains(one)), "{trials:?}");
    assert_eq!(sweep.knee, None);
}

#[test]
fn a_server_stays_in_its_fastest_mode_at_a_low_rate_and_not_at_one_that_crowds_it() {
    let millis = Duration::from_millis;
    let server = VirtualServer::Crowded(millis(5), 8, millis(200));
    let goal = Goal::FastestMode;
    let (found, lines) = Asked { goal, range: (Some(50.0), Some(51.0)), ..Asked::default() }.search(server);
    assert_eq!(found.result.goals[0].state, FindState::MaximumHeld, "{lines:#?}");
    let fastest = found.result.fastest_mode.as_ref().unwrap();
    assert!((fastest.mode.unwrap().peak_us - 5_000.0).abs() < 1.0, "{fastest:?}");
    // Half-way between the modes, by their ratio.
    assert!((fastest.limit_us.unwrap() - 31_622.8).abs() < 1.0, "{fastest:?}");
    assert_eq!(found.result.goals[0].objectives, ["p95<31623us"]);
    let (found, lines) =
        Asked { goal, range: (Some(2_500.0), Some(2_550.0)), ..Asked::default() }.search(server);
    assert_eq!(found.result.goals[0].state, FindState::MinimumFailed, "{lines:#?}");
    let (found, _) =
        Asked { goal, ..Asked::default() }.search(VirtualServer::Crowded(millis(5), usize::MAX, millis(5)));
    assert!(found.result.fastest_mode.as_ref().unwrap().mode.is_none() && found.result.goals.is_empty());
}
