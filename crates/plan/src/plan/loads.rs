//! Turns the loads of a study file into loads of the plan.

use std::time::Duration;

use hoptax_load::Arrivals;

use super::{DEFAULT_SLICE, Load, Open, Rate};
use crate::file::{LoadSection, LoopWord, Observe, Positions, Problem};

const SHORTEST_SLICE: Duration = Duration::from_millis(50);
const LONGEST_SLICE: Duration = Duration::from_secs(10);
/// Range of the slices of a timeline.
const SLICES_OF_TIMELINE: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_mins(10);
/// Requests that a slice at a stated rate has by default, if it is no longer than [`LONGEST_DEFAULT_SLICE`].
const REQUESTS_OF_SLICE: f64 = 100.0;
/// The longest slice that a file need not state.
const LONGEST_DEFAULT_SLICE: Duration = Duration::from_millis(500);
/// Default number of blocks.
const DEFAULT_BLOCKS: u32 = 16;
/// Default rate of an open loop, as a share of the capacity of the slowest arm: proxies in use are neither idle nor saturated.
const OF_SLOWEST: f64 = 0.5;

/// Plans the loads of a file. Problems with them are added to `problems`.
pub(super) fn plan(
    sections: &[LoadSection],
    observe: Observe,
    positions: &Positions,
    problems: &mut Vec<Problem>,
) -> Vec<Load> {
    let mut loads = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let mut problem = |key: &str, message: String| {
            problems.push(positions.problem(&format!("/loads/{index}{key}"), message));
        };
        if sections.iter().take(index).any(|other| other.name == section.name) {
            problem("/name", format!("duplicate load `{}`: give each load its own name", section.name));
        }
        let open = match (section.loop_, rate(section)) {
            (LoopWord::Open, Ok(rate)) => {
                let arrivals = section.arrivals.as_deref().map_or(Ok(Arrivals::Uniform), str::parse);
                match arrivals {
                    Ok(arrivals) => Some(Open { rate, arrivals }),
                    Err(error) => {
                        problem("/arrivals", format!("invalid `arrivals`: {error}"));
                        None
                    }
                }
            }
            (LoopWord::Open, Err(why)) => {
                problem("", format!("load `{}` {why}", section.name));
                None
            }
            (LoopWord::Closed, _) => {
                for (given, key) in [
                    (section.rate.is_some(), "rate"),
                    (section.utilisation.is_some(), "utilisation"),
                    (section.arrivals.is_some(), "arrivals"),
                ] {
                    if given {
                        let message = format!("a closed loop has no `{key}`: remove it, or set `loop: open`");
                        problem(&format!("/{key}"), message);
                    }
                }
                None
            }
        };
        let caller = section.caller.plan().unwrap_or_else(|message| {
            problem("/caller", message);
            None
        });
        if let Some(caller) = &caller {
            if section.loop_ == LoopWord::Open {
                problem("/caller", format!("{caller} support only a closed loop: set `loop: closed`"));
            }
            for (key, why) in ignored_by_callers(section) {
                problem(
                    &format!("/{key}"),
                    format!("{caller} {why}: remove `{key}`, or set `caller: hoptax`"),
                );
            }
        }
        let is_timeline = observe == Observe::Timeline;
        for (key, why) in excluded_by_timeline(section).into_iter().filter(|_| is_timeline) {
            problem(&format!("/{key}"), format!("{why} in a timeline"));
        }
        let slices = if is_timeline { SLICES_OF_TIMELINE } else { SHORTEST_SLICE..=LONGEST_SLICE };
        let given = section.slice.as_deref();
        match given.map_or_else(|| Ok(default_slice(section)), humantime::parse_duration) {
            Ok(slice) if slices.contains(&slice) => loads.push(Load {
                name: section.name.clone(),
                open,
                connections: section.connections as usize,
                requests_per_connection: section.requests_per_connection,
                resumption: section.resumption,
                expect: section.expect.clone(),
                caller,
                blocks: if is_timeline { 1 } else { section.blocks.unwrap_or(DEFAULT_BLOCKS) },
                slice,
            }),
            // A missing one was reported above.
            Ok(_) if is_timeline && given.is_none() => {}
            Ok(_) => {
                let given = given.unwrap_or_default();
                let range = if is_timeline { "1s to 10m" } else { "50ms to 10s" };
                problem("/slice", format!("`slice` must be from {range}, not `{given}`"));
            }
            Err(error) => {
                problem("/slice", format!("`slice` is not a duration: {error}; write it as `200ms`"));
            }
        }
    }
    loads
}

/// The length of a slice whose file states none: longer at a stated rate of few requests, whose CPU time would be noisy.
fn default_slice(section: &LoadSection) -> Duration {
    let wanted =
        section.rate.map_or(DEFAULT_SLICE, |rate| Duration::from_secs_f64(REQUESTS_OF_SLICE / rate.max(1.0)));
    wanted.clamp(DEFAULT_SLICE, LONGEST_DEFAULT_SLICE)
}

/// The settings of a load that a timeline excludes or lacks, with the reasons.
fn excluded_by_timeline(section: &LoadSection) -> Vec<(&'static str, &'static str)> {
    [
        (section.loop_ == LoopWord::Closed, "loop", "the loop must be `open`"),
        (section.loop_ == LoopWord::Open && section.rate.is_none(), "rate", "the load needs a `rate`"),
        (section.blocks.is_some(), "blocks", "remove `blocks`: there is one slice per round"),
        (section.slice.is_none(), "slice", "the load needs a `slice`"),
    ]
    .into_iter()
    .filter_map(|(is_wrong, key, why)| is_wrong.then_some((key, why)))
    .collect()
}

/// The settings of a load that callers other than hoptax do not follow, with the reasons.
fn ignored_by_callers(section: &LoadSection) -> Vec<(&'static str, &'static str)> {
    let keeps = section.requests_per_connection.is_some_and(|requests| requests != 1);
    [
        (!section.expect.is_empty(), "expect", "accept every status below 400 and no other"),
        (keeps, "requests_per_connection", "open a connection for each request"),
        (section.resumption == Some(true), "resumption", "keep no TLS sessions"),
    ]
    .into_iter()
    .filter_map(|(is_asked, key, why)| is_asked.then_some((key, why)))
    .collect()
}

/// The rate of an open loop, or why it is invalid.
fn rate(section: &LoadSection) -> Result<Rate, &'static str> {
    match (section.rate, section.utilisation.as_deref()) {
        (Some(rate), None) => Ok(Rate::PerSecond(rate)),
        (None, Some(share)) => {
            let percent = share.trim_end_matches('%').parse::<f64>().ok();
            let share = percent.map(|percent| percent / 100.0).filter(|share| *share > 0.0 && *share <= 1.0);
            share
                .map(Rate::Utilisation)
                .ok_or("has an invalid `utilisation`: it must be above 0 % and at most 100 %")
        }
        (None, None) => Ok(Rate::OfSlowest(OF_SLOWEST)),
        (Some(_), Some(_)) => Err("has both `rate` and `utilisation`: remove one"),
    }
}
