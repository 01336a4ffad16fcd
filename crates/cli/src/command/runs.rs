//! `hoptax runs`: lists, prints, compares, labels, removes, exports and imports the runs of the store, and works with results in other
//! ways.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use hoptax_report::document::Document;
use hoptax_report::documents::{self, MOST_OVERLAID, Overlaid};
use hoptax_result::{RunsBody, RunsResult, counted, grouped};
use hoptax_session::store::{
    self, Compacted, Filter, PathImported, Store, StoreError, folder, import_all, since,
};
use hoptax_session::{results, run_folder};
use hoptax_text::command_line::path_word;
use hoptax_text::nearest;

use super::cleanup::{self, CleanupArguments};
use super::history::{self, HistoryArguments};
use super::merge::{self, MergeArguments};
use crate::arguments::shared::{ListArguments, StoreChoice};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax runs import runs            put all run folders in `runs` into the store
  hoptax runs show runs/quick-1 --details
  hoptax runs compare 9 12           what differs between run 9 and run 12

The store is one SQLite file: --store, or the variable HOPTAX_STORE, or hoptax/store.sqlite in
$XDG_DATA_HOME (default: ~/.local/share). `hoptax study --store` puts a study in, round by round.
A run is named by its number, or by a label that no other run has.

Exit codes:
  0    success
  2    invalid input: no such run or store, not a run folder
  3    the store cannot be used")]
pub(crate) struct RunsArguments {
    #[command(subcommand)]
    action: RunsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List runs, the latest first
    List {
        /// Only this study; of loads, this URL
        #[arg(long, value_name = "NAME")]
        study: Option<String>,
        /// Only runs with this label
        #[arg(long)]
        label: Option<String>,
        /// Only runs that began since this date (`2026-11-01`, UTC) or within this time (`30d`)
        #[arg(long, value_name = "DATE|DURATION", value_parser = since)]
        since: Option<String>,
        #[command(flatten)]
        form: ListArguments,
        #[command(flatten)]
        store: StoreChoice,
    },
    /// Print the result of a run, or that in a run folder or a file
    Show {
        /// Number or label, run folder, or result file of any command
        #[arg(value_name = "RUN|PATH", value_hint = ValueHint::AnyPath)]
        run: String,
        /// Print the JSON of the result, as it was stored
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreChoice,
    },
    /// Print runs beside each other: their numbers, the differences from the first, what else differs
    Compare {
        /// Numbers or labels, the reference first
        #[arg(value_name = "RUN", num_args = 2..=MOST_OVERLAID, required = true)]
        runs: Vec<String>,
        #[command(flatten)]
        store: StoreChoice,
    },
    /// Label a run
    Label {
        /// Number or label
        run: String,
        /// The label
        #[arg(value_parser = values::label)]
        label: String,
        /// Take the label from all other runs, so that it names this one
        #[arg(long, conflicts_with = "remove")]
        only: bool,
        /// Remove the label from the run
        #[arg(long)]
        remove: bool,
        #[command(flatten)]
        store: StoreChoice,
    },
    /// Remove runs from the store; their folders stay
    Rm {
        /// Numbers or labels
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        #[command(flatten)]
        store: StoreChoice,
    },
    /// Write the files of a run to a folder, as they were
    Export {
        /// Number or label
        run: String,
        /// The folder; it must be empty or not exist
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        #[command(flatten)]
        store: StoreChoice,
    },
    /// Put run folders, all run folders in a folder, or result files into the store
    Import {
        /// Folders, and result files of any command
        #[arg(required = true, value_name = "DIR|FILE", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        store: StoreChoice,
    },
    /// Verify the store, and free the space of removed runs
    Gc(StoreChoice),
    /// Find changes of a number over all kept runs
    History(HistoryArguments),
    /// Add up the results of several runs of one load, such as those of generators on several machines
    Merge(MergeArguments),
    /// Remove files that killed studies left behind, or jobs that killed loads left in a cluster
    Cleanup(CleanupArguments),
}

/// Runs the command.
pub(super) fn run(arguments: &RunsArguments) -> Result<Code, Failure> {
    match &arguments.action {
        RunsAction::List { study, label, since, form, store } => {
            let filter = Filter { name: study.clone(), label: label.clone(), since: since.clone() };
            list(store, &filter, form.is_json)?;
        }
        RunsAction::Show { run, json, .. } if results::is_path(run) => show_path(run, *json)?,
        RunsAction::Show { run, json, store } => show(store, run, *json)?,
        RunsAction::Compare { runs, store } => compare(store, runs)?,
        RunsAction::Label { run, label, remove: true, store, .. } => unlabel(store, run, label)?,
        RunsAction::Label { run, label, only, store, .. } => add_label(store, run, label, *only)?,
        RunsAction::Rm { runs, store } => remove(store, runs)?,
        RunsAction::Export { run, folder, store } => export(store, run, folder)?,
        RunsAction::Import { paths, store } => import(store, paths)?,
        RunsAction::Gc(store) => collect(store)?,
        RunsAction::History(arguments) => return history::run(arguments, &path(&arguments.store)?),
        RunsAction::Merge(arguments) => return merge::run(arguments),
        RunsAction::Cleanup(arguments) => return cleanup::run(arguments),
    }
    Ok(Code::Success)
}

