//! The pods of a round: starting them, checking their proxies, and deleting them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_cluster::job::pods::State;
use hoptax_cluster::job::{ARRIVAL, ORIGIN};
use hoptax_cluster::usage::Container;
use hoptax_cluster::{Pod, Running, start_agents};
use hoptax_session::Failure;
use hoptax_session::token::Token;
use serde_json::Value;

use super::patience::{PATIENCE, Trouble};
use super::placed::{Placed, pods_of};
use super::polls::{Idle, name, shared_use};
use super::{Context, of_cluster};
use crate::measured::Proxy;
use crate::plan::{Arm, Asked, Plan, SATURATION_SLICE};
use crate::source::LONGEST_SLICE;
use crate::target::target;
use crate::template::{Proof, Shared, Side};
use crate::used::{Poll, Span, Used, used};

/// Polling interval of a pod.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time limit for pods to disappear.
const PODS_GO: Duration = Duration::from_mins(1);
/// Time in addition to each slice of a round.
const BESIDE_SLICE: Duration = Duration::from_mins(2);

/// The nodes of the pods, without duplicates.
pub(super) fn nodes_of(asked: &Asked) -> Vec<String> {
    let [origins, callers] = &asked.nodes;
    let callers = callers.iter().filter(|callers| origins.as_ref() != Some(*callers));
    origins.iter().chain(callers).cloned().collect()
}

/// The pods of all arms.
pub(super) struct Pods {
    arms: Vec<ArmPods>,
}

/// The pods of an arm.
pub(super) struct ArmPods {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) proof: Option<Proof>,
    pub(super) running: Running,
    pub(super) token: Token,
    namespace: String,
    origin: Pod,
    caller: Pod,
    ways: Vec<Way>,
}

/// A proxy, and where its CPU time is read.
enum Way {
    Own(Container),
    Shared(Shared),
}

impl Pods {
    /// Starts the pods of a round, and notes the nodes that the cluster chooses for them.
    pub(super) fn come(
        plan: &Plan,
        round: u32,
        asked: &mut Asked,
        context: Context<'_>,
    ) -> Result<Self, Failure> {
        // Unless somebody asked for a length, it is not known yet.
        let slice = plan.asked.slice.unwrap_or(LONGEST_SLICE);
        let beside = plan.asked.warmup + BESIDE_SLICE;
        let at_saturation = if plan.asked.has_max_rate { SATURATION_SLICE + beside } else { Duration::ZERO };
        let slices = (slice + beside + at_saturation) * plan.arms.len() as u32;
        let deadline = ARRIVAL * 2 + BESIDE_SLICE + slices;
        let mut origins = Vec::new();
        for arm in &plan.arms {
            let manifest = arm.origin(asked, round, deadline);
            context.cluster.make(&manifest, Some(arm.namespace.as_str())).map_err(of_cluster)?;
            if asked.nodes[0].is_none() {
                let origin = wait(arm, &origin_name(round), &arm.template.origin, None, context)?;
                asked.nodes[0] = origin.node().map(str::to_owned);
            }
        }
        for arm in &plan.arms {
            origins.push(wait(arm, &origin_name(round), &arm.template.origin, None, context)?);
        }
        let mut started = Vec::new();
        for (arm, origin) in plan.arms.iter().zip(&origins) {
            let address = origin.address().unwrap_or_default();
            let (url, headers) = arm.template.request(address, arm.namespace.as_str());
            // Every parsed template has a URL with a target.
            let target = target(&url).unwrap_or_default();
            let token = Token::generated();
            let job = arm.caller(asked, target, deadline);
            // Name the context, because the current one may have changed in the meantime.
            let running =
                start_agents(job, Some(context.cluster.context()), token.secret()).map_err(of_cluster)?;
            if asked.nodes[1].is_none() {
                let caller = wait(arm, running.job(), &arm.template.caller, Some(&running), context)?;
                asked.nodes[1] = caller.node().map(str::to_owned);
            }
            started.push((url, headers, token, running));
        }
        let mut arms = Vec::new();
        for ((arm, origin), (url, headers, token, running)) in plan.arms.iter().zip(origins).zip(started) {
            let caller = wait(arm, running.job(), &arm.template.caller, Some(&running), context)?;
            let namespace = arm.namespace.as_str().to_owned();
            let ways = ways(arm, &origin, &caller);
            arms.push(ArmPods {
                id: arm.id.clone(),
                url,
                headers,
                proof: arm.template.proof.clone(),
                running,
                token,
                namespace,
                origin,
                caller,
                ways,
            });
        }
        Ok(Self { arms })
    }

    /// The pods of an arm, by its index in the plan.
    pub(super) fn arm(&self, index: usize) -> &ArmPods {
        // The plan's arms all have pods.
        &self.arms[index]
    }

