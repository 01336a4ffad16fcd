//! All subjects of a round: origins, proxies and the generator's connections. Proxies are started from the origin outwards.

mod connections;
mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_host::accounting::{memory_bytes, process_use};
use hoptax_host::link::Link;
use hoptax_plan::file::RestartWord;
use hoptax_plan::plan::{self, Arm, Place, Plan};
use hoptax_result::Answer;
use hoptax_subject::envoy::process::{Generation, Proxy, ProxySpec, StartingProxy, shared_memory};
use hoptax_subject::lab::Lab;
use hoptax_subject::origin::OriginProcess;

use super::ends::{Ends, networks};
use super::error::{in_arm, missing};
use super::origins::{start_companion, start_origins};
use super::running::Running;
use super::specification::{FILES, Surroundings, folder, hop_folder, processors_of, spec};
use super::unloading::ActiveProxy;
use super::{RunError, Setting, given, refusal};
use crate::provenance::{Names, envoy_hash, file_hash};
use connections::Connecting;

/// Time for proxies to accept connections before their memory is read.
const AFTER_OPENING: Duration = Duration::from_millis(50);

/// The processes and connections of a round.
#[derive(Default)]
pub(super) struct Subjects<'p> {
    /// All subjects of the plan, in its order; none if the start was interrupted.
    pub(super) all: Vec<Running<'p>>,
    origins: Vec<OriginProcess>,
    /// Folders of proxies that can be replaced by hot restart.
    generations: Vec<PathBuf>,
    /// The process that functions call.
    companion: Option<OriginProcess>,
    /// Folders that functions write to, emptied after the round, since an access log grows fast.
    files: Vec<PathBuf>,
}

/// A proxy that is not live yet.
struct Starting<'p> {
    place: Place<'p>,
    spec: ProxySpec,
    proxy: StartingProxy,
}

/// The proxies of a copy of an arm that have been started so far.
struct Started<'p> {
    /// The copy as planned.
    planned: plan::Subject<'p>,
    /// Proxies in the order of their start: those beside the origin come first.
    proxies: Vec<Proxy>,
    /// Specifications of those that events restart, by their index in the order in which a request passes them.
    specs: BTreeMap<usize, ProxySpec>,
    /// CPU time of each proxy until it was live, us.
    start_cpu_us: Vec<u64>,
    /// The hash of the specification of each proxy, always in the order of the starts.
    configurations: Vec<String>,
}

impl<'p> Started<'p> {
    /// A copy of which nothing has been started.
    fn new(planned: plan::Subject<'p>) -> Self {
        Self {
            planned,
            proxies: Vec::new(),
            specs: BTreeMap::new(),
            start_cpu_us: Vec::new(),
            configurations: Vec::new(),
        }
    }

    /// Adds a live proxy.
    fn add(&mut self, live: Proxy, start_cpu_us: u64) {
        self.start_cpu_us.push(start_cpu_us);
        self.proxies.push(live);
    }

    /// Keeps the specification of a proxy if events restart it. If they replace it while it runs, it becomes the
    /// first of its generations.
    fn prepare_restarts(&mut self, plan: &Plan, number: usize, spec: &mut ProxySpec) {
        // Without a timeline, nothing is restarted.
        let Some(timeline) = &plan.timeline else { return };
        let restarts = timeline.restarts(&self.planned.arm.chain, number);
        if restarts.iter().any(|how| *how != RestartWord::Cold) {
            spec.generation = Some(Generation::First);
        }
        if !restarts.is_empty() {
            self.specs.insert(number, spec.clone());
        }
    }

    /// The addresses of the proxies that were started last.
    fn last(&self, count: usize) -> Vec<SocketAddr> {
        let first = self.proxies.len().saturating_sub(count);
        self.proxies.iter().skip(first).map(|proxy| proxy.address).collect()
    }

    /// Reorders the proxies and their CPU times from the order of their starts to the order in which a request passes them.
    fn into_passing_order(mut self) -> Self {
        self.proxies.reverse();
        self.start_cpu_us.reverse();
        self
    }
}

