//! For commands with many flags, those that help shows by default; `--help-all` shows all flags.

use std::ffi::OsStr;

use clap::{Arg, ArgAction, Command};

use super::traffic::NONE;

/// The usual flags of each such command: those that nine in ten users need.
const USUAL: [(&str, &[&str]); 2] = [
    (
        "load",
        &[
            "rate",
            "duration",
            "count",
            "connections",
            "workers",
            "warmup",
            "protocol",
            "method",
            "header",
            "body",
            "timeout",
            "insecure",
            "percentiles",
            "fail-on",
            "json",
        ],
    ),
    (
        "find",
        &[
            "slo",
            "goal",
            "arms",
            "dry-run",
            "preset",
            "sweep",
            "min-rate",
            "max-rate",
            "budget",
            "account",
            "connections",
            "protocol",
            "method",
            "header",
            "body",
            "json",
        ],
    ),
];

/// The flag that prints the help with all flags.
pub(crate) fn help_all() -> Arg {
    Arg::new("help-all")
        .long("help-all")
        .action(ArgAction::HelpLong)
        .help_heading(NONE)
        .help("Print the help with all flags; without it, only the usual ones are shown")
}

/// The command for this line: if it asks for the usual help, without the other flags.
pub(crate) fn shown(command: Command, line: &[impl AsRef<OsStr>]) -> Command {
    let asks = |flag: &str| line.iter().any(|word| word.as_ref() == flag);
    // The command `help` prints the same as `--help`.
    let asks_for_usual =
        asks("--help") || asks("-h") || line.get(1).is_some_and(|word| word.as_ref() == "help");
    if asks("--help-all") || !asks_for_usual {
        return command;
    }
    USUAL.iter().fold(command, |command, (name, usual)| {
        command.mut_subcommand(name, |one| {
            one.mut_args(|arg| {
                let is_usual =
                    arg.get_long().is_none_or(|long| usual.contains(&long) || long.starts_with("help"));
                arg.hide(!is_usual)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::{Arguments, parsed};

    fn help(words: &[&str]) -> String {
        parsed(std::iter::once(&"hoptax").chain(words).copied()).unwrap_err().to_string()
    }

    /// The long flags that a help describes.
    fn flags(help: &str) -> usize {
        // At the indentation of flags: descriptions may begin with one, too.
        let is_flag =
            |line: &&str| line.starts_with("      --") || (line.starts_with("  -") && line.contains(", --"));
        help.lines().filter(is_flag).count()
    }

    #[test]
    fn the_help_of_a_command_with_many_flags_shows_the_usual_ones_and_where_the_rest_is() {
        let command = Arguments::command();
        let of_all = command.get_arguments().filter(|argument| argument.is_global_set()).count();
        for (name, usual) in USUAL {
            let one = command.find_subcommand(name).unwrap();
            let longs: Vec<&str> = one.get_arguments().filter_map(Arg::get_long).collect();
            let unknown: Vec<&&str> = usual.iter().filter(|flag| !longs.contains(*flag)).collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
            for asked in [["--help"], ["-h"]] {
                let text = help(&[&[name][..], &asked].concat());
                let most = usual.len() + ["--help", "--help-all"].len() + of_all;
                assert!(text.contains("--help-all") && flags(&text) <= most, "{name}: {text}");
            }
            let all = help(&[name, "--help-all"]);
            assert!(flags(&all) >= longs.len(), "{name}: {} of {}", flags(&all), longs.len());
        }
    }
}
