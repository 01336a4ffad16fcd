//! The result of all agents: each part is judged by the checks of a load, and their histograms and counts are added as those of
//! `hoptax runs merge`.

use hoptax_checks::{fail_on, judge_load, judge_merged};
use hoptax_load::Share;
use hoptax_load::merge::{Run, merge};
use hoptax_result::{Agent, AgentOutcome, Agents, LoadResult, RunLeftOut};
use hoptax_session::Failure;
use hoptax_session::load::Sending;

use super::ledger::{Entry, Known, Standing};

/// A load that agents sent.
#[derive(Debug)]
pub struct Gathered {
    /// Its result, judged.
    pub result: LoadResult,
    /// True if all conditions of `--fail-on` are known and passed.
    pub all_pass: bool,
}

/// The common properties of all shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// The planned rate of all; none in a closed loop.
    pub(super) rate: Option<f64>,
    /// The number of shares.
    pub(super) of: u32,
    /// The agreed start of the record by the clock of the controller, seconds since 1970.
    pub(super) from_unix_s: f64,
}

/// Judges and merges the parts.
///
/// # Errors
/// When no part is left, and when parts cannot be added.
pub(super) fn gathered(
    entries: Vec<Entry>,
    common: Common,
    sending: &Sending<'_>,
) -> Result<Gathered, Failure> {
    let errors_us: Vec<f64> =
        entries.iter().filter(|entry| entry.index.is_some()).filter_map(clock_error_us).collect();
    let (mut agents, mut runs, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let index = entry.index;
        let share = index.and_then(|index| Share::new(index, common.of));
        let planned_rate = share.and_then(|share| Some(share.of_rate(common.rate?)));
        let agent = Agent {
            name: entry.name.clone(),
            index,
            clock_error_us: clock_error_us(&entry),
            clock_drift_us: drift_us(&entry),
            planned_rate,
            ..Agent::default()
        };
        match entry.standing {
            Standing::Reported(mut result) => {
                // Agents began at one instant, which their own clocks would state differently.
                result.recorded_from_unix_s = Some(common.from_unix_s);
                judge_load(&mut result, &sending.limits);
                agents.push(reported(agent, &result));
                runs.push(Run { file: entry.name, result: *result });
            }
            Standing::Ended(outcome, reason) => {
                if index.is_some() {
                    let reason = lost(&reason, entry.known);
                    left_out.push(RunLeftOut { file: entry.name, reason, planned_rate });
                }
                agents.push(unreported(agent, outcome, reason, entry.known));
            }
            standing => {
                let reason = format!("it was left alone ({standing:?}); this is a bug in hoptax");
                agents.push(unreported(agent, AgentOutcome::Failed, reason, entry.known));
            }
        }
    }
    if runs.is_empty() {
        let reasons = left_out.iter().map(|one| format!("`{}`: {}", one.file, one.reason));
        let reasons: Vec<String> = reasons.collect();
        return Err(Failure::environment(format!("no agent reported its share:\n{}", reasons.join("\n"))));
    }
    let mut result = merge(runs, left_out).map_err(|reasons| Failure::void(reasons.join("\n")))?;
    for one in result.merged.iter().flat_map(|merged| &merged.left_out) {
        // Those that are left out by their own checks.
        let of = agents.iter_mut().find(|agent| agent.name == one.file && agent.reason.is_none());
        if let Some(agent) = of {
            (agent.outcome, agent.reason) = (AgentOutcome::Void, Some(one.reason.clone()));
        }
    }
    result.agents = Some(Agents { start_error_us: start_error_us(errors_us), all: agents });
    judge_merged(&mut result);
    let all_pass = fail_on::judge(&mut result, sending.fail_on);
    Ok(Gathered { result, all_pass })
}

/// The most by which the starts of two agents differ.
fn start_error_us(mut errors_us: Vec<f64>) -> f64 {
    errors_us.sort_by(|a, b| b.total_cmp(a));
    errors_us.iter().take(2).sum()
}

fn clock_error_us(entry: &Entry) -> Option<f64> {
    entry.before.map(|before| before.error_ns as f64 / 1e3)
}

fn drift_us(entry: &Entry) -> Option<f64> {
    let (before, after) = (entry.before?, entry.after?);
    Some((after.offset_ns.wrapping_sub(before.offset_ns)) as f64 / 1e3)
}

fn reported(agent: Agent, result: &LoadResult) -> Agent {
    Agent {
        outcome: AgentOutcome::Merged,
        verdict: Some(result.verdict),
        sent: Some(result.book.sent),
        answered: Some(result.book.answered),
        known_until_s: Some(result.recorded_s),
        send_lag_p99_us: result.latency.send_lag.p99_us,
        run_delay_us: Some(result.generator.run_delay_us),
        throttled: result.generator.throttled,
        ..agent
    }
}

fn unreported(agent: Agent, outcome: AgentOutcome, reason: String, known: Known) -> Agent {
    let has_sent = agent.index.is_some();
    Agent {
        outcome,
        reason: Some(reason),
        sent: has_sent.then_some(known.sent),
        answered: has_sent.then_some(known.answered),
        known_until_s: has_sent.then_some(known.until_ns as f64 / 1e9),
        ..agent
    }
}

/// What is known of the part of an agent that is lost.
fn lost(reason: &str, known: Known) -> String {
    if known.until_ns == 0 {
        return format!("{reason}; it told of no second of the record");
    }
    format!(
        "{reason}; in the first {:.1} s of the record it had sent {} requests, of which {} were answered",
        known.until_ns as f64 / 1e9,
        known.sent,
        known.answered
    )
}
