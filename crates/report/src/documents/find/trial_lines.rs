//! Lines about the trials of a search while it runs.

use hoptax_result::{FindTrial, LoadResult};
use hoptax_text::list::named;

use super::value;
use crate::numbers::rate;

/// A short line that describes a trial: the value of one objective, the first that failed if any did, and the outcome.
pub fn find_trial(trial: &FindTrial) -> String {
    let rate = format!("{:>10}/s", rate(trial.rate));
    if !trial.generator_limits.is_empty() {
        return format!("{rate}: {}", does_not_count(&trial.generator_limits));
    }
    let failed = trial.objectives.iter().find(|one| !one.holds);
    let outcome = if failed.is_some() { "fails" } else { "holds" };
    match failed.or_else(|| trial.objectives.first()) {
        Some(one) => format!("{rate}: {outcome}; {}: {}", one.objective, value(one.value, &one.unit)),
        None => format!("{rate}: {outcome}"),
    }
}

/// A line that describes a trial of a sweep.
pub fn sweep_trial(of_rate: f64, result: &LoadResult, generator_limits: &[String]) -> String {
    let response = &result.latency.response;
    let outcome = match generator_limits {
        [] => String::new(),
        limits => format!("; {}", does_not_count(limits)),
    };
    format!(
        "{:>10}/s: p50 {}, p99 {}{outcome}",
        rate(of_rate),
        value(response.p50_us, "us"),
        value(response.p99_us, "us")
    )
}

/// The checks by which a trial does not count. Their messages are in the result.
fn does_not_count(limits: &[String]) -> String {
    let names: Vec<&str> = limits.iter().map(|limit| limit.split(':').next().unwrap_or_default()).collect();
    format!("does not count ({})", named(&names, 2))
}
