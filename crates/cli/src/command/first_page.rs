//! The first page of the help: the commands, grouped by what a person wants to do.

use std::fmt::Write as _;

use clap::Subcommand as _;

use super::Command;

/// The groups, with the names of their commands.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Measure", &["study", "price", "mesh", "compare", "gate", "load", "find"]),
    ("Configure", &["lint", "listeners"]),
    ("Predict", &["predict"]),
    ("Results", &["runs", "serve", "convert"]),
    ("Lab", &["lab"]),
    ("Trust", &["trust"]),
    ("About", &["functions"]),
];

/// The template of that page. Templates of clap have one list of commands without headings, so the groups are text of the template.
pub(super) fn template() -> String {
    let program = Command::augment_subcommands(clap::Command::new("hoptax"));
    let (heading, name_style) = (program.get_styles().get_header(), program.get_styles().get_literal());
    let width = program.get_subcommands().map(|one| one.get_name().len()).max().unwrap_or_default();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{heading}{group}:{heading:#}");
        for command in names.iter().filter_map(|name| program.find_subcommand(name)) {
            let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
            let _ = writeln!(text, "  {name_style}{name:width$}{name_style:#}  {about}");
        }
        text.push('\n');
    }
    text + &format!("{heading}Options:{heading:#}\n{{options}}{{after-help}}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::Arguments;

    /// Commands that `docs/reference/commands.md` alone lists: what packages and editors need once.
    const ELSEWHERE: [&str; 1] = ["generate"];

    #[test]
    fn every_command_that_people_use_is_on_the_first_page_once() {
        let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut grouped: Vec<&str> = grouped.chain(ELSEWHERE).collect();
        let program = Arguments::command();
        let mut names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        names.sort_unstable();
        assert_eq!(grouped, names);
    }

    /// Each fits a line, and those with commands of their own name these, but for `runs`, which has ten.
    #[test]
    fn lines_of_the_first_page_name_the_commands_behind_them() {
        let program = Arguments::command();
        for command in ["listeners", "predict", "convert", "lab", "trust", "generate"]
            .map(|name| program.find_subcommand(name).unwrap())
        {
            let about = command.get_about().unwrap().to_string();
            for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
                assert!(about.contains(&format!("`{}`", below.get_name())), "{about}");
            }
        }
        let page = Arguments::command().render_help().to_string();
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    }
}