impl<'p> Subjects<'p> {
    /// Starts all processes, in the random order of the round, and waits until they are ready. `answers` receives the first responses of
    /// given configurations, for arms that it lacks.
    pub(super) fn bring_up(
        plan: &'p Plan,
        setting: &Setting<'_>,
        link: Option<&Link>,
        round: u32,
        answers: &mut BTreeMap<usize, Answer>,
        stop: &AtomicBool,
    ) -> Result<Self, RunError> {
        if let Some(graph) = &plan.graph {
            return graph::bring_up(plan, graph, setting, stop);
        }
        let lab = lab(plan, setting)?;
        let networks = networks(plan)?;
        let (origins, addresses) = start_origins(plan, setting, link, &networks, lab.as_ref())?;
        let companion = if plan.arms.iter().any(Arm::asks_companion) {
            let shared = Ends { link, network: None };
            Some(shared.at_servers(false, || start_companion(plan, setting, link, lab.as_ref()))??)
        } else {
            None
        };
        let companion_address = companion.as_ref().map(|companion| companion.address);
        let (mut files, mut generations) = (Vec::new(), Vec::new());
        let mut copies: Vec<Started<'p>> = plan.subjects().map(Started::new).collect();
        // Each proxy needs the address of the next hop, so the proxies beside the origin start first, in parallel.
        let longest = plan.arms.iter().map(|arm| arm.chain.stages().len()).max().unwrap_or(0);
        for from_origin in 0..longest {
            let mut starting: Vec<(&mut Started<'p>, Vec<Starting<'p>>)> = Vec::new();
            let mut order: Vec<&mut Started<'p>> = copies.iter_mut().collect();
            plan::shuffle(plan, round, &mut order);
            for copy in order {
                let plan::Subject { arm, arm_number, copy: copy_number, .. } = copy.planned;
                let stages = arm.chain.stages();
                let mut from_here = stages.iter().rev().skip(from_origin);
                // All proxies of a shorter chain are already started.
                let Some(stage) = from_here.next() else { continue };
                let nearer = from_origin.checked_sub(1).and_then(|nearer| stages.iter().rev().nth(nearer));
                let behind = copy.last(nearer.map_or(0, Vec::len));
                let mut of_copy = Vec::with_capacity(stage.len());
                // The last clone starts first, so that proxies start in the reverse of the order in which a request passes them.
                for (clone, &at) in stage.iter().enumerate().rev() {
                    let hop = at.hop;
                    if stop.load(Ordering::Relaxed) {
                        return Ok(Self { all: Vec::new(), origins, generations, companion, files });
                    }
                    let next = match behind.as_slice() {
                        // Each clone has its own origin.
                        [] if stage.len() > 1 => {
                            let own = addresses.behind(arm).get(clone).copied();
                            vec![own.ok_or_else(|| missing(&arm.id, &format!("origin of clone {clone}")))?]
                        }
                        [] => addresses.behind(arm),
                        proxies => proxies.to_vec(),
                    };
                    let names = Names::new(setting.directory, &next, companion_address);
                    let is_near = hop.is_near();
                    let ends = Ends::around_arm(link, &networks, arm_number);
                    let processors = processors_of(setting, link, hop).map_err(in_arm(arm))?;
                    let listen = ends.listening(is_near);
                    let directory = hop_folder(folder(setting, arm, copy_number), arm, hop);
                    if let Some(front) = hop.proxy.front() {
                        let start = || front.start(&directory, (listen, 0).into(), &next, &processors);
                        let live = ends.at_servers(is_near, start)?.map_err(in_arm(arm))?;
                        let names = names.with(live.address, "OWN");
                        copy.configurations.push(file_hash(&front.config_file(&directory), &names)?);
                        let start_cpu_us = cpu_us(&live)?;
                        copy.add(live, start_cpu_us);
                        continue;
                    }
                    let around = Surroundings {
                        setting,
                        directory,
                        listen,
                        processors: &processors,
                        next,
                        companion: companion_address,
                        lab: lab.as_ref(),
                    };
                    let mut spec = spec(plan, arm, at, around).map_err(in_arm(arm))?;
                    copy.prepare_restarts(plan, at.number, &mut spec);
                    generations.extend(spec.generation.map(|_| spec.directory.clone()));
                    let start = || {
                        spec.configure()?;
                        spec.start()
                    };
                    let started = ends.at_servers(is_near, start)?.map_err(in_arm(arm))?;
                    copy.configurations.push(envoy_hash(&spec, &names)?);
                    files.push(spec.directory.join(FILES));
                    of_copy.push(Starting { place: at, spec, proxy: started });
                }
                starting.push((copy, of_copy));
            }
            for (copy, of_copy) in starting {
                let plan::Subject { arm, arm_number, .. } = copy.planned;
                let ends = Ends::around_arm(link, &networks, arm_number);
                for Starting { place: Place { hop, .. }, spec, proxy } in of_copy {
                    let wait = || proxy.wait_unless(stop).map_err(|error| spec.explained(error, stop));
                    let live = ends.at_servers(hop.is_near(), wait)?;
                    let live = live.map_err(|error| in_arm(arm)(refusal::explained(plan, hop, error)))?;
                    // Read before the requests that the removal of a function needs.
                    let start_cpu_us = cpu_us(&live)?;
                    if arm.is_unloaded && !hop.functions.is_empty() {
                        let active = ActiveProxy { spec: &spec, proxy: &live, hop };
                        active.unload(plan, arm, ends, lab.as_ref(), stop)?;
                    }
                    copy.add(live, start_cpu_us);
                }
            }
        }
        let round = Connecting { plan, origins: &addresses, networks: &networks, link, lab: lab.as_ref() };
        let mut all = round.connect_all(copies, answers, stop)?;
        read_memory_after_opening(&mut all)?;
        Ok(Self { all, origins, generations, companion, files })
    }

