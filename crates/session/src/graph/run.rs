//! Runs rounds of a graph. Each round restarts all processes, because a process keeps its own level of CPU time for as long as it lives. It
//! visits the graph with proxies and without any in short slices in random order, so that drift of the machine affects both alike.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_checks::judge_load;
use hoptax_checks::thresholds::Limits;
use hoptax_host::accounting::memory_bytes;
use hoptax_load::trial::TrialSpec;
use hoptax_load::{Arrivals, Pace};
use hoptax_plan::plan::{Load, Open, Plan, PlannedProxy, Rate, ServiceGraph, Subject, blocks};
use hoptax_result::{
    ArmKind, EndedBy, Environment, GraphCondition, GraphRound, GraphRoundProxy, GraphSlice, LoadResult,
    Severity,
};
use hoptax_run::runner::{self, ArmError, Live, RunError, Setting};
use hoptax_subject::envoy::bootstrap::INGRESS;
use hoptax_subject::envoy::process::Proxy;

/// Connections to the entry, as in the studies that predictions are learned from.
pub(crate) const CONNECTIONS: usize = 32;
/// Warm-up of a slice with the same load: connections are opened from end to end, and services start their threads.
pub(crate) const WARMUP: Duration = Duration::from_millis(500);

/// The reason to set aside a slice that is too short for a single request at its rate.
pub(crate) const IDLE: &str = "idle";

/// The arm with all proxies, which is the first in the plan of a graph.
const PROXIED: usize = 0;

/// The only check that a slice may fail and still count. A slice is too short to tell a change of state from chance, and a round has many
/// slices.
const NOT_OF_SLICES: &str = "steady-state";

/// Settings of a run: its load, and the number and length of its slices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSpec {
    /// Requests per second to the entry.
    pub rate: f64,
    /// Number of rounds.
    pub rounds: u32,
    /// Slices of each condition in a round.
    pub slices: u32,
    /// Recorded time of a slice.
    pub slice: Duration,
    /// Seed of arrivals and orders.
    pub seed: u64,
}

impl RunSpec {
    /// The plan of the trials of a graph.
    pub(crate) fn plan(&self, graph: &ServiceGraph) -> Plan {
        Plan::of_graph(graph.clone(), self.load(), self.rounds, self.seed)
    }

    /// The load at the entry, whose blocks are slices.
    fn load(&self) -> Load {
        Load {
            name: "entry".to_owned(),
            open: Some(Open { rate: Rate::PerSecond(self.rate), arrivals: Arrivals::Poisson }),
            connections: CONNECTIONS,
            requests_per_connection: None,
            resumption: None,
            expect: Vec::new(),
            caller: None,
            arms: None,
            blocks: self.slices,
            slice: self.slice,
        }
    }
}

/// The rounds of a graph that is run.
pub(crate) struct Rounds<'a> {
    pub(crate) graph: &'a ServiceGraph,
    /// The plan of its trials.
    pub(crate) plan: &'a Plan,
    pub(crate) setting: &'a Setting<'a>,
    pub(crate) spec: &'a RunSpec,
    pub(crate) environment: &'a Environment,
    /// The check limits for the load of each slice.
    pub(crate) limits: &'a Limits,
    /// Set to end the run early.
    pub(crate) stop: &'a AtomicBool,
}

/// Counters of a proxy since its start.
#[derive(Clone, Debug)]
struct Counted {
    /// Its process id.
    id: u32,
    /// Requests to it.
    requests: u64,
    /// Values of its proofs.
    proofs: Vec<u64>,
}

