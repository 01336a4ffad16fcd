//! Specification of a proxy of an arm: its surroundings, its configuration, its processors and its folder.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hoptax_functions::{Context, Tls};
use hoptax_host::link::Link;
use hoptax_plan::configurations;
use hoptax_plan::file::Protocol;
use hoptax_plan::plan::{Arm, GivenConfig, Hop, Place, Plan};
use hoptax_subject::envoy::bootstrap::{Codec, ProxyPlan, WatchedFiles};
use hoptax_subject::envoy::process::{ProxySpec, Source};
use hoptax_subject::lab::{GENERATOR, Lab, ORIGIN};

use super::{ArmError, Setting};

/// The folder of an arm that its function writes to.
pub const FILES: &str = "files";

/// Surroundings of an Envoy of an arm: its folder, its processors, and the processes that it connects to.
pub(super) struct Surroundings<'a> {
    /// Inputs of the run.
    pub(super) setting: &'a Setting<'a>,
    /// The folder of the proxy.
    pub(super) directory: PathBuf,
    /// The address that it listens at.
    pub(super) listen: IpAddr,
    /// The processors that it may use.
    pub(super) processors: &'a [u32],
    /// The addresses of the next hop.
    pub(super) next: Vec<SocketAddr>,
    /// The address of the companion, if one was started.
    pub(super) companion: Option<SocketAddr>,
    /// The certificates of the round; none if no connection uses TLS.
    pub(super) lab: Option<&'a Lab>,
}

/// The folder of a copy of an arm.
pub(super) fn folder(setting: &Setting<'_>, arm: &Arm, copy: u32) -> PathBuf {
    setting.directory.join("arms").join(arm.folder(copy))
}

/// The folder of one proxy in that of its arm.
pub(super) fn hop_folder(of_arm: PathBuf, arm: &Arm, hop: &Hop) -> PathBuf {
    if arm.chain.hops.len() > 1 { of_arm.join(&hop.name) } else { of_arm }
}

/// The processors of a proxy. The two ends of a link are two machines.
pub(super) fn processors_of(
    setting: &Setting<'_>,
    link: Option<&Link>,
    hop: &Hop,
) -> Result<Vec<u32>, ArmError> {
    let placement = setting.placement;
    let Some(processors) = hop.processors else {
        let of_generator = link.is_some() && hop.is_near();
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

/// The specification of one Envoy of an arm, with a given configuration or a generated one.
pub(super) fn spec(
    plan: &Plan,
    arm: &Arm,
    place: Place<'_>,
    around: Surroundings<'_>,
) -> Result<ProxySpec, ArmError> {
    let hop = place.hop;
    let source = match (&hop.given, around.lab) {
        (Some(config), Some(lab)) => given(plan, config, lab, &around)?,
        _ => generated(arm, place, &around)?.into(),
    };
    let Surroundings { setting, directory, processors, .. } = around;
    Ok(ProxySpec {
        envoy: setting.envoy(arm.envoy(hop))?.clone(),
        directory,
        source,
        environment: arm.environment(hop),
        flags: hop.flags.clone(),
        workers: arm.workers(hop).unwrap_or(processors.len()),
        processors: processors.to_vec(),
        generation: None,
    })
}

/// Writes the files of a given configuration, and returns the configuration as it is adapted to this machine.
fn given(plan: &Plan, given: &GivenConfig, lab: &Lab, around: &Surroundings<'_>) -> Result<Source, ArmError> {
    let configuration = plan.configurations.get(&given.path).map_err(ArmError::Given)?;
    let origin = around.next.first().copied().unwrap_or(configurations::ORIGIN);
    // The plan ensures that no address of the configuration leads to a companion that does not exist.
    let companion = around.companion.unwrap_or(configurations::COMPANION);
    let place = hoptax_bootstrap::Lab::new(origin, companion, around.directory.join(FILES));
    let unusable = |error: &dyn std::fmt::Display| ArmError::Given(error.to_string());
    let user = configuration.given.with(&given.replaced);
    let user = user.map_err(|missing| ArmError::Given(configurations::missing_nodes(&missing)))?;
    let adapted = user.adapt(&place).map_err(|error| unusable(&error))?;
    user.write_files(&adapted, lab.certificates()).map_err(|error| unusable(&error))?;
    Ok(Source::Given { bootstrap: adapted.without(&given.without), listener: given.listener.clone() })
}

/// A generated configuration.
fn generated(
    arm: &Arm,
    Place { number, hop }: Place<'_>,
    around: &Surroundings<'_>,
) -> Result<ProxyPlan, ArmError> {
    let &Surroundings { ref directory, listen, ref next, companion, lab, .. } = around;
    let name_of = |number: usize| arm.chain.hops.get(number).map(|hop| hop.name.as_str());
    let files = directory.join(FILES);
    fs::create_dir_all(&files)
        .map_err(|source| hoptax_subject::envoy::process::ProxyError::File { path: files.clone(), source })?;
    let context = Context { directory: &files, companion };
    // The connection before a proxy has the number of the proxy, and the connection behind it the next number.
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
        // Both ends of a connection use the same group, even if only one of them has the function that chooses it.
        fragment.key_exchange_group = arm.key_exchange_group().unwrap_or(fragment.key_exchange_group);
    }
    let watched = arm.is_unloaded.then(|| WatchedFiles::in_folder(directory));
    Ok(ProxyPlan {
        admin_port: 0,
        listen: SocketAddr::new(listen, 0),
        origins: next.clone(),
        fragment,
        codec: codec(arm, number),
        downstream,
        upstream,
        watched,
    })
}

/// The protocol of the proxy at a hop of an arm. Applications serve HTTP/1.1 only, so the last proxy before one translates.
fn codec(arm: &Arm, hop: usize) -> Codec {
    let is_last =
        arm.chain.stages().last().is_some_and(|stage| stage.iter().any(|place| place.number == hop));
    match arm.conditions.protocol {
        Protocol::Http1 => Codec::Http1,
        Protocol::Http2 if is_last && arm.application().is_some() => Codec::Http2ToHttp1,
        Protocol::Http2 | Protocol::Grpc => Codec::Http2,
        Protocol::WebSocket => Codec::WebSocket,
        Protocol::Tcp => Codec::Tcp,
    }
}
