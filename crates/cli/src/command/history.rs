//! `hoptax runs history`: finds lasting changes of a number over all runs of the store.

use clap::Args;
use hoptax_report::documents;
use hoptax_session::history::{HistoryFilter, history, numbers};

use crate::arguments::shared::{JsonArguments, StoreChoice};
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax runs history cost_cpu_us_per_request
  hoptax runs history response_p99_us --study quick --arm jwt --load in-use
  hoptax runs history max_rate --json history.json

Runs are compared on one machine, by study, arm and load; loads on a URL, by their shape. A change
lasts for at least three runs: a single spike does not count. docs/guide/store.md describes the
method. The numbers have the names of numbers.csv; `hoptax runs history` prints those of the store.

Exit codes:
  0    success, with or without changes
  2    invalid input: no such number or store
  3    the store cannot be used")]
pub(crate) struct HistoryArguments {
    /// Name of a number, as in numbers.csv; `list` prints all names
    #[arg(value_name = "NUMBER", default_value = LIST)]
    number: String,
    /// Only this study; of loads, this URL
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// Only this arm
    #[arg(long)]
    arm: Option<String>,
    /// Under this load, instead of the usual one of the number; of loads on a URL, this shape, as it is printed
    #[arg(long)]
    load: Option<String>,
    #[command(flatten)]
    json: JsonArguments,
    #[command(flatten)]
    store: StoreChoice,
}

/// The word that prints the names of all numbers.
const LIST: &str = "list";

/// Runs the command.
pub(super) fn run(arguments: &HistoryArguments) -> Result<Code, Failure> {
    let store = arguments.store.file.as_deref();
    if arguments.number == LIST {
        let names = numbers(store, &print::say)?;
        if !names.is_empty() {
            print::result(&names.join("\n"))?;
        }
        return Ok(Code::Success);
    }
    let filter = HistoryFilter {
        number: &arguments.number,
        study: arguments.study.as_deref(),
        arm: arguments.arm.as_deref(),
        load: arguments.load.as_deref(),
    };
    let result = history(store, &filter, &print::say)?;
    print::document_or_json(arguments.json.file(), &result, || documents::history(&result).in_store(store))?;
    Ok(Code::Success)
}
