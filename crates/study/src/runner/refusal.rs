//! Locates the line of a fragment that Envoy rejects.

use std::path::Path;

use hoptax_functions::Context;
use hoptax_subject::envoy::process::ProxyError;

use super::ArmError;
use crate::plan::Arm;

/// The shortest word used to identify a line.
const SHORTEST_WORD: usize = 4;

/// Adds the line of the function's fragment to Envoy's rejection, if its words identify one.
pub(super) fn explain(arm: &Arm, error: ProxyError) -> ArmError {
    let (ProxyError::Refused { last_lines, .. }, Some((function, knobs))) = (&error, &arm.function) else {
        return error.into();
    };
    let context = Context { directory: Path::new("/"), companion: None };
    let Ok(fragment) = function.rendered(knobs, &context) else { return error.into() };
    match line_of(&fragment, last_lines) {
        Some((line, text)) => ArmError::Fragment {
            function: function.id.clone(),
            line,
            text: text.trim().to_owned(),
            reason: last_lines.clone(),
        },
        None => error.into(),
    }
}

/// The line of a fragment that best matches a reason: the one with most of its words, weighted by length.
fn line_of<'a>(fragment: &'a str, reason: &str) -> Option<(usize, &'a str)> {
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
    let best =
        (1..).zip(fragment.lines()).max_by_key(|(number, line)| (weight(line), usize::MAX - number))?;
    (weight(best.1) > 0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAGMENT: &str = "http_filters:\n  - name: envoy.filters.http.lua\n    typed_config:\n      \
                            inline_cod: x\n      per_second: 0\n";

    #[test]
    fn the_line_with_the_words_of_the_reason_is_found() {
        let reason = "INVALID_ARGUMENT: invalid JSON in Lua: no such field: 'inline_cod'";
        assert_eq!(line_of(FRAGMENT, reason), Some((4, "      inline_cod: x")));
        // Envoy names messages as in its code, and fields as in the configuration.
        assert_eq!(
            line_of(FRAGMENT, "TokenBucket.PerSecond: value must be above 0").map(|(line, _)| line),
            Some(5)
        );
        assert_eq!(line_of(FRAGMENT, "no"), None);
    }
}
