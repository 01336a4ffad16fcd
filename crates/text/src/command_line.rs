//! Texts as words of a command line that a user can paste: a file may have any name, and a result of a stranger may state any.

use std::fmt::Display;

/// A text as one word, in quotes if a shell would read something else in it.
pub fn word(text: impl Display) -> String {
    let text = text.to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:=@,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { quoted(&text) }
}

/// A text as one word in quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Texts as words, one after the other.
pub fn words(texts: impl IntoIterator<Item = impl Display>) -> String {
    texts.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_command_line_and_never_a_command() {
        for (name, expected) in [
            ("runs/edge-1.yaml", "runs/edge-1.yaml"),
            ("two words", "'two words'"),
            ("map.yaml#b", "'map.yaml#b'"),
            ("a;reboot", "'a;reboot'"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(word(name), expected);
        }
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(words(["runs/a", "two words"]), "runs/a 'two words'");
    }
}
