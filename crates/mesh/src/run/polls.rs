//! Polls the CPU times of containers while a load runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hoptax_agents::controller::now_unix_s;
use hoptax_cluster::usage::Container;
use hoptax_cluster::{Cluster, Refused};
use hoptax_result::{CpuTimeSource, LimitPeriods};
use hoptax_session::Failure;

use super::kubelets::Kubelets;
use super::patience::{PATIENCE, Trouble};
use super::placed::{all_shared, is_of};
use super::prometheus::Prometheus;
use super::readers::Readers;
use super::{Context, of_cluster};
use crate::plan::Plan;
use crate::source::every;
use crate::template::Shared;
use crate::used::{Poll, Span, Used, used};

/// Polling interval of the stop flag.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The source to poll.
#[derive(Debug)]
pub(super) enum Poller {
    Kubelets(Kubelets),
    Prometheus(Prometheus),
    Readers(Readers),
}

impl Poller {
    /// The source.
    pub(super) fn source(&self) -> CpuTimeSource {
        match self {
            Self::Kubelets(_) => CpuTimeSource::Kubelet,
            Self::Prometheus(_) => CpuTimeSource::Prometheus,
            Self::Readers(_) => CpuTimeSource::Cgroup,
        }
    }

    /// The same source for another client of the cluster.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Kubelets(kubelets) => Self::Kubelets(kubelets.clone()),
            Self::Prometheus(prometheus) => Self::Prometheus(prometheus.clone()),
            Self::Readers(readers) => Self::Readers(readers.again()),
        }
    }

    /// Polls all nodes once.
    fn poll(&mut self, cluster: &Cluster) -> Result<Poll, Refused> {
        let asked_s = now_unix_s();
        let poll = match self {
            Self::Kubelets(kubelets) => kubelets.poll(cluster),
            Self::Prometheus(prometheus) => prometheus.poll(cluster),
            Self::Readers(readers) => readers.poll(cluster),
        };
        Ok(Poll { asked_s, answered_s: now_unix_s(), ..poll? })
    }

    /// Polls all nodes until they answer.
    pub(super) fn answered(&mut self, cluster: &Cluster) -> Result<Poll, Refused> {
        let mut trouble = Trouble::default();
        loop {
            if let Some(poll) = tolerated(self.poll(cluster), &mut trouble, Instant::now())? {
                return Ok(poll);
            }
            thread::sleep(every(self.source()));
        }
    }

    /// Polls until a condition holds, for at most this many seconds.
    pub(super) fn poll_until(
        &mut self,
        context: Context<'_>,
        seconds: f64,
        is_so: impl Fn(&[Poll]) -> bool,
    ) -> Result<Vec<Poll>, Failure> {
        let began = Instant::now();
        let mut polls = Vec::new();
        let mut trouble = Trouble::default();
        while began.elapsed().as_secs_f64() < seconds && !is_so(&polls) {
            let polled = tolerated(self.poll(context.cluster), &mut trouble, Instant::now());
            polls.extend(polled.map_err(of_cluster)?);
            context.wait(every(self.source()))?;
        }
        Ok(polls)
    }
}

/// An answer; none while a failure may be temporary. Returns a failure that has lasted for some time.
fn tolerated(
    polled: Result<Poll, Refused>,
    trouble: &mut Trouble,
    now: Instant,
) -> Result<Option<Poll>, Refused> {
    match polled {
        Ok(poll) => {
            trouble.pass();
            Ok(Some(poll))
        }
        Err(refused) if trouble.has_lasted(now, PATIENCE) => Err(refused),
        Err(_) => Ok(None),
    }
}

/// Polls on its own thread, because another thread sends the load.
pub(super) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<Poll>, Refused>>,
}

impl Sampler {
    /// Polls the cluster of a context, even if the current context changes in the meantime.
    pub(super) fn begin(context: &str, mut poller: Poller) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, context) = (Arc::clone(&stop), context.to_owned());
        let thread =
            thread::Builder::new().name("metrics".to_owned()).spawn(move || -> Result<Vec<Poll>, Refused> {
                let cluster = Cluster::open(Some(&context))?;
                let mut polls = Vec::new();
                loop {
                    // A missing answer only means fewer readings. If there are no more answers, the reason is reported at the end.
                    let polled = poller.poll(&cluster);
                    let is_answered = polled.is_ok();
                    polls.extend(polled);
                    let until = Instant::now() + every(poller.source());
                    while Instant::now() < until {
                        if stopped.load(Ordering::Relaxed) {
                            if !is_answered {
                                polls.push(poller.answered(&cluster)?);
                            }
                            return Ok(polls);
                        }
                        thread::sleep(LOOK_EVERY);
                    }
                }
            });
        Ok(Self { stop, thread: thread.map_err(Failure::environment)? })
    }

    /// All answers.
    pub(super) fn end(self) -> Result<Vec<Poll>, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Err(Refused::broken_thread())).map_err(of_cluster)
    }
}