impl Rounds<'_> {
    /// Runs the rounds. `on_round` gets the number of each before it begins, from 0. Ends early, with the complete rounds, when it is
    /// stopped.
    ///
    /// # Errors
    /// When a process cannot be started or ends, or a load cannot be sent.
    pub(crate) fn run(&self, on_round: &mut dyn FnMut(u32)) -> Result<Vec<GraphRound>, RunError> {
        runner::with_live(self.plan, self.setting, |live| -> Result<Vec<GraphRound>, RunError> {
            let mut rounds = Vec::new();
            for round in 0..self.plan.rounds {
                on_round(round);
                live.restart(round, self.stop)?;
                let Some(recorded) = self.round(live, round)? else { return Ok(rounds) };
                rounds.push(recorded);
            }
            live.end()?;
            Ok(rounds)
        })?
    }

    /// The slices of a round; none if it was interrupted.
    fn round(&self, live: &mut Live<'_>, round: u32) -> Result<Option<GraphRound>, RunError> {
        let before = self.counted(live)?;
        let mut slices = Vec::new();
        for block in blocks(self.plan, round) {
            // Both arms of a block get the same arrivals.
            let number = u64::from(round) * u64::from(self.spec.slices) + u64::from(block.number);
            for subject in &block.subjects {
                let slice = self.slice(live, subject, self.plan.seed.wrapping_add(number), &before)?;
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                slices.push(slice);
            }
        }
        let after = self.counted(live)?;
        let proxies = before.iter().zip(&after).map(|(before, after)| -> Result<_, RunError> {
            let requests = after.requests.saturating_sub(before.requests);
            Ok(GraphRoundProxy { requests, memory_bytes: memory_bytes(after.id)? })
        });
        let proxies = proxies.collect::<Result<_, RunError>>()?;
        let unproven = unproven(self.graph, &before, &after);
        Ok(Some(GraphRound { slices, proxies, unproven }))
    }

    /// Reads the counters of all proxies, in the order of the file.
    fn counted(&self, live: &mut Live<'_>) -> Result<Vec<Counted>, RunError> {
        live.with_proxies(PROXIED, |proxies| {
            let all = self.graph.proxies().zip(proxies);
            all.map(|(planned, proxy)| counted(planned.proxy, proxy)).collect()
        })
    }

    /// Sends the load to an arm, and records the CPU time of `proxies` if the arm has proxies.
    fn slice(
        &self,
        live: &mut Live<'_>,
        subject: &Subject<'_>,
        seed: u64,
        proxies: &[Counted],
    ) -> Result<GraphSlice, RunError> {
        let trial = |trial: TrialSpec| TrialSpec {
            open: Some((Pace::Constant(self.spec.rate), Arrivals::Poisson)),
            duration: self.spec.slice,
            warmup: WARMUP,
            seed,
            ..trial
        };
        let environment = self.environment.clone();
        let (result, cpu_ns) =
            live.load(subject.arm_number, trial, |_| Duration::ZERO, environment, self.stop)?;
        let (condition, proxies) = match subject.arm.kind {
            ArmKind::Direct => (GraphCondition::Direct, &[][..]),
            _ => (GraphCondition::Proxied, proxies),
        };
        let cpu_us = proxies.iter().map(|proxy| Some(*cpu_ns.get(&proxy.id)? as f64 / 1e3)).collect();
        Ok(recorded(result, condition, cpu_us, self.limits))
    }
}

/// Reads the counters of a proxy.
fn counted(planned: &PlannedProxy, proxy: &Proxy) -> Result<Counted, ArmError> {
    let requests = format!("http.{INGRESS}.downstream_rq_total");
    let proofs = planned.proofs().into_iter().map(|(_, proof)| proof.name);
    let names: Vec<String> = std::iter::once(requests).chain(proofs).collect();
    let stated = proxy.statistics(&names)?.unwrap_or_default();
    let [requests, proofs @ ..] = stated.as_slice() else {
        return Err(ArmError::Unstated(names.join("`, `")));
    };
    Ok(Counted { id: proxy.id(), requests: *requests, proofs: proofs.to_vec() })
}

/// Judges a load, and returns it as a slice.
fn recorded(
    mut result: LoadResult,
    condition: GraphCondition,
    cpu_us: Vec<Option<f64>>,
    limits: &Limits,
) -> GraphSlice {
    // Copy them before checks withhold them: the check that sets a slice aside is another one than the check that withholds its numbers.
    let response = result.histograms.as_ref().and_then(|histograms| histograms.response.clone());
    let mean_us = result.latency.response.mean_us;
    judge_load(&mut result, limits);
    let failed =
        result.findings.iter().filter(|one| one.severity == Severity::Fail && one.id != NOT_OF_SLICES);
    let failed: Vec<String> = if result.book.planned == 0 && result.ended_by == EndedBy::Plan {
        // The other checks judge a load, and there was none.
        vec![format!("{IDLE}: no request was planned in the recorded time")]
    } else {
        failed.map(|one| format!("{}: {}", one.id, one.message)).collect()
    };
    let ended_early = (result.ended_by != EndedBy::Plan && failed.is_empty())
        .then(|| "ended: the load ended early".to_owned());
    // Set aside a slice with unknown CPU times or response times. Otherwise sums would mix requests with and without CPU time, or the means
    // and the quantiles would come from different slices.
    let unknown = (ended_early.is_none() && failed.is_empty()).then(|| {
        let cpu = cpu_us.iter().any(Option::is_none).then_some("unknown: the CPU time of a proxy");
        let has_times = result.book.answered == 0 || (mean_us.is_some() && response.is_some());
        cpu.or((!has_times).then_some("unknown: the response times"))
    });
    let set_aside = (!failed.is_empty()).then(|| failed.join("; ")).or(ended_early);
    let set_aside = set_aside.or(unknown.flatten().map(str::to_owned));
    GraphSlice {
        condition,
        set_aside,
        answered: result.book.answered,
        recorded_s: result.recorded_s,
        mean_us,
        response,
        cpu_us,
    }
}

