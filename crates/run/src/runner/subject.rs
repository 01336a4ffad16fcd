//! The processes and connections of a copy of an arm.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::thread;

use hoptax_host::accounting::TaskUse;
use hoptax_host::freeze::{Freezer, SETTLED_AFTER};
use hoptax_host::network::Network;
use hoptax_load::{Recording, Run, Worker, WorkerSpec};
use hoptax_plan::plan::{Arm, NumberedLoad};
use hoptax_result::Opened;
use hoptax_subject::envoy::process::{Proxy, ProxySpec};

use super::caller::CallerTarget;
use super::ends::Ends;
use super::error::in_arm;
use super::{ArmError, RunError};

/// The processes and connections of a copy of an arm.
#[derive(Default)]
pub(super) struct Subject {
    /// True if one of its functions calls the companion.
    pub(super) asks_companion: bool,
    /// Proxies in the order in which a request passes them; empty without a proxy.
    pub(super) proxies: Vec<Proxy>,
    /// Specifications of the proxies that events restart, by the index of the proxy.
    pub(super) specs: BTreeMap<usize, ProxySpec>,
    /// The connections under each load, also under those in which its arm takes no part; none where it has none.
    pub(super) connections: Vec<Option<Connections>>,
    /// Target of callers other than hoptax.
    pub(super) target: Option<CallerTarget>,
    /// CPU time that each proxy used to start, until it was live, us.
    pub(super) start_cpu_us: Vec<u64>,
    /// Memory of its first proxy before and after connections to it were opened; none without proxies or connections.
    pub(super) opened: Option<Opened>,
    /// The hash of the specifications of its proxies; none without proxies.
    pub(super) configuration: Option<String>,
    /// The processes of an external server; none for other subjects, and if their CPU time is not accounted for.
    pub(super) account: Option<BTreeSet<u32>>,
    /// The network of its arm.
    pub(super) network: Option<Rc<Network>>,
}

impl Subject {
    /// The ids of all processes that count as the subject.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> {
        self.proxies.iter().map(Proxy::id).chain(self.account.iter().flatten().copied())
    }

    /// Thaws its proxies, and returns their ids once they have settled.
    pub(super) fn thaw(&self, freezer: &mut Freezer) -> io::Result<Vec<u32>> {
        let proxies: Vec<u32> = self.proxies.iter().map(Proxy::id).collect();
        freezer.thaw(&proxies)?;
        if !proxies.is_empty() {
            thread::sleep(SETTLED_AFTER);
        }
        Ok(proxies)
    }

    /// Returns true if the generator has connections to it under a load.
    pub(super) fn is_connected(&self, load: NumberedLoad<'_>) -> bool {
        self.connections.get(load.number).is_some_and(Option::is_some)
    }

    /// Returns true if the connections under a load are not kept, and not open now.
    pub(super) fn opens(&self, load: NumberedLoad<'_>) -> bool {
        let connections = self.connections.get(load.number).and_then(Option::as_ref);
        matches!(connections, Some(Connections::EachSlice(_, None)))
    }

    /// Opens the connections under a load that are not kept.
    pub(super) fn open(&mut self, arm: &Arm, load: NumberedLoad<'_>) -> Result<(), RunError> {
        // Callers other than hoptax open their own, and an arm without a proxy has none under a closed loop.
        let Some(connections) = self.connections.get_mut(load.number).and_then(Option::as_mut) else {
            return Ok(());
        };
        let ends = Ends { link: None, network: self.network.as_deref() };
        ends.at_callers(|| connections.open())?.map_err(in_arm(arm))
    }

    /// Closes the connections under a load that are not kept. Returns true if any were open.
    pub(super) fn close(&mut self, load: NumberedLoad<'_>) -> bool {
        self.connections.get_mut(load.number).and_then(Option::as_mut).is_some_and(Connections::close)
    }

    /// Sends requests over the open connections under a load; none if it has none.
    pub(super) fn send(
        &mut self,
        load: NumberedLoad<'_>,
        run: Run,
        recording: &mut Recording,
        stop: &AtomicBool,
    ) -> io::Result<Option<TaskUse>> {
        let connections = self.connections.get_mut(load.number).and_then(Option::as_mut);
        let Some(worker) = connections.and_then(Connections::worker) else { return Ok(None) };
        // The worker may open further connections.
        let ends = Ends { link: None, network: self.network.as_deref() };
        ends.at_callers(|| worker.run(run, recording, stop)).map_err(io::Error::other)?.map(Some)
    }
}

/// The generator's connections to a subject under one load.
pub(super) enum Connections {
    /// Open for the whole round.
    Kept(Box<Worker>),
    /// Opened as specified for each slice. The worker exists while they are open.
    EachSlice(WorkerSpec, Option<Box<Worker>>),
}

impl Connections {
    /// Returns the worker that sends requests over them, if they are open.
    pub(super) fn worker(&mut self) -> Option<&mut Worker> {
        match self {
            Self::Kept(worker) | Self::EachSlice(_, Some(worker)) => Some(worker),
            Self::EachSlice(_, None) => None,
        }
    }

    /// Returns the specification of connections that are not kept.
    pub(super) fn spec(&self) -> Option<&WorkerSpec> {
        match self {
            Self::Kept(_) => None,
            Self::EachSlice(spec, _) => Some(spec),
        }
    }

    /// Opens connections that are not kept.
    fn open(&mut self) -> Result<(), ArmError> {
        // Connections that are kept, or already open, stay as they are.
        let Self::EachSlice(spec, worker @ None) = self else { return Ok(()) };
        *worker = Some(Box::new(Worker::connect(spec)?));
        Ok(())
    }

    /// Closes connections that are not kept. Returns true if any were open.
    fn close(&mut self) -> bool {
        let Self::EachSlice(_, worker) = self else { return false };
        worker.take().is_some()
    }
}