    /// The proxies of each arm that has any, in the order in which a request passes them.
    pub(super) fn proxies(&self, plan: &Plan) -> BTreeMap<usize, Vec<Proxy>> {
        let of = |(arm, pods): (&Arm, &ArmPods)| pods.proxies(plan, arm);
        let all = plan.arms.iter().zip(&self.arms).map(of).enumerate();
        all.filter(|(_, proxies)| !proxies.is_empty()).collect()
    }

    /// The images of proxies, without duplicates.
    pub(super) fn images(&self, plan: &Plan) -> Vec<String> {
        let all = self.proxies(plan).into_values().flatten().filter_map(|proxy| proxy.image);
        let mut images: Vec<String> = all.collect();
        images.sort_unstable();
        images.dedup();
        images
    }

    /// The share of a processor that the proxies in each arm's pods used over all polls, by the index of the arm.
    pub(super) fn idle(&self, polls: &[Poll]) -> BTreeMap<usize, f64> {
        self.arms.iter().enumerate().filter_map(|(index, arm)| Some((index, arm.idle(polls)?))).collect()
    }

    /// The containers in the pods whose CPU time is needed.
    pub(super) fn containers(&self) -> Vec<Container> {
        self.arms.iter().flat_map(ArmPods::containers).collect()
    }

    /// The same containers with their nodes and ids.
    pub(super) fn placed(&self) -> Vec<Placed> {
        self.arms.iter().flat_map(ArmPods::placed).collect()
    }

    /// The owner reference for objects that are deleted with the pods of a round: the Job of the first caller, which ends by itself.
    pub(super) fn owner(&self) -> Value {
        self.arm(0).running.owner()
    }

