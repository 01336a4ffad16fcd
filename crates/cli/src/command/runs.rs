//! `hoptax runs`: lists, prints, compares, labels, removes, exports and imports the runs of the store, and works with results in other
//! ways.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use hoptax_report::documents::{self, MOST_OVERLAID};
use hoptax_session::results;
use hoptax_session::runs::{Exported, Runs};
use hoptax_session::store::{Filter, since};

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
            let result = runs_of(store)?.list(&filter)?;
            let is_filtered = study.is_some() || label.is_some() || since.is_some();
            let of_runs = if is_filtered { documents::matching_runs } else { documents::runs };
            let document = || of_runs(&result).in_store(store.file.as_deref());
            print::document_or_json(form.file(), &result, document)?;
        }
        RunsAction::Show { run, json: true, .. } if results::is_path(run) => {
            print::result(&results::text(Path::new(run))?)?;
        }
        RunsAction::Show { run, .. } if results::is_path(run) => {
            print::document(&results::document_at(run)?)?;
        }
        RunsAction::Show { run, json: true, store } => print::result(&runs_of(store)?.text(run)?)?,
        RunsAction::Show { run, store, .. } => print::document(&runs_of(store)?.document(run)?)?,
        RunsAction::Compare { runs, store } => print::document(&runs_of(store)?.compare(runs)?)?,
        RunsAction::Label { run, label, remove: true, store, .. } => {
            let run = runs_of(store)?.unlabel(run, label)?;
            print::result(&format!("run {run} no longer has the label `{label}`"))?;
        }
        RunsAction::Label { run, label, only, store, .. } => {
            let run = runs_of(store)?.label(run, label, *only)?;
            print::result(&format!("run {run} has the label `{label}`"))?;
        }
        RunsAction::Rm { runs, store } => {
            let removed = runs_of(store)?.remove(runs)?;
            removed.iter().try_for_each(|run| print::result(&format!("removed run {run}")))?;
        }
        RunsAction::Export { run, folder, store } => {
            let Exported { line, note } = runs_of(store)?.export(run, folder)?;
            print::result(&line)?;
            if let Some(note) = note {
                print::note(&note);
            }
        }
        RunsAction::Import { paths, store } => runs_of(store)?.import(paths, &mut print::result)?,
        RunsAction::Gc(store) => print::result(&runs_of(store)?.compact()?)?,
        RunsAction::History(arguments) => return history::run(arguments),
        RunsAction::Merge(arguments) => return merge::run(arguments),
        RunsAction::Cleanup(arguments) => return cleanup::run(arguments),
    }
    Ok(Code::Success)
}

/// The runs of a store.
fn runs_of(choice: &StoreChoice) -> Result<Runs<'_>, Failure> {
    Runs::of_store(choice.file.as_deref(), &print::say)
}
