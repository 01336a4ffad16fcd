//! Asks nodes for the CPU times of containers, all the time that a load runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use hoptax_cluster::usage::{Container, readings};
use hoptax_cluster::{Cluster, Refused};
use hoptax_session::Failure;

use super::{Context, of_cluster};
use crate::plan::Plan;
use crate::template::Shared;
use crate::used::{Poll, used};

/// The time between two questions.
const EVERY: Duration = Duration::from_secs(2);
/// The time between two looks at whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is asked for: the nodes, and the namespaces whose containers are kept.
#[derive(Clone, Debug)]
pub(super) struct Poller {
    nodes: Vec<String>,
    namespaces: BTreeSet<String>,
}

impl Poller {
    pub(super) fn new(plan: &Plan, nodes: Vec<String>) -> Self {
        let own = plan.arms.iter().map(|arm| arm.namespace.as_str());
        let shared = plan.arms.iter().flat_map(|arm| &arm.template.shared);
        let namespaces = own.chain(shared.map(|shared| shared.namespace.as_str()));
        Self { nodes, namespaces: namespaces.map(str::to_owned).collect() }
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Asks all nodes once.
    fn poll(&self, cluster: &Cluster) -> Result<Poll, Refused> {
        let mut poll = Poll { asked_s: now_s(), ..Poll::default() };
        for node in &self.nodes {
            let path = format!("/api/v1/nodes/{node}/proxy/metrics/cadvisor");
            let metrics = cluster.text(&path, &format!("show the metrics of node `{node}`"))?;
            let kept = readings(&metrics).into_iter();
            poll.readings.extend(kept.filter(|(one, _)| self.namespaces.contains(&one.namespace)));
        }
        poll.answered_s = now_s();
        Ok(poll)
    }

    /// Asks for at most so many seconds, until something is so.
    pub(super) fn poll_until(
        &self,
        context: Context<'_>,
        seconds: f64,
        is_so: impl Fn(&[Poll]) -> bool,
    ) -> Result<Vec<Poll>, Failure> {
        let began = Instant::now();
        let mut polls = Vec::new();
        while began.elapsed().as_secs_f64() < seconds && !is_so(&polls) {
            polls.push(self.poll(context.cluster).map_err(of_cluster)?);
            let until = Instant::now() + EVERY;
            while Instant::now() < until {
                context.interrupt.check()?;
                thread::sleep(LOOK_EVERY);
            }
        }
        Ok(polls)
    }
}

/// Asks in a thread of its own, since the load is sent by another.
pub(super) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<Poll>, Refused>>,
}

impl Sampler {
    /// Asks in the cluster of a context, whatever the current one is meanwhile.
    pub(super) fn begin(context: &str, poller: Poller) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, context) = (Arc::clone(&stop), context.to_owned());
        let thread =
            thread::Builder::new().name("metrics".to_owned()).spawn(move || -> Result<Vec<Poll>, Refused> {
                let cluster = Cluster::open(Some(&context))?;
                let mut polls = Vec::new();
                loop {
                    // Without some answers, there are fewer readings. If none comes again, the reason is said.
                    let problem = match poller.poll(&cluster) {
                        Ok(poll) => {
                            polls.push(poll);
                            None
                        }
                        Err(refused) => Some(refused),
                    };
                    let until = Instant::now() + EVERY;
                    while Instant::now() < until {
                        if stopped.load(Ordering::Relaxed) {
                            return problem.map_or(Ok(polls), Err);
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
        let broken = || Refused::Machine { why: "its thread broke, which is a bug in hoptax".to_owned() };
        self.thread.join().unwrap_or_else(|_| Err(broken())).map_err(of_cluster)
    }
}

/// What shared proxies used without load.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// The shares of a processor in each round, by the name of what is shared; none where it is not known.
    rounds: BTreeMap<String, Vec<Option<f64>>>,
}

impl Idle {
    /// Adds a round.
    pub(super) fn add(&mut self, plan: &Plan, polls: &[Poll]) {
        let all: BTreeMap<String, &Shared> =
            plan.arms.iter().flat_map(|arm| &arm.template.shared).map(|one| (name(one), one)).collect();
        for (name, shared) in all {
            let share = share_of(polls, shared, (0.0, f64::INFINITY)).map(|(share, _)| share);
            self.rounds.entry(name).or_default().push(share);
        }
    }

    /// What was used in the last round; none if it is not known.
    pub(super) fn last(&self, shared: &Shared) -> Option<f64> {
        self.rounds.get(&name(shared))?.last().copied().flatten()
    }

    /// The mean over the rounds in which it is known.
    pub(super) fn mean(&self) -> BTreeMap<String, f64> {
        let mean = |(name, shares): (&String, &Vec<Option<f64>>)| {
            let known: Vec<f64> = shares.iter().flatten().copied().collect();
            (!known.is_empty()).then(|| (name.clone(), known.iter().sum::<f64>() / known.len() as f64))
        };
        self.rounds.iter().filter_map(mean).collect()
    }
}

/// The name of what is shared.
pub(super) fn name(shared: &Shared) -> String {
    format!("{}/{}", shared.namespace, shared.pods.trim_end_matches('-'))
}

/// The shared proxies that nodes know of.
pub(super) fn containers_of(polls: &[Poll], shared: &Shared) -> BTreeSet<Container> {
    let is_one = |container: &&Container| {
        container.namespace == shared.namespace
            && container.pod.starts_with(&shared.pods)
            && container.name == shared.container
    };
    polls.iter().flat_map(|poll| poll.readings.keys()).filter(is_one).cloned().collect()
}

/// The share of a processor that shared proxies used in this time, and the shortest time that it is from, seconds. None if there is none, and
/// if one is not known.
pub(super) fn share_of(polls: &[Poll], shared: &Shared, (from_s, to_s): (f64, f64)) -> Option<(f64, f64)> {
    let containers = containers_of(polls, shared);
    let all: Option<Vec<_>> =
        containers.iter().map(|container| used(polls, container, from_s, to_s)).collect();
    let all = all.filter(|all| !all.is_empty())?;
    let shortest_s = all.iter().map(|one| one.seconds).fold(f64::INFINITY, f64::min);
    Some((all.iter().map(crate::used::Used::share).sum(), shortest_s))
}

/// The time since 1970, seconds.
fn now_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