/// The functions that no statistic shows to be active.
fn unproven(graph: &ServiceGraph, before: &[Counted], after: &[Counted]) -> Vec<String> {
    let mut found = Vec::new();
    for (one, (before, after)) in graph.proxies().zip(before.iter().zip(after)) {
        let values = before.proofs.iter().zip(&after.proofs);
        for ((function, proof), (before, after)) in one.proxy.proofs().into_iter().zip(values) {
            if let Some(why) = proof.failure(*before, *after) {
                found.push(format!("`{function}` at the proxy of `{}`: {why}", one.service.name));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;
    use hoptax_result::{Book, LoadHistograms, sample};

    use super::*;
    use crate::graph::plan::read;

    fn judged(change: impl FnOnce(&mut LoadResult)) -> GraphSlice {
        let mut load = sample::load();
        let mut times = hoptax_load::histogram();
        times.record(100_000).unwrap();
        let response = hoptax_load::encoded::encode(&times);
        load.histograms = Some(LoadHistograms { response, ..LoadHistograms::default() });
        change(&mut load);
        recorded(load, GraphCondition::Proxied, vec![Some(1.0)], &Limits::default())
    }

    #[test]
    fn a_slice_counts_unless_its_load_failed_a_check() {
        let sound = judged(|_| {});
        assert!(
            sound.set_aside.is_none() && sound.answered == 200_000 && sound.mean_us.is_some(),
            "{sound:?}"
        );
        let late = judged(|load| load.latency.own_lag.p99_us = Some(1e6));
        assert!(late.set_aside.as_ref().is_some_and(|why| why.starts_with("send-lag: ")), "{late:?}");
        assert!(late.mean_us.is_some(), "the evidence is kept: {late:?}");
        let failing = judged(|load| {
            load.book.failed += 2_000;
            load.book.answered -= 2_000;
        });
        assert!(failing.set_aside.is_some(), "{failing:?}");
        let untimed = judged(|load| load.histograms = None);
        assert_eq!(untimed.set_aside.as_deref(), Some("unknown: the response times"), "{untimed:?}");
        let cpu_us = vec![Some(1.0), None];
        let lost = recorded(sample::load(), GraphCondition::Proxied, cpu_us, &Limits::default());
        assert_eq!(lost.set_aside.as_deref(), Some("unknown: the CPU time of a proxy"), "{lost:?}");
        let early = judged(|load| load.ended_by = EndedBy::Backlog);
        assert!(early.set_aside.is_some(), "{early:?}");
        let idle = judged(|load| load.book = Book::default());
        let why = "idle: no request was planned in the recorded time";
        assert_eq!(idle.set_aside.as_deref(), Some(why), "too few requests are planned, not too many");
    }

    #[test]
    fn a_change_of_state_within_a_slice_is_chance() {
        let slice = judged(|load| {
            for window in &mut load.windows[70..] {
                window.median_response_us = window.median_response_us.map(|us| us + 50.0);
            }
        });
        assert_eq!(slice.set_aside, None);
    }

    #[test]
    fn a_function_without_work_is_named() {
        let text = "
name: one
entry: a
services: [{name: a, functions: [jwt]}]
";
        let plan =
            read("one.yaml", text, Catalogue::load().unwrap()).unwrap_or_else(|error| panic!("{error}"));
        // It has one proof, which must change.
        let counted = |value: u64| vec![Counted { id: 1, requests: value, proofs: vec![value] }];
        assert!(unproven(&plan.run, &counted(3), &counted(4)).is_empty());
        let found = unproven(&plan.run, &counted(3), &counted(3));
        assert!(found.len() == 1 && found[0].contains("`jwt` at the proxy of `a`"), "{found:?}");
    }
}
