//! The help pages that list commands, grouped by the user's goal: the first page, and the list of all commands.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Arg, Subcommand as _};

use super::Command;
use crate::arguments::usual;

/// A heading, and the names of the commands below it.
type Group = (&'static str, &'static [&'static str]);

/// The groups of the first page.
const GROUPS: [Group; 5] = [
    ("Measure", &["study", "price", "mesh", "compare", "gate", "load", "find"]),
    ("Configure", &["lint", "listeners"]),
    ("Predict", &["predict"]),
    ("Results", &["runs", "serve"]),
    ("Trust", &["trust"]),
];

/// The group that the page of all commands has besides.
const MORE: Group = ("More", &["lab", "convert", "functions", "generate"]);

/// The template of the first page.
pub(super) fn template() -> String {
    page(&GROUPS, "All commands: hoptax --help-all\n\n")
}

/// The flag that prints the page of all commands.
pub(super) fn help_all() -> Arg {
    usual::help_all().help("Print the help with all commands")
}

/// The program for this line: with the page of all commands as its help, if the line asks for that before any command.
pub(super) fn shown(program: clap::Command, line: &[OsString]) -> clap::Command {
    let mut before = line.iter().skip(1).take_while(|word| word.to_string_lossy().starts_with('-'));
    if !before.any(|word| word == "--help-all") {
        return program;
    }
    program.help_template(page(&[&GROUPS[..], &[MORE]].concat(), ""))
}

/// The template of a page. Templates of clap have one list of commands without headings, so the groups are text of the template.
fn page(groups: &[Group], behind: &str) -> String {
    let program = Command::augment_subcommands(clap::Command::new("hoptax"));
    let (heading, name_style) = (program.get_styles().get_header(), program.get_styles().get_literal());
    let width = program.get_subcommands().map(|one| one.get_name().len()).max().unwrap_or_default();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (group, names) in groups {
        let _ = writeln!(text, "{heading}{group}:{heading:#}");
        for command in names.iter().filter_map(|name| program.find_subcommand(name)) {
            let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
            let _ = writeln!(text, "  {name_style}{name:width$}{name_style:#}  {about}");
        }
        text.push('\n');
    }
    text + &format!("{behind}{heading}Options:{heading:#}\n{{options}}{{after-help}}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::{Arguments, parsed};

    /// The text that a command line prints which asks for help.
    fn help(line: &[&str]) -> String {
        parsed(line.iter().copied()).unwrap_err().to_string()
    }

    #[test]
    fn every_command_is_on_the_page_of_all_and_the_first_page_names_that_page() {
        let program = Arguments::command();
        let visible = program.get_subcommands().filter(|one| !one.is_hide_set());
        let mut names: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let usual: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut grouped = [&usual[..], MORE.1].concat();
        grouped.sort_unstable();
        names.sort_unstable();
        assert_eq!(grouped, names);
        let (first, all) = (help(&["hoptax", "--help"]), help(&["hoptax", "--quiet", "--help-all"]));
        assert!(first.contains("\nAll commands: hoptax --help-all\n"), "{first}");
        for name in names {
            let entry = format!("\n  {name} ");
            assert!(all.contains(&entry), "{name}: {all}");
            assert_eq!(first.contains(&entry), usual.contains(&name), "{name}: {first}");
        }
    }

    /// Each fits a line, and those with commands of their own name these, but for `runs`, which has ten.
    #[test]
    fn lines_of_both_pages_name_the_commands_behind_them() {
        let program = Arguments::command();
        for command in ["listeners", "predict", "convert", "lab", "trust", "generate"]
            .map(|name| program.find_subcommand(name).unwrap())
        {
            let about = command.get_about().unwrap().to_string();
            for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
                assert!(about.contains(&format!("`{}`", below.get_name())), "{about}");
            }
        }
        for page in ["--help", "--help-all"].map(|flag| help(&["hoptax", flag])) {
            assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
        }
    }
}
