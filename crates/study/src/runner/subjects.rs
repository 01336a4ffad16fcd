//! All subjects of a round: origins, proxies, which are started from the origin outwards, and the generator's
//! connections.

mod connections;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_functions::{Context, Tls};
use hoptax_host::accounting::{TaskUse, memory_bytes, process_use};
use hoptax_host::link::Link;
use hoptax_host::network::Network;
use hoptax_load::{Recording, Run};
use hoptax_result::{Answer, Opened};
use hoptax_subject::envoy::bootstrap::{Codec, ProxyPlan, WatchedFiles};
use hoptax_subject::envoy::process::{Generation, Proxy, ProxySpec, StartingProxy, shared_memory};
use hoptax_subject::lab::{GENERATOR, Lab, ORIGIN};
use hoptax_subject::origin::OriginProcess;

use super::ends::{Ends, networks};
use super::origins::{start_companion, start_origins};
use super::{ArmError, RunError, Setting, given, refusal, unloading};
use crate::file::{Protocol, RestartWord};
use crate::plan::{self, Arm, Hop, Plan};
use crate::provenance::{Names, envoy_hash, file_hash};
pub(super) use connections::Connections;
use connections::connect_all;

/// Timeout of connections and requests.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// Time for proxies to accept connections before their memory is read.
const AFTER_OPENING: Duration = Duration::from_millis(50);

/// The folder of an arm that its function writes to.
pub const FILES: &str = "files";

/// The processes and connections of a round.
#[derive(Default)]
pub(super) struct Subjects {
    /// By their index in the plan.
    pub(super) all: Vec<Subject>,
    origins: Vec<OriginProcess>,
    /// Folders of proxies that can be replaced by hot restart.
    generations: Vec<PathBuf>,
    /// The process that functions call.
    companion: Option<OriginProcess>,
    /// Folders that functions write to, emptied after the round, since an access log grows fast.
    files: Vec<PathBuf>,
}

/// One running copy of an arm.
#[derive(Default)]
pub(super) struct Subject {
    /// Whether one of its functions calls the companion.
    pub(super) asks_companion: bool,
    /// In the order in which a request passes them; empty without a proxy.
    pub(super) proxies: Vec<Proxy>,
    /// What the proxies that events restart were started with, by their index.
    pub(super) specs: BTreeMap<usize, ProxySpec>,
    /// The connections under each load; none where the arm takes no part.
    pub(super) connections: Vec<Option<Connections>>,
    /// The URL for external callers, and the authority to verify its certificate.
    pub(super) target: Option<(String, Option<PathBuf>)>,
    /// CPU time of each proxy until it was live, us.
    pub(super) start_cpu_us: Vec<u64>,
    /// Memory of its first proxy before and after connections to it were opened; none without proxies or connections.
    pub(super) opened: Option<Opened>,
    /// The hash of what its proxies were started with; none without proxies.
    pub(super) configuration: Option<String>,
    /// The processes of a server that already ran; none for other subjects, and if they are not accounted for.
    pub(super) account: Option<BTreeSet<u32>>,
    /// The network of its arm.
    pub(super) network: Option<Rc<Network>>,
}

impl Subject {
    /// The ids of all processes that count as the subject.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> {
        self.proxies.iter().map(Proxy::id).chain(self.account.iter().flatten().copied())
    }

    /// Opens the connections under a load that are not kept. Returns whether it opened any.
    pub(super) fn open(&mut self, (arm, load): (&Arm, usize)) -> Result<bool, RunError> {
        let Some(connections) = self.connections.get_mut(load).and_then(Option::as_mut) else {
            return Ok(false);
        };
        let ends = Ends { link: None, network: self.network.as_deref() };
        ends.at_callers(|| connections.open())?.map_err(of(arm))
    }

    /// Closes the connections under a load that are not kept. Returns whether any were open.
    pub(super) fn close(&mut self, load: usize) -> bool {
        self.connections.get_mut(load).and_then(Option::as_mut).is_some_and(Connections::close)
    }

    /// Sends requests over the open connections under a load; none if it has none.
    pub(super) fn send(
        &mut self,
        load: usize,
        run: Run,
        recording: &mut Recording,
        stop: &AtomicBool,
    ) -> io::Result<Option<TaskUse>> {
        let connections = self.connections.get_mut(load).and_then(Option::as_mut);
        let Some(worker) = connections.and_then(Connections::worker) else { return Ok(None) };
        // It may open further connections.
        let ends = Ends { link: None, network: self.network.as_deref() };
        ends.at_callers(|| worker.run(run, recording, stop)).map_err(io::Error::other)?.map(Some)
    }
}

