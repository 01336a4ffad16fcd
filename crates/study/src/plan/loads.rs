//! From the loads of the file to loads.

use std::time::Duration;

use hoptax_load::Arrivals;

use super::Load;
use crate::file::{Caller, LoadSection, LoopWord, Positions, Problem};

const SHORTEST_SLICE: Duration = Duration::from_millis(50);
const LONGEST_SLICE: Duration = Duration::from_secs(10);

/// Turns the file's loads into loads. What is wrong with them is added to `problems`.
pub(super) fn plan(
    sections: &[LoadSection],
    positions: &Positions,
    problems: &mut Vec<Problem>,
) -> Vec<Load> {
    let mut loads = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let mut problem = |key: &str, message: String| {
            problems.push(positions.problem(&format!("/loads/{index}{key}"), message));
        };
        if sections.iter().take(index).any(|other| other.name == section.name) {
            problem("/name", format!("two loads are called `{}`: give each a name of its own", section.name));
        }
        let open = match (section.loop_, section.rate) {
            (LoopWord::Open, Some(rate)) => {
                let arrivals = section.arrivals.as_deref().map_or(Ok(Arrivals::Uniform), str::parse);
                match arrivals {
                    Ok(arrivals) => Some((rate, arrivals)),
                    Err(error) => {
                        problem("/arrivals", format!("`arrivals` cannot be used: {error}"));
                        None
                    }
                }
            }
            (LoopWord::Open, None) => {
                problem("", format!("load `{}` has an open loop and no `rate`: add one", section.name));
                None
            }
            (LoopWord::Closed, _) => {
                for (given, key) in
                    [(section.rate.is_some(), "rate"), (section.arrivals.is_some(), "arrivals")]
                {
                    if given {
                        let message = format!("a closed loop has no `{key}`: remove it, or set `loop: open`");
                        problem(&format!("/{key}"), message);
                    }
                }
                None
            }
        };
        if section.caller == Caller::Php && section.loop_ == LoopWord::Open {
            problem("/caller", "callers in PHP have no schedule: set `loop: closed`".to_owned());
        }
        match humantime::parse_duration(&section.slice) {
            Ok(slice) if (SHORTEST_SLICE..=LONGEST_SLICE).contains(&slice) => loads.push(Load {
                name: section.name.clone(),
                open,
                connections: section.connections as usize,
                requests_per_connection: section.requests_per_connection,
                resumption: section.resumption,
                expect: section.expect.clone(),
                caller: section.caller,
                blocks: section.blocks,
                slice,
            }),
            Ok(_) => problem("/slice", format!("`slice` must be from 50ms to 10s, not `{}`", section.slice)),
            Err(error) => {
                problem("/slice", format!("`slice` is no duration: {error}; write it as `200ms`"));
            }
        }
    }
    loads
}
