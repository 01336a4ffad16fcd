//! The agents that sent a load together.

use hoptax_result::{Agent, Agents};

use crate::document::{Block, Section};
use crate::numbers::{self, or_dash, us};
use crate::table::Table;

/// The number of agents whose requests the answer covers, if the parts of others are missing: ` of 2 of 3 agents`.
pub(super) fn incomplete(agents: &Agents) -> Option<String> {
    let (all, merged) = (agents.shares(), agents.merged());
    (merged < all).then(|| format!(" of {merged} of {all} agents"))
}

/// A row for each agent, and how closely their starts agreed.
pub(super) fn section(agents: &Agents) -> Section {
    let has_nodes = agents.all.iter().any(|agent| agent.node.is_some());
    let mut header = vec![
        "agent",
        "outcome",
        "part",
        "sent",
        "answered",
        "send lag p99 us",
        "run delay us",
        "throttled",
        "clock error us",
    ];
    header.extend(has_nodes.then_some("node"));
    let row = |agent: &Agent| {
        let count = |count: Option<u64>| or_dash(count.map(numbers::count));
        let time = |time_us: Option<f64>| or_dash(time_us.map(us));
        let verdict = agent.verdict.map_or_else(String::new, |verdict| format!(", {}", verdict.as_str()));
        let mut cells = vec![
            format!("{}{verdict}", agent.outcome.as_str()),
            or_dash(agent.index.map(|index| format!("{} of {}", index + 1, agents.shares()))),
            count(agent.sent),
            count(agent.answered),
            time(agent.send_lag_p99_us),
            time(agent.run_delay_us),
            count(agent.throttled),
            or_dash(agent.clock_error_us.map(|error_us| format!("±{}", us(error_us)))),
        ];
        cells.extend(has_nodes.then(|| or_dash(agent.node.clone())));
        (agent.name.clone(), cells)
    };
    // On narrow outputs, columns are dropped from the right. CPU limits are the last column, because few agents have them.
    let table = Table::of_words("agents", header, agents.all.iter().map(row))
        .with_words(&["outcome", "node"])
        .with_priority("throttled", u8::MAX);
    let mut section = Section::of_table(table);
    if agents.shares() > 1 {
        let start = Block::Note(format!(
            "The starts of two agents differ by at most {} us, bounded by exchanges with their clocks.",
            us(agents.start_error_us)
        ));
        section.blocks.insert(0, start);
    }
    section
}

#[cfg(test)]
mod tests {
    use hoptax_result::AgentOutcome;

    use super::*;

    #[test]
    fn the_outcome_is_always_there_and_throttled_periods_are_dropped_first() {
        let all = vec![Agent { index: Some(0), ..Agent::default() }];
        let section = section(&Agents { all, ..Agents::default() });
        let Some(Block::Table(table)) = section.blocks.last() else { panic!("no table") };
        assert_eq!((table.columns[0].heading.as_str(), table.columns[0].priority), ("outcome", 0));
        assert_eq!(table.texts(0)[1], "1 of 1");
        let dropped = table.columns.iter().max_by_key(|column| column.priority).unwrap();
        assert_eq!(dropped.heading, "throttled");
    }

    #[test]
    fn starts_differ_if_several_agents_have_a_share() {
        let blocks = |shares: u32| {
            let agent = |index| Agent { index: Some(index), ..Agent::default() };
            let all = (0..shares).map(agent).chain([Agent::default()]).collect();
            section(&Agents { all, ..Agents::default() }).blocks
        };
        assert!(matches!(blocks(2).as_slice(), [Block::Note(_), Block::Table(_)]));
        assert!(matches!(blocks(1).as_slice(), [Block::Table(_)]));
    }

    #[test]
    fn nodes_have_a_column_if_an_agent_had_one() {
        let columns = |node: Option<&str>| {
            let agent = Agent { node: node.map(str::to_owned), ..Agent::default() };
            let section = section(&Agents { all: vec![agent, Agent::default()], ..Agents::default() });
            let Some(Block::Table(table)) = section.blocks.last() else { panic!("no table") };
            table.columns.iter().map(|column| column.heading.clone()).collect::<Vec<_>>()
        };
        assert_eq!(columns(Some("a")).last().map(String::as_str), Some("node"));
        assert!(!columns(None).contains(&"node".to_owned()));
    }

    #[test]
    fn the_answer_names_the_agents_only_if_a_part_is_missing() {
        let agents = |second: AgentOutcome| {
            let of = |index, outcome| Agent { index, outcome, ..Agent::default() };
            let all =
                vec![of(Some(0), AgentOutcome::Merged), of(Some(1), second), of(None, AgentOutcome::Absent)];
            incomplete(&Agents { all, ..Agents::default() })
        };
        assert_eq!(agents(AgentOutcome::Merged), None);
        for lacking in [AgentOutcome::Died, AgentOutcome::Void] {
            assert_eq!(agents(lacking).as_deref(), Some(" of 1 of 2 agents"));
        }
    }
}
