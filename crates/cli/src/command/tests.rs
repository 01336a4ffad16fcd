//! The command line as a whole: its help, its examples, and what documents say of it.

mod documented;
mod usage;

use clap::CommandFactory;

use super::*;

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

/// Longer lines would be broken once more, in the middle of a paragraph.
#[test]
fn lines_of_the_help_fit() {
    fn check(command: &clap::Command) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
        }
        command.get_subcommands().for_each(check);
    }
    check(&Arguments::command());
}

/// Words of an example in the help: up to its description or a redirection, with quotes removed.
fn words(example: &str) -> Vec<String> {
    let end = ["  ", " > ", " | "].iter().filter_map(|end| example.find(end)).min();
    let line = &example[..end.unwrap_or(example.len())];
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

/// The commands on the first page have examples, and those of a command that are like one: they have arguments of their own.
#[test]
fn the_examples_in_the_help_are_valid_commands() {
    fn check(command: &clap::Command, must_have_some: bool) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
        let examples: Vec<&str> = lines.filter(|line| line.starts_with("hoptax ")).collect();
        assert!(examples.len() <= 3, "{}: {examples:?}", command.get_name());
        assert!(!must_have_some || !examples.is_empty(), "{} has no example", command.get_name());
        for example in examples {
            parsed(words(example)).unwrap_or_else(|error| panic!("{example}: {error}"));
        }
        let is_group = ["listeners", "predict", "convert", "lab", "trust"].contains(&command.get_name());
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            check(below, is_group);
        }
    }
    let program = Arguments::command();
    program.get_subcommands().for_each(|command| check(command, true));
}
