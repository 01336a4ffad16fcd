//! Measures a plan in a cluster: makes namespaces, has pods come in each round, sends the load, reads CPU times, and removes all.

mod lab;
mod pods;
mod polls;
mod sending;

use std::time::Instant;

use hoptax_checks::thresholds::Limits;
use hoptax_cluster::usage::Container;
use hoptax_cluster::{Cluster, Refused};
use hoptax_result::{ClusterEnvironment, Environment, StudyResult};
use hoptax_session::{Failure, Interrupt, Say, Update};
use humantime::format_rfc3339_seconds;

use crate::evidence::result;
use crate::measured::{Measured, Round, Slice};
use crate::plan::Plan;
use crate::template::Shared;
use crate::used::{Poll, longest_gap_s};
use lab::{Lab, node, version};
use pods::{Place, Pods};
use polls::{Idle, Poller, Sampler, containers_of};
use sending::{answers, send};

/// Gaps between readings that a slice is as long as, at least: it has three readings if all are a gap apart, and if some are nearer, the first
/// and the last one are still at least a gap apart.
const GAPS_OF_SLICE: f64 = 3.0;
/// The rest of the shortest slice, seconds: for the time between two questions at each end.
const BESIDE_S: f64 = 6.0;

/// What is needed all the time.
#[derive(Clone, Copy)]
struct Context<'a> {
    cluster: &'a Cluster,
    interrupt: &'a Interrupt,
    say: Say<'a>,
}

impl Context<'_> {
    fn note(&self, text: &str) {
        (self.say)(Update::Note(text));
    }
}