/// The file of a store.
///
/// # Errors
/// When no file is named, and there is no home directory for the usual one.
fn path(choice: &StoreChoice) -> Result<PathBuf, Failure> {
    store::path(choice.file.as_deref())
}

/// Calls `work` with the store, which must exist.
fn with_store<T>(
    choice: &StoreChoice,
    work: impl FnMut(&mut Store) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    store::with_existing(&path(choice)?, work, &print::say)
}

fn list(choice: &StoreChoice, filter: &Filter, json: bool) -> Result<(), Failure> {
    let runs = with_store(choice, |store| store.list(filter))?;
    if let (true, Some(name)) = (runs.is_empty(), &filter.name) {
        let all = with_store(choice, |store| store.list(&Filter::default()))?;
        let names: BTreeSet<&str> = all.iter().map(|run| run.name.as_str()).collect();
        print::note(&format!("no run of `{name}` matches{}", nearest::hint(name, names)));
    }
    if runs.is_empty() && filter.name.is_none() && (filter.label.is_some() || filter.since.is_some()) {
        print::note("no run matches --label and --since: without them, all are listed");
    }
    let result = RunsResult::new((), RunsBody { runs });
    let json = json.then(|| Path::new("-"));
    print::document_or_json(json, &result, || documents::runs(&result).in_store(choice.file.as_deref()))
}

fn show(choice: &StoreChoice, name: &str, json: bool) -> Result<(), Failure> {
    let has_store = path(choice)?.exists();
    let of_store = with_store(choice, |store| {
        let id = store.resolve(name)?;
        let result = match store.result(id)? {
            Some(text) => Ok(text),
            None => Err(store.way_to_continue(id, "DIR")?),
        };
        Ok((store.run(id)?, store.paths(id)?, result))
    });
    // The name may be a misspelt file name.
    let (run, paths, result) = of_store.map_err(|failure| {
        if has_store {
            failure
        } else {
            failure.with(format!("; `{name}` is neither a file nor a run folder"))
        }
    })?;
    let text = match result {
        Ok(text) => text,
        Err(way) => {
            print::note(&documents::stored_run(&run, &paths));
            return Err(Failure::bad_input(format!(
                "run {id} has no result: it has {has}. `hoptax runs export {id} DIR{store}` writes its files to a folder; {way}",
                id = run.run,
                has = counted(run.rounds.into(), "complete round"),
                store = choice.again()
            )));
        }
    };
    if json {
        return print::result(&text);
    }
    print::note(&documents::stored_run(&run, &paths));
    let document = document(&text, &format!("the result of run {}", run.run))?;
    print::document(&document.shown_by(run.run).in_store(choice.file.as_deref()))
}

/// Prints the runs beside each other, of which the first is the reference.
fn compare(choice: &StoreChoice, names: &[String]) -> Result<(), Failure> {
    // Labels have no slash, and rarely end like the file name of a result.
    let is_file = |name: &&String| {
        name.contains('/')
            || (Path::new(name).extension().is_some_and(|end| end == "json") && results::is_path(name))
    };
    let files: Vec<String> = names.iter().filter(is_file).map(|name| path_word(Path::new(name))).collect();
    if !files.is_empty() {
        return Err(Failure::bad_input(format!(
            "runs of the store are compared, by their numbers or labels, and not files: `hoptax runs import {}{}` stores them and prints \
             the numbers",
            files.join(" "),
            choice.again()
        )));
    }
    let ids = with_store(choice, |store| {
        names.iter().map(|name| store.resolve(name)).collect::<Result<Vec<_>, _>>()
    })?;
    let mut runs = Vec::new();
    for (place, id) in ids.iter().enumerate() {
        if ids.iter().take(place).any(|other| other == id) {
            return Err(Failure::bad_input(format!("run {id} is named twice: name different runs")));
        }
        let text = with_store(choice, |store| store.measured(*id))?;
        let text = text.ok_or_else(|| {
            let store = choice.again();
            Failure::bad_input(format!("run {id} has no result: `hoptax runs show {id}{store}` says why"))
        })?;
        let run = Overlaid::read(*id, &text);
        runs.push(run.map_err(|why| Failure::bad_input(format!("run {id} cannot be compared: {why}")))?);
    }
    print::document(&documents::overlay(&runs).in_store(choice.file.as_deref()))
}

