//! Each form that a usage line shows is a command that can be given so, and no option takes the argument behind its value.

use clap::CommandFactory;

use crate::command::{Arguments, parsed};

/// Splits a text at a character, but not within its brackets.
fn split(text: &str, at: char) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for character in text.chars() {
        match character {
            '<' | '[' => depth += 1,
            '>' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if character == at && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(character);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A value that a placeholder stands for.
fn value(name: &str) -> String {
    if let Some((key, name)) = name.split_once('=') {
        return format!("{key}={}", value(name));
    }
    let value = match name {
        "DURATION" => "1m",
        "FORMAT" => "fortio",
        "GOAL" => "fastest-mode",
        "HOST[:PORT]" => "127.0.0.1:8080",
        "LIMIT" => "cpu>+3%",
        "OBJECTIVE" => "p99<5ms",
        "RATE" => "100",
        "SHELL" => "bash",
        "SIZE" => "clones",
        "URL" => "http://127.0.0.1:8080/",
        _ => "x",
    };
    value.to_owned()
}

/// The command lines of a usage line without its optional parts: one for each combination of its alternatives, with two values where it
/// allows several.
fn command_lines(usage: &str) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = vec![Vec::new()];
    let mut is_after_option = false;
    for part in split(usage, ' ').into_iter().filter(|part| !part.starts_with('[')) {
        let choices = match part.strip_prefix('<').and_then(|rest| rest.rsplit_once('>')) {
            None => vec![vec![part.clone()]],
            Some((names, more)) => {
                assert!(more.is_empty() || !is_after_option, "{usage}: an option takes one value");
                let values = if more.is_empty() { 1 } else { 2 };
                let of = |name: &String| {
                    if name.starts_with("--") { command_lines(name) } else { vec![vec![value(name); values]] }
                };
                split(names, '|').iter().flat_map(of).collect()
            }
        };
        is_after_option = part.starts_with("--");
        let extended = |line: &Vec<String>| -> Vec<Vec<String>> {
            choices.iter().map(|choice| [&line[..], &choice[..]].concat()).collect()
        };
        lines = lines.iter().flat_map(extended).collect();
    }
    lines
}

#[test]
fn every_form_of_a_usage_line_is_a_valid_command() {
    fn check(command: &mut clap::Command, forms: &mut usize) {
        if command.is_hide_set() || command.get_name() == "help" {
            return;
        }
        let usage = command.render_usage().to_string();
        let forms_of = usage.trim_start_matches("Usage: ").lines().map(str::trim);
        for form in forms_of.filter(|form| !form.contains("<COMMAND>")) {
            for line in command_lines(form) {
                parsed(line.clone()).unwrap_or_else(|error| panic!("{form}: {line:?}: {error}"));
                *forms += 1;
            }
        }
        command.get_subcommands_mut().for_each(|below| check(below, forms));
    }
    let (mut program, mut forms) = (Arguments::command(), 0);
    program.build();
    program.get_subcommands_mut().for_each(|command| check(command, &mut forms));
    assert!(forms > 40, "{forms}");
}

#[test]
fn an_option_takes_one_value_unless_it_excludes_every_argument_behind_it() {
    fn check(command: &clap::Command) {
        let takes_more = |option: &&clap::Arg| {
            !option.is_positional() && option.get_num_args().is_some_and(|number| number.max_values() > 1)
        };
        for option in command.get_arguments().filter(takes_more) {
            let excluded = command.get_arg_conflicts_with(option);
            for argument in command.get_positionals() {
                let is_excluded = excluded.iter().any(|other| other.get_id() == argument.get_id());
                assert!(is_excluded, "{}: {option} takes {argument}", command.get_name());
            }
        }
        command.get_subcommands().for_each(check);
    }
    check(&Arguments::command());
}

#[test]
fn a_usage_line_becomes_the_commands_that_it_allows() {
    let lines =
        |usage: &str| -> Vec<String> { command_lines(usage).iter().map(|words| words.join(" ")).collect() };
    assert_eq!(
        lines("hoptax a --b <key=RATE|key=FILE> [OPTIONS] <URL>..."),
        [
            "hoptax a --b key=100 http://127.0.0.1:8080/ http://127.0.0.1:8080/",
            "hoptax a --b key=x http://127.0.0.1:8080/ http://127.0.0.1:8080/",
        ]
    );
    assert_eq!(lines("hoptax a <GRAPH|--check <RESULT>> [NAME]..."), ["hoptax a x", "hoptax a --check x"]);
    assert_eq!(lines("hoptax a --to <HOST[:PORT]>"), ["hoptax a --to 127.0.0.1:8080"]);
    assert!(std::panic::catch_unwind(|| lines("hoptax a --from <RESULT>... <GRAPH>")).is_err());
}
