//! Loads that several agents sent: all shares must be in the result, and their starts must be as near to each other as the load needs.

use hoptax_result::{Agent, Agents, Finding, LoadResult, Measured, Severity, counted, grouped};

use crate::check::Check;
use crate::thresholds::{self, Limits};

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
                Severity::Warn,
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
            "It had sent {}, of which {} were answered, up to {until_s} s of the recorded time",
            counted(sent, "request"),
            grouped(answered as f64, 0),
            until_s = grouped(until_s, 1)
        ),
        _ => "It reported no request".to_owned(),
    }
}

/// The meaning of that for the numbers of the result.
fn meaning(agents: &Agents, agent: &Agent) -> String {
    let others = counted(agents.merged() as u64, "agent");
    let lacking = 100.0 / agents.shares().max(1) as f64;
    let rate = agent.planned_rate.map_or_else(String::new, |rate| format!(" ({}/s)", grouped(rate, 0)));
    format!(
        "Counts and rates are those of {others}: {lacking} % of the plan{rate} is missing. Response times are those under the \
         whole load until it ended, and under less load afterwards",
        lacking = grouped(lacking, 1)
    )
}

/// The starts of agents: by their error, the requests of one agent may be earlier or later than planned beside those of another.
///
/// Random arrivals need no common clock, and a closed loop has no schedule.
pub(super) const START: Check<LoadResult> = Check {
    id: "agents-start",
    protects_from: "arrivals that clock errors of agents shifted, taken for even arrivals or one burst",
    source: "own; the clock error of an agent is half of the round trip of an exchange with it, plus the drift since then (RFC 5905); the two \
             largest are added. In a queue that serves in order, arrivals that are shifted by at most this error change no time by more",
    judge: |result, limits| {
        let Some(agents) = &result.agents else { return Vec::new() };
        let arrivals = result.plan.arrivals.as_deref().unwrap_or_default();
        let found = if arrivals.starts_with("burst") {
            spread(result, agents.start_error_us, limits)
        } else if arrivals == "uniform" || arrivals.starts_with("jitter") {
            uneven(result, agents.start_error_us)
        } else {
            None
        };
        found.into_iter().collect()
    },
    withhold: None,
};

/// Bursts that may be spread by more than a share of the response time p99, which is what a burst is sent for.
///
/// Every time of a request contains the queue of the burst, and the service time is no better reference: what waits in the server is part of it.
/// The p99 is one because of what the error does to it. Spread over no more than the error, a burst has response times that are lower by no
/// more than the error, so its share of the p99 is the most that the p99 lacks.
fn spread(result: &LoadResult, error_us: f64, limits: &Limits) -> Option<Finding> {
    let response = &result.latency.response;
    let p99 = response.p99_us.map(|us| ("p99", us));
    let (name, response_us) = p99.or_else(|| response.p50_us.map(|us| ("p50", us)))?;
    let most_us = limits.value(&thresholds::START_ERROR_SHARE) * response_us;
    (error_us > most_us).then(|| {
        Finding::new(
            "agents-start",
            Severity::Warn,
            Measured::us(error_us, most_us),
            format!(
                "the starts of two agents may differ by {error_us} us, and the {name} of response times is {response_us} us: a burst of \
                 all agents may have reached the server as several bursts, whose response times are lower by up to {error_us} us",
                error_us = grouped(error_us, 0),
                response_us = grouped(response_us, 0)
            ),
            "run the controller nearer to the agents, or send bursts from one machine",
        )
    })
}

