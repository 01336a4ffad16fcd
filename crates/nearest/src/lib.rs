//! What a mistyped name may have meant: the names that are most like it, and the end of a message that asks for them.

/// Below this similarity, 0 to 1, a name is not worth suggesting.
const WORTH_SUGGESTING: f64 = 0.7;

/// The similarity of two names that one slip of the finger tells apart, at least: in short ones it is a large share of the
/// letters.
const ONE_SLIP: f64 = 0.75;

/// Fewest letters of a name in which one slip is taken for one.
const FEWEST_LETTERS: usize = 3;

/// At most this many names are suggested.
const MOST: usize = 3;

/// The candidates most like `word`, best first; none when nothing is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (similarity(word, candidate), candidate))
        .filter(|(score, _)| *score >= WORTH_SUGGESTING)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().take(MOST).map(|(_, candidate)| candidate).collect()
}

/// The end of a message that names what may have been meant; empty when there is nothing.
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

/// Both in one: the end of a message about `word`.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    suggestion(&nearest(word, candidates))
}

/// How alike two names are, 0 to 1: as wholes, or in one of their segments, so that `gzip` finds `compress/gzip`. A
/// likeness of a segment weighs a little less.
fn similarity(word: &str, candidate: &str) -> f64 {
    let segments = word.split('/').flat_map(|part| candidate.split('/').map(move |other| (part, other)));
    segments.map(|(part, other)| 0.95 * likeness(part, other)).fold(likeness(word, candidate), f64::max)
}

/// The share of letters that need no change (Damerau and Levenshtein), where two letters that changed places are one.
fn likeness(word: &str, other: &str) -> f64 {
    let share = strsim::normalized_damerau_levenshtein(word, other);
    let is_slip = word.chars().count() >= FEWEST_LETTERS && strsim::damerau_levenshtein(word, other) == 1;
    if is_slip { share.max(ONE_SLIP) } else { share }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 6] =
        ["access-log/file", "access-log/json", "compress/gzip", "lua", "jwt", "rate-limit/local"];

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        assert_eq!(nearest("rate-limit/locla", IDS), ["rate-limit/local"]);
        assert_eq!(nearest("jtw", IDS), ["jwt"]);
        assert_eq!(nearest("comress/gizp", IDS), ["compress/gzip"]);
        assert_eq!(nearest("lu", ["lu2", "la"]), Vec::<&str>::new(), "of two letters, one is half");
    }

    #[test]
    fn one_segment_finds_the_name() {
        assert_eq!(nearest("gzip", IDS), ["compress/gzip"]);
        assert_eq!(nearest("access-log", IDS), ["access-log/file", "access-log/json"]);
        assert_eq!(hint("access-log", IDS), "; did you mean one of `access-log/file`, `access-log/json`?");
    }

    #[test]
    fn nothing_near_suggests_nothing() {
        assert!(nearest("kubernetes", IDS).is_empty());
        assert_eq!(hint("kubernetes", IDS), "");
        assert_eq!(hint("", IDS), "");
    }
}
