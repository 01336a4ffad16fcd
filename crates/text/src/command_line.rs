//! Texts as words of a command line that a user can paste: a file may have any name, and a result of a stranger may state any.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use crate::controls::is_command;

/// A text as one word, in quotes if a shell would read something else in it.
pub fn word(text: impl Display) -> String {
    let text = text.to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:=@,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { quoted(&text) }
}

/// A duration as one word: `1m30s`.
pub fn duration_word(duration: Duration) -> String {
    humantime::format_duration(duration).to_string().replace(' ', "")
}

/// The path of a file or folder as one word, which no program reads as an option. `-` stays the standard input.
pub fn path_word(path: &Path) -> String {
    match path.display().to_string() {
        option if option.len() > 1 && option.starts_with('-') => word(format!("./{option}")),
        path => word(path),
    }
}

/// Paths as words, one after the other.
pub fn path_words(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> String {
    paths.into_iter().map(|path| path_word(path.as_ref())).collect::<Vec<_>>().join(" ")
}

/// An option that takes one path, once for each of these, after a space each.
pub fn path_options(name: &str, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> String {
    paths.into_iter().map(|path| path_option(name, Some(path))).collect()
}

/// A text as one word in quotes. Characters that a terminal would obey are written as bytes, which `$'...'` of shells reads.
pub fn quoted(text: &str) -> String {
    if !text.chars().any(is_command) {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let escaped = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_command(c) => {
            let bytes: Vec<String> = c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect();
            bytes.concat()
        }
        c => c.to_string(),
    };
    format!("$'{}'", text.chars().map(escaped).collect::<String>())
}

/// An option with its value as a word, after a space; nothing without a value.
pub fn option(name: &str, value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| format!(" {name} {}", word(value)))
}

/// An option with a path, after a space; nothing without a path.
pub fn path_option(name: &str, path: Option<impl AsRef<Path>>) -> String {
    path.map_or_else(String::new, |path| format!(" {name} {}", path_word(path.as_ref())))
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
            ("it's\u{1b}[2J\\n", r"$'it\'s\033[2J\\n'"),
            ("a\u{202e}b", r"$'a\342\200\256b'"),
            ("two\nlines", r"$'two\012lines'"),
        ] {
            assert_eq!(word(name), expected);
        }
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn an_option_without_a_value_is_left_out() {
        assert_eq!(option("--listener", Some("two words")), " --listener 'two words'");
        assert_eq!(option("--rate", Some(0.5)), " --rate 0.5");
        assert_eq!(option("--rate", None::<f64>), "");
        assert_eq!(path_option("--store", None::<&Path>), "");
    }

    #[test]
    fn a_path_is_no_option() {
        for (path, expected) in
            [("-lead", "./-lead"), ("-two words", "'./-two words'"), ("runs/-lead", "runs/-lead"), ("-", "-")]
        {
            assert_eq!(path_word(Path::new(path)), expected);
        }
        assert_eq!(path_words(["-lead", "two words", "b.yaml"]), "./-lead 'two words' b.yaml");
        assert_eq!(path_option("--store", Some("-lead")), " --store ./-lead");
        assert_eq!(path_options("--from", ["-lead", "two words"]), " --from ./-lead --from 'two words'");
        assert_eq!(path_options("--from", [""; 0]), "");
        assert_eq!(word("--details"), "--details", "other words may be options");
    }
}
