//! Measures a plan in a cluster: creates namespaces, starts pods in each round, sends the load, reads CPU times, and deletes everything.

mod installed;
mod kubelets;
mod lab;
mod patience;
mod placed;
mod pods;
mod polls;
mod prometheus;
mod readers;
mod sending;

use std::thread;
use std::time::{Duration, Instant};

use hoptax_checks::thresholds::Limits;
use hoptax_cluster::usage::Container;
use hoptax_cluster::{Cluster, Refused};
use hoptax_load::Pace;
use hoptax_result::{ClusterEnvironment, CpuTimeSource, Environment, StudyResult, grouped};
use hoptax_session::{Failure, Interrupt, Say, Update};
use humantime::format_rfc3339_seconds;

use crate::evidence::result;
use crate::measured::{Measured, Round, Slice, Source};
use crate::plan::{Plan, SATURATION_SLICE};
use crate::source::{
    CpuTime, LONGEST_SLICE, SETTLING, gap_of_readings_s, longest_wait, quiet_s, slice_s, usual_slice_s,
};
use crate::template::Shared;
use crate::used::{Poll, Span, have_times_of_scrapes, longest_gap_s};
use installed::{control_planes, networks};
use kubelets::Kubelets;
use lab::{Lab, node, version};
use patience::{PATIENCE, Trouble};
use placed::{absent, shared};
use pods::{Pods, nodes_of};
use polls::{Idle, Poller, Sampler};
use prometheus::Prometheus;
use readers::{Readers, Unread};
use sending::{answers, send};