/// The use of shared proxies without load.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// The shares of a processor in each round, by shared proxy; none if unknown.
    rounds: BTreeMap<Key, Vec<Option<f64>>>,
}

impl Idle {
    /// Adds a round. The use of shared proxies is known if all `needed` containers, those on the nodes of the round, were read.
    pub(super) fn add(&mut self, plan: &Plan, polls: &[Poll], needed: &[Container]) {
        let all: BTreeMap<Key, &Shared> = all_shared(plan).map(|one| (key(one), one)).collect();
        for (key, shared) in all {
            let containers = containers_of(polls, shared);
            let are_all = needed.iter().all(|one| !is_of(shared, one) || containers.contains(one));
            let used = shared_use(polls, shared, Span::ALL).filter(|_| are_all);
            let share = used.map(|used| used.share);
            self.rounds.entry(key).or_default().push(share);
        }
    }

    /// The share in the last round; none if unknown.
    pub(super) fn last(&self, shared: &Shared) -> Option<f64> {
        self.rounds.get(&key(shared))?.last().copied().flatten()
    }

    /// The mean over the rounds in which it is known, by name of the shared proxy.
    pub(super) fn mean(&self, plan: &Plan) -> BTreeMap<String, f64> {
        let mean = |shared: &Shared| {
            let shares = self.rounds.get(&key(shared))?;
            let known: Vec<f64> = shares.iter().flatten().copied().collect();
            (!known.is_empty()).then(|| (name(plan, shared), known.iter().sum::<f64>() / known.len() as f64))
        };
        all_shared(plan).filter_map(mean).collect()
    }
}

/// A shared proxy: its namespace, the prefix of its pods' names, and its container. A pod may have two shared containers.
type Key = [String; 3];

fn key(Shared { namespace, pods, container }: &Shared) -> Key {
    [namespace, pods, container].map(String::clone)
}

/// The name of a shared proxy, with its container if another one of the plan has the same name.
pub(super) fn name(plan: &Plan, shared: &Shared) -> String {
    let short =
        |Shared { namespace, pods, .. }: &Shared| format!("{namespace}/{}", pods.trim_end_matches('-'));
    let is_another = |other: &Shared| key(other) != key(shared) && short(other) == short(shared);
    if all_shared(plan).any(is_another) {
        format!("{}/{} {}", shared.namespace, shared.pods, shared.container)
    } else {
        short(shared)
    }
}

/// The shared containers that the nodes report, including those that no longer exist: leaving one out would count as no use.
pub(super) fn containers_of(polls: &[Poll], shared: &Shared) -> BTreeSet<Container> {
    let all = polls.iter().flat_map(|poll| poll.readings.keys().chain(&poll.gone));
    all.filter(|container| is_of(shared, container)).cloned().collect()
}

/// The use of shared proxies in a time span. None if there are none, if the use of one is unknown, or if one started or ended in the span:
/// its use in part of the time is not that of the whole. Periods of limits are known if they are known for all.
pub(super) fn shared_use(polls: &[Poll], shared: &Shared, span: Span) -> Option<Used> {
    let is_within = |poll: &&Poll| poll.asked_s >= span.from_s && poll.answered_s <= span.to_s;
    let mut within = polls.iter().filter(is_within);
    let first = within.next()?;
    let last = within.next_back()?;
    let containers = containers_of(polls, shared);
    let is_all_the_time = |container: &Container| {
        first.readings.contains_key(container) && last.readings.contains_key(container)
    };
    if !containers.iter().all(is_all_the_time) {
        return None;
    }
    let all: Option<Vec<Used>> = containers.iter().map(|container| used(polls, container, span)).collect();
    let all = all.filter(|all| !all.is_empty())?;
    let limits: Option<Vec<LimitPeriods>> = all.iter().map(|one| one.limit).collect();
    Some(Used {
        share: all.iter().map(|one| one.share).sum(),
        seconds: all.iter().map(|one| one.seconds).fold(f64::INFINITY, f64::min),
        limit: limits.and_then(|limits| limits.into_iter().reduce(|sum, one| sum + one)),
    })
}

#[cfg(test)]
mod tests {
    use hoptax_cluster::usage::Reading;

    use super::*;
    use crate::plan::tests::plan;

    fn shared() -> Shared {
        Shared {
            namespace: "istio-system".to_owned(),
            pods: "ztunnel-".to_owned(),
            container: "istio-proxy".to_owned(),
        }
    }

