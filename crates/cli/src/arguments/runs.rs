//! Arguments of `hoptax runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use hoptax_cluster::Namespace;
use hoptax_report::documents::MOST_OVERLAID;
use hoptax_session::store::since;

use super::merge::MergeArguments;
use super::shared::JsonArguments;
use super::values;

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
    pub(crate) action: RunsAction,
}

/// The store of a command.
#[derive(Debug, Args)]
pub(crate) struct StoreChoice {
    /// Store to use
    #[arg(long = "store", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
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
        /// Print JSON
        #[arg(long)]
        json: bool,
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
    /// Verify the store, and give the space of removed runs back
    Gc(StoreChoice),
    /// Find changes of a number over all kept runs
    History(HistoryArguments),
    /// Add up the results of several runs of one load, such as those of generators on several machines
    Merge(MergeArguments),
    /// Remove files that killed studies left behind, or jobs that killed loads left in a cluster
    Cleanup(CleanupArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax runs history cost_cpu_us_per_request
  hoptax runs history response_p99_us --study quick --arm jwt --load in-use
  hoptax runs history max_rate --json history.json

Runs are compared on one machine, by study, arm and load. A change is a lasting one, of at least
three runs: a single spike is none. docs/guide/store.md describes the method. The numbers have the
names of numbers.csv; `hoptax runs history list` prints those of the store.

Exit codes:
  0    success, with or without changes
  2    invalid input: no such number or store
  3    the store cannot be used")]
pub(crate) struct HistoryArguments {
    /// Name of a number, as in numbers.csv; `list` prints all names
    #[arg(value_name = "NUMBER")]
    pub(crate) number: String,
    /// Only this study; of loads, this URL
    #[arg(long, value_name = "NAME")]
    pub(crate) study: Option<String>,
    /// Only this arm
    #[arg(long)]
    pub(crate) arm: Option<String>,
    /// Under this load, instead of the usual one of the number
    #[arg(long)]
    pub(crate) load: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    #[command(flatten)]
    pub(crate) store: StoreChoice,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax runs cleanup                 all studies in the folder `runs`
  hoptax runs cleanup results/quick   one study
  hoptax runs cleanup --kube-context prod --namespace perf    jobs of agents in a cluster

Only files that functions wrote, such as access logs, are removed. Running studies are skipped. Of a
cluster, only jobs that `hoptax load --agent-pods` made are removed, and without --namespace those
namespaces that `hoptax mesh` made; none whose agents run.")]
pub(crate) struct CleanupArguments {
    /// Run folder, or the folder that contains run folders
    #[arg(value_name = "DIR", default_value = "runs", conflicts_with = "kube_context", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Instead, remove what killed loads and measurements of a mesh left in the cluster of this context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) kube_context: Option<String>,
    /// Only in this namespace of the cluster [default: in all that you may list]
    #[arg(long, value_name = "NAME", requires = "kube_context")]
    pub(crate) namespace: Option<Namespace>,
}
