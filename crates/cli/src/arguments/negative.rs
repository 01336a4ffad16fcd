//! Negative numbers on a command line. They are values of the option before them, whose parser validates them, not unknown flags.

use std::ffi::OsStr;

use clap::{Arg, Command};

/// Names of the values that are numbers, alone, with a unit or several.
const NUMBERS: [&str; 12] = [
    "NUMBER",
    "RATE",
    "DURATION",
    "TIME",
    "SECONDS",
    "PERCENT",
    "PERCENTILES",
    "SHARE",
    "PRICE",
    "BYTES",
    "MIB",
    "PORT",
];

/// The command for this line: if a word of it is a negative number, options of numbers take it. On other lines, a flag after such an option
/// means that its value is missing.
pub(crate) fn taken(command: Command, line: &[impl AsRef<OsStr>]) -> Command {
    if line.iter().any(|word| is_negative(word.as_ref())) { taking(command) } else { command }
}

/// The command and those below it, whose options of numbers take values that begin with a dash.
fn taking(command: Command) -> Command {
    let of_option = |option: Arg| {
        let takes = is_of_numbers(&option) || option.is_allow_hyphen_values_set();
        option.allow_hyphen_values(takes)
    };
    command.mut_args(of_option).mut_subcommands(taking)
}

/// True for an option whose value is a number.
fn is_of_numbers(option: &Arg) -> bool {
    let names = option.get_value_names().unwrap_or_default();
    !option.is_positional() && names.iter().any(|name| NUMBERS.contains(&name.as_str()))
}

/// True for `-1`, `-0.5` and `-1%`. The flags `-4` and `-6` are, too: they stay flags unless the option before them lacks its value.
fn is_negative(word: &OsStr) -> bool {
    let rest = word.to_str().and_then(|word| word.strip_prefix('-')).unwrap_or_default();
    rest.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;
    use crate::command::{Arguments, parsed};

    /// The commands with options of numbers, each with their words.
    fn options(command: &Command, words: &[String], found: &mut Vec<(Vec<String>, String)>) {
        let longs = command.get_arguments().filter(|option| is_of_numbers(option)).filter_map(Arg::get_long);
        found.extend(longs.map(|long| (words.to_vec(), format!("--{long}"))));
        for below in command.get_subcommands() {
            options(below, &[words, &[below.get_name().to_owned()]].concat(), found);
        }
    }

    #[test]
    fn every_option_of_numbers_says_itself_what_is_wrong_with_a_negative_one() {
        let mut found = Vec::new();
        options(&Arguments::command(), &["hoptax".to_owned()], &mut found);
        assert!(found.len() > 40, "{found:?}");
        for (words, option) in found {
            for value in ["-1", "-1%", "-1s"] {
                let line = words.iter().map(String::as_str).chain([option.as_str(), value]);
                let error = parsed(line).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ValueValidation, "{words:?} {option} {value}: {error}");
            }
        }
    }

    #[test]
    fn a_negative_seed_or_margin_is_refused_in_the_words_of_its_parser() {
        for (line, expected) in [
            ("hoptax load --seed -1 http://a.test/", "a seed is a whole number from 0 "),
            ("hoptax study --seed -1", "a seed is a whole number from 0 "),
            ("hoptax compare jwt lua --margin -1%", "it must be above 0%"),
            ("hoptax load -q -5 http://a.test/", "requests per second above 0"),
        ] {
            let error = parsed(line.split(' ')).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn a_flag_in_the_place_of_a_number_is_no_value() {
        let error = parsed("hoptax load --rate -d 10s http://a.test/".split(' ')).unwrap_err().to_string();
        assert!(error.contains("a value is required for '--rate"), "{error}");
    }

    #[test]
    fn only_a_dash_before_a_digit_makes_a_number_negative() {
        let is_negative = |word: &str| is_negative(OsStr::new(word));
        assert!(["-1", "-0.5", "-.5", "-1%", "-2s"].into_iter().all(is_negative));
        assert!(["1", "-", "--", "-d", "--1", "http://a-1.test/"].into_iter().all(|word| !is_negative(word)));
    }
}
