//! Evaluates text matchers of a configuration: whether a matcher accepts a text, and a text that it accepts.

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

use crate::tree::text;

/// A text that a `StringMatcher` accepts; none if it cannot be determined.
pub(crate) fn matched_text(matcher: &Value) -> Option<String> {
    for key in ["/exact", "/prefix", "/suffix", "/contains"] {
        if let Some(text) = matcher.pointer(key).and_then(Value::as_str) {
            return Some(text.to_owned());
        }
    }
    of_regex(text(matcher, "/safe_regex/regex"))
}

/// True if a `StringMatcher` accepts a text. A matcher of an unknown kind accepts nothing.
pub(crate) fn accepts(matcher: &Value, candidate: &str) -> bool {
    let ignores_case = matcher.get("ignore_case").and_then(Value::as_bool).unwrap_or(false);
    let fold = |text: &str| if ignores_case { text.to_ascii_lowercase() } else { text.to_owned() };
    let candidate = fold(candidate);
    let of = |key: &str| matcher.get(key).and_then(Value::as_str).map(fold);
    match (of("exact"), of("prefix"), of("suffix"), of("contains")) {
        (Some(exact), ..) => candidate == exact,
        (_, Some(prefix), ..) => candidate.starts_with(&prefix),
        (_, _, Some(suffix), _) => candidate.ends_with(&suffix),
        (.., Some(contained)) => candidate.contains(&contained),
        _ => regex_accepts(text(matcher, "/safe_regex/regex"), &candidate),
    }
}

/// True if an expression matches a whole text, as Envoy requires.
pub(crate) fn regex_accepts(expression: &str, candidate: &str) -> bool {
    !expression.is_empty()
        && Regex::new(&format!("^(?:{expression})$")).is_ok_and(|regex| regex.is_match(candidate))
}

/// A short text that an expression matches as a whole; none if the text would be empty, or the expression is invalid or needs context.
pub(crate) fn of_regex(expression: &str) -> Option<String> {
    let hir = regex_syntax::parse(expression).ok()?;
    let found = shortest(&hir)?;
    regex_accepts(expression, &found).then_some(found)
}

fn shortest(hir: &Hir) -> Option<String> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(String::new()),
        HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok(),
        HirKind::Class(Class::Unicode(class)) => {
            let has = |c: char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&c));
            let usual = ['a', 'A', '1', '/', '-'].into_iter().find(|&c| has(c));
            usual
                .or_else(|| class.ranges().first().map(regex_syntax::hir::ClassUnicodeRange::start))
                .map(String::from)
        }
        HirKind::Class(Class::Bytes(_)) => None,
        HirKind::Repetition(repetition) => {
            // At least one repetition if the expression allows it, because names and segments are rarely empty.
            let number = if repetition.max == Some(1) { repetition.min } else { repetition.min.max(1) };
            shortest(&repetition.sub).map(|text| text.repeat(number as usize))
        }
        HirKind::Capture(capture) => shortest(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(shortest).collect(),
        HirKind::Alternation(parts) => parts.iter().find_map(shortest),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sample_of_an_expression_matches_it() {
        for expression in [
            r"/users/[0-9]+/items(/.*)?",
            r"^spiffe://([^/]+.consul|local)/ns/default/dc/([^/]+)/svc/web$",
            r"(?i)api\.(v1|v2)",
            r".*",
        ] {
            let found = of_regex(expression).unwrap_or_else(|| panic!("{expression}"));
            assert!(regex_accepts(expression, &found), "{expression}: {found}");
        }
        assert_eq!((of_regex(""), of_regex("(")), (None, None));
    }

    proptest! {
        #[test]
        fn a_matcher_accepts_its_own_sample(
            kind in prop::sample::select(vec!["exact", "prefix", "suffix", "contains"]),
            text in "[a-zA-Z./-]{1,12}",
            ignore_case: bool,
        ) {
            let matcher = json!({kind: text, "ignore_case": ignore_case});
            let found = matched_text(&matcher).unwrap();
            prop_assert!(accepts(&matcher, &found));
        }
    }
}