/// The proxies of a copy of an arm that were started so far.
#[derive(Default)]
struct Started {
    /// In the order of their start: those beside the origin come first.
    proxies: Vec<Proxy>,
    /// What those that events restart were started with, by their index in the order in which a request passes them.
    specs: BTreeMap<usize, ProxySpec>,
    /// CPU time of each until it was live, us.
    start_cpu_us: Vec<u64>,
    /// The hash of what each was started with. They stay in the order of their start.
    configurations: Vec<String>,
}

impl Started {
    /// Adds a live proxy.
    fn add(&mut self, live: Proxy, start_cpu_us: u64) {
        self.start_cpu_us.push(start_cpu_us);
        self.proxies.push(live);
    }

    /// Keeps what the proxy with this index is started with if events restart it. If they replace it while it runs, it becomes the
    /// first of its generations.
    fn prepare_restarts(&mut self, plan: &Plan, (arm, number): (&Arm, usize), spec: &mut ProxySpec) {
        let Some(timeline) = &plan.timeline else { return };
        let restarts = timeline.restarts(&arm.chain, number);
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

    /// The same with the proxies in the order in which a request passes them.
    fn into_passing_order(mut self) -> Self {
        self.proxies.reverse();
        self.start_cpu_us.reverse();
        self
    }
}

impl Subjects {
    /// Starts all processes, in the random order of the round, and waits until they are ready. `answers` gets what given
    /// configurations answer first, for arms that it does not have.
    pub(super) fn bring_up(
        plan: &Plan,
        setting: &Setting<'_>,
        link: Option<&Link>,
        round: u32,
        answers: &mut BTreeMap<usize, Answer>,
        stop: &AtomicBool,
    ) -> Result<Self, RunError> {
        let lab = lab(plan, setting)?;
        let networks = networks(plan)?;
        let (origins, addresses) = start_origins(plan, setting, (link, &networks), lab.as_ref())?;
        let companion = if plan.arms.iter().any(Arm::asks_companion) {
            let shared = Ends { link, network: None };
            Some(shared.at_servers(false, || start_companion(plan, setting, link, lab.as_ref()))??)
        } else {
            None
        };
        let companion_address = companion.as_ref().map(|companion| companion.address);
        let (mut files, mut generations) = (Vec::new(), Vec::new());
        let mut copies: Vec<Started> = plan.subjects.iter().map(|_| Started::default()).collect();
        // Each proxy needs the address of the next hop, so those beside the origin start first, in parallel.
        let longest = plan.arms.iter().map(|arm| arm.chain.stages().len()).max().unwrap_or(0);
        for from_origin in 0..longest {
            let mut starting: Vec<(usize, usize, ProxySpec, StartingProxy)> = Vec::new();
            for index in plan::shuffled(plan, round) {
                let (Some(arm), Some(subject), Some(copy)) =
                    (plan.arm_of(index), plan.subjects.get(index), copies.get_mut(index))
                else {
                    continue;
                };
                let stages = arm.chain.stages();
                let Some(number) = stages.len().checked_sub(from_origin + 1) else { continue };
                let Some(stage) = stages.get(number) else { continue };
                let behind = copy.last(stages.get(number + 1).map_or(0, ExactSizeIterator::len));
                // The last comes first, so that all proxies are in the reverse of the order in which a request passes them.
                for (place, number) in stage.clone().enumerate().rev() {
                    let Some(hop) = arm.chain.hops.get(number) else { continue };
                    if stop.load(Ordering::Relaxed) {
                        return Ok(Self { all: Vec::new(), origins, generations, companion, files });
                    }
                    let next = match behind.as_slice() {
                        // Each clone has its own origin.
                        [] if stage.len() > 1 => addresses.of(arm).get(place).copied().into_iter().collect(),
                        [] => addresses.of(arm),
                        proxies => proxies.to_vec(),
                    };
                    let names = Names::new(setting.directory, &next, companion_address);
                    let is_near = arm.chain.is_near(number);
                    let ends = Ends::of(link, &networks, subject.arm);
                    let processors = processors_of(setting, link, (hop, is_near)).map_err(of(arm))?;
                    let place = (ends.listening(is_near), processors);
                    let directory = hop_folder(folder(setting, arm, subject.copy), arm, hop);
                    if let Some(front) = hop.proxy.front() {
                        let start = || front.start(&directory, (place.0, 0).into(), &next, &place.1);
                        let live = ends.at_servers(is_near, start)?.map_err(|error| of(arm)(error.into()))?;
                        let names = names.with(live.address, "OWN");
                        copy.configurations.push(file_hash(&front.config_file(&directory), &names)?);
                        let start_cpu_us = cpu_us(&live)?;
                        copy.add(live, start_cpu_us);
                        continue;
                    }
                    let behind = (next, companion_address);
                    let hop_of_arm = (arm, number, hop);
                    let place = (place.0, place.1.as_slice());
                    let spec = spec(plan, hop_of_arm, (setting, directory), place, behind, lab.as_ref());
                    let mut spec = spec.map_err(of(arm))?;
                    copy.prepare_restarts(plan, (arm, number), &mut spec);
                    generations.extend(spec.generation.map(|_| spec.directory.clone()));
                    let start = || {
                        spec.configure()?;
                        spec.start()
                    };
                    let started = ends.at_servers(is_near, start)?.map_err(|error| of(arm)(error.into()))?;
                    copy.configurations.push(envoy_hash(&spec, &names)?);
                    files.push(spec.directory.join(FILES));
                    starting.push((index, number, spec, started));
                }
            }
            for (index, number, spec, one) in starting {
                if let (Some(copy), Some(arm), Some(subject)) =
                    (copies.get_mut(index), plan.arm_of(index), plan.subjects.get(index))
                {
                    let ends = Ends::of(link, &networks, subject.arm);
                    let wait = || one.wait_unless(stop).map_err(|error| spec.explained(error, stop));
                    let live = ends.at_servers(arm.chain.is_near(number), wait)?;
                    let live =
                        live.map_err(|error| of(arm)(refusal::explained(plan, (arm, number), error)))?;
                    // Before requests that the removal of a function needs.
                    let start_cpu_us = cpu_us(&live)?;
                    let has_functions =
                        arm.chain.hops.get(number).is_some_and(|hop| !hop.functions.is_empty());
                    if arm.is_unloaded && has_functions {
                        unloading::unload(plan, arm, (&spec, &live, number), ends, lab.as_ref(), stop)?;
                    }
                    copy.add(live, start_cpu_us);
                }
            }
        }
        let mut all = connect_all(plan, copies, (&addresses, &networks, link, lab.as_ref()), answers, stop)?;
        read_memory_after_opening(&mut all)?;
        Ok(Self { all, origins, generations, companion, files })
    }