    /// The process ids of the origins.
    pub(super) fn origins(&self) -> Vec<u32> {
        self.origins.iter().map(OriginProcess::id).collect()
    }

    /// The origins behind an arm, without those that are configured for it alone.
    pub(super) fn origins_behind(&self, arm: &Arm) -> Result<&[OriginProcess], RunError> {
        let origins = self.origins.get(..arm.upstreams);
        origins.ok_or_else(|| missing(&arm.id, &format!("origin {}", self.origins.len() + 1)))
    }

    /// The process ids of all proxies.
    pub(super) fn proxies(&self) -> Vec<u32> {
        self.all.iter().flat_map(|running| &running.subject.proxies).map(Proxy::id).collect()
    }

    /// The running copy for `planned`.
    pub(super) fn running(&mut self, planned: plan::Subject<'_>) -> Result<&mut Running<'p>, RunError> {
        let is_planned = |running: &&mut Running<'_>| {
            running.planned.arm.id == planned.arm.id && running.planned.copy == planned.copy
        };
        let running = self.all.get_mut(planned.number).filter(is_planned);
        running.ok_or_else(|| missing(&planned.arm.id, &format!("running copy {}", planned.copy + 1)))
    }

    /// The running copy of the only arm of a plan.
    pub(super) fn only(&mut self, arm: &Arm) -> Result<&mut Running<'p>, RunError> {
        self.all.first_mut().ok_or_else(|| missing(&arm.id, "running copy"))
    }

    /// The process id of the companion, if there is one.
    pub(super) fn companion(&self) -> Option<u32> {
        self.companion.as_ref().map(OriginProcess::id)
    }

    /// Returns an error if an origin, the companion or a proxy of one of `subjects` has ended.
    pub(super) fn check(&mut self, subjects: &[plan::Subject<'_>]) -> Result<(), RunError> {
        for origin in self.origins.iter_mut().chain(&mut self.companion) {
            origin.check()?;
        }
        for &planned in subjects {
            for proxy in &mut self.running(planned)?.subject.proxies {
                proxy.check().map_err(in_arm(planned.arm))?;
            }
        }
        Ok(())
    }

    /// Ends connections, then proxies, then origins.
    pub(super) fn end(mut self) -> Result<(), RunError> {
        self.end_all()
    }

    /// Ends connections, then proxies, then origins; does nothing if they have ended already.
    fn end_all(&mut self) -> Result<(), RunError> {
        let all = std::mem::take(&mut self.all).into_iter();
        let proxies = all.flat_map(|running| running.subject.proxies);
        Proxy::end_all(proxies.collect()).map_err(io::Error::other)?;
        let origins = std::mem::take(&mut self.origins).into_iter().chain(self.companion.take());
        Ok(OriginProcess::end_all(origins.collect())?)
    }
}

impl Drop for Subjects<'_> {
    fn drop(&mut self) {
        // Also needed after an interrupt or an error: a container, or another process that an application started, ends only on request.
        // Processes that do not end are killed when they are dropped.
        let _ = self.end_all();
        // Processes that write to the folders are gone now.
        self.all.clear();
        for memory in self.generations.iter().filter_map(|folder| shared_memory(folder)) {
            // `hoptax runs cleanup` removes the rest.
            let _ = fs::remove_file(memory);
        }
        for folder in &self.files {
            // A folder that cannot be removed does no harm.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// The certificates of a round; none if no connection uses TLS.
fn lab(plan: &Plan, setting: &Setting<'_>) -> io::Result<Option<Lab>> {
    let certificates = setting.directory.join("certificates");
    let hops = plan.arms.iter().flat_map(|arm| &arm.chain.hops);
    let names: BTreeSet<&str> = hops.map(|hop| hop.name.as_str()).collect();
    let has_tls = plan.arms.iter().any(|arm| arm.is_secured() || arm.chain.is_given());
    let create = || Lab::create(&certificates, names, &given::peer_names(plan));
    has_tls.then(create).transpose().map_err(io::Error::other)
}

/// Reads the memory of proxies after connections to them were opened.
fn read_memory_after_opening(all: &mut [Running<'_>]) -> io::Result<()> {
    if all.iter().all(|running| running.subject.opened.is_none()) {
        return Ok(());
    }
    // The generator considers a connection open before the proxy has accepted it.
    thread::sleep(AFTER_OPENING);
    for Running { subject, .. } in all {
        if let (Some(opened), Some(proxy)) = (&mut subject.opened, subject.proxies.first()) {
            opened.after_bytes = memory_bytes(proxy.id())?;
        }
    }
    Ok(())
}

/// CPU time of a proxy since its start, us.
fn cpu_us(proxy: &Proxy) -> io::Result<u64> {
    Ok(process_use(proxy.id())?.cpu_ns() / 1000)
}
