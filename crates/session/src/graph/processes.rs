//! The processes of a graph: services and their proxies, the same services without proxies, and the process that functions call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hoptax_functions::{Composition, Context, Proof};
use hoptax_host::processors::Placement;
use hoptax_host::reserved_port::ReservedPort;
use hoptax_load::TargetError;
use hoptax_load::trial::TrialError;
use hoptax_origin::{Call, Calls};
use hoptax_run::runner::{FILES, Setting};
use hoptax_subject::envoy::bootstrap::INGRESS;
use hoptax_subject::envoy::process::{Proxy, ProxyError, ProxySpec, Source};
use hoptax_subject::origin::{OriginError, OriginProcess};

use crate::graph::plan::{PlannedCall, PlannedProxy, PlannedService, RunPlan};
use crate::graph::proxy::{ConfigurationError, OUTBOUND, Outbound, configuration};

/// All processes listen here.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An error of the processes of a graph.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GraphError {
    /// The configuration of a proxy cannot be generated.
    #[error("the proxy of `{service}`: {cause}")]
    Configuration {
        /// The service.
        service: String,
        /// The cause.
        cause: ConfigurationError,
    },
    /// A proxy is not running.
    #[error("the proxy of `{service}`: {cause}")]
    Proxy {
        /// The service.
        service: String,
        /// The cause.
        cause: ProxyError,
    },
    /// A service is not running.
    #[error("the service `{service}`: {cause}")]
    Service {
        /// The service.
        service: String,
        /// The cause.
        cause: OriginError,
    },
    /// The requests cannot be built.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The load cannot be run.
    #[error("the load on the graph: {0}")]
    Load(#[from] TrialError),
    /// A service calls another one that was not started before it.
    #[error(
        "the service `{service}` calls `{called}`, which was not started before it; this is a bug in hoptax"
    )]
    NotStarted {
        /// The service.
        service: String,
        /// The service that it calls.
        called: String,
    },
    /// The proxy of this service states no statistics, which would show its functions at work.
    #[error("the proxy of `{0}` states no statistics; this is a bug in hoptax")]
    Statistics(String),
    /// A folder or file of the run cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot measure: {0}")]
    System(#[from] io::Error),
}

/// The processes of a round.
#[derive(Default)]
pub(crate) struct Processes<'p> {
    /// The proxies, in the order of the file.
    proxies: Vec<RunningProxy<'p>>,
    /// Services behind proxies, services without, and the companion: each with its name.
    services: Vec<(String, OriginProcess)>,
    /// Addresses of the entry, in the graph with proxies and in the one without.
    pub(crate) entries: Option<(SocketAddr, SocketAddr)>,
    /// Folders that functions write to, emptied after the round, since an access log grows fast.
    files: Vec<PathBuf>,
}