    /// The process ids of the origins.
    pub(super) fn origins(&self) -> Vec<u32> {
        self.origins.iter().map(OriginProcess::id).collect()
    }

    /// The origins behind an arm, without those that are configured for it alone.
    pub(super) fn origins_behind(&self, arm: &Arm) -> &[OriginProcess] {
        self.origins.get(..arm.upstreams).unwrap_or_default()
    }

    /// The process ids of all proxies.
    pub(super) fn proxies(&self) -> Vec<u32> {
        self.all.iter().flat_map(|subject| &subject.proxies).map(Proxy::id).collect()
    }

    /// The process id of the companion, if there is one.
    pub(super) fn companion(&self) -> Option<u32> {
        self.companion.as_ref().map(OriginProcess::id)
    }

    /// Returns an error if an origin, the companion or a proxy of one of `subjects` has ended.
    pub(super) fn check(&mut self, plan: &Plan, subjects: &[usize]) -> Result<(), RunError> {
        for origin in self.origins.iter_mut().chain(&mut self.companion) {
            origin.check()?;
        }
        for &index in subjects {
            let (Some(subject), Some(arm)) = (self.all.get_mut(index), plan.arm_of(index)) else {
                continue;
            };
            for proxy in &mut subject.proxies {
                proxy.check().map_err(|error| of(arm)(error.into()))?;
            }
        }
        Ok(())
    }

