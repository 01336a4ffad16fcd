//! Suggestions for an unknown word: the subcommand (`lab origin` for `origin`), the command that accepts it (`load` for a URL), the flag
//! that has another name in other load generators, or the schema that contains it (`report` for `load`).

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hoptax_text::nearest::nearest;
use hoptax_tools::flags::advice;

use crate::schema;

/// The error with a suggestion, if one is known. Other errors are unchanged.
pub(crate) fn added(error: clap::Error, program: &clap::Command, line: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => of_command(error, program, line),
        ErrorKind::UnknownArgument => of_flag(error, line),
        ErrorKind::InvalidValue => of_value(error, line),
        ErrorKind::ArgumentConflict => of_conflict(error),
        _ => error,
    }
}

/// The error about an unknown flag. Removes clap's tip to pass it as a value, because no argument of hoptax begins with a dash.
fn of_flag(mut error: clap::Error, line: &[OsString]) -> clap::Error {
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let command = line.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    match advice(command, flag) {
        Some(meant) => with_tip(error, meant),
        None => error,
    }
}

/// The error about an unknown schema. That of a kind of result is a part of one.
fn of_value(error: clap::Error, line: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidValue) else { return error };
    let is_schema = line.windows(2).any(|words| words[0] == "generate" && words[1] == "schema");
    let place = if is_schema { schema::place_of(name) } else { None };
    match place {
        Some(place) => with_tip(error, &place),
        None => error,
    }
}

/// The error about options that exclude each other. Those that a search on arms refuses are in its study.
fn of_conflict(error: clap::Error) -> clap::Error {
    let names_arms = |kind: ContextKind| {
        let is_arms = |option: &String| option.starts_with("--arms ");
        match error.get(kind) {
            Some(ContextValue::String(option)) => is_arms(option),
            Some(ContextValue::Strings(options)) => options.iter().any(is_arms),
            _ => false,
        }
    };
    // Given twice, it is both.
    if names_arms(ContextKind::InvalidArg) != names_arms(ContextKind::PriorArg) {
        let tip = "the study states requests, connections and servers, and all objectives hold together";
        return with_tip(error, tip);
    }
    error
}

/// The error with this tip only. The usage that clap makes for an argument which it suggests is that of this argument.
fn with_tip(mut error: clap::Error, tip: &str) -> clap::Error {
    if error.get(ContextKind::SuggestedArg).is_some() {
        error.remove(ContextKind::Usage);
    }
    for kind in [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
        ContextKind::Suggested,
    ] {
        error.remove(kind);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip.to_owned())]));
    error
}

/// Returns the command that takes `word`, which is not a command: `load` takes a URL, and `show` takes any other word, where it exists.
fn taken_by(word: &str, program: &clap::Command, line: &[OsString]) -> Option<String> {
    let words: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
    if word.contains("://") {
        return Some(format!("{} load {word}", program.get_name()));
    }
    let place = words.iter().position(|other| *other == word)?;
    let above = words.get(1..place)?.iter().filter(|word| !word.starts_with('-'));
    let mut command = program;
    let mut named = program.get_name().to_owned();
    for name in above {
        command = command.find_subcommand(name)?;
        named += &format!(" {name}");
    }
    command.find_subcommand("show").map(|_| format!("{named} show {word}"))
}

/// The error about an unknown command, with a suggestion: commands with this name or a similar one below other commands, or the command
/// that takes the word. The error is unchanged if clap suggests a similar command at the same place.
fn of_command(error: clap::Error, program: &clap::Command, line: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    // After `help`, clap reads a flag as the name of a command.
    if word.starts_with('-') {
        let name = program.get_name();
        let tip =
            format!("`{name} --help-all` lists all commands, and `{name} COMMAND --help` the options of one");
        return with_tip(error, &tip);
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
    let has_similar = error.get(ContextKind::SuggestedSubcommand).is_some();
    let taken = if meant.is_empty() && !has_similar { taken_by(word, program, line) } else { None };
    let meant: Vec<&str> = meant.into_iter().chain(taken.as_deref()).collect();
    if meant.is_empty() {
        return error;
    }
    let tip = format!("did you mean `{}`?", meant.join("` or `"));
    with_tip(error, &tip)
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
    use crate::command::parsed;

    #[test]
    fn an_unknown_word_gets_a_hint_of_what_was_meant() {
        for (line, tip) in [
            ("hoptax origin --listen 127.0.0.1:0", "did you mean `hoptax lab origin`?"),
            ("hoptax prices", "did you mean `hoptax predict prices`?"),
            ("hoptax schema load", "did you mean `hoptax generate schema`?"),
            ("hoptax generate schema study", "`study` is in `$defs` of `hoptax generate schema report`"),
            (
                "hoptax import",
                "did you mean `hoptax listeners import` or `hoptax runs import` or `hoptax convert import`?",
            ),
            ("hoptax orgin", "did you mean `hoptax lab origin`?"),
            ("hoptax lab calibrate", "did you mean `hoptax trust calibrate`?"),
            ("hoptax runs load", "did you mean `hoptax load`?"),
            ("hoptax http://127.0.0.1:8080/", "did you mean `hoptax load http://127.0.0.1:8080/`?"),
            ("hoptax functions jwt", "did you mean `hoptax functions show jwt`?"),
            ("hoptax runs 3", "did you mean `hoptax runs show 3`?"),
            ("hoptax load -t 4 http://a/", "`-w` (`--workers`) is the number of threads"),
            ("hoptax load -t4 http://a/", "`-w` (`--workers`) is the number of threads"),
            ("hoptax load --threads 4 http://a/", "`-w` (`--workers`) is the number of threads"),
            ("hoptax load -r 2000 http://a/", "`-q` (`--rate`) is the rate"),
            ("hoptax load --trace times.txt http://a/", "`--arrivals trace=FILE`"),
            ("hoptax load --store http://a/", "`hoptax runs import FILE`"),
            ("hoptax find -q 2000 http://a/", "the rate is what is searched"),
            ("hoptax find -R2000 http://a/", "the rate is what is searched"),
            ("hoptax find -z 30s http://a/", "`--budget`"),
            ("hoptax find --trace times.txt http://a/", "`hoptax load --arrivals trace=FILE`"),
            ("hoptax help --all", "`hoptax --help-all` lists all commands"),
            ("hoptax help load --all", "`hoptax --help-all` lists all commands"),
            ("hoptax studdy", "a similar subcommand exists: 'study'"),
        ] {
            let error = parsed(line.split(' ')).unwrap_err().to_string();
            assert!(error.contains(tip), "{line}: {error}");
            assert_eq!(error.matches("tip:").count(), 1, "{line}: {error}");
        }
        for line in [
            "hoptax xyzzy",
            "hoptax study -x",
            "hoptax generate schema xyzzy",
            "hoptax find --slo p99<5ms --arms a,b --arms c,d quick",
        ] {
            let error = parsed(line.split(' ')).unwrap_err().to_string();
            assert!(!error.contains("tip:"), "{error}");
        }
    }

    #[test]
    fn a_hint_is_not_beside_the_usage_of_a_flag_that_is_only_similar() {
        for (line, similar) in [
            ("hoptax load --trace times.txt http://a/", "--rate"),
            ("hoptax find --trace times.txt http://a/", "--streams"),
            ("hoptax load --store http://a/", "--streams"),
        ] {
            let error = parsed(line.split(' ')).unwrap_err().to_string();
            assert!(!error.contains(similar), "{line}: {error}");
        }
    }
}
