//! The processes of a service graph: the services of each arm, with or without proxies, and the process that functions call. A service
//! starts after the services that it calls.

mod proxy;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hoptax_functions::{Composition, Context};
use hoptax_host::processors::Placement;
use hoptax_host::reserved_port::ReservedPort;
use hoptax_load::WorkerSpec;
use hoptax_origin::{Call, Calls};
use hoptax_plan::plan::{Arm, Plan, PlannedCall, PlannedProxy, PlannedService, ServiceGraph};
use hoptax_result::ArmKind;
use hoptax_subject::envoy::process::{Proxy, ProxyError, ProxySpec, Source};
use hoptax_subject::origin::OriginProcess;

use super::super::ends::LOOPBACK;
use super::super::error::{in_arm, missing};
use super::super::origins::start_companion;
use super::super::running::Running;
use super::super::specification::FILES;
use super::super::subject::{Connections, Subject};
use super::super::traffic::{TIMEOUT, traffic};
use super::super::{ArmError, RunError, Setting};
use super::Subjects;
use proxy::{Outbound, configuration};

/// Starts all processes of the arms of a graph, and waits until they are ready.
pub(super) fn bring_up<'p>(
    plan: &'p Plan,
    graph: &ServiceGraph,
    setting: &Setting<'_>,
    stop: &AtomicBool,
) -> Result<Subjects<'p>, RunError> {
    let mut subjects = Subjects::default();
    if graph.asks_companion() {
        subjects.companion = Some(start_companion(plan, setting, None, None)?);
    }
    for planned in plan.subjects() {
        let arm = planned.arm;
        let (entry, proxies) = subjects.start_graph(graph, arm, setting, stop)?;
        let connect = |load| {
            let traffic = traffic(plan, arm, load, entry, None, None)?;
            let spec = WorkerSpec::single(traffic, arm.connections(load), TIMEOUT, plan.seed);
            Ok(Some(Connections::EachSlice(spec, None)))
        };
        let connections: Result<Vec<_>, ArmError> = plan.loads.iter().map(connect).collect();
        let connections = connections.map_err(in_arm(arm))?;
        subjects.all.push(Running::new(planned, Subject { proxies, connections, ..Subject::default() }));
    }
    Ok(subjects)
}

impl Subjects<'_> {
    /// Starts the services of a graph, with their proxies if the arm has any. Returns the address of the entry, and the proxies in the
    /// order of the file.
    fn start_graph(
        &mut self,
        graph: &ServiceGraph,
        arm: &Arm,
        setting: &Setting<'_>,
        stop: &AtomicBool,
    ) -> Result<(SocketAddr, Vec<Proxy>), RunError> {
        let companion = self.companion.as_ref().map(|companion| companion.address);
        let mut proxies: BTreeMap<usize, Proxy> = BTreeMap::new();
        let mut addresses: BTreeMap<usize, SocketAddr> = BTreeMap::new();
        for (index, service) in graph.in_starting_order() {
            let planned = service.proxy.as_ref().filter(|_| arm.kind != ArmKind::Direct);
            let mut reserved = Vec::new();
            let mut calls = addresses.clone();
            if planned.is_some_and(|proxy| proxy.outbound.is_some()) {
                // The service calls its proxy, and the proxy needs the address of the service, so ports are chosen before either starts.
                for (called, name) in service.called() {
                    let port = ReservedPort::bind(SocketAddr::new(LOOPBACK, 0))?;
                    let to = calls.insert(called, port.address());
                    let to = to.ok_or_else(|| not_started(arm, service, name))?;
                    reserved.push((Outbound { name: name.to_owned(), listen: port.address(), to }, port));
                }
            }
            let origin = start_service(arm, service, setting, &calls)?;
            let mut address = origin.address;
            self.origins.push(origin);
            if let Some(planned) = planned {
                let (outbound, ports): (Vec<Outbound>, Vec<ReservedPort>) = reserved.into_iter().unzip();
                let of_proxy = |cause| RunError::Proxy { service: service.name.clone(), cause };
                let files = folder(setting, service).join(FILES);
                self.files.push(files.clone());
                let context = Context { directory: &files, companion };
                let processors = processors_of(graph, index, setting.placement);
                let behind = (address, outbound.as_slice());
                let spec = spec(service, planned, setting, behind, &context, processors);
                let spec = spec.map_err(of_proxy)?;
                let started = spec.start().and_then(|starting| starting.wait_unless(stop));
                let proxy = started.map_err(|error| of_proxy(spec.explained(error, stop).into()))?;
                drop(ports);
                address = proxy.address;
                proxies.insert(index, proxy);
            }
            addresses.insert(index, address);
        }
        let entry = addresses.get(&graph.entry).copied();
        let entry = entry.ok_or_else(|| missing(&arm.id, "service that requests arrive at"))?;
        Ok((entry, proxies.into_values().collect()))
    }
}

