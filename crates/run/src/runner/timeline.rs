//! Observes the responses to callers over time while scripted events happen: one arm at a time, with its own processes.
//!
//! A course is one slice of an arm under a load. All its processes are started for it, so that no event of an earlier course affects it.
//! The generator sends from another thread. This thread performs the events, because the kernel ends the processes that a thread started
//! when the thread ends.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::accounting::TaskUse;
use hoptax_host::environment;
use hoptax_host::event_loops;
use hoptax_host::link::Link;
use hoptax_host::processors;
use hoptax_load::interval::{Interval, IntervalSink, Part, join};
use hoptax_load::{Recording, Release, Run, Schedule, Worker, now_ns};
use hoptax_plan::plan::{self, Arm, Load, Plan, PlannedCourse, Rate, Timeline};
use hoptax_plan::record::RoundRecord;
use hoptax_result::{Answer, ConnectionsP99, Course, CourseInterval, WorkerConnections};
use hoptax_stats::median;

use super::error::missing;
use super::spread::Spread;
use super::subject::{Connections, Subject};
use super::subjects::Subjects;
use super::timeline_events::TimelineEvents;
use super::traffic::TIMEOUT;
use super::{Control, RunError, Setting};
use crate::event::Event;

/// Time for the generator's thread to start.
const START: Duration = Duration::from_millis(20);
/// Minimum number of responses of a connection for its own 99th percentile.
const RESPONSES_FOR_P99: u64 = 100;
/// Longest sleep, and so the longest delay until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(20);

/// Runs the rounds of a timeline.
pub(super) fn all_rounds(
    plan: &Plan,
    timeline: &Timeline,
    setting: &Setting<'_>,
    link: Option<&Link>,
    began: Instant,
    control: &mut Control<'_>,
    rounds: &mut Vec<RoundRecord>,
) -> Result<(), RunError> {
    let Control { stop, should_continue, on_event } = control;
    let first = rounds.len() as u32;
    for round in first..=plan.rounds {
        // Also called after the last round, since the end counts as a look.
        if !should_continue(rounds) || round == plan.rounds {
            break;
        }
        if round == first {
            on_event(&Event::Starting);
        }
        let mut record = RoundRecord {
            round,
            began_at: environment::now(),
            boot_id: environment::boot_id(),
            ..RoundRecord::default()
        };
        on_event(&Event::RoundBegan { round });
        for PlannedCourse { arm, arm_number, load } in plan::courses(plan, round) {
            let alone = plan.alone(arm, load);
            // The arm is the first in its own plan, which has no other arm.
            let answer = rounds.last().and_then(|round| round.answers.get(&arm_number).cloned());
            let mut answers: BTreeMap<usize, Answer> = answer.map(|answer| (0, answer)).into_iter().collect();
            let mut subjects = Subjects::bring_up(&alone, setting, link, round, &mut answers, stop)?;
            let observation = Observation { plan: &alone, timeline, arm, load, setting, began, round };
            let course = observation.observe(&mut subjects, stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            record.answers.extend(answers.remove(&0).map(|answer| (arm_number, answer)));
            let configuration = subjects.only(arm)?.subject.configuration.clone();
            record.configurations.extend(configuration.map(|hash| (arm_number, hash)));
            record.courses.push(course);
            subjects.end()?;
            on_event(&Event::CourseEnded);
        }
        record.ended_at = environment::now();
        on_event(&Event::RoundEnded { round, record: &record, elapsed_s: began.elapsed().as_secs_f64() });
        rounds.push(record);
    }
    Ok(())
}

/// A course to observe.
struct Observation<'a> {
    /// The plan of only its arm under its load.
    plan: &'a Plan,
    /// The intervals and events of the course.
    timeline: &'a Timeline,
    /// Its arm.
    arm: &'a Arm,
    /// Its load.
    load: &'a Load,
    /// Inputs of the run.
    setting: &'a Setting<'a>,
    /// Start of the run.
    began: Instant,
    /// The number of its round.
    round: u32,
}

