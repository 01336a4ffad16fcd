//! Arms of a study file as arms with a name of their own, which other arms can be compared with.

use crate::file::{ArmEntry, ChainEntry, FunctionEntry, HopEntry};
use crate::plan::{BASELINE, DIRECT, number_of_same};

/// Name of the only hop of a plain proxy.
const PLAIN: &str = "proxy";

/// The name of an entry and its proxies as a chain; None if it cannot be written as one.
pub fn as_chain(entry: &ArmEntry) -> Option<(String, ChainEntry)> {
    let chain_of = |function: &str| match function {
        // An entry without a key that describes its proxy is invalid, so the plain proxy is written as a hop.
        BASELINE => {
            ChainEntry { hops: Some(vec![HopEntry::Name(PLAIN.to_owned())]), ..ChainEntry::default() }
        }
        _ => ChainEntry { functions: vec![function.to_owned()], ..ChainEntry::default() },
    };
    let is_plain = |name: &str| name != DIRECT && number_of_same(name).is_none();
    match entry {
        ArmEntry::Name(name) if is_plain(name) => Some((name.clone(), chain_of(name))),
        ArmEntry::Function(FunctionEntry { function, at, protocol, .. }) if is_plain(function) => {
            let chain = ChainEntry { at: at.clone(), protocol: *protocol, ..chain_of(function) };
            Some((function.clone(), chain))
        }
        ArmEntry::Chain(entry) => {
            Some((entry.name.clone(), ChainEntry { compared_with: None, ..entry.clone() }))
        }
        _ => None,
    }
}

/// The name of an arm in the characters that names of arms may have, extended until it is not taken.
pub fn stem(arm: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let mut stem: String = arm.chars().map(keep).collect();
    stem.truncate(stem.trim_end_matches('-').len());
    while is_taken(&stem) {
        stem.push_str("-2");
    }
    stem
}