    fn on_node(node: &str) -> Container {
        Container {
            namespace: "istio-system".to_owned(),
            pod: format!("ztunnel-{node}"),
            name: "istio-proxy".to_owned(),
        }
    }

    /// Ten polls, one a second, of proxies on two nodes that use a quarter of a processor each.
    fn polls() -> Vec<Poll> {
        let poll = |second: u32| {
            let seconds = f64::from(second);
            let of = |node: &str| {
                let at_us = i64::from(second) * 1_000_000;
                let reading =
                    Reading { group: node.to_owned(), at_us, cpu_s: seconds / 4.0, ..Reading::default() };
                (on_node(node), reading)
            };
            Poll {
                asked_s: seconds,
                answered_s: seconds + 0.1,
                readings: ["a", "b"].map(of).into(),
                ..Poll::default()
            }
        };
        (0..10).map(poll).collect()
    }

    fn share(polls: &[Poll]) -> Option<f64> {
        shared_use(polls, &shared(), Span::ALL).map(|used| used.share)
    }

    #[test]
    fn two_shared_containers_of_a_pod_have_names_and_idle_shares_of_their_own() {
        let mut plan = plan(&["istio-ambient"]).unwrap();
        assert_eq!(name(&plan, &shared()), "istio-system/ztunnel");
        let helper = Shared { container: "helper".to_owned(), ..shared() };
        plan.arms[2].template.shared = vec![shared(), helper.clone()];
        let mut polls = polls();
        for poll in &mut polls {
            // It takes a tenth of what the other one does.
            let of_helper = |(container, reading): (&Container, &Reading)| {
                let container = Container { name: "helper".to_owned(), ..container.clone() };
                (container, Reading { cpu_s: reading.cpu_s / 10.0, ..reading.clone() })
            };
            let helpers: Vec<(Container, Reading)> = poll.readings.iter().map(of_helper).collect();
            poll.readings.extend(helpers);
        }
        let mut idle = Idle::default();
        idle.add(&plan, &polls, &[on_node("a"), on_node("b")]);
        let last = [shared(), helper].map(|one| idle.last(&one).unwrap());
        assert!((last[0] - 0.5).abs() < 1e-9 && (last[1] - 0.05).abs() < 1e-9, "{last:?}");
        let names: Vec<String> = idle.mean(&plan).into_keys().collect();
        assert_eq!(names, ["istio-system/ztunnel- helper", "istio-system/ztunnel- istio-proxy"]);
    }

    #[test]
    fn a_node_whose_shared_proxy_was_never_read_makes_the_idle_share_unknown() {
        let plan = plan(&["istio-ambient"]).unwrap();
        let last = |nodes: &[&str]| {
            let needed: Vec<Container> = nodes.iter().map(|node| on_node(node)).collect();
            let mut idle = Idle::default();
            idle.add(&plan, &polls(), &needed);
            idle.last(&shared())
        };
        assert!((last(&["a", "b"]).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(last(&["a", "b", "c"]), None);
    }

    #[test]
    fn an_answer_that_fails_to_come_for_a_moment_ends_nothing() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let failed = || Err(Refused::Machine { why: "no answer".to_owned() });
        let mut trouble = Trouble::default();
        assert!(matches!(tolerated(failed(), &mut trouble, at(0)), Ok(None)));
        assert!(matches!(tolerated(failed(), &mut trouble, at(9)), Ok(None)));
        assert!(matches!(tolerated(Ok(Poll::default()), &mut trouble, at(9)), Ok(Some(_))));
        assert!(matches!(tolerated(failed(), &mut trouble, at(12)), Ok(None)));
        assert!(tolerated(failed(), &mut trouble, at(22)).is_err());
    }

    #[test]
    fn shared_proxies_of_all_nodes_are_summed() {
        assert!((share(&polls()).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(share(&[]), None);
    }

    #[test]
    fn a_shared_proxy_that_was_restarted_before_is_missing_in_the_sum_so_there_is_none() {
        let mut polls = polls();
        for poll in &mut polls {
            poll.readings.remove(&on_node("b"));
            poll.gone.insert(on_node("b"));
        }
        assert_eq!(containers_of(&polls, &shared()).len(), 2);
        assert_eq!(share(&polls), None);
    }

    #[test]
    fn a_shared_proxy_that_is_replaced_meanwhile_would_count_twice_so_there_is_no_sum() {
        let mut polls = polls();
        for poll in polls.iter_mut().skip(5) {
            let reading = poll.readings.remove(&on_node("b")).unwrap();
            poll.readings.insert(on_node("c"), reading);
        }
        // Each of the two was read often enough.
        for node in ["b", "c"] {
            assert!(used(&polls, &on_node(node), Span::ALL).is_some(), "{node}");
        }
        assert_eq!(share(&polls), None);
    }
}