impl Observation<'_> {
    /// Observes the course.
    fn observe(&self, subjects: &mut Subjects<'_>, stop: &AtomicBool) -> Result<Course, RunError> {
        let &Self { plan, timeline, arm, load, setting, began, round } = self;
        if stop.load(Ordering::Relaxed) {
            // Not all processes were started.
            return Ok(Course::default());
        }
        let connections = subjects.only(arm)?.subject.connections.first_mut().and_then(Option::take);
        let Some(Connections::Kept(mut worker)) = connections else {
            return Err(missing(&arm.id, &format!("open connection under the load `{}`", load.name)));
        };
        let mut events = TimelineEvents::new(timeline, arm, setting);
        events.at_the_start(subjects)?;
        let mut spread = Spread::begin(timeline, arm, &subjects.only(arm)?.subject)?;
        let began_s = began.elapsed().as_secs_f64();
        let start_ns = now_ns() + START.as_nanos() as u64;
        let record_from_ns = start_ns + timeline.warm_up.as_nanos() as u64;
        let end_ns = record_from_ns + load.slice.as_nanos() as u64;
        let (sender, parts) = mpsc::channel();
        let run = Run {
            record_from_ns,
            intervals: vec![IntervalSink { length: timeline.interval, sender }],
            ..Run::new(release(plan, load, round), start_ns, end_ns, TIMEOUT.as_nanos() as u64)
        };
        let connections = arm.connections(load);
        let addresses = worker.local_addresses();
        let course = hoptax_load::Course::new(record_from_ns, end_ns, connections, plan.seed);
        let mut recording = Recording::default().with_course(course);
        let is_cut = AtomicBool::new(false);
        let used = thread::scope(|scope| -> Result<TaskUse, RunError> {
            let sending = scope.spawn(|| send(&mut worker, run, &mut recording, &is_cut));
            let happened = perform_due(&mut events, &mut spread, subjects, arm, record_from_ns..end_ns, stop);
            if happened.is_err() || stop.load(Ordering::Relaxed) {
                // Without its events, the rest of the slice is useless.
                is_cut.store(true, Ordering::Relaxed);
            }
            let lost = |_| io::Error::other("the generator panicked; this is a bug in hoptax");
            let used = sending.join().map_err(lost)?;
            happened?;
            Ok(used?)
        })?;
        let stayed = kept_connections(&addresses, &worker.local_addresses());
        let workers = by_worker(&subjects.only(arm)?.subject, &stayed, &recording);
        let events = events.finish()?;
        if !stop.load(Ordering::Relaxed) {
            let planned = subjects.only(arm)?.planned;
            subjects.check(&[planned])?;
        }
        Ok(Course {
            arm: arm.id.clone(),
            load: load.name.clone(),
            began_s,
            book: recording.book,
            generator_core_share: used.cpu_ns as f64 / load.slice.as_nanos() as f64,
            own_lag_p99_us: recording.own_lag.quantile_us(0.99),
            events,
            intervals: intervals(parts, timeline, load.slice),
            spread: spread.finish(),
            connections_p99: connections_p99(&recording),
            workers,
        })
    }
}

fn send(worker: &mut Worker, run: Run, recording: &mut Recording, stop: &AtomicBool) -> io::Result<TaskUse> {
    processors::set_min_timer_slack()?;
    worker.run(run, recording, stop)
}

/// The release times of a round, the same for all arms.
fn release(plan: &Plan, load: &Load, round: u32) -> Release {
    let seed = plan.seed ^ (u64::from(round) << 32);
    match &load.open {
        Some(plan::Open { rate: Rate::PerSecond(rate), arrivals }) => {
            Release::Open(Schedule::new(arrivals.clone(), *rate, seed, 0, 1))
        }
        // Plans of timelines have no other loads.
        _ => Release::Closed,
    }
}

/// Performs the events and reads the statistics when they are due, until the end of the slice. The slice is recorded in `recorded_ns`.
fn perform_due(
    events: &mut TimelineEvents<'_>,
    spread: &mut Spread<'_>,
    subjects: &mut Subjects<'_>,
    arm: &Arm,
    recorded_ns: Range<u64>,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    let Range { start: record_from_ns, end: end_ns } = recorded_ns;
    loop {
        let now = now_ns();
        let due_ns = |at: Option<Duration>| at.map_or(u64::MAX, |at| record_from_ns + at.as_nanos() as u64);
        let (event_ns, sample_ns) = (due_ns(events.due()), due_ns(spread.due()));
        // The statistics of an interval are read before the event that ends it.
        if sample_ns <= now.min(event_ns).min(end_ns) {
            spread.sample(&subjects.only(arm)?.subject)?;
        } else if stop.load(Ordering::Relaxed) {
            return Ok(());
        } else if event_ns <= now.min(end_ns) {
            // Performed even if an earlier event took until the end of the slice: a check reports how late it was.
            events.perform(subjects, record_from_ns)?;
        } else if now >= end_ns {
            return Ok(());
        } else {
            let until_ns = event_ns.min(sample_ns).min(end_ns);
            thread::sleep(NAP.min(Duration::from_nanos(until_ns.saturating_sub(now))));
        }
    }
}

