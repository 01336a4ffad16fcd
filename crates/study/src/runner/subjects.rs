//! All subjects of a round: origins, proxies, which are started from the origin outwards, and the generator's
//! connections.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_functions::{Context, Tls};
use hoptax_host::accounting::{memory_bytes, process_use};
use hoptax_host::link::Link;
use hoptax_load::{RequestsPerConnection, Worker, WorkerSpec};
use hoptax_result::{Answer, Opened};
use hoptax_subject::envoy::bootstrap::{Codec, ProxyPlan, WatchedFiles};
use hoptax_subject::envoy::process::{Generation, Proxy, ProxySpec, StartingProxy, shared_memory};
use hoptax_subject::lab::{GENERATOR, Lab, ORIGIN};
use hoptax_subject::origin::OriginProcess;

use super::ends::{LOOPBACK, at, far_address};
use super::origins::{Origins, start_companion, start_origins};
use super::traffic::traffic;
use super::{ArmError, RunError, Setting, answer, external, given, refusal, unloading};
use crate::file::{Caller, Protocol};
use crate::plan::{self, Arm, Hop, Plan, Timeline};
use crate::provenance::{Names, arm_hash, envoy_hash, file_hash};

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
    /// What its first proxy was started with, if events restart it.
    pub(super) spec: Option<ProxySpec>,
    /// The connections under each load; none where the arm takes no part.
    pub(super) workers: Vec<Option<Worker>>,
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
}

impl Subject {
    /// The ids of all processes that count as the subject.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> {
        self.proxies.iter().map(Proxy::id).chain(self.account.iter().flatten().copied())
    }
}

/// The proxies of a copy of an arm that were started so far.
#[derive(Default)]
struct Started {
    /// In the order of their start: those beside the origin come first.
    proxies: Vec<Proxy>,
    /// What the first one that a request passes was started with, if events restart it.
    spec: Option<ProxySpec>,
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
        (is_first, answers): (bool, &mut BTreeMap<usize, Answer>),
        stop: &AtomicBool,
    ) -> Result<Self, RunError> {
        let certificates = setting.directory.join("certificates");
        let hops = plan.arms.iter().flat_map(|arm| &arm.chain.hops);
        let names: BTreeSet<&str> = hops.map(|hop| hop.name.as_str()).collect();
        let has_tls = plan.arms.iter().any(|arm| arm.is_secured() || arm.chain.is_given());
        let create = || Lab::create(&certificates, names, &given::peer_names(plan));
        let lab = has_tls.then(create).transpose().map_err(io::Error::other)?;
        let (origins, addresses) = at(link, false, || start_origins(plan, setting, link, lab.as_ref()))??;
        let companion = if plan.arms.iter().any(Arm::asks_companion) {
            Some(at(link, false, || start_companion(setting, link))??)
        } else {
            None
        };
        let companion_address = companion.as_ref().map(|companion| companion.address);
        let (mut files, mut generations) = (Vec::new(), Vec::new());
        let restarts = plan.timeline.as_ref().is_some_and(Timeline::restarts);
        let mut copies: Vec<Started> = plan.subjects.iter().map(|_| Started::default()).collect();
        // Each proxy needs the address of the next hop, so those beside the origin start first, in parallel.
        let longest = plan.arms.iter().map(|arm| arm.chain.hops.len()).max().unwrap_or(0);
        for from_origin in 0..longest {
            let mut starting: Vec<(usize, StartingProxy)> = Vec::new();
            let mut unloading: Vec<(usize, ProxySpec)> = Vec::new();
            for index in plan::shuffled(plan, round) {
                let (Some(arm), Some(subject), Some(copy)) =
                    (plan.arm_of(index), plan.subjects.get(index), copies.get_mut(index))
                else {
                    continue;
                };
                let Some(number) = arm.chain.hops.len().checked_sub(from_origin + 1) else { continue };
                let Some(hop) = arm.chain.hops.get(number) else { continue };
                if stop.load(Ordering::Relaxed) {
                    return Ok(Self { all: Vec::new(), origins, generations, companion, files });
                }
                let next = copy.proxies.last().map(|proxy| vec![proxy.address]);
                let next = next.unwrap_or_else(|| addresses.of(arm));
                let names = Names::new(setting.directory, &next, companion_address);
                let is_near = arm.chain.is_near(number);
                let place = match link {
                    Some(_) if is_near => (LOOPBACK, setting.placement.generator.as_slice()),
                    _ => (far_address(link), setting.placement.proxy.as_slice()),
                };
                let directory = hop_folder(folder(setting, arm, subject.copy), arm, hop);
                if let Some(front) = hop.proxy.front() {
                    let origin = next.first().copied().unwrap_or((place.0, 0).into());
                    let start = || front.start(&directory, (place.0, 0).into(), origin, place.1);
                    let live = at(link, is_near, start)?.map_err(|error| of(arm)(error.into()))?;
                    let names = names.with(live.address, "OWN");
                    copy.configurations.push(file_hash(&front.config_file(&directory), &names)?);
                    let start_cpu_us = cpu_us(&live)?;
                    copy.add(live, start_cpu_us);
                    continue;
                }
                let behind = (next, companion_address);
                let hop_of_arm = (arm, number, hop);
                let spec = spec(plan, hop_of_arm, (setting, directory), place, behind, lab.as_ref());
                let mut spec = spec.map_err(of(arm))?;
                if restarts && number == 0 {
                    spec.generation = Some(Generation::First);
                    generations.push(spec.directory.clone());
                    copy.spec = Some(spec.clone());
                }
                let start = || {
                    spec.configure()?;
                    if is_first {
                        // Configurations of later rounds differ in ports only.
                        spec.validate(stop).map_err(|error| match &hop.given {
                            Some(config) => given::explain(plan, config, error),
                            None => refusal::explain(hop, error),
                        })?;
                    }
                    Ok(spec.start()?)
                };
                let started = at(link, is_near, start)?.map_err(of(arm))?;
                copy.configurations.push(envoy_hash(&spec, &names)?);
                starting.push((index, started));
                files.push(spec.directory.join(FILES));
                if arm.is_unloaded {
                    unloading.push((index, spec));
                }
            }
            for (index, one) in starting {
                if let (Some(copy), Some(arm)) = (copies.get_mut(index), plan.arm_of(index)) {
                    let number = arm.chain.hops.len().saturating_sub(from_origin + 1);
                    let live = at(link, arm.chain.is_near(number), || one.wait())?;
                    let live = live.map_err(|error| of(arm)(error.into()))?;
                    // Before requests that the removal of a function needs.
                    let start_cpu_us = cpu_us(&live)?;
                    if let Some((_, spec)) = unloading.iter().find(|(subject, _)| *subject == index) {
                        unloading::unload(plan, arm, (spec, &live, number), link, lab.as_ref(), stop)?;
                    }
                    copy.add(live, start_cpu_us);
                }
            }
        }
        let mut all = connect_all(plan, copies, (&addresses, lab.as_ref()), answers, stop)?;
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
        let mut proxies: Vec<Proxy> =
            std::mem::take(&mut self.all).into_iter().flat_map(|subject| subject.proxies).collect();
        for proxy in &mut proxies {
            proxy.ask_to_end().map_err(|error| RunError::System(io::Error::other(error)))?;
        }
        for proxy in proxies {
            proxy.end().map_err(|error| RunError::System(io::Error::other(error)))?;
        }
        for origin in std::mem::take(&mut self.origins).into_iter().chain(self.companion.take()) {
            origin.end()?;
        }
        Ok(())
    }
}

