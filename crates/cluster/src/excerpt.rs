//! Messages of others, as far as an error repeats them.

/// Most letters of a message of a server or a program that an error repeats: a proxy before an API server answers with whole pages.
const MOST_LETTERS: usize = 500;

/// A message of somebody else, as far as an error repeats it: no controls of a terminal, and not all of a page.
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