    /// Deletes the pods, and waits until they are gone, because pods on the network of a node hold its ports.
    pub(super) fn end(self, context: Context<'_>) {
        let of = |arm: &ArmPods| {
            (arm.namespace.clone(), [arm.origin.name().to_owned(), arm.caller.name().to_owned()])
        };
        let all: Vec<(String, [String; 2])> = self.arms.iter().map(of).collect();
        for ArmPods { namespace, origin, running, .. } in self.arms {
            // A remaining pod ends at its deadline and is deleted with its namespace.
            let _ = running.end();
            let name = origin.name();
            let _ = context.cluster.remove(
                &format!("/api/v1/namespaces/{namespace}/pods/{name}"),
                &format!("remove pod `{name}`"),
            );
        }
        let began = Instant::now();
        // A mesh may have its own pods in a namespace, which stay.
        let is_left = |(namespace, names): &(String, [String; 2])| {
            pods_of(context.cluster, namespace)
                .is_ok_and(|pods| pods.iter().any(|pod| names.iter().any(|name| name == pod.name())))
        };
        while began.elapsed() < PODS_GO && all.iter().any(is_left) && !context.interrupt.is_requested() {
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl ArmPods {
    fn container_of_origin(&self) -> Container {
        let (namespace, pod) = (self.namespace.clone(), self.origin.name().to_owned());
        Container { namespace, pod, name: ORIGIN.to_owned() }
    }

    fn containers(&self) -> Vec<Container> {
        let own = self.ways.iter().filter_map(|way| match way {
            Way::Own(container) => Some(container.clone()),
            Way::Shared(_) => None,
        });
        own.chain([self.container_of_origin()]).collect()
    }

    fn placed(&self) -> Vec<Placed> {
        let placed = |container: Container| {
            let pod = [&self.origin, &self.caller].into_iter().find(|pod| pod.name() == container.pod)?;
            let id = pod.container_id(&container.name).map(str::to_owned);
            Some(Placed { node: pod.node()?.to_owned(), id, container })
        };
        self.containers().into_iter().filter_map(placed).collect()
    }

    fn proxies(&self, plan: &Plan, arm: &Arm) -> Vec<Proxy> {
        let of_side = |position: &str, side: &Side, pod: &Pod| {
            let of = |container: &String| Proxy {
                name: match side.proxies.as_slice() {
                    [_] => position.to_owned(),
                    _ => format!("{position} {container}"),
                },
                container: container.clone(),
                image: pod.image(container).map(str::to_owned),
            };
            side.proxies.iter().map(of).collect::<Vec<_>>()
        };
        let shared = arm.template.shared.iter().map(|shared| Proxy {
            name: name(plan, shared),
            container: shared.container.clone(),
            image: None,
        });
        let client = of_side("client", &arm.template.caller, &self.caller);
        let server = of_side("server", &arm.template.origin, &self.origin);
        client.into_iter().chain(shared).chain(server).collect()
    }

    /// The share of a processor that the proxies in its pods used over all polls; none without proxies, or if one is unknown.
    pub(super) fn idle(&self, polls: &[Poll]) -> Option<f64> {
        let of = |way: &Way| match way {
            Way::Own(container) => Some(used(polls, container, Span::ALL).map(|used| used.share)),
            Way::Shared(_) => None,
        };
        let shares: Option<Vec<f64>> = self.ways.iter().filter_map(of).collect();
        shares.filter(|shares| !shares.is_empty()).map(|shares| shares.iter().sum())
    }

    /// The use of its proxies in a time span, in their order.
    pub(super) fn proxies_used(&self, polls: &[Poll], span: Span, idle: &Idle) -> Vec<Option<Used>> {
        let of = |way: &Way| match way {
            Way::Own(container) => used(polls, container, span),
            Way::Shared(shared) => {
                let used = shared_use(polls, shared, span)?;
                Some(Used { share: used.share - idle.last(shared)?, ..used })
            }
        };
        self.ways.iter().map(of).collect()
    }

    /// The use of its origin in a time span.
    pub(super) fn origin_used(&self, polls: &[Poll], span: Span) -> Option<Used> {
        used(polls, &self.container_of_origin(), span)
    }
}

/// The name of the pod of an origin in a round.
fn origin_name(round: u32) -> String {
    format!("{ORIGIN}-{round}")
}

/// Where the CPU times of an arm's proxies are read, in the order in which a request passes them.
fn ways(arm: &Arm, origin: &Pod, caller: &Pod) -> Vec<Way> {
    let of_side = |side: &Side, pod: &Pod| {
        let own = |name: &String| {
            Way::Own(Container {
                namespace: arm.namespace.as_str().to_owned(),
                pod: pod.name().to_owned(),
                name: name.clone(),
            })
        };
        side.proxies.iter().map(own).collect::<Vec<_>>()
    };
    let shared = arm.template.shared.iter().cloned().map(Way::Shared);
    let client = of_side(&arm.template.caller, caller);
    client.into_iter().chain(shared).chain(of_side(&arm.template.origin, origin)).collect()
}

/// Waits until the pod with this name prefix is ready, and checks that it has its proxies.
fn wait(
    arm: &Arm,
    begins: &str,
    side: &Side,
    running: Option<&Running>,
    context: Context<'_>,
) -> Result<Pod, Failure> {
    let began = Instant::now();
    let mut lasting = Trouble::default();
    let what = if running.is_some() { "caller" } else { "origin" };
    loop {
        context.interrupt.check()?;
        let pods = pods_of(context.cluster, arm.namespace.as_str()).map_err(of_cluster)?;
        let pod = pods.into_iter().find(|pod| pod.name().starts_with(begins));
        let named = pod.as_ref().map_or(begins, Pod::name);
        let failed = |why: &str| {
            Failure::environment(format!(
                "the pod of the {what} of `{}`, `{}/{named}`, {why}; `kubectl -n {} describe pod {named}` says more while the pod exists",
                arm.id, arm.namespace, arm.namespace
            ))
        };
        if let Some(pod) = &pod {
            check_proxies(arm, side, pod, what)?;
            if pod.is_ready() {
                return Ok(pod.clone());
            }
        }
        let of_job =
            running.filter(|_| pod.is_none()).and_then(|running| running.agents().into_iter().next());
        let trouble = match (&pod, of_job.map(|agent| agent.state)) {
            (Some(pod), _) => pod.trouble().map(|trouble| (trouble.why, trouble.is_certain)),
            (None, Some(State::Lost(trouble))) => Some((trouble.why, true)),
            (None, Some(State::Stuck(trouble))) => Some((trouble.why, false)),
            (None, _) => None,
        };
        match trouble {
            Some((why, is_certain)) if is_certain || lasting.has_lasted(Instant::now(), PATIENCE) => {
                return Err(failed(&why));
            }
            Some(_) => {}
            None => lasting.pass(),
        }
        if began.elapsed() >= ARRIVAL {
            return Err(failed(&format!("is not ready after {} s", ARRIVAL.as_secs())));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Refuses a pod into which the mesh injected no proxy.
fn check_proxies(arm: &Arm, side: &Side, pod: &Pod, what: &str) -> Result<(), Failure> {
    let Some(missing) = side.proxies.iter().find(|proxy| pod.image(proxy).is_none()) else { return Ok(()) };
    let there: Vec<String> = pod.containers().iter().map(|name| format!("`{name}`")).collect();
    let marks = &arm.template.namespace;
    let marks: Vec<String> = [&marks.labels, &marks.annotations, &side.labels, &side.annotations]
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Err(Failure::environment(format!(
        "`{}` put no proxy `{missing}` into the pod of the {what}, which has {}: it is not installed in this cluster, or does not take \
         pods with {}; `kubectl get mutatingwebhookconfigurations` shows which meshes change pods, and `--template FILE` states the labels \
         and annotations that yours needs",
        arm.id,
        there.join(", "),
        if marks.is_empty() { "no marks".to_owned() } else { marks.join(", ") }
    )))
}
