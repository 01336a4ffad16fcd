//! Locates the line of a fragment that Envoy rejects.

use std::path::Path;

use hoptax_functions::{Component, Context};
use hoptax_plan::plan::{Hop, Plan};
use hoptax_subject::envoy::process::ProxyError;

use super::{ArmError, given};

/// The shortest word used to identify a line.
const SHORTEST_WORD: usize = 4;

/// Adds to Envoy's refusal of a proxy the place in the function or in the user's files.
pub(super) fn explained(plan: &Plan, hop: &Hop, error: ProxyError) -> ArmError {
    match &hop.given {
        Some(config) => given::explain(plan, config, error),
        None => explain(hop, error),
    }
}

/// Adds the line of the function's fragment to Envoy's rejection, if its words identify one.
fn explain(hop: &Hop, error: ProxyError) -> ArmError {
    let ProxyError::Refused { reason, .. } = &error else { return error.into() };
    let context = Context { directory: Path::new("/"), companion: None };
    let best = hop
        .functions
        .components()
        .iter()
        .filter_map(|Component { function, knobs, .. }| {
            let fragment = function.rendered(knobs, &context).ok()?;
            let best = line_of(&fragment, reason)?;
            Some((best.weight, function.id.clone(), best.number, best.text.trim().to_owned()))
        })
        // Takes the first of several equal lines: `max_by_key` returns the last one.
        .rev()
        .max_by_key(|(weight, ..)| *weight);
    match best {
        Some((_, function, line, text)) => {
            ArmError::Fragment { function, line, text, reason: reason.clone() }
        }
        None => error.into(),
    }
}

/// A line of a fragment.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    /// Counted from 1.
    number: usize,
    text: &'a str,
    /// Total length of its words that also occur in the reason.
    weight: usize,
}

/// The line of a fragment that best matches a reason: the one with most of its words, weighted by length.
fn line_of<'a>(fragment: &'a str, reason: &str) -> Option<Line<'a>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c| !is_part(c)).filter(|word| word.len() >= SHORTEST_WORD);
        words.map(|word| word.replace('_', "").to_lowercase()).collect()
    };
    let reason_words = words(reason);
    let weight = |line: &str| -> usize {
        let mut own = words(line);
        own.sort_unstable();
        own.dedup();
        own.iter().filter(|word| reason_words.contains(word)).map(String::len).sum()
    };
    let line = |(number, text)| Line { number, text, weight: weight(text) };
    let lines = (1..).zip(fragment.lines()).map(line);
    lines.max_by_key(|line| (line.weight, usize::MAX - line.number)).filter(|line| line.weight > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAGMENT: &str = "http_filters:\n  - name: envoy.filters.http.lua\n    typed_config:\n      \
                            inline_cod: x\n      per_second: 0\n";

    #[test]
    fn the_line_with_the_words_of_the_reason_is_found() {
        let reason = "INVALID_ARGUMENT: invalid JSON in Lua: no such field: 'inline_cod'";
        let found = |reason| line_of(FRAGMENT, reason).map(|line| (line.number, line.text));
        assert_eq!(found(reason), Some((4, "      inline_cod: x")));
        // Envoy writes messages as in its code, and fields as in the configuration.
        let other = found("TokenBucket.PerSecond: value must be above 0");
        assert_eq!(other.map(|(number, _)| number), Some(5));
        assert_eq!(found("no"), None);
    }
}
