//! The result of all agents. The checks of a load judge each part; histograms and counts are added as by `hoptax runs merge`.

use std::slice;

use hoptax_checks::{fail_on, judge_load, judge_merged_by};
use hoptax_load::Share;
use hoptax_load::merge::{Run, merge};
use hoptax_result::{Agent, AgentOutcome, Agents, EndedBy, LoadResult, RunLeftOut};
use hoptax_session::Failure;
use hoptax_session::load::Sending;

use super::ledger::{Entry, Known, Standing, start_error_us};

/// A load that agents sent.
#[derive(Debug)]
pub struct MergedLoad {
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
    /// The agreed start of the load by the clock of the controller, nanoseconds.
    pub(super) start_ns: u64,
    /// The agreed start of the record by the clock of the controller, seconds since 1970.
    pub(super) from_unix_s: f64,
}

/// Judges and merges the parts.
///
/// # Errors
/// When no part is left, when all parts were interrupted before they measured anything, and when parts cannot be added.
pub(super) fn merged_load(
    entries: Vec<Entry>,
    common: Common,
    sending: &Sending<'_>,
) -> Result<MergedLoad, Failure> {
    let start_error_us = start_error_us(&entries, common.start_ns);
    let (mut agents, mut runs, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let index = entry.index;
        let share = index.and_then(|index| Share::new(index, common.of));
        let planned_rate = share.and_then(|share| Some(share.of_rate(common.rate?)));
        let agent = Agent {
            name: entry.name.clone(),
            index,
            clock_error_us: entry.clock_error_us(common.start_ns),
            clock_drift_us: drift_us(&entry),
            planned_rate,
            ..Agent::default()
        };
        match entry.standing {
            Standing::Reported(mut result) => {
                // The agreed time is used: starts differ by no more than `start_error_us`, but wall clocks of machines may differ by
                // seconds.
                result.recorded_from_unix_s = Some(common.from_unix_s);
                judge_load(&mut result, &sending.limits);
                agents.push(reported(agent, &result));
                runs.push(Run { file: entry.name, result: *result });
            }
            Standing::Ended(outcome, reason) => {
                if index.is_some() {
                    let reason = reason.clone();
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
    if runs.iter().all(|run| has_measured_nothing(&run.result)) {
        return Err(Failure::interrupted().with(" before the first measured request"));
    }
    let (mut result, damaged) = added(runs, left_out)?;
    // The plan asked for this rate, even if a part is missing.
    result.rate.target = common.rate;
    for one in damaged {
        if let Some(agent) = agents.iter_mut().find(|agent| agent.name == one.file) {
            (agent.outcome, agent.reason) = (AgentOutcome::Failed, Some(one.reason));
        }
    }
    for one in result.merged.iter().flat_map(|merged| &merged.left_out) {
        // Agents that are left out by their own checks.
        let of = agents.iter_mut().find(|agent| agent.name == one.file && agent.reason.is_none());
        if let Some(agent) = of {
            (agent.outcome, agent.reason) = (AgentOutcome::Void, Some(one.reason.clone()));
        }
    }
    result.agents = Some(Agents { start_error_us, all: agents });
    judge_merged_by(&mut result, &sending.limits);
    let all_pass = fail_on::judge(&mut result, sending.fail_on);
    Ok(MergedLoad { result, all_pass })
}

/// True if the interrupt came before the first measured request.
fn has_measured_nothing(part: &LoadResult) -> bool {
    part.ended_by == EndedBy::Interrupt && part.book.is_empty()
}

/// Adds the parts. A part that cannot be read by itself is left out with the reason, and returned beside the result, so that one damaged
/// part does not cost the others.
fn added(runs: Vec<Run>, mut left_out: Vec<RunLeftOut>) -> Result<(LoadResult, Vec<RunLeftOut>), Failure> {
    let failed = |reasons: Vec<String>| Failure::void(reasons.join("\n"));
    let together = match merge(&runs, left_out.clone()) {
        Ok(result) => return Ok((result, Vec::new())),
        Err(reasons) => reasons,
    };
    let (mut whole, mut damaged) = (Vec::new(), Vec::new());
    for run in runs {
        let alone = merge(slice::from_ref(&run), Vec::new());
        match alone {
            // A part whose checks withhold its times is not damaged.
            Err(reasons) if run.result.histograms.is_some() => damaged.push(RunLeftOut {
                reason: format!("its report is damaged: {}", reasons.join("; ")),
                planned_rate: run.result.rate.target,
                file: run.file,
            }),
            _ => whole.push(run),
        }
    }
    if damaged.is_empty() {
        return Err(failed(together));
    }
    left_out.extend(damaged.iter().cloned());
    Ok((merge(&whole, left_out).map_err(failed)?, damaged))
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

#[cfg(test)]
mod tests {
    use hoptax_checks::thresholds::Limits;
    use hoptax_load::encoded::encode;
    use hoptax_load::{Distribution, Pace};
    use hoptax_result::{
        Book, Histogram, LoadHistograms, LoadRate, NamedRequests, PlanShare, RequestHistograms, sample,
    };
    use hoptax_session::load::Schedule;
    use proptest::prelude::*;

    use super::super::ledger::Ledger;
    use super::super::line::AgentEvent;
    use super::*;
    use crate::clock::Offset;
    use crate::message::Second;

    const AGENTS: u32 = 5;
    const START_NS: u64 = 1_000_000_000;

    /// The words of an agent, in their order. The last agent dies.
    fn words(index: u32) -> Vec<AgentEvent> {
        let error_ns = u64::from(index + 1) * 1_000;
        let offset = Offset { offset_ns: i64::from(index) * 1_000, error_ns, sent_ns: START_NS - 10_000_000 };
        let mut all = vec![AgentEvent::Ready(offset)];
        all.extend((0..3).map(|number: u64| {
            let (from_ns, to_ns) = (number * 1_000_000_000, (number + 1) * 1_000_000_000);
            let sent = u64::from(index) + 10;
            AgentEvent::Second(Box::new(Second { from_ns, to_ns, sent, answered: sent, ..Second::default() }))
        }));
        all.push(if index + 1 == AGENTS {
            AgentEvent::Ended(AgentOutcome::Died, "its connection ended".to_owned())
        } else {
            AgentEvent::Reported(Box::new(part(index)), Some(Offset { error_ns: 1, ..offset }))
        });
        all
    }

    /// The times of an agent's requests of one name, of two: every second one.
    fn times_of(index: u32, name: u64) -> impl Iterator<Item = u64> {
        (1..=1_000_u64).filter(move |us| us % 2 == name).map(move |us| (us + u64::from(index) * 100) * 1_000)
    }

    /// The requests of a name in the part of an agent.
    fn named(index: u32, name: u64) -> (NamedRequests, RequestHistograms) {
        let mut times = Distribution::default();
        times_of(index, name).for_each(|ns| times.record(ns));
        let count = times.count();
        let row = NamedRequests {
            name: format!("GET /{name}"),
            book: Book { planned: count, sent: count, answered: count, ..Book::default() },
            response: times.summary(),
            ..NamedRequests::default()
        };
        let response = encode(&times.histogram());
        (row, RequestHistograms { response, ..RequestHistograms::default() })
    }

    /// The part of an agent, whose requests take longer the higher its index.
    fn part(index: u32) -> LoadResult {
        let mut times = Distribution::default();
        (1..=1_000).for_each(|us| times.record((us + u64::from(index) * 100) * 1_000));
        let mut result = sample::load();
        result.book = Book { planned: 1_000, sent: 1_000, answered: 1_000, ..Book::default() };
        result.statuses = [(200, 1_000)].into();
        result.rate = LoadRate { target: Some(100.0), offered: 100.0, achieved: Some(100.0) };
        result.plan.share = Some(PlanShare { index, of: AGENTS });
        (result.latency.response, result.latency.service) = (times.summary(), times.summary());
        (result.without_generator, result.windows) = (None, Vec::new());
        let times = encode(&times.histogram());
        let (rows, histograms): (Vec<_>, Vec<_>) = (0..2).map(|name| named(index, name)).unzip();
        let by_request = rows.iter().map(|row| row.name.clone()).zip(histograms).collect();
        result.by_request = rows;
        result.histograms = Some(LoadHistograms {
            response: times.clone(),
            service: times,
            by_request,
            ..LoadHistograms::default()
        });
        result
    }

    /// The result, if agents speak in the order of these numbers.
    fn merged(order: &[u32]) -> LoadResult {
        let mut ledger = Ledger::new((0..AGENTS).map(|index| format!("agent-{index}")));
        for (index, entry) in (0..AGENTS).zip(&mut ledger.entries) {
            (entry.index, entry.standing) = (Some(index), Standing::Planned);
        }
        let mut left: Vec<_> = (0..AGENTS).map(|index| words(index).into_iter()).collect();
        let all_at_the_end = (0..AGENTS).flat_map(|index| [index; 5]);
        for index in order.iter().copied().chain(all_at_the_end) {
            if let Some(event) = left[index as usize].next() {
                ledger.apply(index as usize, event);
            }
        }
        let schedule = Schedule { pace: Some(Pace::Constant(500.0)), ..Schedule::default() };
        let sending = Sending { schedule, ..Sending::default() };
        let common =
            Common { rate: Some(500.0), of: AGENTS, start_ns: START_NS, from_unix_s: 1_767_323_045.0 };
        merged_load(ledger.entries, common, &sending).unwrap().result
    }

    proptest! {
        // Each case encodes and decodes some forty histograms.
        #![proptest_config(ProptestConfig::with_cases(4))]

        #[test]
        fn the_order_in_which_agents_speak_changes_nothing(
            order in prop::collection::vec(0..AGENTS, 0..40),
        ) {
            prop_assert_eq!(merged(&order), merged(&[]));
        }
    }

    #[test]
    fn parts_are_added_and_the_lost_one_is_bounded_by_what_it_told() {
        let result = merged(&[]);
        assert_eq!((result.book.sent, result.latency.response.count), (4_000, 4_000));
        let agents = result.agents.as_ref().unwrap();
        // The two largest errors, of 5 and 4 us, and twice the drift of 10 ms.
        assert!((agents.start_error_us - 11.0).abs() < 1e-9, "{}", agents.start_error_us);
        assert_eq!(agents.all[0].clock_error_us, Some(2.0));
        // The rate of all five.
        assert_eq!(result.rate.target, Some(500.0));
        let lost: Vec<&Agent> = agents.lost().collect();
        let [lost] = lost.as_slice() else { panic!("{lost:?}") };
        assert_eq!((lost.name.as_str(), lost.sent, lost.known_until_s), ("agent-4", Some(42), Some(3.0)));
        let left_out = &result.merged.as_ref().unwrap().left_out;
        assert_eq!((left_out.len(), left_out[0].planned_rate), (1, Some(100.0)));
        assert!(result.findings.iter().any(|finding| finding.id == "agent-lost"));
    }

    #[test]
    fn requests_of_a_name_are_those_of_all_parts() {
        let result = merged(&[]);
        assert_eq!(result.by_request.len(), 2);
        for (name, row) in (0..).zip(&result.by_request) {
            let mut all = Distribution::default();
            // The last agent is lost.
            (0..AGENTS - 1).flat_map(|index| times_of(index, name)).for_each(|ns| all.record(ns));
            assert_eq!(
                (row.name.as_str(), row.book.answered),
                (format!("GET /{name}").as_str(), all.count())
            );
            assert_eq!(row.response.p50_us, all.summary().p50_us);
        }
    }

    /// The result of two agents after a change of their reports. Their clocks are off by 5 us at most.
    fn of_both(change: impl FnOnce(&mut [LoadResult; 2]), limits: Limits) -> Result<LoadResult, Failure> {
        let mut parts = [part(0), part(1)];
        change(&mut parts);
        let mut ledger = Ledger::new(["a".to_owned(), "b".to_owned()]);
        for ((index, part), entry) in (0..).zip(parts).zip(&mut ledger.entries) {
            (entry.index, entry.standing) = (Some(index), Standing::Reported(Box::new(part)));
            entry.before = Some(Offset { offset_ns: 0, error_ns: 5_000, sent_ns: START_NS });
        }
        let common = Common { rate: Some(200.0), of: 2, start_ns: START_NS, from_unix_s: 1_767_323_045.0 };
        let sending = Sending { limits, ..Sending::default() };
        merged_load(ledger.entries, common, &sending).map(|gathered| gathered.result)
    }

    /// The result of two agents, after a change of the report of the second.
    fn of_two(change: impl FnOnce(&mut LoadResult)) -> Result<LoadResult, Failure> {
        of_both(|[_, second]| change(second), Limits::default())
    }

    #[test]
    fn a_report_that_cannot_be_read_is_left_out_and_named_and_costs_nobody_else_anything() {
        let result = of_two(|result| {
            let histograms = result.histograms.as_mut().unwrap();
            histograms.response = Some(Histogram("AAAA".to_owned()));
        });
        let result = result.unwrap();
        assert_eq!((result.book.sent, result.latency.response.count), (1_000, 1_000));
        let lost: Vec<&Agent> = result.agents.as_ref().unwrap().lost().collect();
        let [lost] = lost.as_slice() else { panic!("{lost:?}") };
        assert_eq!((lost.name.as_str(), lost.outcome), ("b", AgentOutcome::Failed));
        assert!(lost.reason.as_ref().unwrap().contains("damaged"), "{lost:?}");
        assert_eq!(result.merged.as_ref().unwrap().left_out.len(), 1);
        assert!(result.findings.iter().any(|finding| finding.id == "agent-lost"));
    }

    #[test]
    fn parts_of_two_loads_are_no_result() {
        let why = of_two(|result| result.plan.method = "PUT".to_owned()).unwrap_err().to_string();
        assert!(why.contains("`b` is of a different load than `a`"), "{why}");
    }

    #[test]
    fn a_threshold_that_is_tightened_holds_for_the_parts_together() {
        let is_in_doubt = |share: f64| {
            let mut limits = Limits::default();
            limits.set("start-error-share", share).unwrap();
            let bursts = |part: &mut LoadResult| part.plan.arrivals = Some("burst=8".to_owned());
            let result = of_both(|parts| parts.iter_mut().for_each(bursts), limits).unwrap();
            result.findings.iter().any(|finding| finding.id == "agents-start")
        };
        // The error is 10 us, and the p99 about 1,100 us.
        assert!(!is_in_doubt(0.05) && is_in_doubt(0.001));
    }

    #[test]
    fn a_part_that_its_own_checks_void_is_left_out_and_named() {
        // A request is missing in its accounts.
        let result = of_two(|result| result.book.answered -= 1).unwrap();
        let agents = &result.agents.as_ref().unwrap().all;
        assert_eq!((agents[0].outcome, agents[1].outcome), (AgentOutcome::Merged, AgentOutcome::Void));
        assert!(agents[1].reason.as_ref().unwrap().contains("void"), "{:?}", agents[1]);
        assert_eq!(result.book.answered, 1_000);
        assert!(result.findings.iter().any(|finding| finding.id == "runs-left-out"));
    }

    #[test]
    fn an_interrupt_before_all_measurements_is_an_interrupt_and_no_void_result() {
        let of_agents = |interrupted: usize| {
            let interrupt = |part: &mut LoadResult| {
                (part.ended_by, part.recorded_s, part.book) = (EndedBy::Interrupt, 0.0, Book::default());
            };
            of_both(|parts| parts.iter_mut().take(interrupted).for_each(interrupt), Limits::default())
        };
        let failure = of_agents(2).unwrap_err();
        assert!(failure.is_interrupt(), "{failure:?}");
        assert_eq!(failure.to_string(), "interrupted before the first measured request");
        assert_eq!(of_agents(1).unwrap().book.answered, 1_000, "what was measured is kept");
    }

    #[test]
    fn without_a_report_there_is_no_result() {
        let mut ledger = Ledger::new(["a".to_owned()]);
        ledger.entries[0].index = Some(0);
        ledger.apply(0, AgentEvent::Ended(AgentOutcome::Silent, "it sent nothing for 5 s".to_owned()));
        let common = Common { rate: None, of: 1, start_ns: START_NS, from_unix_s: 0.0 };
        let why = merged_load(ledger.entries, common, &Sending::default()).unwrap_err().to_string();
        assert!(why.contains("no agent reported") && why.contains("`a`: it sent nothing for 5 s"), "{why}");
    }
}