/// The proxy of a service.
struct RunningProxy<'p> {
    /// The index of the service.
    index: usize,
    service: &'p str,
    planned: &'p PlannedProxy,
    proxy: Proxy,
}

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        // Processes that write there end first.
        self.proxies.clear();
        for folder in &self.files {
            // A folder that cannot be removed does no harm.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl<'p> Processes<'p> {
    /// Starts all processes, those that are called first, and waits until they are ready.
    pub(crate) fn bring_up(
        plan: &'p RunPlan,
        setting: &Setting<'_>,
        stop: &AtomicBool,
    ) -> Result<Self, GraphError> {
        let mut all = Self::default();
        let companion = if plan.asks_companion() {
            let log = file_of(setting, "companion", "log")?;
            let origin =
                OriginProcess::start(setting.program, LOOPBACK, &[], &log, setting.placement.origin());
            let origin = origin.map_err(of_service("companion"))?;
            let address = origin.address;
            all.services.push(("companion".to_owned(), origin));
            Some(address)
        } else {
            None
        };
        let mut entries: BTreeMap<usize, SocketAddr> = BTreeMap::new();
        for (index, service) in plan.in_starting_order() {
            let mut reserved = Vec::new();
            let mut calls = entries.clone();
            if service.proxy.as_ref().is_some_and(|proxy| proxy.outbound.is_some()) {
                // The service calls its proxy, which needs the address of the service: so the ports come before both.
                for (called, name) in service.called() {
                    let port = ReservedPort::bind(SocketAddr::new(LOOPBACK, 0))?;
                    let to = calls.insert(called, port.address());
                    let to = to.ok_or_else(|| not_started(service, name))?;
                    reserved.push((Outbound { name: name.to_owned(), listen: port.address(), to }, port));
                }
            }
            let origin = start_service(service, setting, &calls, "proxied")?;
            let mut address = origin.address;
            all.services.push((service.name.clone(), origin));
            if let Some(planned) = &service.proxy {
                let (outbound, ports): (Vec<Outbound>, Vec<ReservedPort>) = reserved.into_iter().unzip();
                let behind = Behind { address, companion, outbound: &outbound };
                let processors = processors_of(plan, index, setting.placement);
                let spec = all.spec(service, planned, setting, &behind, processors)?;
                let started = spec.start().and_then(|starting| starting.wait_unless(stop));
                let proxy = started.map_err(|error| of_proxy(&service.name)(spec.explained(error, stop)))?;
                drop(ports);
                address = proxy.address;
                all.proxies.push(RunningProxy { index, service: &service.name, planned, proxy });
            }
            entries.insert(index, address);
        }
        all.proxies.sort_by_key(|running| running.index);
        let mut direct: BTreeMap<usize, SocketAddr> = BTreeMap::new();
        for (index, service) in plan.in_starting_order() {
            let origin = start_service(service, setting, &direct, "direct")?;
            direct.insert(index, origin.address);
            all.services.push((service.name.clone(), origin));
        }
        all.entries = entries.get(&plan.entry).copied().zip(direct.get(&plan.entry).copied());
        Ok(all)
    }

    /// The specification of a proxy, with its configuration and files written.
    fn spec(
        &mut self,
        service: &PlannedService,
        proxy: &PlannedProxy,
        setting: &Setting<'_>,
        behind: &Behind<'_>,
        processors: Vec<u32>,
    ) -> Result<ProxySpec, GraphError> {
        let directory = setting.directory.join("proxies").join(folder_name(&service.name));
        let files = directory.join(FILES);
        fs::create_dir_all(&files).map_err(of_file(&files))?;
        let context = Context { directory: &files, companion: behind.companion };
        let (source, needed) = configuration(proxy, behind.address, behind.outbound, &context)
            .map_err(|cause| GraphError::Configuration { service: service.name.clone(), cause })?;
        // Files of a generated configuration are written with it.
        for (path, bytes) in needed.iter().filter(|_| matches!(source, Source::Given { .. })) {
            let write =
                || path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
            write().map_err(of_file(path))?;
        }
        self.files.push(files);
        let spec = ProxySpec {
            envoy: setting.envoys.usual().clone(),
            directory,
            source,
            environment: proxy.compositions().flat_map(Composition::environment).collect(),
            flags: Vec::new(),
            workers: proxy.workers as usize,
            processors,
            generation: None,
        };
        spec.configure().map_err(of_proxy(&service.name))?;
        Ok(spec)
    }

    /// The process ids of the proxies, in the order of the file.
    pub(crate) fn proxy_ids(&self) -> Vec<u32> {
        self.proxies.iter().map(|running| running.proxy.id()).collect()
    }

    /// Returns an error if a process has ended.
    pub(crate) fn check(&mut self) -> Result<(), GraphError> {
        for (name, service) in &mut self.services {
            service.check().map_err(of_service(name))?;
        }
        for RunningProxy { service, proxy, .. } in &mut self.proxies {
            proxy.check().map_err(of_proxy(service))?;
        }
        Ok(())
    }

    /// Reads the counters of all proxies: requests, and the statistics of their functions.
    pub(crate) fn counted(&self) -> Result<Vec<Counted>, GraphError> {
        let mut all = Vec::new();
        for RunningProxy { service, planned, proxy, .. } in &self.proxies {
            let requests = format!("http.{INGRESS}.downstream_rq_total");
            let proofs = proofs(planned).into_iter().map(|(_, proof)| proof.name);
            let patterns: Vec<String> = std::iter::once(requests).chain(proofs).collect();
            let stated = proxy.statistics(&patterns).map_err(of_proxy(service))?;
            let mut values = stated.unwrap_or_default().into_iter();
            let requests = values.next().ok_or_else(|| GraphError::Statistics((*service).to_owned()))?;
            all.push(Counted { requests, proofs: values.collect() });
        }
        Ok(all)
    }

    /// Ends proxies, then services.
    pub(crate) fn end(mut self) -> Result<(), GraphError> {
        let proxies = std::mem::take(&mut self.proxies).into_iter().map(|running| running.proxy);
        Proxy::end_all(proxies.collect()).map_err(io::Error::other)?;
        let services = std::mem::take(&mut self.services).into_iter().map(|(_, service)| service);
        Ok(OriginProcess::end_all(services.collect()).map_err(io::Error::other)?)
    }
}

/// Counters of a proxy since its start.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// Requests to it.
    pub(crate) requests: u64,
    /// Values of its [`proofs`].
    pub(crate) proofs: Vec<u64>,
}

