//! Loads that several agents sent: all shares must be in the result, and their starts must be as near to each other as the load needs.

use hoptax_result::{Agent, Agents, Finding, LoadResult, Measured, Severity, counted, grouped};

use crate::check::Check;

/// Agents that did not report their share.
pub(super) const LOST: Check<LoadResult> = Check {
    id: "agent-lost",
    protects_from: "part of a load read as the whole, because an agent died, is late or failed",
    source: "own",
    judge: |result, _| {
        let Some(agents) = &result.agents else { return Vec::new() };
        let finding = |agent: &Agent| {
            Finding::new(
                "agent-lost",
                Severity::Fail,
                Measured::count(1.0, 0.0, "agents"),
                format!(
                    "{}. {}. {}",
                    agent
                        .outcome
                        .sentence(&agent.name, agent.reason.as_deref().unwrap_or("it gave no reason")),
                    known(agent),
                    meaning(agents, agent)
                ),
                "look at the log and the machine of the agent, then repeat the load",
            )
        };
        agents.lost().map(finding).collect()
    },
    withhold: None,
};

/// The counts of its share that it had told.
fn known(agent: &Agent) -> String {
    match (agent.sent, agent.answered, agent.known_until_s) {
        (Some(sent), Some(answered), Some(until_s)) if until_s > 0.0 => format!(
            "It had sent {}, of which {} were answered, up to {until_s:.1} s of the recorded time",
            counted(sent, "request"),
            grouped(answered as f64, 0)
        ),
        _ => "It told of no request".to_owned(),
    }
}

/// The meaning of that for the numbers of the result.
fn meaning(agents: &Agents, agent: &Agent) -> String {
    let (with_share, merged) = agents.shares_and_merged();
    let others = counted(merged as u64, "agent");
    let lacking = 100.0 / with_share.max(1) as f64;
    let rate = agent.planned_rate.map_or_else(String::new, |rate| format!(" ({}/s)", grouped(rate, 0)));
    format!(
        "Counts and rates are those of {others}: {lacking:.1} % of the plan{rate} is missing. Response times are under the \
         whole plan until it ended, and under less after that"
    )
}

/// The starts of agents.
pub(super) const START: Check<LoadResult> = Check {
    id: "agents-start",
    protects_from: "bursts of several agents read as one, although their clocks spread them",
    source: "own; the error is half of the round trip of an exchange with each agent (RFC 5905), of the two largest together. A burst that is \
             spread over more than the server needs for a request queues less",
    judge: |result, _| {
        let Some(agents) = &result.agents else { return Vec::new() };
        let is_burst = result.plan.arrivals.as_deref().is_some_and(|arrivals| arrivals.starts_with("burst"));
        let Some(service_us) = result.latency.service.p50_us.filter(|_| is_burst) else { return Vec::new() };
        let error_us = agents.start_error_us;
        if error_us <= service_us {
            return Vec::new();
        }
        vec![Finding::new(
            "agents-start",
            Severity::Warn,
            Measured::us(error_us, service_us),
            format!(
                "the starts of two agents may differ by {error_us:.0} us, and a request is served in {service_us:.0} us: a burst of all agents \
                 may have met the server as several, and then response times are lower than those of one burst"
            ),
            "run the controller nearer to the agents, or send bursts from one machine",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{AgentOutcome, Verdict};

    use super::*;
    use crate::load::tests::fired;

    fn agent(name: &str, index: Option<u32>, outcome: AgentOutcome) -> Agent {
        let rate = index.map(|_| 500.0);
        Agent { name: name.to_owned(), index, outcome, planned_rate: rate, ..Agent::default() }
    }

    #[test]
    fn an_agent_that_is_lost_is_named_with_what_is_known_and_what_it_means() {
        let judged = |lost: Agent| {
            fired("agent-lost", |result| {
                let all = vec![
                    agent("a", Some(0), AgentOutcome::Merged),
                    lost,
                    agent("c", None, AgentOutcome::Absent),
                    agent("d", Some(2), AgentOutcome::Void),
                ];
                result.agents = Some(Agents { all, ..Agents::default() });
            })
        };
        let died = Agent {
            reason: Some("its connection ended".to_owned()),
            sent: Some(1_500),
            answered: Some(1_499),
            known_until_s: Some(3.0),
            ..agent("b", Some(1), AgentOutcome::Died)
        };
        let (severity, result) = judged(died.clone());
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        let message = &result.findings[0].message;
        for part in [
            "agent `b` died: its connection ended. It had sent 1,500 requests, of which 1,499 were answered, up to 3.0 s of the",
            "those of 1 agent: 33.3 % of the plan (500/s) is missing. Response times",
        ] {
            assert!(message.contains(part), "{message}");
        }
        let (_, result) = judged(Agent { known_until_s: Some(0.0), ..died });
        assert!(result.findings[0].message.contains("its connection ended. It told of no request. Counts"));
        assert_eq!(judged(agent("b", Some(1), AgentOutcome::Merged)).0, None);
    }

    #[test]
    fn bursts_of_agents_whose_starts_differ_by_more_than_a_request_takes_are_in_doubt() {
        let with = |arrivals: &str, start_error_us: f64| {
            fired("agents-start", |result| {
                result.plan.arrivals = Some(arrivals.to_owned());
                result.agents = Some(Agents { start_error_us, ..Agents::default() });
            })
            .0
        };
        let service_us = crate::load::tests::sound().latency.service.p50_us.unwrap();
        assert_eq!(with("burst=8", service_us + 1.0), Some(Severity::Warn));
        assert_eq!(with("burst=8", service_us), None);
        assert_eq!(with("poisson", 1e6), None);
    }
}