/// The intervals of a course. Requests that ended after the slice belong to the last one.
fn intervals(parts: mpsc::Receiver<Part>, timeline: &Timeline, slice: Duration) -> Vec<CourseInterval> {
    let count = slice.as_nanos().div_ceil(timeline.interval.as_nanos().max(1)) as usize;
    let mut intervals: Vec<CourseInterval> = Vec::new();
    let add = |interval: &Interval, _| -> Result<(), Infallible> {
        let number = intervals.len() + 1;
        // The last one may end a little later, with the last response.
        let to_s = timeline.interval.as_secs_f64() * number as f64;
        let next = course_interval(interval, to_s, timeline);
        match intervals.last_mut().filter(|_| number > count) {
            Some(last) => add_late(last, next),
            None => intervals.push(next),
        }
        Ok(())
    };
    let Ok(()) = join(parts, add);
    intervals
}

fn course_interval(interval: &Interval, to_s: f64, timeline: &Timeline) -> CourseInterval {
    let times = &interval.response;
    let us = |ns: u64| (!times.is_empty()).then_some(ns as f64 / 1e3);
    let late = timeline.objective.map_or(0, |objective| {
        let in_time = times.count_between(0, objective.as_nanos() as u64);
        interval.answered.saturating_sub(in_time)
    });
    CourseInterval {
        to_s,
        sent: interval.sent,
        answered: interval.answered,
        late,
        failures: interval.failures.clone(),
        unsent: interval.unsent.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect(),
        in_flight: interval.in_flight,
        response_p50_us: us(times.value_at_quantile(0.5)),
        response_p99_us: us(times.value_at_quantile(0.99)),
        response_max_us: us(times.max()),
    }
}

/// Adds the requests that ended after the slice to its last interval. Quantiles of both together are not known, so the larger ones are
/// used.
fn add_late(last: &mut CourseInterval, late: CourseInterval) {
    last.sent += late.sent;
    last.answered += late.answered;
    last.late += late.late;
    for (kind, count) in late.failures {
        *last.failures.entry(kind).or_default() += count;
    }
    for (reason, count) in late.unsent {
        *last.unsent.entry(reason).or_default() += count;
    }
    last.in_flight = late.in_flight;
    for (quantile, other) in [
        (&mut last.response_p50_us, late.response_p50_us),
        (&mut last.response_p99_us, late.response_p99_us),
        (&mut last.response_max_us, late.response_max_us),
    ] {
        *quantile = [*quantile, other].into_iter().flatten().reduce(f64::max);
    }
}

/// The 99th percentile of the connections with enough responses for one.
fn connections_p99(recording: &Recording) -> Option<ConnectionsP99> {
    let all = recording.course.as_ref()?.connection_quantiles_us(0.99, RESPONSES_FOR_P99);
    Some(ConnectionsP99 { median_us: median(&all)?, worst_us: all.into_iter().reduce(f64::max)? })
}

/// The addresses of connections that were open at the start and still are, by their number.
fn kept_connections(
    before: &[Option<SocketAddr>],
    after: &[Option<SocketAddr>],
) -> BTreeMap<SocketAddr, usize> {
    let both = before.iter().zip(after).enumerate();
    both.filter_map(|(number, (before, after))| Some((before.filter(|_| before == after)?, number))).collect()
}

/// The connections of each worker of the first proxy, while they are open. Empty unless it has several workers, and if its event loops
/// cannot be read, for example because a restarted proxy has other connections.
fn by_worker(
    subject: &Subject,
    connections: &BTreeMap<SocketAddr, usize>,
    recording: &Recording,
) -> Vec<WorkerConnections> {
    let (Some(proxy), Some(course)) = (subject.proxies.first(), recording.course.as_ref()) else {
        return Vec::new();
    };
    let loops = event_loops::peers(proxy.id()).unwrap_or_default();
    let of_loop = |peers: BTreeSet<SocketAddr>| {
        let numbers: Vec<usize> = peers.iter().filter_map(|peer| connections.get(peer).copied()).collect();
        let (responses, response_p99_us) = course.quantile_us_of(&numbers, 0.99, RESPONSES_FOR_P99);
        WorkerConnections { connections: numbers.len() as u64, responses, response_p99_us }
    };
    let all: Vec<WorkerConnections> =
        loops.into_iter().map(of_loop).filter(|worker| worker.connections > 0).collect();
    if all.len() > 1 { all } else { Vec::new() }
}