/// Evenly spaced requests that may have met those of another agent, or changed places with them.
fn uneven(result: &LoadResult, error_us: f64) -> Option<Finding> {
    let spacing_us = 1e6 / result.rate.target?;
    (error_us > spacing_us).then(|| {
        Finding::new(
            "agents-start",
            Severity::Warn,
            Measured::us(error_us, spacing_us),
            format!(
                "the starts of two agents may differ by {error_us} us, and the requests of all are {spacing_us} us apart: each agent \
                 sends evenly, but together they do not. Requests of several agents may arrive at the same time, so each response time may \
                 differ by up to {error_us} us from that of evenly spaced arrivals",
                error_us = grouped(error_us, 0),
                spacing_us = grouped(spacing_us, 1)
            ),
            "use `--arrivals poisson`, which needs no common clock, run the controller nearer to the agents, or use one machine",
        )
    })
}

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
        assert_eq!((severity, result.verdict), (Some(Severity::Warn), Verdict::Caution));
        let message = &result.findings[0].message;
        for part in [
            "agent `b` died: its connection ended. It had sent 1,500 requests, of which 1,499 were answered, up to 3.0 s of the",
            "those of 1 agent: 33.3 % of the plan (500/s) is missing. Response times",
        ] {
            assert!(message.contains(part), "{message}");
        }
        let (_, result) = judged(Agent { known_until_s: Some(0.0), ..died });
        assert!(result.findings[0].message.contains("its connection ended. It reported no request. Counts"));
        assert_eq!(judged(agent("b", Some(1), AgentOutcome::Merged)).0, None);
    }

    /// The finding about the start of two agents, if any.
    fn start(
        arrivals: Option<&str>,
        start_error_us: f64,
        change: impl FnOnce(&mut LoadResult),
    ) -> Option<Finding> {
        let (_, result) = fired("agents-start", |result| {
            result.plan.arrivals = arrivals.map(ToOwned::to_owned);
            result.agents = Some(Agents { start_error_us, ..Agents::default() });
            change(result);
        });
        result.findings.into_iter().find(|finding| finding.id == "agents-start")
    }

    #[test]
    fn bursts_of_agents_whose_starts_differ_by_more_than_a_share_of_the_response_time_are_in_doubt() {
        let burst = Some("burst=8");
        let p99_us = crate::load::tests::sound().latency.response.p99_us.unwrap();
        let found = start(burst, p99_us * 0.051, |_| ()).unwrap();
        assert_eq!((found.severity, found.threshold), (Severity::Warn, p99_us * 0.05));
        assert!(
            found.message.contains("the p99 of response times is 200 us: a burst of"),
            "{}",
            found.message
        );
        assert_eq!(start(burst, p99_us * 0.049, |_| ()), None);
        // A queue that makes requests wait for longer is less in doubt, since the error does not grow with it.
        assert_eq!(
            start(burst, p99_us * 0.051, |result| result.latency.response.p99_us = Some(2.0 * p99_us)),
            None
        );
        // The median, of 100 us, where there is no p99; nothing without response times.
        let without_p99 = |result: &mut LoadResult| result.latency.response.p99_us = None;
        assert!(start(burst, 6.0, without_p99).is_some_and(|found| found.message.contains("the p50 of")));
        assert_eq!(start(burst, 4.0, without_p99), None);
        let without_both = |result: &mut LoadResult| {
            without_p99(result);
            result.latency.response.p50_us = None;
        };
        assert_eq!(start(burst, 1e6, without_both), None);
    }

    #[test]
    fn even_arrivals_of_agents_whose_starts_differ_by_more_than_a_spacing_are_in_doubt() {
        // 20,000 requests per second of all agents together.
        for arrivals in ["uniform", "jitter=10%"] {
            let found = start(Some(arrivals), 51.0, |_| ()).unwrap();
            assert_eq!((found.severity, found.threshold), (Severity::Warn, 50.0));
            for part in ["by 51 us, and the requests of all are 50.0 us apart", "by up to 51 us"] {
                assert!(found.message.contains(part), "{}", found.message);
            }
            assert_eq!(start(Some(arrivals), 49.0, |_| ()), None);
            assert_eq!(start(Some(arrivals), 51.0, |result| result.rate.target = Some(10_000.0)), None);
        }
    }

    #[test]
    fn random_arrivals_and_closed_loops_need_no_common_clock() {
        assert_eq!(start(Some("poisson"), 1e6, |_| ()), None);
        assert_eq!(start(None, 1e6, |result| result.rate.target = None), None);
    }
}