/// Polling interval of an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The cluster, the interrupt and the callback, which all steps need.
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

    /// Waits for this time. An interrupt ends it with a failure.
    fn wait(&self, time: Duration) -> Result<(), Failure> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.interrupt.check()?;
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// Measures a plan in the cluster of a context; none for the current context.
///
/// # Errors
/// When the cluster refuses a request, pods do not start, a mesh injects no proxy, an arm does not answer, or when it is interrupted before
/// the end of its first round. Nothing remains in the cluster then.
pub(crate) fn measure(
    plan: &Plan,
    context: Option<&str>,
    limits: &Limits,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<StudyResult, Failure> {
    interrupt.check()?;
    let began = Instant::now();
    let cluster = Cluster::open(context).map_err(of_cluster)?.making(plan.made());
    let context = Context { cluster: &cluster, interrupt, say };
    if let Some(address) = &plan.asked.prometheus {
        // Before anything is made for it.
        Prometheus::new(address, plan).check(&cluster).map_err(of_cluster)?;
    }
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
    context.note("removes the namespaces, and waits until they are gone");
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
    Failure::of_input_if(refused.is_of_input(), refused)
}

fn now() -> String {
    format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

fn rounds(plan: &Plan, context: Context<'_>, measured: &mut Measured, began: Instant) -> Result<(), Failure> {
    // All rounds have the nodes of the first round, so that rounds are comparable.
    let mut asked = plan.asked.clone();
    let mut idle = Idle::default();
    for number in 0..plan.asked.rounds {
        let mut round = Round { began_at: now(), ..Round::default() };
        let pods = Pods::come(plan, number, &mut asked, context)?;
        let nodes = nodes_of(&asked);
        if number == 0 {
            describe(&mut measured.environment, plan, &nodes, &pods, context)?;
            measured.proxies = pods.proxies(plan);
        }
        let others = shared_on(plan, &nodes, context)?;
        let mut poller = poller(plan, number, &mut measured.source, &pods, &nodes, context)?;
        if let Some(cluster) = &mut measured.environment.cluster {
            cluster.cpu_time = Some(poller.source());
        }
        let quiet = first_readings(plan, number, measured, &mut poller, &pods, &others, context)?;
        if number == 0 {
            measured.source.idle_of_own = pods.idle(&quiet);
        }
        idle.add(plan, &quiet, &others);
        for index in plan.order(number) {
            context.interrupt.check()?;
            let arm = pods.arm(index);
            answers(plan, arm, context)?;
            let sampler = Sampler::begin(context.cluster.context(), poller.again())?;
            let began_s = began.elapsed().as_secs_f64();
            let slice = Duration::from_secs_f64(measured.source.slice_s);
            let load = send(plan, arm, Some(Pace::Constant(plan.asked.rate)), slice, context);
            let polls = sampler.end();
            let (load, polls) = (load?, polls?);
            context.interrupt.check()?;
            let from_s = load.recorded_from_unix_s.unwrap_or_default();
            let recorded = Span { from_s, to_s: from_s + load.recorded_s };
            let proxies = arm.proxies_used(&polls, recorded, &idle);
            let origin = arm.origin_used(&polls, recorded);
            let source = &mut measured.source;
            let seconds = proxies.iter().flatten().map(|used| used.seconds);
            source.shortest_s = seconds.chain(source.shortest_s).reduce(f64::min);
            round.slices.push(Slice { arm: index, began_s, load, proxies, origin });
        }
        if plan.asked.has_max_rate {
            round.at_saturation = at_saturation(plan, number, &pods, context, began)?;
        }
        round.ended_at = now();
        measured.rounds.push(round);
        measured.source.idle = idle.mean(plan);
        pods.end(context);
        context.note(&format!("round {} of {} is complete", number + 1, plan.asked.rounds));
    }
    Ok(())
}

/// The slices of a round at saturation. They are its last ones, because they leave pods in another state, such as with larger heaps and
/// more connections: the next round has new pods.
fn at_saturation(
    plan: &Plan,
    number: u32,
    pods: &Pods,
    context: Context<'_>,
    began: Instant,
) -> Result<Vec<Slice>, Failure> {
    let of_arm = |index: usize| -> Result<Slice, Failure> {
        context.interrupt.check()?;
        let arm = pods.arm(index);
        answers(plan, arm, context)?;
        let began_s = began.elapsed().as_secs_f64();
        let load = send(plan, arm, None, SATURATION_SLICE, context)?;
        context.interrupt.check()?;
        Ok(Slice { arm: index, began_s, load, proxies: Vec::new(), origin: None })
    };
    plan.order(number).into_iter().map(of_arm).collect()
}

/// The source of a round's readings. It is chosen in the first round; readers of control groups are started in each round.
fn poller(
    plan: &Plan,
    number: u32,
    source: &mut Source,
    pods: &Pods,
    nodes: &[String],
    context: Context<'_>,
) -> Result<Poller, Failure> {
    let wanted = match (number, source.from) {
        (0, _) => plan.asked.cpu_time,
        (_, CpuTimeSource::Cgroup) => CpuTime::Cgroup,
        (_, CpuTimeSource::Kubelet) => CpuTime::Kubelet,
        (_, CpuTimeSource::Prometheus) => CpuTime::Prometheus,
    };
    if number == 0 && wanted != CpuTime::Auto {
        source.why = Some("as --cpu-time asks".to_owned());
    }
    // The reasons against preferred sources.
    let mut against = Vec::new();
    if wanted.has_readers() {
        let made = plan.readers(number, nodes.to_owned());
        match Readers::come(&made, &pods.owner(), &pods.placed(), plan, context) {
            Ok(readers) => {
                source.from = CpuTimeSource::Cgroup;
                return Ok(Poller::Readers(readers));
            }
            Err(Unread::Interrupted(failure)) => return Err(failure),
            Err(unread) if wanted == CpuTime::Cgroup => return Err(unread.failure()),
            Err(unread) => against.push(format!("control groups cannot be read: {}", unread.in_short())),
        }
    }
    let (poller, why) = coarse_poller(plan, wanted, nodes, context);
    against.extend(why);
    source.from = poller.source();
    if !against.is_empty() {
        let why = against.join("; ");
        context.note(&format!("CPU times come from the {}, because {why}", source.from.as_str()));
        source.why = Some(why);
    }
    Ok(poller)
}

/// The kubelets or a Prometheus, and why not the kubelets. Where there is no other source, those who wait for readings say it.
fn coarse_poller(
    plan: &Plan,
    wanted: CpuTime,
    nodes: &[String],
    context: Context<'_>,
) -> (Poller, Option<String>) {
    let mut kubelets = Poller::Kubelets(Kubelets::new(plan, nodes.to_owned()));
    let Some(address) = plan.asked.prometheus.as_ref().filter(|_| wanted.has_prometheus()) else {
        return (kubelets, None);
    };
    let mut why = None;
    if wanted == CpuTime::Auto {
        let Err(refused) = kubelets.answered(context.cluster) else { return (kubelets, None) };
        let refused = Unread::Refused(refused).in_short();
        why = Some(format!("the metrics of the kubelets cannot be read: {refused}"));
    }
    (Poller::Prometheus(Prometheus::new(address, plan)), why)
}

/// The shared containers, once each node has them: if one were missing, its use would be missing from the sum.
fn shared_on(plan: &Plan, nodes: &[String], context: Context<'_>) -> Result<Vec<Container>, Failure> {
    let mut trouble = Trouble::default();
    loop {
        context.interrupt.check()?;
        let placed = shared(plan, nodes, context.cluster).map_err(of_cluster)?;
        let Some((absent, node)) = absent(plan, nodes, &placed) else {
            return Ok(placed.into_iter().map(|one| one.container).collect());
        };
        if trouble.has_lasted(Instant::now(), PATIENCE) {
            return Err(no_shared(absent, node));
        }
        thread::sleep(LOOK_EVERY * 10);
    }
}

/// Readings without load. In the first round, the time between readings determines the length of slices.
fn first_readings(
    plan: &Plan,
    number: u32,
    measured: &mut Measured,
    poller: &mut Poller,
    pods: &Pods,
    others: &[Container],
    context: Context<'_>,
) -> Result<Vec<Poll>, Failure> {
    let source = poller.source();
    let quiet_s = |gap_s: f64| quiet_s(source, gap_s, number, !others.is_empty());
    if number > 0 {
        let needed_s = quiet_s(measured.source.gap_s);
        if needed_s > 0.0 {
            context.wait(SETTLING)?;
        }
        return poller.poll_until(context, needed_s, |_| false);
    }
    context.note(match source {
        CpuTimeSource::Cgroup => "reads CPU times from control groups on the nodes, first without load",
        CpuTimeSource::Kubelet => {
            "waits until the nodes have read the CPU time of the new containers three times"
        }
        CpuTimeSource::Prometheus => {
            "waits until Prometheus has scraped the CPU time of the new containers three times"
        }
    });
    context.wait(SETTLING)?;
    let containers: Vec<Container> = pods.containers().into_iter().chain(others.iter().cloned()).collect();
    let gap_s = |polls: &[Poll]| longest_gap_s(polls, &containers);
    let longest_s = longest_wait(source).as_secs_f64();
    let mut polls = poller.poll_until(context, longest_s, |polls| gap_s(polls).is_some())?;
    let has_times_of_scrapes = source == CpuTimeSource::Prometheus && have_times_of_scrapes(&polls);
    let gap_s = |polls: &[Poll]| Some(gap_of_readings_s(gap_s(polls)?, has_times_of_scrapes));
    let Some(first_s) = gap_s(&polls) else {
        return Err(no_readings(source, &containers));
    };
    polls.extend(poller.poll_until(context, quiet_s(first_s), |_| false)?);
    let gap_s = gap_s(&polls).unwrap_or(first_s);
    let needed_s = slice_s(source, gap_s);
    let usual_s = usual_slice_s(source, gap_s);
    if plan.asked.slice.is_none() && usual_s > LONGEST_SLICE.as_secs_f64() {
        return Err(Failure::bad_input(format!(
            "CPU times are read every {gap_s} s here, which needs longer slices than usual: set `--slice {usual_s}s`, or have CPU times \
             read more often",
            gap_s = grouped(gap_s, 0)
        )));
    }
    let slice_s = plan.asked.slice.map_or(usual_s, |slice| slice.as_secs_f64());
    if slice_s < needed_s {
        return Err(Failure::bad_input(format!(
            "`--slice` is shorter than the {needed_s} s that CPU times need here: they are read every {gap_s} s",
            needed_s = grouped(needed_s, 0),
            gap_s = grouped(gap_s, 1)
        )));
    }
    (measured.source.gap_s, measured.source.slice_s) = (gap_s, slice_s);
    measured.source.has_times_of_scrapes = has_times_of_scrapes;
    context.note(&format!(
        "CPU times are read every {gap_s} s or less: slices of {slice_s} s",
        gap_s = grouped(gap_s, 1),
        slice_s = grouped(slice_s, 0)
    ));
    Ok(polls)
}

/// The failure of a source without readings.
fn no_readings(source: CpuTimeSource, containers: &[Container]) -> Failure {
    let listed: Vec<String> = containers.iter().map(|one| format!("`{}/{}`", one.pod, one.name)).collect();
    let (who, needs) = match source {
        CpuTimeSource::Cgroup => (
            "the readers of control groups have",
            "each container must run; `--cpu-time kubelet` works without them",
        ),
        CpuTimeSource::Kubelet => (
            "the metrics of the kubelets (`kubectl get --raw /api/v1/nodes/NODE/proxy/metrics/cadvisor`) have",
            "CPU times need `container_cpu_usage_seconds_total` with times, for each container",
        ),
        CpuTimeSource::Prometheus => (
            "the Prometheus has",
            "CPU times need `container_cpu_usage_seconds_total` with the labels `namespace`, `pod` and `container` of the kubelets \
             (`honor_labels: true`), for each container, and more often than once in two minutes",
        ),
    };
    Failure::environment(format!(
        "{who} no three readings of {} within {} s: {needs}",
        listed.join(", "),
        longest_wait(source).as_secs()
    ))
}

/// The failure of a mesh whose shared proxies are missing on a node.
fn no_shared(absent: &Shared, node: &str) -> Failure {
    let Shared { namespace, pods, container } = absent;
    Failure::environment(format!(
        "no pod `{pods}…` of namespace `{namespace}` with a container `{container}` is on node `{node}`: the mesh is not installed in \
         this cluster, or not on this node; `kubectl -n {namespace} get pods -o wide` shows its pods, and `--template FILE` states their \
         names if they differ"
    ))
}

/// Describes the environment of the measurement.
fn describe(
    environment: &mut Environment,
    plan: &Plan,
    names: &[String],
    pods: &Pods,
    context: Context<'_>,
) -> Result<(), Failure> {
    let mut nodes = Vec::new();
    for name in names {
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
        cluster.networks = networks(context.cluster, names);
        cluster.control_planes = control_planes(context.cluster);
    }
    Ok(())
}
