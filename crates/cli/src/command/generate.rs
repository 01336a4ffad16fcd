//! `hoptax generate`: generates descriptions of the program for editors, shells and packages.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, Subcommand, ValueHint};
use clap_complete::Shell;
use hoptax_session::pages as book;

use super::Arguments;
use crate::exit::{Code, Failure};
use crate::{print, schema};

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Print the JSON schema of a study file or of results
    Schema(SchemaArguments),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Write man pages
    Man(ManArguments),
    /// Write the pages of the book about functions, built-in studies and checks
    Pages(PagesArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax generate schema                                the names of all
  hoptax generate schema study-file > study-file.json   for editors that validate study files
  hoptax generate schema report                         all results, each kind in `$defs`

Exit codes:
  0  success
  2  no such schema")]
pub(crate) struct SchemaArguments {
    /// Name of a schema [default: list all names]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(schema::names()))]
    of: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax generate completions bash > ~/.local/share/bash-completion/completions/hoptax
  hoptax generate completions fish > ~/.config/fish/completions/hoptax.fish")]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax generate man ~/.local/share/man/man1    then `man hoptax-load`

Exit codes:
  0  success
  3  the folder cannot be written")]
pub(crate) struct ManArguments {
    /// Output folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Writes functions/, studies/ and checks/ below the folder, and their lines in its SUMMARY.md.

Examples:
  hoptax generate pages docs    in hoptax's repository; `make book` then makes the book

Exit codes:
  0  success
  2  the folder has no SUMMARY.md
  3  a file cannot be written")]
pub(crate) struct PagesArguments {
    /// The folder of the documents
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    documents: PathBuf,
}

/// Runs the command.
pub(super) fn run(command: &GenerateCommand) -> Result<Code, Failure> {
    match command {
        GenerateCommand::Schema(arguments) => schema(arguments),
        GenerateCommand::Completions(arguments) => completions(arguments),
        GenerateCommand::Man(arguments) => man(arguments),
        GenerateCommand::Pages(arguments) => pages(arguments),
    }
}

/// `hoptax generate schema`.
fn schema(arguments: &SchemaArguments) -> Result<Code, Failure> {
    let text = match &arguments.of {
        None => schema::names().join("\n"),
        Some(name) => {
            let schema = schema::named(name).map_err(Failure::bad_input)?;
            format!("{schema:#}")
        }
    };
    print::result(&text)?;
    Ok(Code::Success)
}

/// `hoptax generate completions`.
fn completions(arguments: &CompletionsArguments) -> Result<Code, Failure> {
    print::result(&script(arguments.shell))?;
    Ok(Code::Success)
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "hoptax", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// `hoptax generate man`.
fn man(arguments: &ManArguments) -> Result<Code, Failure> {
    let folder = &arguments.out;
    write_pages(folder).map_err(|error| {
        Failure::environment(format!("cannot write man pages to `{}`: {error}", folder.display()))
    })?;
    print::result(&format!("man pages written to {}", folder.display()))?;
    Ok(Code::Success)
}

fn write_pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Arguments::command(), folder)
}

/// `hoptax generate pages`.
fn pages(arguments: &PagesArguments) -> Result<Code, Failure> {
    let count = book::write(&arguments.documents)?;
    print::result(&format!("{count} pages written to {}", arguments.documents.display()))?;
    Ok(Code::Success)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsString;

    use clap::Command;

    use super::*;

    /// All commands that are not hidden, those of commands included, each with the names of those above it: `runs list`.
    fn commands(above: &str, command: &Command) -> Vec<(String, Command)> {
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let all = shown.flat_map(|one| {
            let name = format!("{above}{}", one.get_name());
            let below = commands(&format!("{name} "), one);
            std::iter::once((name, one.clone())).chain(below)
        });
        all.collect()
    }

    fn files_in(folder: &Path) -> BTreeSet<OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn every_command_has_a_man_page_with_all_of_its_options_and_completions_of_them() {
        let folder = tempfile::tempdir().unwrap();
        write_pages(folder.path()).unwrap();
        let bash = script(Shell::Bash);
        let all = commands("", &Arguments::command());
        // Subcommands are among them.
        assert!(all.iter().any(|(name, _)| name == "runs list"), "{all:?}");
        let mut pages = BTreeSet::from([OsString::from("hoptax.1")]);
        for (name, command) in all {
            let file = format!("hoptax-{}.1", name.replace(' ', "-"));
            let page = fs::read_to_string(folder.path().join(&file)).expect(&file);
            // In roff, a hyphen that is not to be a dash is escaped.
            let page = page.replace("\\-", "-");
            // The cases of the script, which are named after the commands above them.
            let case = format!("hoptax__subcmd__{})", name.replace([' ', '-'], "__subcmd__"));
            let (_, completed) = bash.split_once(&case).unwrap_or_else(|| panic!("no completions of {name}"));
            let completed = completed.split(";;").next().unwrap_or_default();
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                let Some(long) = option.get_long() else { continue };
                assert!(page.contains(&format!("--{long}")), "{file} lacks --{long}");
                assert!(completed.contains(&format!("--{long}")), "--{long} of {name} is not completed");
            }
            pages.insert(file.into());
        }
        assert_eq!(files_in(folder.path()), pages);
    }

    #[test]
    fn schemas_in_the_repository_match_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let mut files = BTreeSet::new();
        for name in schema::names() {
            let file = format!("{name}.json");
            let kept = fs::read_to_string(folder.join(&file)).unwrap_or_default();
            let made = format!("{:#}", schema::named(name).unwrap());
            assert!(kept.trim_end() == made, "schemas/{file} is outdated: run `make schemas`");
            files.insert(file.into());
        }
        assert_eq!(files_in(&folder), files);
    }

    #[test]
    fn pages_of_the_book_are_those_that_the_program_writes() {
        let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let made = book::all(&documents).unwrap();
        for (name, text) in &made {
            let kept = fs::read_to_string(documents.join(name)).unwrap_or_default();
            assert!(kept == *text, "docs/{name} is outdated: run `make pages`");
        }
        for folder in ["functions", "studies", "checks"] {
            let names = files_in(&documents.join(folder)).into_iter().map(|name| name.into_string().unwrap());
            let gone: Vec<String> = names
                .map(|name| format!("{folder}/{name}"))
                .filter(|name| !made.contains_key(name))
                .collect();
            assert!(gone.is_empty(), "remove what is no page any more from docs: {}", gone.join(", "));
        }
    }

    #[test]
    fn a_folder_that_is_not_that_of_the_documents_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = book::write(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("SUMMARY.md") && files_in(folder.path()).is_empty(), "{refused}");
    }
}
