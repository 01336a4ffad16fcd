//! The generator's connections to the copies of all arms.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use hoptax_host::accounting::memory_bytes;
use hoptax_host::link::Link;
use hoptax_load::{RequestsPerConnection, Worker, WorkerSpec};
use hoptax_plan::plan::{Arm, Plan};
use hoptax_result::{Answer, Opened};
use hoptax_subject::lab::Lab;

use super::super::answer::{self, Tried};
use super::super::caller::CallerTarget;
use super::super::ends::{Ends, Networks};
use super::super::error::{in_arm, missing};
use super::super::origins::Origins;
use super::super::running::Running;
use super::super::subject::{Connections, Subject};
use super::super::traffic::{TIMEOUT, traffic};
use super::super::{ArmError, RunError, external};
use super::Started;
use crate::provenance::arm_hash;

/// The parts of a round that the generator needs to connect to the copies of its arms.
pub(super) struct Connecting<'a, 'p> {
    /// The plan of the round.
    pub(super) plan: &'p Plan,
    /// The origins, which arms without a proxy connect to.
    pub(super) origins: &'a Origins,
    /// The networks of the arms that have one.
    pub(super) networks: &'a Networks,
    /// The link of the study.
    pub(super) link: Option<&'a Link>,
    /// The certificates of the round; none if no connection uses TLS.
    pub(super) lab: Option<&'a Lab>,
}

impl<'p> Connecting<'_, 'p> {
    /// Connects the generator to all copies of all arms. `answers` receives the first answers of arms that it lacks; see
    /// [`answer::is_tried`].
    pub(super) fn connect_all(
        &self,
        copies: Vec<Started<'p>>,
        answers: &mut BTreeMap<usize, Answer>,
        stop: &AtomicBool,
    ) -> Result<Vec<Running<'p>>, RunError> {
        let mut all = Vec::with_capacity(copies.len());
        for copy in copies {
            let copy = copy.into_passing_order();
            let planned = copy.planned;
            let (arm, number) = (planned.arm, planned.arm_number);
            let first = copy.proxies.first().map(|proxy| proxy.address);
            let address = match first {
                Some(address) => Some(address),
                None => {
                    external::address(arm).map_err(in_arm(arm))?.or(self.origins.behind(arm).first().copied())
                }
            };
            let address = address.ok_or_else(|| missing(&arm.id, "proxy or server to connect to"))?;
            if answer::is_tried(self.plan, planned) && !answers.contains_key(&number) {
                let ends = Ends { link: self.link, network: self.networks.get(&number).map(Rc::as_ref) };
                let tried = Tried { arm, proxies: &copy.proxies, origins: &self.origins.behind(arm), ends };
                answers.insert(number, tried.answer(self.plan, address, self.lab, stop)?);
            }
            let subject = self.subject(copy, address, answers.get(&number))?;
            all.push(Running::new(planned, subject));
        }
        Ok(all)
    }

    /// Connects the generator to a copy of an arm at `address`: to its first proxy, or to the server if it has none. `answer` is the first
    /// answer of the arm, if it was tried.
    fn subject(
        &self,
        copy: Started<'_>,
        address: SocketAddr,
        answer: Option<&Answer>,
    ) -> Result<Subject, RunError> {
        let Started { planned, proxies, specs, start_cpu_us, configurations } = copy;
        let arm = planned.arm;
        let network = self.networks.get(&planned.arm_number).map(Rc::clone);
        let before = proxies.first().map(|proxy| memory_bytes(proxy.id())).transpose()?;
        let ends = Ends { link: None, network: network.as_deref() };
        let connected = ends.at_callers(|| self.connect(arm, ends.reached_at(address), answer));
        let Connected { connections, target } = connected?.map_err(in_arm(arm))?;
        let open = number_open(self.plan, arm, &connections);
        let before = proxies.first().filter(|_| open > 0).zip(before);
        let opened =
            before.map(|(_, before_bytes)| Opened { connections: open, before_bytes, after_bytes: 0 });
        let (asks_companion, configuration) = (arm.asks_companion(), arm_hash(&configurations));
        let account = external::account(arm)?;
        Ok(Subject {
            asks_companion,
            proxies,
            specs,
            connections,
            target,
            start_cpu_us,
            opened,
            configuration,
            account,
            network,
        })
    }

    /// Opens the connections to an arm at `address` under each load, also under those in which it takes no part
    /// ([`Arm::has_connections`]), except those that are opened for each slice.
    fn connect(
        &self,
        arm: &Arm,
        address: SocketAddr,
        answer: Option<&Answer>,
    ) -> Result<Connected, ArmError> {
        let &Self { plan, lab, .. } = self;
        let mut target = None;
        let connections: Result<_, ArmError> = plan
            .loads
            .iter()
            .map(|load| {
                let traffic = traffic(plan, arm, load, address, lab, answer)?;
                target = traffic.first().map(|target| CallerTarget {
                    url: target.url.clone(),
                    authority: lab.filter(|_| target.server_name.is_some()).map(Lab::authority),
                });
                if !arm.has_connections(load) || load.caller.is_some() {
                    return Ok(None);
                }
                let mut spec = WorkerSpec::single(traffic, arm.connections(load), TIMEOUT, plan.seed);
                spec.pooling.lifetime.requests =
                    load.requests_per_connection.map(RequestsPerConnection::exactly);
                if !plan.keeps_connections(arm, load) {
                    return Ok(Some(Connections::EachSlice(spec, None)));
                }
                Ok(Some(Connections::Kept(Box::new(Worker::connect(&spec)?))))
            })
            .collect();
        Ok(Connected { connections: connections?, target })
    }
}

/// The connections to a copy of an arm.
struct Connected {
    /// The connections under each load; none where the arm has none.
    connections: Vec<Option<Connections>>,
    /// Target of callers other than hoptax.
    target: Option<CallerTarget>,
}

/// Number of connections from the generator to an arm that are open now.
fn number_open(plan: &Plan, arm: &Arm, connections: &[Option<Connections>]) -> u64 {
    let loads = plan.loads.iter().zip(connections);
    let open = loads.filter(|(_, connections)| matches!(connections, Some(Connections::Kept(_))));
    open.map(|(load, _)| arm.connections(load) as u64).sum()
}
