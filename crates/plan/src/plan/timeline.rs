//! Plans the observation of a study over time: intervals, the objective, and the events of each slice.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hoptax_subject::envoy::process::PARENT_SHUTDOWN;

use super::{Arm, Chain, Hop, Load};
use crate::file::{EventSection, Observe, Positions, Problem, Protocol, ProxyWord, RestartWord, StudyFile};

/// Range of the length of an interval.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_INTERVAL: Duration = Duration::from_mins(1);
/// Default length of an interval.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// Longest delay and idle time of an origin.
const LONGEST_TIME: Duration = Duration::from_hours(1);
/// Least time between a hot restart and the next one: the start of a successor, and the end of the process that it replaces.
pub(super) const BETWEEN_RESTARTS: Duration = PARENT_SHUTDOWN.saturating_add(Duration::from_secs(1));
/// Time before the slice.
const WARM_UP: Duration = Duration::from_secs(1);

/// The observation of a study over time: its intervals and events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Length of an interval.
    pub interval: Duration,
    /// The response time above which a response is late.
    pub objective: Option<Duration>,
    /// Time before the slice during which requests are sent and not recorded: connections are opened and buffers reach their
    /// size.
    pub warm_up: Duration,
    /// Statistics of the proxies that should be even, with wildcards.
    pub spread: Option<String>,
    /// The events of each slice, in the order of time.
    pub events: Vec<TimedEvent>,
}

/// A change at a time since the start of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    /// The time.
    pub at: Duration,
    /// The change.
    pub change: Change,
}

/// A change of an origin or a proxy at the time of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An origin of the arm, by its index, or all of them.
    Origin {
        /// Its index; none for all of them.
        number: Option<usize>,
        /// The behaviour of the origin from then on.
        becomes: Becomes,
    },
    /// A proxy of the arm is restarted.
    Restart {
        /// Its name; none for the first one.
        proxy: Option<String>,
        /// The kind of restart.
        how: RestartWord,
    },
}

/// Behaviour of an origin after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Becomes {
    /// As at its start.
    Usual,
    /// It answers with these default parameters, in query syntax.
    Answering(String),
    /// It is stopped, and answers nothing.
    Silent,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin { number, becomes } => {
                match number {
                    Some(number) => write!(f, "origin {} ", number + 1)?,
                    None => write!(f, "all origins ")?,
                }
                match becomes {
                    Becomes::Usual => write!(f, "recovers"),
                    Becomes::Answering(query) => write!(f, "{}", query.replace('&', ", ").replace('=', " ")),
                    Becomes::Silent => write!(f, "silent"),
                }
            }
            Self::Restart { proxy, how } => {
                let of_proxy = proxy.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
                match how {
                    RestartWord::Cold => write!(f, "restart{of_proxy}"),
                    RestartWord::Hot => write!(f, "hot restart{of_proxy}"),
                    RestartWord::Broken => write!(f, "restart{of_proxy} with a broken configuration"),
                }
            }
        }
    }
}

impl Timeline {
    /// The events that begin a phase of a slice, by their time. The slice begins one even without an event.
    pub fn phases(&self) -> Vec<(Duration, Vec<&Change>)> {
        let mut phases: Vec<(Duration, Vec<&Change>)> = vec![(Duration::ZERO, Vec::new())];
        for event in &self.events {
            match phases.last_mut() {
                Some((at, changes)) if *at == event.at => changes.push(&event.change),
                _ => phases.push((event.at, vec![&event.change])),
            }
        }
        phases
    }

    /// Returns true if an event changes an origin.
    pub fn changes_origins(&self) -> bool {
        self.events.iter().any(|event| matches!(event.change, Change::Origin { .. }))
    }

