//! The generator's connections to the copies of all arms.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use hoptax_host::accounting::memory_bytes;
use hoptax_host::network::Network;
use hoptax_load::{RequestsPerConnection, Worker, WorkerSpec};
use hoptax_result::{Answer, Opened};
use hoptax_subject::lab::Lab;

use super::super::ends::{Ends, Networks};
use super::super::origins::Origins;
use super::super::traffic::traffic;
use super::super::{ArmError, RunError, answer, external};
use super::{Started, Subject, TIMEOUT, of};
use crate::plan::{Arm, Plan};
use crate::provenance::arm_hash;

/// Connects the generator to all copies of all arms. `answers` gets what arms with requests of their own answer first, if
/// it has none.
pub(super) fn connect_all(
    plan: &Plan,
    copies: Vec<Started>,
    (origins, networks, lab): (&Origins, &Networks, Option<&Lab>),
    answers: &mut BTreeMap<usize, Answer>,
    stop: &AtomicBool,
) -> Result<Vec<Subject>, RunError> {
    let mut all = Vec::with_capacity(copies.len());
    for (copy, planned) in copies.into_iter().zip(&plan.subjects) {
        let Some(arm) = plan.arms.get(planned.arm) else { continue };
        let copy = copy.into_passing_order();
        let without_proxies = || Ok(external::address(arm)?.or(origins.of(arm).first().copied()));
        let first = copy.proxies.first().map(|proxy| proxy.address);
        let address = first.map_or_else(without_proxies, |address| Ok(Some(address))).map_err(of(arm))?;
        if let (Some(address), Some(_), false) = (address, &arm.request, answers.contains_key(&planned.arm)) {
            let number = arm.chain.hops.iter().position(|hop| hop.given.is_some());
            let proxy = number.and_then(|at| copy.proxies.get(at));
            let tried = answer::try_requests(plan, arm, (proxy, address), lab, stop);
            answers.insert(planned.arm, tried.map_err(of(arm))?);
        }
        let network = networks.get(&planned.arm).map(Rc::clone);
        all.push(subject(plan, arm, copy, (address, network), (lab, answers.get(&planned.arm)))?);
    }
    Ok(all)
}

/// Connects the generator to a copy of an arm at `address`: to its first proxy, or to the server if it has none.
fn subject(
    plan: &Plan,
    arm: &Arm,
    Started { proxies, specs, start_cpu_us, configurations }: Started,
    (address, network): (Option<SocketAddr>, Option<Rc<Network>>),
    lab: (Option<&Lab>, Option<&Answer>),
) -> Result<Subject, RunError> {
    let before = proxies.first().map(|proxy| memory_bytes(proxy.id())).transpose()?;
    let (workers, target) = match address {
        Some(address) => {
            let ends = Ends { link: None, network: network.as_deref() };
            let connected = ends.at_callers(|| connect(plan, arm, ends.reached_at(address), lab));
            connected?.map_err(of(arm))?
        }
        None => (Vec::new(), None),
    };
    let connections = open_connections(plan, arm, &workers);
    let before = proxies.first().filter(|_| connections > 0).zip(before);
    let opened = before.map(|(_, before_bytes)| Opened { connections, before_bytes, after_bytes: 0 });
    let (asks_companion, configuration) = (arm.asks_companion(), arm_hash(&configurations));
    let account = external::account(arm)?;
    Ok(Subject {
        asks_companion,
        proxies,
        specs,
        workers,
        target,
        start_cpu_us,
        opened,
        configuration,
        account,
        network,
    })
}

/// The connections under each load, and the target of external callers.
type Connected = (Vec<Option<Worker>>, Option<(String, Option<PathBuf>)>);

/// Opens the connections under each load.
fn connect(
    plan: &Plan,
    arm: &Arm,
    address: SocketAddr,
    (lab, answer): (Option<&Lab>, Option<&Answer>),
) -> Result<Connected, ArmError> {
    let mut target = None;
    let workers: Result<_, ArmError> = plan
        .loads
        .iter()
        .map(|load| {
            let traffic = traffic(plan, arm, load, address, (lab, answer))?;
            target = traffic.first().map(|target| {
                let authority = lab.filter(|_| target.server_name.is_some()).map(Lab::authority);
                (target.url.clone(), authority)
            });
            if !arm.takes_part(load) || load.caller.is_some() {
                return Ok(None);
            }
            let mut spec = WorkerSpec::single(traffic, arm.connections(load), TIMEOUT, plan.seed);
            spec.pooling.lifetime.requests = load.requests_per_connection.map(RequestsPerConnection::exactly);
            Ok(Some(Worker::connect(&spec)?))
        })
        .collect();
    Ok((workers?, target))
}

/// Number of connections from the generator to an arm.
fn open_connections(plan: &Plan, arm: &Arm, workers: &[Option<Worker>]) -> u64 {
    let open = plan.loads.iter().zip(workers).filter(|(_, worker)| worker.is_some());
    open.map(|(load, _)| arm.connections(load) as u64).sum()
}