/// Measures a plan in the cluster of a context; none for the current one.
///
/// # Errors
/// When the cluster refuses something, pods do not come, a mesh puts no proxy into them, an arm does not answer, or it is interrupted before
/// the end of its first round. Nothing is left in the cluster then.
pub fn measure(
    plan: &Plan,
    context: Option<&str>,
    limits: &Limits,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<StudyResult, Failure> {
    interrupt.check()?;
    let began = Instant::now();
    let cluster = Cluster::open(context).map_err(of_cluster)?;
    let context = Context { cluster: &cluster, interrupt, say };
    let kubernetes = version(&cluster).map_err(of_cluster)?;
    let lab = Lab::make(plan, &cluster).map_err(of_cluster)?;
    context.note(&format!(
        "measures {} arms in {} rounds, in namespaces {} of context `{}`, which are removed at the end",
        plan.arms.len(),
        plan.asked.rounds,
        lab.listed(),
        cluster.context()
    ));
    let mut measured = Measured::default();
    measured.environment.started_at = now();
    measured.environment.cluster = Some(ClusterEnvironment { kubernetes, ..ClusterEnvironment::default() });
    let ended = rounds(plan, context, &mut measured, began);
    for problem in lab.end() {
        say(Update::Problem(&problem));
    }
    if let Err(failure) = ended {
        if measured.rounds.is_empty() {
            return Err(if interrupt.is_requested() { Failure::interrupted() } else { failure });
        }
        let reason = if interrupt.is_requested() { "interrupted".to_owned() } else { failure.to_string() };
        measured.ended_early = Some(reason);
    }
    measured.wall_s = began.elapsed().as_secs_f64();
    Ok(result(plan, &measured, limits))
}

/// The failure of a request that a cluster refuses.
fn of_cluster(refused: Refused) -> Failure {
    if refused.is_of_input() { Failure::bad_input(refused) } else { Failure::environment(refused) }
}

fn now() -> String {
    format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

fn rounds(plan: &Plan, context: Context<'_>, measured: &mut Measured, began: Instant) -> Result<(), Failure> {
    let mut place = Place::new(&plan.asked);
    let mut idle = Idle::default();
    for number in 0..plan.asked.rounds {
        let mut round = Round { began_at: now(), ..Round::default() };
        let pods = Pods::come(plan, number, &mut place, context)?;
        let poller = Poller::new(plan, place.nodes().map(str::to_owned).collect());
        if number == 0 {
            describe(&mut measured.environment, plan, &place, &pods, context)?;
            measured.proxies = pods.proxies(plan);
        }
        let quiet = first_readings(plan, number, measured, &poller, &pods, context)?;
        if number == 0 {
            measured.source.idle_of_own = pods.idle(&quiet);
        }
        idle.add(plan, &quiet);
        for index in plan.order(number) {
            context.interrupt.check()?;
            let arm = pods.arm(index);
            answers(plan, arm, context)?;
            let sampler = Sampler::begin(context.cluster.context(), poller.clone())?;
            let began_s = began.elapsed().as_secs_f64();
            let load = send(plan, arm, measured.source.slice_s, context);
            let polls = sampler.end();
            let (load, polls) = (load?, polls?);
            context.interrupt.check()?;
            let from_s = load.recorded_from_unix_s.unwrap_or_default();
            let used = arm.used(&polls, (from_s, from_s + load.recorded_s), &idle);
            let source = &mut measured.source;
            source.shortest_s = [source.shortest_s, used.shortest_s].into_iter().flatten().reduce(f64::min);
            round.slices.push(Slice {
                arm: index,
                began_s,
                load,
                proxies: used.proxies,
                origin: used.origin,
            });
        }
        round.ended_at = now();
        measured.rounds.push(round);
        measured.source.idle = idle.mean();
        pods.end(context);
        context.note(&format!("round {} of {} is complete", number + 1, plan.asked.rounds));
    }
    Ok(())
}

/// Readings without load: in the first round until the time between two of them is known, which sets the length of slices; later only for
/// proxies that others use too.
fn first_readings(
    plan: &Plan,
    number: u32,
    measured: &mut Measured,
    poller: &Poller,
    pods: &Pods,
    context: Context<'_>,
) -> Result<Vec<Poll>, Failure> {
    if number > 0 {
        let has_shared = plan.arms.iter().any(|arm| !arm.template.shared.is_empty());
        let seconds = if has_shared { measured.source.gap_s * 2.0 + BESIDE_S } else { 0.0 };
        return poller.poll_until(context, seconds, |_| false);
    }
    context.note("waits until the nodes have read the CPU time of the new containers three times");
    let shared: Vec<&Shared> = plan.arms.iter().flat_map(|arm| &arm.template.shared).collect();
    let containers = |polls: &[Poll]| {
        let of_others = shared.iter().flat_map(|shared| containers_of(polls, shared));
        pods.containers().into_iter().chain(of_others).collect::<Vec<Container>>()
    };
    let gap_s = |polls: &[Poll]| longest_gap_s(polls, &containers(polls));
    let polls = poller.poll_until(context, LONGEST_WAIT_S, |polls| gap_s(polls).is_some())?;
    let gap_s = gap_s(&polls).ok_or_else(|| {
        Failure::environment(format!(
            "the metrics of the kubelets (`kubectl get --raw /api/v1/nodes/NODE/proxy/metrics/cadvisor`) have no three readings of {} within \
             {LONGEST_WAIT_S:.0} s: CPU times need `container_cpu_usage_seconds_total` with times, for each container",
            containers(&polls).iter().map(|one| format!("`{}/{}`", one.pod, one.name)).collect::<Vec<_>>().join(", ")
        ))
    })?;
    if let Some(absent) = shared.iter().find(|shared| containers_of(&polls, shared).is_empty()) {
        let nodes: Vec<String> = poller.nodes().iter().map(|node| format!("`{node}`")).collect();
        return Err(Failure::environment(format!(
            "no pod `{}…` of namespace `{}` with a container `{}` is on {}: the mesh is not installed in this cluster, or not on these nodes; \
             `kubectl -n {} get pods -o wide` shows its pods, and `--template FILE` states what yours are named",
            absent.pods,
            absent.namespace,
            absent.container,
            nodes.join(", "),
            absent.namespace
        )));
    }
    let needed_s = (GAPS_OF_SLICE * gap_s + BESIDE_S).ceil();
    let slice_s = plan.asked.slice.map_or(needed_s, |slice| slice.as_secs_f64());
    if slice_s < needed_s {
        return Err(Failure::bad_input(format!(
            "`--slice` is shorter than the {needed_s:.0} s that CPU times need here: nodes read them every {gap_s:.0} s"
        )));
    }
    (measured.source.gap_s, measured.source.slice_s) = (gap_s, slice_s);
    context.note(&format!("nodes read CPU times every {gap_s:.0} s or less: slices of {slice_s:.0} s"));
    Ok(polls)
}

/// The longest time in which three readings have to come, seconds.
const LONGEST_WAIT_S: f64 = 120.0;

/// Describes where it is measured.
fn describe(
    environment: &mut Environment,
    plan: &Plan,
    place: &Place,
    pods: &Pods,
    context: Context<'_>,
) -> Result<(), Failure> {
    let mut nodes = Vec::new();
    for name in place.nodes() {
        nodes.push(node(context.cluster, name).map_err(of_cluster)?);
    }
    let images = pods.images(plan);
    if let Some(first) = nodes.first() {
        environment.kernel.clone_from(&first.kernel);
        environment.cpu_model = first.kind.clone().unwrap_or_else(|| first.architecture.clone());
        environment.cpus = first.processors;
        environment.memory_bytes = first.memory_bytes;
    }
    environment.proxy_version = images.first().cloned();
    if let Some(cluster) = &mut environment.cluster {
        (cluster.nodes, cluster.proxies) = (nodes, images);
    }
    Ok(())
}