    /// Returns the kinds of restarts, in the order of time, of the proxy with this index of a chain.
    pub fn restarts(&self, chain: &Chain, number: usize) -> Vec<RestartWord> {
        let of = |event: &TimedEvent| match &event.change {
            Change::Restart { proxy, how }
                if chain.place_of(proxy.as_deref()).is_some_and(|place| place.number == number) =>
            {
                Some(*how)
            }
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }
}

/// Plans the timeline of a file; none if the study observes costs. Problems with it are added to `problems`.
pub(super) fn plan(
    file: &StudyFile,
    arms: &[Arm],
    loads: &[Load],
    positions: &Positions,
    problems: &mut Vec<Problem>,
) -> Option<Timeline> {
    let mut problem = |pointer: &str, message: String| problems.push(positions.problem(pointer, message));
    if file.observe == Observe::Costs {
        for (is_given, key) in [
            (file.interval.is_some(), "interval"),
            (file.objective.is_some(), "objective"),
            (file.spread.is_some(), "spread"),
            (!file.events.is_empty(), "events"),
        ] {
            if is_given {
                let message = format!("`{key}` belongs to a timeline: add `observe: timeline`, or remove it");
                problem(&format!("/{key}"), message);
            }
        }
        return None;
    }
    if file.profile {
        let message = "`profile` belongs to `observe: costs`: remove one of the two";
        problem("/profile", message.to_owned());
    }
    let interval = match duration("interval", file.interval.as_deref()) {
        Ok(Some(interval)) if !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) => {
            problem("/interval", "`interval` must be from 50ms to 1m".to_owned());
            None
        }
        Ok(interval) => Some(interval.unwrap_or(DEFAULT_INTERVAL)),
        Err(message) => {
            problem("/interval", message);
            None
        }
    };
    let objective = duration("objective", file.objective.as_deref()).unwrap_or_else(|message| {
        problem("/objective", message);
        None
    });
    let mut events = Vec::new();
    for (index, section) in file.events.iter().enumerate() {
        let pointer = format!("/events/{index}");
        match event(section) {
            Ok(event) => {
                for message in misfits(file, &event, arms, loads, interval) {
                    problem(&pointer, message);
                }
                events.push(FileEvent { section: index, event });
            }
            Err(message) => problem(&pointer, message),
        }
    }
    for (index, load) in loads.iter().enumerate() {
        if let Some(message) = unaligned("slice", load.slice, interval) {
            problem(&format!("/loads/{index}/slice"), message);
        }
    }
    // Events at the same time happen in the order of the file.
    events.sort_by_key(|one| one.event.at);
    for (index, message) in conflicting_restarts(&events, arms) {
        problem(&format!("/events/{index}"), message);
    }
    let events = events.into_iter().map(|one| one.event).collect();
    let interval = interval.unwrap_or(DEFAULT_INTERVAL);
    Some(Timeline { interval, objective, warm_up: WARM_UP, spread: file.spread.clone(), events })
}

fn duration(key: &str, given: Option<&str>) -> Result<Option<Duration>, String> {
    let parse = |text: &str| {
        humantime::parse_duration(text)
            .map_err(|error| format!("`{key}` is not a duration: {error}; write it as `200ms`"))
    };
    given.map(parse).transpose()
}

/// Returns the message that a time is no multiple of the interval, if so; none without an interval.
fn unaligned(key: &str, time: Duration, interval: Option<Duration>) -> Option<String> {
    let interval = interval.filter(|interval| !time.as_nanos().is_multiple_of(interval.as_nanos().max(1)))?;
    Some(format!("`{key}` must be a multiple of the interval, {}", humantime::format_duration(interval)))
}

