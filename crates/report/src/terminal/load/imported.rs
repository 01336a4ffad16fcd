//! The heading and the accounts of a result of another tool: what its file states, and no more.

use hoptax_result::{Imported, LoadResult};

use super::seconds;
use crate::numbers::{counted, grouped};

/// The value of texts that the file does not state.
const UNKNOWN: &str = "unknown";

/// The source and the target, and what is known of the load.
pub(super) fn heading(result: &LoadResult, imported: &Imported) -> (String, String) {
    let plan = &result.plan;
    let target = if plan.url == UNKNOWN { "unknown target" } else { &plan.url };
    let known = |count: u32, one: &str| (count > 0).then(|| counted(count.into(), one));
    let known = [
        result.rate.target.map(|rate| format!("{} requests/s", grouped(rate, 0))),
        known(plan.connections, "connection"),
        known(plan.workers, "worker"),
        (result.recorded_s > 0.0).then(|| format!("{} s", seconds(result.recorded_s))),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let load = if known.is_empty() { "a load that is not known".to_owned() } else { known.join(", ") };
    (format!("imported from {}: {target}", imported.tool), load)
}

/// Rates and accounts.
pub(super) fn accounts(result: &LoadResult) -> String {
    let book = &result.book;
    let rate = match result.rate.achieved {
        Some(rate) => format!("answered {}/s", grouped(rate, 0)),
        None => "not known".to_owned(),
    };
    let requests = match (book.answered, book.failed) {
        (0, 0) => "not known".to_owned(),
        (answered, failed) => {
            format!("{} answered, {} failed", grouped(answered as f64, 0), grouped(failed as f64, 0))
        }
    };
    format!("rate       {rate}\nrequests   {requests}\n")
}
