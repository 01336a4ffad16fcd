//! Commands that send the requests of a result again.

use hoptax_load::options::{CONNECTIONS, TIMEOUT, WORKERS};
use hoptax_result::LoadPlan;
use hoptax_text::list::listed;

/// Options of a load or of a search on a server that its result does not state, as words of a command line with a space before each. Those
/// of a stored result are unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenOptions<'a> {
    /// Those that `hoptax load` and `hoptax find` both have: ` --seed 7 --never-halt always`.
    pub of_both: &'a str,
    /// Those that only the command itself has.
    pub of_itself: &'a str,
}

/// The options beside the rate and the length that differ from the usual ones, each with a space before it.
pub(crate) fn options(plan: &LoadPlan) -> String {
    let connections = (plan.connections != CONNECTIONS).then(|| format!(" -c {}", plan.connections));
    connections.unwrap_or_default() + &options_without_connections(plan)
}

/// The same without the connections.
pub(crate) fn options_without_connections(plan: &LoadPlan) -> String {
    let is_usual = (plan.timeout_s - TIMEOUT.as_secs_f64()).abs() < 1e-9;
    let timeout = (!is_usual).then(|| format!(" --timeout {}s", plan.timeout_s));
    let workers = (plan.workers != WORKERS).then(|| format!(" -w {}", plan.workers));
    timeout.into_iter().chain(workers).collect()
}

/// The purpose of a command, with what is to be added to it because the result does not state it.
pub(crate) fn purpose(plan: &LoadPlan, purpose: &str) -> String {
    if plan.unstated.is_empty() {
        return purpose.to_owned();
    }
    format!("{purpose}, with the same {}", listed(&plan.unstated))
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;

    use super::*;

    #[test]
    fn options_that_are_not_usual_are_repeated_and_unstated_ones_are_named() {
        let mut plan = sample::load().body.plan;
        assert_eq!((options(&plan).as_str(), purpose(&plan, "decides").as_str()), ("", "decides"));
        (plan.connections, plan.timeout_s, plan.workers) = (4, 0.5, 2);
        assert_eq!(options(&plan), " -c 4 --timeout 0.5s -w 2");
        plan.unstated = vec!["headers".to_owned()];
        assert_eq!(purpose(&plan, "decides"), "decides, with the same headers");
        plan.unstated.extend(["body".to_owned(), "addresses".to_owned()]);
        assert_eq!(purpose(&plan, "decides"), "decides, with the same headers, body and addresses");
    }
}
