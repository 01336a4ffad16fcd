//! The heading and the accounts of another tool's result, limited to the numbers in its file.

use hoptax_result::{CountRange, Imported, LoadResult, Range, Stated};

use crate::numbers::{counted, grouped, seconds};

/// Placeholder for texts that the file does not state.
const UNKNOWN: &str = "unknown";

/// The source and the target, and the known settings of the load.
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

/// The requests and their rate in one sentence.
pub(super) fn answer(result: &LoadResult, imported: &Imported) -> String {
    let (answered, failed) = requests(result, imported);
    let rate = rate(result, imported).map_or_else(String::new, |rate| format!(", {rate}"));
    let answered = match answered {
        Some(answered) if answered == "1" => format!("1 request was answered{rate}"),
        Some(answered) => format!("{answered} requests were answered{rate}"),
        None => format!("How many requests were answered is not known{rate}"),
    };
    match failed {
        Some(failed) => format!("{answered}; {failed} failed"),
        None => format!("{answered}; how many failed is not known"),
    }
}

/// Rates and accounts.
pub(super) fn accounts(result: &LoadResult, imported: &Imported) -> Vec<String> {
    let rate =
        rate(result, imported).map_or_else(|| "not known".to_owned(), |rate| format!("answered {rate}"));
    let (answered, failed) = requests(result, imported);
    let requests = match (answered, failed) {
        (None, None) => "not known".to_owned(),
        (Some(answered), Some(failed)) => format!("{answered} answered, {failed} failed"),
        (Some(answered), None) => format!("{answered} answered, failed not known"),
        (None, Some(failed)) => format!("answered not known, {failed} failed"),
    };
    vec![format!("rate: {rate}"), format!("requests: {requests}")]
}

/// The answered and the failed requests; none for those that the file does not state.
fn requests(result: &LoadResult, imported: &Imported) -> (Option<String>, Option<String>) {
    let book = &result.book;
    let (has_answered, has_failed) = match book.stated {
        Stated::All => (true, true),
        Stated::Imported { answered, failed } => (answered, failed),
    };
    let answered = count(has_answered, book.answered, imported.answered);
    (answered, count(has_failed, book.failed, imported.failed))
}

/// The rate of answered requests, or a range that contains it: `9 to 10/s`.
fn rate(result: &LoadResult, imported: &Imported) -> Option<String> {
    let range = |range: Range| format!("{} to {}/s", grouped(range.low, 0), grouped(range.high, 0));
    let rate = result.rate.achieved.map(|rate| format!("{}/s", grouped(rate, 0)));
    rate.or_else(|| imported.answered_per_s.map(range))
}

/// A number of requests, or a range that contains it.
fn count(is_known: bool, count: u64, range: Option<CountRange>) -> Option<String> {
    let grouped = |count: u64| grouped(count as f64, 0);
    match range {
        Some(range) => Some(format!("{} to {}", grouped(range.at_least), grouped(range.at_most))),
        None => is_known.then(|| grouped(count)),
    }
}
