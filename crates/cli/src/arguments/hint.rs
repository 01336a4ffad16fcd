//! Names the command that was meant when an unknown one is the name of a command of a command: `lab origin` for `origin`.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hoptax_text::nearest::nearest;

/// The error about an unknown command, with the commands that have its name, or one like it, after another word. Other errors are
/// unchanged, and so is one to which clap knows a similar name in its place.
pub(super) fn added(mut error: clap::Error, program: &clap::Command) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let known = commands(program.get_name(), program);
    let called = |name: &str| -> Vec<&str> {
        known.iter().filter(|(last, _)| last == name).map(|(_, words)| words.as_str()).collect()
    };
    let mut meant = called(word);
    if meant.is_empty() && error.get(ContextKind::SuggestedSubcommand).is_none() {
        let mut similar = nearest(word, known.iter().map(|(last, _)| last.as_str()));
        similar.dedup();
        meant = similar.into_iter().flat_map(called).collect();
    }
    if meant.is_empty() {
        return error;
    }
    let tip = StyledStr::from(format!("did you mean `{}`?", meant.join("` or `")));
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    error
}

/// The last word and all words of every command below `above`, which is itself called `words`.
fn commands(words: &str, above: &clap::Command) -> Vec<(String, String)> {
    let shown = above.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let each = shown.flat_map(|one| {
        let all = format!("{words} {}", one.get_name());
        let below = commands(&all, one);
        std::iter::once((one.get_name().to_owned(), all)).chain(below)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use crate::arguments::parsed;

    #[test]
    fn the_name_of_a_command_without_the_word_before_it_gets_a_hint() {
        for (line, tip) in [
            ("hoptax origin --listen 127.0.0.1:0", "did you mean `hoptax lab origin`?"),
            ("hoptax prices", "did you mean `hoptax predict prices`?"),
            ("hoptax import", "did you mean `hoptax runs import` or `hoptax convert import`?"),
            ("hoptax orgin", "did you mean `hoptax lab origin`?"),
            ("hoptax lab calibrate", "did you mean `hoptax trust calibrate`?"),
            ("hoptax runs load", "did you mean `hoptax load`?"),
            ("hoptax studdy", "a similar subcommand exists: 'study'"),
        ] {
            let error = parsed(line.split(' ')).unwrap_err().to_string();
            assert!(error.contains(tip), "{line}: {error}");
            assert_eq!(error.matches("tip:").count(), 1, "{line}: {error}");
        }
        let error = parsed(["hoptax", "xyzzy"]).unwrap_err().to_string();
        assert!(!error.contains("tip:"), "{error}");
    }
}
