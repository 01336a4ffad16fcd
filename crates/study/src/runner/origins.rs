//! The processes behind the proxies of a round: the origins, and the companion that functions call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use hoptax_functions::Tls;
use hoptax_host::link::Link;
use hoptax_subject::lab::{Lab, ORIGIN};
use hoptax_subject::origin::OriginProcess;

use super::ends::{Ends, Networks};
use super::{RunError, Setting};
use crate::file::Protocol;
use crate::plan::{Arm, Plan, Timeline, USUAL_BYTES};

/// The name of the plain TCP origin.
const TCP: &str = "origin-tcp";
/// The name of the origin behind given configurations.
const GIVEN: &str = "origin-given";

/// The addresses of the origins.
pub(super) struct Origins {
    /// Origins of HTTP and gRPC.
    http: Vec<SocketAddr>,
    /// The plain TCP origin, if an arm uses TCP.
    tcp: Option<SocketAddr>,
    /// The origin behind given configurations, if an arm has one.
    given: Option<SocketAddr>,
    /// Origins of a single arm, with flags of its own or in its network, by its id.
    own: BTreeMap<String, Vec<SocketAddr>>,
}

impl Origins {
    /// The origins behind an arm.
    pub(super) fn of(&self, arm: &Arm) -> Vec<SocketAddr> {
        if let Some(own) = self.own.get(&arm.id) {
            return own.clone();
        }
        if arm.chain.is_given() {
            return self.given.into_iter().collect();
        }
        match arm.conditions.protocol {
            Protocol::Tcp => self.tcp.into_iter().collect(),
            _ => self.http.iter().take(arm.upstreams).copied().collect(),
        }
    }
}

/// Starts the companion: an origin, on the processors of the origins.
pub(super) fn start_companion(setting: &Setting<'_>, link: Option<&Link>) -> Result<OriginProcess, RunError> {
    let log = setting.directory.join("companion.log");
    let processors =
        if link.is_some() { setting.placement.proxy.as_slice() } else { setting.placement.origin() };
    let ends = Ends { link, network: None };
    Ok(OriginProcess::start(setting.program, ends.listening_origin(), &[], &log, processors)?)
}

/// The file with the default response of the origin with this index, where events change it.
pub(super) fn default_file(setting: &Setting<'_>, number: usize) -> PathBuf {
    setting.directory.join(format!("origin-{}.default", number + 1))
}

/// The flags of an origin that serves TLS, and that requires client certificates if `is_mutual`.
fn tls_flags(lab: &Lab, is_mutual: bool) -> Vec<OsString> {
    let mut flags: Vec<OsString> =
        vec!["--cert".into(), lab.certificate(ORIGIN).into(), "--key".into(), lab.key(ORIGIN).into()];
    if is_mutual {
        flags.extend(["--client-ca".into(), lab.authority().into()]);
    }
    flags
}

/// Starts the origins that arms share, each the first of them, and those of single arms; see [`Plan::origins`]. Adds one for plain
/// TCP, which the first byte does not distinguish from other protocols.
pub(super) fn start_origins(
    plan: &Plan,
    setting: &Setting<'_>,
    (link, networks): (Option<&Link>, &Networks),
    lab: Option<&Lab>,
) -> Result<(Vec<OriginProcess>, Origins), RunError> {
    let is_mutual = plan.arms.iter().any(|arm| arm.origin_security() == Some(Tls::Mtls));
    // The two ends of a link are two machines. The far one has the processors that the proxies have without a link.
    let processors =
        if link.is_some() { setting.placement.proxy.as_slice() } else { setting.placement.origin() };
    let log = |name: &str| setting.directory.join(format!("{name}.log"));
    let start_origin = |ends: Ends<'_>, name: &str, more: &[OsString]| -> Result<OriginProcess, RunError> {
        // Whether a cluster of a given configuration presents a certificate is not known.
        let is_mutual = is_mutual && name != GIVEN;
        let secured = lab.map_or_else(Vec::new, |lab| tls_flags(lab, is_mutual));
        let more: Vec<OsString> = more.iter().cloned().chain(secured).collect();
        let started = ends.at_servers(false, || {
            OriginProcess::start(setting.program, ends.listening_origin(), &more, &log(name), processors)
        });
        Ok(started??)
    };
    // Applications serve plaintext only; plans refuse arms that would connect to one over TLS.
    let start = |ends: Ends<'_>, name: &str, flags: &[(String, String)]| -> Result<OriginProcess, RunError> {
        let Some(application) = &plan.application else { return start_origin(ends, name, &[]) };
        let started = ends.at_servers(false, || {
            application.start(setting.folder, ends.listening_origin(), flags, &log(name), processors)
        });
        Ok(started??)
    };
    let shared = Ends { link, network: None };
    let mut all = Vec::new();
    let changes = plan.timeline.as_ref().is_some_and(Timeline::changes_origins);
    for number in 0..plan.shared_origins() {
        let file = default_file(setting, number);
        let mut flags: Vec<OsString> = Vec::new();
        if changes {
            fs::write(&file, "").map_err(|source| RunError::File { path: file.clone(), source })?;
            flags.extend(["--default-file".into(), file.into()]);
        }
        let name = format!("origin-{}", number + 1);
        // Plans refuse events that would change an application.
        all.push(if changes { start_origin(shared, &name, &flags)? } else { start(shared, &name, &[])? });
    }
    let http = all.iter().map(|origin| origin.address).collect();
    let mut own = BTreeMap::new();
    for (number, arm) in plan.arms.iter().enumerate() {
        if arm.has_own_origins() {
            let flags = arm.application();
            let ends = Ends::of(link, networks, number);
            let name = |upstream: usize| match upstream {
                1 => format!("origin-{}", arm.folder(0)),
                _ => format!("origin-{}-{upstream}", arm.folder(0)),
            };
            let origins = (1..=arm.upstreams).map(|upstream| start(ends, &name(upstream), &flags));
            let origins = origins.collect::<Result<Vec<_>, RunError>>()?;
            own.insert(arm.id.clone(), origins.iter().map(|origin| origin.address).collect());
            all.extend(origins);
        }
    }
    let mut tcp = None;
    if plan.arms.iter().any(|arm| arm.conditions.protocol == Protocol::Tcp) {
        let bytes = USUAL_BYTES.to_string();
        let size = format!("size={bytes}");
        let flags = ["--tcp-request-size", &bytes, "--default", &size].map(OsString::from);
        let origin = start_origin(shared, TCP, &flags)?;
        tcp = Some(origin.address);
        all.push(origin);
    }
    let mut given = None;
    if plan.arms.iter().any(|arm| arm.chain.is_given()) {
        let origin = start_origin(shared, GIVEN, &[])?;
        given = Some(origin.address);
        all.push(origin);
    }
    Ok((all, Origins { http, tcp, given, own }))
}