impl Drop for Subjects {
    fn drop(&mut self) {
        // Processes that write there end first.
        self.all.clear();
        for memory in self.generations.iter().filter_map(|folder| shared_memory(folder)) {
            // `hoptax cleanup` removes what is left.
            let _ = fs::remove_file(memory);
        }
        for folder in &self.files {
            // A folder that cannot be removed does no harm.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Reads the memory of proxies after connections to them were opened.
fn read_memory_after_opening(all: &mut [Subject]) -> io::Result<()> {
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

/// Connects the generator to all copies of all arms. `answers` gets what arms with requests of their own answer first, if
/// it has none.
fn connect_all(
    plan: &Plan,
    copies: Vec<Started>,
    (origins, lab): (&Origins, Option<&Lab>),
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
        all.push(subject(plan, arm, copy, address, (lab, answers.get(&planned.arm)))?);
    }
    Ok(all)
}

/// Connects the generator to a copy of an arm at `address`: to its first proxy, or to the server if it has none.
fn subject(
    plan: &Plan,
    arm: &Arm,
    Started { proxies, spec, start_cpu_us, configurations }: Started,
    address: Option<SocketAddr>,
    lab: (Option<&Lab>, Option<&Answer>),
) -> Result<Subject, RunError> {
    let before = proxies.first().map(|proxy| memory_bytes(proxy.id())).transpose()?;
    let (workers, target) = match address {
        Some(address) => connect(plan, arm, address, lab).map_err(of(arm))?,
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
        spec,
        workers,
        target,
        start_cpu_us,
        opened,
        configuration,
        account,
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
            codec: match arm.conditions.protocol {
                Protocol::Http1 => Codec::Http1,
                Protocol::Http2 | Protocol::Grpc => Codec::Http2,
                Protocol::WebSocket => Codec::WebSocket,
                Protocol::Tcp => Codec::Tcp,
            },
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
            if !arm.takes_part(load) || load.caller != Caller::Hoptax {
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

/// The statistics of the proxy at a hop of an arm, by pattern. Its admin interface listens on loopback, so it is asked
/// from the end of the link at which the proxy is.
pub(super) fn statistics(
    arm: &Arm,
    (proxy, hop): (&Proxy, usize),
    link: Option<&Link>,
    patterns: &[String],
) -> Result<Option<Vec<u64>>, RunError> {
    at(link, arm.chain.is_near(hop), || proxy.statistics(patterns))?.map_err(|error| of(arm)(error.into()))
}
