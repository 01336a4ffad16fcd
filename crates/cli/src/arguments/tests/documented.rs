//! The commands that the documents name must be commands of this program, with flags that these have.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use crate::arguments::Arguments;

/// The Markdown files below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The command lines of a page: in code within sentences, which may be broken over lines, and in blocks of commands.
fn command_lines(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut sentences = String::new();
    let mut in_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block || line.starts_with("    ") {
            let line = line.trim_start().trim_start_matches("$ ");
            lines.extend(line.starts_with("hoptax ").then(|| line.to_owned()));
        } else {
            sentences.push_str(line.trim());
            sentences.push(' ');
        }
    }
    let code = sentences.split('`').skip(1).step_by(2);
    lines.extend(code.filter(|code| code.starts_with("hoptax ")).map(str::to_owned));
    lines
}

/// The words of a command line up to its comment, its redirection, or the command after it.
fn words(line: &str) -> Vec<&str> {
    let ends = [" #", " | ", " > ", " && ", "   "];
    let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    line[..end].split_whitespace().collect()
}

/// The fault of a command line, if any: a command or a flag that does not exist.
fn fault(line: &str) -> Option<String> {
    let program = Arguments::command();
    let mut command = &program;
    let mut words = words(line).into_iter().skip(1).peekable();
    while let Some(word) = words.next_if(|word| !word.starts_with('-')) {
        match command.find_subcommand(word) {
            Some(below) => command = below,
            None if command.get_positionals().next().is_some() => break,
            // Placeholders stand for any command.
            None if word.chars().all(|c| !c.is_lowercase()) => return None,
            None => return Some(format!("`{line}`: `{}` has no command `{word}`", command.get_name())),
        }
    }
    let flags = words.filter_map(|word| word.strip_prefix("--")).filter(|flag| !flag.is_empty());
    let names = flags.map(|flag| flag.split(['=', ',', '.']).next().unwrap_or_default());
    let mut unknown = names.filter(|name| {
        // Options of the program are options of every command.
        let of_program = program.get_arguments().filter(|argument| argument.is_global_set());
        let is_known =
            command.get_arguments().chain(of_program).any(|argument| argument.get_long() == Some(name));
        !is_known && !["help", "version"].contains(name)
    });
    unknown.next().map(|name| format!("`{line}`: `{}` has no flag `--{name}`", command.get_name()))
}

#[test]
fn every_command_that_a_document_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = pages(&root.join("docs"));
    paths.extend(
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)),
    );
    paths.sort();
    let mut found = 0;
    let mut faults = Vec::new();
    for path in paths {
        for line in command_lines(&fs::read_to_string(&path).unwrap()) {
            found += 1;
            let name = path.strip_prefix(&root).unwrap().display();
            faults.extend(fault(&line).map(|fault| format!("{name}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(found > 100, "{found} commands: the documents have more");
}

#[test]
fn commands_and_flags_that_do_not_exist_are_found() {
    let page = "See `hoptax convert\nimpart x` and `hoptax load --rata 5`.\n\n    hoptax runs list --since 30d --details   # --none\n    hoptax X";
    let faults: Vec<String> = command_lines(page).iter().filter_map(|line| fault(line)).collect();
    assert_eq!(
        faults,
        [
            "`hoptax convert impart x`: `convert` has no command `impart`",
            "`hoptax load --rata 5`: `load` has no flag `--rata`",
        ]
    );
}