/// Returns the statistics that show the functions of a proxy at work, each with its function.
pub(crate) fn proofs(proxy: &PlannedProxy) -> Vec<(String, Proof)> {
    let named = |functions: &Composition| -> Vec<(String, Proof)> {
        functions.proofs().into_iter().map(|(component, proof)| (component.name.clone(), proof)).collect()
    };
    let mut all = named(&proxy.inbound);
    for (of, proof) in proxy.outbound.as_ref().map(named).unwrap_or_default() {
        // The cluster behind calls has another name.
        let name = proof.name.replace("cluster.origin.", &format!("cluster.{OUTBOUND}*."));
        all.push((of, Proof { name, ..proof }));
    }
    all
}

/// Destinations of a proxy.
struct Behind<'a> {
    /// The address of its service.
    address: SocketAddr,
    /// Address of the companion; None if no function calls one.
    companion: Option<SocketAddr>,
    /// Calls of the service that pass through the proxy.
    outbound: &'a [Outbound],
}

/// Starts a service whose calls go to these addresses.
fn start_service(
    service: &PlannedService,
    setting: &Setting<'_>,
    addresses: &BTreeMap<usize, SocketAddr>,
    kind: &str,
) -> Result<OriginProcess, GraphError> {
    let name = format!("{kind}-{}", folder_name(&service.name));
    let delay_ns = (service.service_time_us * 1e3).round() as u64;
    let delay = if delay_ns > 0 { format!("&delay={delay_ns}ns") } else { String::new() };
    let mut flags: Vec<OsString> =
        vec!["--default".into(), format!("size={}{delay}", service.response_bytes).into()];
    let steps: Vec<Vec<Call>> = service
        .calls
        .iter()
        .map(|step| {
            let call = |call: &PlannedCall| -> Result<Call, GraphError> {
                let address = addresses.get(&call.service).copied();
                Ok(Call {
                    address: address.ok_or_else(|| not_started(service, &call.name))?,
                    factor: call.factor,
                    method: call.request.method.clone(),
                    target: call.request.target.clone(),
                    headers: call.request.headers.clone(),
                    body: call.request.body.clone(),
                })
            };
            step.iter().map(call).collect()
        })
        .collect::<Result<_, GraphError>>()?;
    if !steps.is_empty() {
        let path = file_of(setting, &name, "calls.json")?;
        let text = serde_json::to_string(&Calls { steps }).map_err(io::Error::other)?;
        fs::write(&path, text).map_err(of_file(&path))?;
        flags.extend(["--calls".into(), path.into()]);
    }
    let log = file_of(setting, &name, "log")?;
    let processors = setting.placement.origin();
    OriginProcess::start(setting.program, LOOPBACK, &flags, &log, processors)
        .map_err(of_service(&service.name))
}

/// The processors of a proxy: its own, one for each worker, if there are enough for all proxies; otherwise they share all of them.
fn processors_of(plan: &RunPlan, index: usize, placement: &Placement) -> Vec<u32> {
    if plan.workers() as usize > placement.proxy.len() {
        return placement.proxy.clone();
    }
    let before: u32 =
        plan.proxies().take_while(|(other, ..)| *other != index).map(|(.., one)| one.workers).sum();
    let own = plan.proxies().find(|(other, ..)| *other == index).map_or(1, |(.., one)| one.workers);
    placement.proxy.iter().skip(before as usize).take(own as usize).copied().collect()
}

/// A name as that of a folder: services may have names with any character.
fn folder_name(service: &str) -> String {
    let is_safe =
        |place: usize, c: char| c.is_ascii_alphanumeric() || "-_".contains(c) || (c == '.' && place > 0);
    let safe: String =
        (0..).zip(service.chars()).map(|(place, c)| if is_safe(place, c) { c } else { '_' }).collect();
    if safe == service {
        return safe;
    }
    // Different names stay different.
    let code = service.bytes().fold(0_u32, |code, byte| code.wrapping_mul(31).wrapping_add(byte.into()));
    format!("{safe}-{code:08x}")
}

/// The path of a file in the folder of services, which is created.
fn file_of(setting: &Setting<'_>, name: &str, extension: &str) -> Result<PathBuf, GraphError> {
    let folder = setting.directory.join("services");
    fs::create_dir_all(&folder).map_err(of_file(&folder))?;
    Ok(folder.join(format!("{name}.{extension}")))
}

fn not_started(service: &PlannedService, called: &str) -> GraphError {
    GraphError::NotStarted { service: service.name.clone(), called: called.to_owned() }
}

fn of_service(name: &str) -> impl Fn(OriginError) -> GraphError + '_ {
    |cause| GraphError::Service { service: name.to_owned(), cause }
}

fn of_proxy(name: &str) -> impl Fn(ProxyError) -> GraphError + '_ {
    |cause| GraphError::Proxy { service: name.to_owned(), cause }
}

fn of_file(path: &Path) -> impl Fn(io::Error) -> GraphError + '_ {
    |source| GraphError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
