//! The commands that the documents name must be commands of this program, with flags that these have.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use hoptax_report::documents;
use hoptax_report::render::json;
use serde_json::Value;

use super::words as words_of_shell;
use crate::command::{Arguments, parsed};

/// The Markdown files below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The command lines of a page.
struct CommandLines {
    /// Those in blocks, which are whole commands.
    in_blocks: Vec<String>,
    /// Those in code within sentences, which may be broken over lines.
    in_sentences: Vec<String>,
}

fn command_lines(page: &str) -> CommandLines {
    let mut in_blocks = Vec::new();
    let mut sentences = String::new();
    let mut in_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block || line.starts_with("    ") {
            let line = line.trim_start().trim_start_matches("$ ");
            in_blocks.extend(line.starts_with("hoptax ").then(|| line.to_owned()));
        } else {
            sentences.push_str(line.trim());
            sentences.push(' ');
        }
    }
    let code = sentences.split('`').skip(1).step_by(2);
    let in_sentences = code.filter(|code| code.starts_with("hoptax ")).map(str::to_owned).collect();
    CommandLines { in_blocks, in_sentences }
}

/// A command line up to its comment, its redirection, or the command after it.
fn command(line: &str) -> &str {
    let ends = [" #", " | ", " > ", " && ", "   "];
    let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    line[..end].trim_end_matches(" &").trim_end()
}

/// The words of a command line.
fn words(line: &str) -> Vec<&str> {
    command(line).split_whitespace().collect()
}

/// The reason why a whole command line is not valid, if so. Files that it reads for its arguments are those of an example.
fn refusal(line: &str) -> Option<String> {
    let error = parsed(words_of_shell(command(line))).err()?.to_string();
    (!error.contains("cannot read `")).then(|| format!("`{line}`: {error}"))
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
        let CommandLines { in_blocks, in_sentences } = command_lines(&fs::read_to_string(&path).unwrap());
        let name = path.strip_prefix(&root).unwrap().display();
        found += in_blocks.len() + in_sentences.len();
        let of_blocks = in_blocks.iter().filter_map(|line| refusal(line));
        let of_sentences = in_sentences.iter().filter_map(|line| fault(line));
        faults.extend(of_blocks.chain(of_sentences).map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(found > 100, "{found} commands: the documents have more");
}

/// A reader copies them: one that lacks an argument ends with an error.
#[test]
fn the_commands_of_the_page_of_questions_are_whole() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/questions.md");
    let CommandLines { in_sentences, .. } = command_lines(&fs::read_to_string(page).unwrap());
    let faults: Vec<String> = in_sentences.iter().filter_map(|line| refusal(line)).collect();
    assert!(in_sentences.len() > 25 && faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_next_command_on_the_page_of_every_recorded_result_is_valid() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/recorded");
    let paths: Vec<PathBuf> = fs::read_dir(recorded).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(paths.len() > 20, "{}", paths.len());
    for path in paths {
        let document = documents::of_text(&fs::read_to_string(&path).unwrap(), |_| true).unwrap();
        let document: Value = serde_json::from_str(&json::text(&document).unwrap()).unwrap();
        let command = document["next"]["command"].as_str().unwrap();
        assert_eq!(refusal(command), None, "{}", path.display());
    }
}

#[test]
fn commands_and_flags_that_do_not_exist_are_found() {
    let page = "See `hoptax convert\nimpart x` and `hoptax load --rata 5`.\n\n    hoptax runs list --since 30d --details   # --none\n    hoptax X";
    let CommandLines { in_blocks, in_sentences } = command_lines(page);
    let lines = in_sentences.iter().chain(&in_blocks);
    let faults: Vec<String> = lines.filter_map(|line| fault(line)).collect();
    assert_eq!(
        faults,
        [
            "`hoptax convert impart x`: `convert` has no command `impart`",
            "`hoptax load --rata 5`: `load` has no flag `--rata`",
        ]
    );
}

#[test]
fn whole_commands_that_are_not_valid_are_found_and_missing_files_are_none() {
    let refused = |line: &str| refusal(line).is_some();
    assert!(refused("hoptax load -d 5x http://127.0.0.1:8080/") && refused("hoptax load --rata 5"));
    assert!(refused("hoptax price --pod shop/cart-1 envoy.yaml"));
    for valid in [
        "hoptax lab origin --default service=exp:2ms &",
        "hoptax load -H @none.txt http://127.0.0.1:8080/   # a file",
        "hoptax find --slo 'p99<5ms' http://127.0.0.1:8080/ | head",
    ] {
        assert_eq!(refusal(valid), None);
    }
}

#[test]
fn the_examples_of_the_first_page_start_the_server_that_they_load() {
    let help = Arguments::command().get_after_help().unwrap().to_string();
    let place = |command: &str| help.find(command).unwrap();
    assert!(place("hoptax lab origin &") < place("hoptax load "), "{help}");
    assert!(place("hoptax load ") < place("hoptax study "), "{help}");
}

#[test]
fn a_gate_without_what_is_judged_is_refused_with_both_forms() {
    let refused = parsed(["hoptax", "gate", "quick", "--fail-on", "cpu>+3%"]).unwrap_err().to_string();
    let usage = refused.split_once("Usage: ").unwrap().1;
    assert!(usage.contains("--candidate <") && usage.contains("--reference <LABEL>"), "{refused}");
}