    /// Ends connections, then proxies, then origins.
    pub(super) fn end(mut self) -> Result<(), RunError> {
        self.end_all()
    }

    /// The same; nothing if it was done before.
    fn end_all(&mut self) -> Result<(), RunError> {
        let mut proxies: Vec<Proxy> =
            std::mem::take(&mut self.all).into_iter().flat_map(|subject| subject.proxies).collect();
        for proxy in &mut proxies {
            proxy.ask_to_end().map_err(|error| RunError::System(io::Error::other(error)))?;
        }
        for proxy in proxies {
            proxy.end().map_err(|error| RunError::System(io::Error::other(error)))?;
        }
        let mut origins: Vec<OriginProcess> =
            std::mem::take(&mut self.origins).into_iter().chain(self.companion.take()).collect();
        for origin in &mut origins {
            origin.ask_to_end()?;
        }
        for origin in origins {
            origin.end()?;
        }
        Ok(())
    }
}

impl Drop for Subjects {
    fn drop(&mut self) {
        // Also after an interrupt or an error: what an application started, such as a container, ends only if it is asked to. Processes
        // that do not end are killed when they are dropped.
        let _ = self.end_all();
        // Processes that write to the folders are gone now.
        self.all.clear();
        for memory in self.generations.iter().filter_map(|folder| shared_memory(folder)) {
            // `hoptax runs cleanup` removes what is left.
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
fn read_memory_after_opening(all: &mut [Subject]) -> io::Result<()> {
    if all.iter().all(|subject| subject.opened.is_none()) {
        return Ok(());
    }
    // To the generator, a connection is open before the proxy has accepted it.
    thread::sleep(AFTER_OPENING);
    for subject in all {
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

pub(super) fn of(arm: &Arm) -> impl Fn(ArmError) -> RunError + '_ {
    |cause| RunError::Arm { arm: arm.id.clone(), cause }
}

/// The processors of a proxy. The two ends of a link are two machines.
pub(super) fn processors_of(
    setting: &Setting<'_>,
    link: Option<&Link>,
    (hop, is_near): (&Hop, bool),
) -> Result<Vec<u32>, ArmError> {
    let placement = setting.placement;
    let Some(processors) = hop.processors else {
        let of_generator = link.is_some() && is_near;
        return Ok(if of_generator { placement.generator.clone() } else { placement.proxy.clone() });
    };
    let others = placement.generator.iter().filter(|other| !placement.proxy.contains(other));
    let all: Vec<u32> = placement.proxy.iter().chain(others).copied().collect();
    let needed = processors.number(all.len() as u32);
    all.get(..needed as usize).map(<[u32]>::to_vec).ok_or_else(|| ArmError::TooFewProcessors {
        proxy: hop.name.clone(),
        needed,
        available: all.len(),
    })
}

/// The folder of a copy of an arm.
pub(super) fn folder(setting: &Setting<'_>, arm: &Arm, copy: u32) -> PathBuf {
    setting.directory.join("arms").join(arm.folder(copy))
}

/// The folder of one proxy in that of its arm.
fn hop_folder(of_arm: PathBuf, arm: &Arm, hop: &Hop) -> PathBuf {
    if arm.chain.hops.len() > 1 { of_arm.join(&hop.name) } else { of_arm }
}

/// The specification of one Envoy of an arm, with a given configuration or a generated one.
fn spec(
    plan: &Plan,
    (arm, number, hop): (&Arm, usize, &Hop),
    of_run: (&Setting<'_>, PathBuf),
    place: (IpAddr, &[u32]),
    behind: (Vec<SocketAddr>, Option<SocketAddr>),
    lab: Option<&Lab>,
) -> Result<ProxySpec, ArmError> {
    match (&hop.given, lab) {
        (Some(config), Some(lab)) => given::spec(plan, (arm, hop, config), of_run, place.1, behind, lab),
        _ => proxy_spec(arm, (number, hop), of_run, place, behind, lab),
    }
}

/// The specification of one Envoy of an arm; `next` are the addresses of the next hop.
pub(super) fn proxy_spec(
    arm: &Arm,
    (number, hop): (usize, &Hop),
    (setting, directory): (&Setting<'_>, PathBuf),
    (listen, processors): (IpAddr, &[u32]),
    (next, companion): (Vec<SocketAddr>, Option<SocketAddr>),
    lab: Option<&Lab>,
) -> Result<ProxySpec, ArmError> {
    let name_of = |number: usize| arm.chain.hops.get(number).map(|hop| hop.name.as_str());
    let files = directory.join(FILES);
    fs::create_dir_all(&files)
        .map_err(|source| hoptax_subject::envoy::process::ProxyError::File { path: files.clone(), source })?;
    let context = Context { directory: &files, companion };
    let envoy = setting.envoy(arm.envoy(hop))?;
    // The connection before a proxy has its number, the one behind it the next.
    let tls = arm.tls();
    let settings = |connection: usize, peer: &str, is_server: bool| {
        let is_mutual = tls.get(connection).copied().flatten()? == Tls::Mtls;
        Some(lab?.tls_settings(&hop.name, peer, is_server || is_mutual, !is_server || is_mutual))
    };
    let before = number.checked_sub(1).and_then(name_of).unwrap_or(GENERATOR);
    let behind = name_of(number + 1).unwrap_or(ORIGIN);
    let (downstream, upstream) = (settings(number, before, true), settings(number + 1, behind, false));
    let mut fragment = (!arm.functions.is_empty()).then(|| hop.functions.render(&context)).transpose()?;
    if let Some(fragment) = &mut fragment {
        // The two ends of a connection use one group, also if only one of them has the function that chooses it.
        fragment.key_exchange_group = arm.key_exchange_group().unwrap_or(fragment.key_exchange_group);
    }
    let watched = arm.is_unloaded.then(|| WatchedFiles::in_folder(&directory));
    Ok(ProxySpec {
        envoy: envoy.clone(),
        directory,
        source: ProxyPlan {
            admin_port: 0,
            listen: SocketAddr::new(listen, 0),
            origins: next,
            fragment,
            codec: codec(arm, number),
            downstream,
            upstream,
            watched,
        }
        .into(),
        environment: arm.environment(hop),
        flags: hop.flags.clone(),
        workers: arm.workers(hop).unwrap_or(processors.len()),
        processors: processors.to_vec(),
        generation: None,
    })
}

/// The protocol of the proxy at a hop of an arm. Applications serve HTTP/1.1 only, so the last proxy before one translates.
fn codec(arm: &Arm, hop: usize) -> Codec {
    let is_last = arm.chain.stages().last().is_some_and(|stage| stage.contains(&hop));
    match arm.conditions.protocol {
        Protocol::Http1 => Codec::Http1,
        Protocol::Http2 if is_last && arm.application().is_some() => Codec::Http2ToHttp1,
        Protocol::Http2 | Protocol::Grpc => Codec::Http2,
        Protocol::WebSocket => Codec::WebSocket,
        Protocol::Tcp => Codec::Tcp,
    }
}
