//! Untrusted messages between controller and agent: parses them, and checks plans as an agent does. Also parses untrusted readings of
//! nodes.

#![cfg_attr(feature = "run", no_main)]

use hoptax_agents::message::{FromAgent, FromController};
use hoptax_agents::reader::Counters;
use hoptax_fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(FromController::Plan(share)) = serde_json::from_str(text) {
        let _ = share.check();
    }
    let _ = serde_json::from_str::<FromAgent>(text);
    if let Ok([first, last]) = serde_json::from_str::<[Counters; 2]>(text) {
        let limits = first.limit.zip(last.limit);
        let _ = limits.map(|(first, last)| last.since(first).unwrap_or_default() + first);
    }
});