/// The event of a section, or its fault.
fn event(section: &EventSection) -> Result<TimedEvent, String> {
    let EventSection { at, origin, slow, status, idle, silent, recovers, restart, proxy } = section;
    let at = duration("at", Some(at))?.unwrap_or_default();
    let slow = duration("slow", slow.as_deref())?;
    let idle = duration("idle", idle.as_deref())?;
    if [slow, idle].into_iter().flatten().any(|time| time > LONGEST_TIME) {
        return Err("`slow` and `idle` must be at most 1h".to_owned());
    }
    // In the syntax of the origin, whose durations have one unit.
    let parameters: Vec<String> = [
        slow.map(|delay| format!("delay={}ms", delay.as_secs_f64() * 1e3)),
        status.map(|status| format!("status={status}")),
        idle.map(|idle| format!("idle={}ms", idle.as_secs_f64() * 1e3)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let becomes = match (parameters.is_empty(), *silent, *recovers) {
        (false, false, false) => Some(Becomes::Answering(parameters.join("&"))),
        (true, true, false) => Some(Becomes::Silent),
        (true, false, true) => Some(Becomes::Usual),
        (true, false, false) => None,
        _ => return Err("`silent`, `recovers` and the parameters of responses exclude each other".to_owned()),
    };
    let number = origin.map(|number| number.saturating_sub(1) as usize);
    let change = match (becomes, restart) {
        (Some(_), None) if proxy.is_some() => {
            return Err("`proxy` belongs to `restart`: add it, or remove `proxy`".to_owned());
        }
        (Some(becomes), None) => Change::Origin { number, becomes },
        (None, Some(how)) if origin.is_none() => Change::Restart { proxy: proxy.clone(), how: *how },
        (None, Some(_)) => return Err("`restart` is about a proxy: remove `origin`".to_owned()),
        (Some(_), Some(_)) => {
            return Err("the event changes an origin and a proxy: write two events".to_owned());
        }
        (None, None) => {
            return Err("the event changes nothing: add `slow`, `status`, `idle`, `silent`, `recovers` or \
                        `restart`"
                .to_owned());
        }
    };
    Ok(TimedEvent { at, change })
}

/// Returns the reasons why events cannot happen in the arms and loads of the study.
fn misfits(
    file: &StudyFile,
    event: &TimedEvent,
    arms: &[Arm],
    loads: &[Load],
    interval: Option<Duration>,
) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(unaligned("at", event.at, interval));
    if let Some(load) = loads.iter().find(|load| load.slice <= event.at) {
        found.push(format!("`at` is not before the end of a slice of load `{}`", load.name));
    }
    match &event.change {
        Change::Origin { .. } if arms.iter().any(|arm| arm.application().is_some()) => {
            found.push("events cannot change an application: remove `application`".to_owned());
        }
        Change::Origin { number, .. } => {
            let needed = number.map_or(1, |number| number + 1);
            if let Some(arm) = arms.iter().find(|arm| origins(arm) < needed) {
                found.push(format!("`{}` has no origin {needed} that can change", arm.id));
            }
        }
        Change::Restart { proxy, how } => {
            if *how == RestartWord::Broken && file.spread.is_some() {
                let message = "`spread` cannot be read after `restart: broken`, which closes the admin interface: remove one of \
                               the two";
                found.push(message.to_owned());
            }
            let which =
                proxy.as_ref().map_or_else(|| "first proxy".to_owned(), |name| format!("proxy `{name}`"));
            if let Some(arm) = arms.iter().find(|arm| !can_restart(arm, proxy.as_deref())) {
                found.push(format!(
                    "`{}` has no {which} that is an Envoy whose configuration is generated",
                    arm.id
                ));
            }
            if file.link.is_some() {
                found.push("`restart` cannot be combined with `link`: remove one".to_owned());
            }
        }
    }
    found
}

/// An event of a file.
struct FileEvent {
    /// The index of its section.
    section: usize,
    event: TimedEvent,
}

/// Restarts that cannot follow the one before of the same proxy, and why, by the index of their section.
fn conflicting_restarts(events: &[FileEvent], arms: &[Arm]) -> BTreeMap<usize, String> {
    let mut conflicts = BTreeMap::new();
    for arm in arms {
        // The last restart of each proxy, by its index in the chain.
        let mut last: BTreeMap<usize, (Duration, RestartWord)> = BTreeMap::new();
        // A proxy that an arm lacks is a problem of its own: see `misfits`.
        let restart = |FileEvent { section, event }: &FileEvent| match &event.change {
            Change::Restart { proxy, how } => {
                Some((*section, event.at, arm.chain.place_of(proxy.as_deref())?.number, *how))
            }
            Change::Origin { .. } => None,
        };
        for (index, at, number, how) in events.iter().filter_map(restart) {
            if let Some((earlier, before)) = last.insert(number, (at, how))
                && let Some(message) = conflict(before, how, at.saturating_sub(earlier))
            {
                conflicts.insert(index, message);
            }
        }
    }
    conflicts
}

/// Returns the reason why a restart cannot follow another of the same proxy after this time.
fn conflict(before: RestartWord, how: RestartWord, between: Duration) -> Option<String> {
    match (before, how) {
        (RestartWord::Broken, RestartWord::Hot | RestartWord::Broken) => Some(
            "only `restart: cold` can follow `restart: broken`: after a successor that failed, Envoy refuses all others"
                .to_owned(),
        ),
        (RestartWord::Hot, _) if between < BETWEEN_RESTARTS => Some(format!(
            "a restart must be at least {} after a hot one of the same proxy: it would end the process that still drains, with \
             its requests in flight",
            humantime::format_duration(BETWEEN_RESTARTS)
        )),
        _ => None,
    }
}

/// Number of origins behind an arm that events can change: those that are configured for the arm alone cannot.
fn origins(arm: &Arm) -> usize {
    let is_usual =
        arm.external.is_none() && !arm.chain.is_given() && arm.conditions.protocol != Protocol::Tcp;
    if is_usual { arm.upstreams } else { 0 }
}

fn can_restart(arm: &Arm, proxy: Option<&str>) -> bool {
    let is_generated = |hop: &Hop| hop.proxy == ProxyWord::Envoy && hop.given.is_none();
    arm.chain.place_of(proxy).is_some_and(|place| is_generated(place.hop)) && !arm.is_unloaded
}
