//! Removes the functions of a proxy before it is measured, after they were active.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use hoptax_load::{Recording, Release, Run, Worker, WorkerSpec, now_ns};
use hoptax_plan::plan::{Arm, DRAIN, Hop, Load, Plan};
use hoptax_subject::envoy::process::{Proxy, ProxySpec};
use hoptax_subject::lab::Lab;

use super::ends::Ends;
use super::error::in_arm;
use super::statistics::stated;
use super::traffic::{TIMEOUT, traffic};
use super::{ArmError, RunError};

/// Time for which requests are sent through a proxy before its function is removed, nanoseconds.
const BEFORE_UNLOADING_NS: u64 = 100_000_000;

/// A live Envoy from which no function has been removed yet.
pub(super) struct ActiveProxy<'a> {
    /// The specification that it was started with.
    pub(super) spec: &'a ProxySpec,
    /// Its process.
    pub(super) proxy: &'a Proxy,
    /// Its hop in the chain of the arm.
    pub(super) hop: &'a Hop,
}

impl ActiveProxy<'_> {
    /// Sends requests from this end of the link through the proxy until its function is active, then removes the function.
    pub(super) fn unload(
        self,
        plan: &Plan,
        arm: &Arm,
        ends: Ends<'_>,
        lab: Option<&Lab>,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        let Self { spec, proxy, hop } = self;
        // A plan without loads has nothing to measure.
        let Some(load) = plan.loads.iter().find(|load| arm.takes_part(load)) else { return Ok(()) };
        let proofs = arm.proofs(hop);
        let names: Vec<String> = proofs.iter().map(|(_, proof)| proof.name.clone()).collect();
        let read = || stated(arm, proxy, hop, ends, &names);
        let before = read()?;
        send_before_unloading(plan, arm, load, proxy.address, lab, stop).map_err(in_arm(arm))?;
        let now = read()?;
        let still: Vec<String> = proofs
            .iter()
            .zip(before.iter().zip(&now))
            .filter(|((_, proof), (before, now))| !proof.holds(**before, **now))
            .map(|((_, proof), _)| proof.to_string())
            .collect();
        if !still.is_empty() {
            return Err(in_arm(arm)(ArmError::NeverAtWork(still.join("`, `"))));
        }
        ends.at_servers(hop.is_near(), || spec.unload(proxy))?.map_err(in_arm(arm))
    }
}

/// Sends requests of a load through one connection to a proxy.
fn send_before_unloading(
    plan: &Plan,
    arm: &Arm,
    load: &Load,
    address: SocketAddr,
    lab: Option<&Lab>,
    stop: &AtomicBool,
) -> Result<(), ArmError> {
    let traffic = traffic(plan, arm, load, address, lab, None)?;
    let mut worker = Worker::connect(&WorkerSpec::single(traffic, 1, TIMEOUT, plan.seed))?;
    let start_ns = now_ns();
    let run = Run::new(Release::Closed, start_ns, start_ns + BEFORE_UNLOADING_NS, DRAIN.as_nanos() as u64);
    let sent = worker.run(run, &mut Recording::default(), stop);
    sent.map(drop).map_err(|error| ArmError::Security(error.to_string()))
}
