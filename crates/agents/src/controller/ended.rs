//! The reasons of a load that did not start, for people: many agents have one reason, such as an image that no node gets.

use hoptax_result::{AgentOutcome, counted};

/// Maximum number of agents with the same reason that are named.
const MOST_NAMED: usize = 3;

/// A sentence for each of the agents that have ended, by their names, outcomes and reasons. Of many with one reason, the first are named and
/// the others are counted.
pub(super) fn reasons(ended: &[(&str, AgentOutcome, &str)]) -> Vec<String> {
    let mut groups: Vec<(AgentOutcome, &str, Vec<&str>)> = Vec::new();
    for &(name, outcome, reason) in ended {
        let group = groups.iter_mut().find(|(of_all, cause, _)| *of_all == outcome && *cause == reason);
        match group {
            Some((.., names)) => names.push(name),
            None => groups.push((outcome, reason, vec![name])),
        }
    }
    groups.iter().flat_map(|(outcome, reason, names)| sentences(*outcome, reason, names)).collect()
}

fn sentences(outcome: AgentOutcome, reason: &str, names: &[&str]) -> Vec<String> {
    let (shown, others) = names.split_at(names.len().min(MOST_NAMED));
    let mut sentences: Vec<String> = shown.iter().map(|name| outcome.sentence(name, reason)).collect();
    if !others.is_empty() {
        sentences.push(format!("{} for the same reason", counted(others.len() as u64, "more agent")));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_agents_with_one_reason_three_are_named_and_the_others_are_counted() {
        let names: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
        let mut ended: Vec<(&str, AgentOutcome, &str)> =
            names.iter().map(|name| (name.as_str(), AgentOutcome::Absent, "no answer")).collect();
        ended[1] = ("1", AgentOutcome::Failed, "no answer");
        ended[2] = ("2", AgentOutcome::Absent, "no pod");
        let expected = [
            "agent `0` never joined: no answer",
            "agent `3` never joined: no answer",
            "agent `4` never joined: no answer",
            "995 more agents for the same reason",
            "agent `1` failed: no answer",
            "agent `2` never joined: no pod",
        ];
        assert_eq!(reasons(&ended), expected);
        assert_eq!(reasons(&ended[..5]), [&expected[..3], &expected[4..]].concat());
        let four = ended[3..7].to_vec();
        assert_eq!(reasons(&four)[3], "1 more agent for the same reason");
    }
}
