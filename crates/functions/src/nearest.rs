//! Which known names a mistyped one may have meant.

/// Below this similarity, 0 to 1, a name is not worth suggesting.
const WORTH_SUGGESTING: f64 = 0.7;

/// At most this many names are suggested.
const MOST: usize = 3;

/// The candidates most like `word`, best first, none when nothing is near.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (similarity(word, candidate), candidate))
        .filter(|(score, _)| *score >= WORTH_SUGGESTING)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().take(MOST).map(|(_, candidate)| candidate).collect()
}

/// How alike two ids are: as wholes, or in one of their segments, so that `gzip` finds `compress/gzip`. A likeness
/// of a segment weighs a little less.
fn similarity(word: &str, candidate: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(word, candidate);
    let segments = word.split('/').flat_map(|part| candidate.split('/').map(move |other| (part, other)));
    segments
        .map(|(part, other)| 0.95 * strsim::normalized_damerau_levenshtein(part, other))
        .fold(whole, f64::max)
}

/// The end of a message that names what may have been meant.
pub(crate) fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        several => format!("; did you mean one of `{}`?", several.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 5] = ["access-log/file", "access-log/json", "compress/gzip", "lua", "rate-limit/local"];

    #[test]
    fn a_slip_of_the_finger_finds_the_id() {
        assert_eq!(nearest("rate-limit/locla", IDS), ["rate-limit/local"]);
        assert_eq!(nearest("lau", ["lua"]), Vec::<&str>::new(), "two letters of three are too far");
    }

    #[test]
    fn one_segment_finds_the_id() {
        assert_eq!(nearest("gzip", IDS), ["compress/gzip"]);
        assert_eq!(nearest("access-log", IDS), ["access-log/file", "access-log/json"]);
    }

    #[test]
    fn nothing_near_suggests_nothing() {
        assert!(nearest("kubernetes", IDS).is_empty());
        assert_eq!(suggestion(&[]), "");
    }
}
