//! Messages of other programs, shortened for errors.

/// Maximum length of a server's or program's message in an error, in characters: a proxy in front of an API server may answer with a whole
/// page.
const MOST_LETTERS: usize = 500;

/// A message of another program, shortened and without terminal control characters.
pub(crate) fn excerpt(message: &str) -> String {
    let words = message.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{} ...", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_others_are_repeated_in_short_and_without_controls() {
        assert_eq!(excerpt("  pods \"a\"\r\n\tnot\u{7} found "), "pods \"a\" not found");
        let page = excerpt(&"ä ".repeat(10_000));
        assert_eq!(page.chars().count(), MOST_LETTERS + " ...".len());
    }
}
