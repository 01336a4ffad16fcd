//! Suggestions for misspelt names: the most similar valid names, and the text that suggests them in an error message.

/// Minimum similarity of a suggestion, 0 to 1.
const MIN_SIMILARITY: f64 = 0.7;

/// Minimum similarity of names that differ by one typing error, which in a short name is a large share of the letters.
const ONE_ERROR_SIMILARITY: f64 = 0.75;

/// Minimum length of a name to which [`ONE_ERROR_SIMILARITY`] applies, letters.
const MIN_LETTERS: usize = 3;

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// The candidates most similar to `word`, best first; empty if none is similar.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (similarity(word, candidate), candidate))
        .filter(|(score, _)| *score >= MIN_SIMILARITY)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().take(MAX_SUGGESTIONS).map(|(_, candidate)| candidate).collect()
}

/// The suggestion to append to an error message; empty without suggestions.
pub fn suggestion<T: AsRef<str>>(nearest: &[T]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean `{}`?", one.as_ref()),
        several => {
            let names: Vec<&str> = several.iter().map(AsRef::as_ref).collect();
            format!("; did you mean one of `{}`?", names.join("`, `"))
        }
    }
}

/// [`nearest`] and [`suggestion`] in one call.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    suggestion(&nearest(word, candidates))
}

/// The similarity of two names, 0 to 1: of the whole names, or of one segment each, so `gzip` finds `compress/gzip`. The
/// similarity of segments has a slightly lower weight.
fn similarity(word: &str, candidate: &str) -> f64 {
    let segments = word.split('/').flat_map(|part| candidate.split('/').map(move |other| (part, other)));
    segments
        .map(|(part, other)| 0.95 * edit_similarity(part, other))
        .fold(edit_similarity(word, candidate), f64::max)
}

/// The share of unchanged letters by the Damerau-Levenshtein distance, which counts a transposition as one change.
fn edit_similarity(word: &str, other: &str) -> f64 {
    let share = strsim::normalized_damerau_levenshtein(word, other);
    let is_one_error = word.chars().count() >= MIN_LETTERS && strsim::damerau_levenshtein(word, other) == 1;
    if is_one_error { share.max(ONE_ERROR_SIMILARITY) } else { share }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 6] =
        ["access-log/file", "access-log/json", "compress/gzip", "lua", "jwt", "rate-limit/local"];

    #[test]
    fn a_typing_error_finds_the_name() {
        assert_eq!(nearest("rate-limit/locla", IDS), ["rate-limit/local"]);
        assert_eq!(nearest("jtw", IDS), ["jwt"]);
        assert_eq!(nearest("comress/gizp", IDS), ["compress/gzip"]);
        assert_eq!(nearest("lu", ["lu2", "la"]), Vec::<&str>::new(), "one letter of two is too much");
    }

    #[test]
    fn one_segment_finds_the_name() {
        assert_eq!(nearest("gzip", IDS), ["compress/gzip"]);
        assert_eq!(nearest("access-log", IDS), ["access-log/file", "access-log/json"]);
        assert_eq!(hint("access-log", IDS), "; did you mean one of `access-log/file`, `access-log/json`?");
    }

    #[test]
    fn a_dissimilar_name_gets_no_suggestion() {
        assert!(nearest("kubernetes", IDS).is_empty());
        assert_eq!(hint("kubernetes", IDS), "");
        assert_eq!(hint("", IDS), "");
    }
}