/// The folder of the proxy of a service.
fn folder(setting: &Setting<'_>, service: &PlannedService) -> PathBuf {
    setting.directory.join("proxies").join(folder_name(&service.name))
}

/// The specification of the proxy of a service, with its configuration and files written. It sends requests to the address of the service,
/// and the calls of the service to their destinations.
fn spec(
    service: &PlannedService,
    proxy: &PlannedProxy,
    setting: &Setting<'_>,
    (address, outbound): (SocketAddr, &[Outbound]),
    context: &Context<'_>,
    processors: Vec<u32>,
) -> Result<ProxySpec, ArmError> {
    fs::create_dir_all(context.directory).map_err(of_file(context.directory))?;
    let (source, needed) = configuration(proxy, address, outbound, context)?;
    // Files of a generated configuration are written together with it.
    for (path, bytes) in needed.iter().filter(|_| matches!(source, Source::Given { .. })) {
        let write = || path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
        write().map_err(of_file(path))?;
    }
    let spec = ProxySpec {
        envoy: setting.envoys.usual().clone(),
        directory: folder(setting, service),
        source,
        environment: proxy.compositions().flat_map(Composition::environment).collect(),
        flags: Vec::new(),
        workers: proxy.workers as usize,
        processors,
        generation: None,
    };
    spec.configure()?;
    Ok(spec)
}

/// Starts a service whose calls go to these addresses.
fn start_service(
    arm: &Arm,
    service: &PlannedService,
    setting: &Setting<'_>,
    addresses: &BTreeMap<usize, SocketAddr>,
) -> Result<OriginProcess, RunError> {
    let name = format!("{}-{}", arm.id, folder_name(&service.name));
    let delay_ns = (service.service_time_us * 1e3).round() as u64;
    let delay = if delay_ns > 0 { format!("&delay={delay_ns}ns") } else { String::new() };
    let mut flags: Vec<OsString> =
        vec!["--default".into(), format!("size={}{delay}", service.response_bytes).into()];
    let steps: Vec<Vec<Call>> = service
        .calls
        .iter()
        .map(|step| {
            let call = |call: &PlannedCall| -> Result<Call, RunError> {
                let address = addresses.get(&call.service).copied();
                Ok(Call {
                    address: address.ok_or_else(|| not_started(arm, service, &call.name))?,
                    factor: call.factor,
                    method: call.request.method.clone(),
                    target: call.request.target.clone(),
                    headers: call.request.headers.clone(),
                    body: call.request.body.clone(),
                })
            };
            step.iter().map(call).collect()
        })
        .collect::<Result<_, RunError>>()?;
    if !steps.is_empty() {
        let path = setting.directory.join(format!("{name}.calls.json"));
        let text = serde_json::to_string(&Calls { steps }).map_err(io::Error::other)?;
        fs::write(&path, text).map_err(|source| RunError::File { path: path.clone(), source })?;
        flags.extend(["--calls".into(), path.into()]);
    }
    let log = setting.directory.join(format!("{name}.log"));
    Ok(OriginProcess::start(setting.program, LOOPBACK, &flags, &log, setting.placement.origin())?)
}

/// The processors of a proxy: its own, one for each worker, if there are enough for all proxies; otherwise they share all of them.
fn processors_of(graph: &ServiceGraph, index: usize, placement: &Placement) -> Vec<u32> {
    if graph.workers() as usize > placement.proxy.len() {
        return placement.proxy.clone();
    }
    let before: u32 =
        graph.proxies().take_while(|other| other.index != index).map(|other| other.proxy.workers).sum();
    let own = graph.proxies().find(|one| one.index == index).map_or(1, |one| one.proxy.workers);
    placement.proxy.iter().skip(before as usize).take(own as usize).copied().collect()
}

/// The name of a service as the name of a folder: names of services may have any character.
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

fn not_started(arm: &Arm, service: &PlannedService, called: &str) -> RunError {
    missing(&arm.id, &format!("service `{called}` yet, which `{}` calls", service.name))
}

fn of_file(path: &Path) -> impl Fn(io::Error) -> ProxyError + '_ {
    |source| ProxyError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
