//! `hoptax runs history`: finds lasting changes of a number over all runs of the store.

use std::path::Path;

use hoptax_report::documents;
use hoptax_session::history::{HistoryFilter, history, numbers};

use crate::arguments::HistoryArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// The word that prints the names of all numbers.
const LIST: &str = "list";

/// Runs the command on the store in the file `path`.
pub(super) fn run(arguments: &HistoryArguments, path: &Path) -> Result<Code, Failure> {
    if arguments.number == LIST {
        print::result(&numbers(path, &print::say)?.join("\n"))?;
        return Ok(Code::Success);
    }
    let filter = HistoryFilter {
        number: &arguments.number,
        study: arguments.study.as_deref(),
        arm: arguments.arm.as_deref(),
        load: arguments.load.as_deref(),
    };
    let result = history(path, &filter, &print::say)?;
    let store = arguments.store.file.as_deref();
    print::document_or_json(arguments.json.file(), &result, || documents::history(&result).in_store(store))?;
    Ok(Code::Success)
}