/// Prints the result in a run folder or a file.
fn show_path(path: &str, json: bool) -> Result<(), Failure> {
    let text = results::text(Path::new(path))?;
    if json {
        return print::result(&text);
    }
    let document = match results::resumable(Path::new(path)) {
        Some(study) => documents::study_in_folder(&text, &study.display().to_string(), path)
            .map_err(|why| cannot_be_printed(&format!("`{path}`"), &why))?,
        None => document(&text, &format!("`{path}`"))?,
    };
    let document = document.shown_by(path);
    print::document(&match results::page(Path::new(path)) {
        Some(page) => document.with_page(page.display().to_string()),
        None => document,
    })
}

/// The document of a result; `what` names it in errors.
fn document(text: &str, what: &str) -> Result<Document, Failure> {
    results::document(text).map_err(|why| cannot_be_printed(what, &why))
}

fn cannot_be_printed(what: &str, why: &str) -> Failure {
    Failure::bad_input(format!("{what} cannot be printed: {why}"))
}

fn collect(choice: &StoreChoice) -> Result<(), Failure> {
    let Compacted { verified, before_bytes, after_bytes } = with_store(choice, Store::compact)?;
    let [before, after] = [before_bytes, after_bytes].map(|bytes| bytes as f64 / f64::from(1 << 20));
    let store = path(choice)?;
    print::result(&format!(
        "{}: {verified} contents verified, {before} MiB before, {after} MiB now",
        store.display(),
        before = grouped(before, 1),
        after = grouped(after, 1)
    ))
}

fn add_label(choice: &StoreChoice, run: &str, label: &str, is_only: bool) -> Result<(), Failure> {
    let id = with_store(choice, |store| {
        let id = store.resolve(run)?;
        // With `only`, the label is removed from all other runs.
        store.label(id, label, is_only)?;
        Ok(id)
    })?;
    print::result(&format!("run {id} has the label `{label}`"))
}

fn unlabel(choice: &StoreChoice, run: &str, label: &str) -> Result<(), Failure> {
    let (id, had_it) = with_store(choice, |store| {
        let id = store.resolve(run)?;
        Ok((id, store.unlabel(id, label)?))
    })?;
    if !had_it {
        return Err(Failure::bad_input(format!("run {id} has no label `{label}`")));
    }
    print::result(&format!("run {id} no longer has the label `{label}`"))
}

fn remove(choice: &StoreChoice, names: &[String]) -> Result<(), Failure> {
    let ids = with_store(choice, |store| {
        // Resolve all names first, so that nothing is removed if one is wrong.
        let ids = names.iter().map(|name| store.resolve(name)).collect::<Result<Vec<_>, _>>()?;
        ids.iter().try_for_each(|id| store.remove(*id))?;
        Ok(ids)
    })?;
    ids.iter().try_for_each(|id| print::result(&format!("removed run {id}")))
}

fn export(choice: &StoreChoice, run: &str, target: &Path) -> Result<(), Failure> {
    let (id, documents) = with_store(choice, |store| {
        let id = store.resolve(run)?;
        Ok((id, store.documents(id)?))
    })?;
    folder::write(target, &documents)?;
    let files = counted(documents.len() as u64, "file");
    print::result(&format!("run {id}: {files} in {}", target.display()))?;
    let redacted = documents.iter().filter(|document| document.is_redacted);
    let redacted: Vec<&str> = redacted.map(|document| document.path.as_str()).collect();
    if !redacted.is_empty() {
        print::note(&format!("written with their secrets masked: {}", redacted.join(", ")));
    }
    Ok(())
}

/// Imports all that can be imported, and fails if anything cannot.
fn import(choice: &StoreChoice, paths: &[PathBuf]) -> Result<(), Failure> {
    let outcomes =
        store::with_existing_or_new(&path(choice)?, |store| import_all(store, paths), &print::say)?;
    let mut problems = Vec::new();
    for PathImported { path, outcome } in outcomes {
        match outcome {
            Ok(imported) => print::result(&imported.described(&path))?,
            // Its study is running and has no complete round yet, which is not an error.
            Err(_) if path.is_dir() && run_folder::is_in_use(&path) => print::note(&format!(
                "`{}` is not imported: its study still runs, and no round of it is complete",
                path.display()
            )),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::bad_input(problems.join("\n"))) }
}
