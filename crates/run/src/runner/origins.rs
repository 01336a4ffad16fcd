//! The processes behind the proxies of a round: the origins, and the companion that functions call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use hoptax_functions::Tls;
use hoptax_host::link::Link;
use hoptax_plan::file::Protocol;
use hoptax_plan::plan::{Arm, Plan, Timeline, USUAL_BYTES};
use hoptax_subject::application::Application;
use hoptax_subject::lab::{Lab, ORIGIN};
use hoptax_subject::origin::OriginProcess;

use super::ends::{Ends, Networks};
use super::{RunError, Setting};

/// The name of the plain TCP origins.
const TCP: &str = "origin-tcp";
/// The name of the origin behind given configurations.
const GIVEN: &str = "origin-given";

/// The addresses of the origins.
pub(super) struct Origins {
    /// Addresses of each application that several arms share. The entry without an application is the origin of HTTP and gRPC.
    shared: Vec<(Option<Application>, Vec<SocketAddr>)>,
    /// Plain TCP origins, if an arm uses TCP.
    tcp: Vec<SocketAddr>,
    /// The origin behind given configurations, if an arm has one.
    given: Option<SocketAddr>,
    /// Origins of single arms, which have their own flags or run in the network of the arm, by the id of the arm.
    own: BTreeMap<String, Vec<SocketAddr>>,
}

impl Origins {
    /// The origins behind an arm.
    pub(super) fn behind(&self, arm: &Arm) -> Vec<SocketAddr> {
        if let Some(own) = self.own.get(&arm.id) {
            return own.clone();
        }
        if arm.chain.is_given() {
            return self.given.into_iter().collect();
        }
        let application = arm.application();
        let shared = || self.shared.iter().find(|(other, _)| other.as_ref() == application);
        let all = match arm.conditions.protocol {
            Protocol::Tcp => self.tcp.as_slice(),
            _ => shared().map_or(&[][..], |(_, addresses)| addresses),
        };
        all.iter().take(arm.upstreams).copied().collect()
    }
}

/// Starts the companion: an origin, on the processors of the origins. Proxies may fetch the certificates of the lab from it, and
/// given configurations may call it over TLS, with a certificate if they have one.
pub(super) fn start_companion(
    plan: &Plan,
    setting: &Setting<'_>,
    link: Option<&Link>,
    lab: Option<&Lab>,
) -> Result<OriginProcess, RunError> {
    let log = setting.directory.join("companion.log");
    let processors =
        if link.is_some() { setting.placement.proxy.as_slice() } else { setting.placement.origin() };
    let ends = Ends { link, network: None };
    let secrets = lab.map(|lab| ["--secrets".into(), lab.folder().into()]);
    let clients = ClientCertificates::behind_given(plan.presents_certificate());
    let tls = lab.map(|lab| tls_flags(lab, clients));
    let flags: Vec<OsString> = secrets.into_iter().flatten().chain(tls.into_iter().flatten()).collect();
    Ok(OriginProcess::start(setting.program, ends.listening_origin(), &flags, &log, processors)?)
}

/// The file with the default response of the origin with this index. Events change the response there.
pub(super) fn default_file(setting: &Setting<'_>, number: usize) -> PathBuf {
    setting.directory.join(format!("origin-{}.default", number + 1))
}

/// Policy of an origin for certificates of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// No certificate is requested.
    Ignored,
    /// Requested, because some clients have one.
    Requested,
    /// Clients without one are refused.
    Required,
}

impl ClientCertificates {
    /// Returns the policy for servers behind given configurations. Some clusters present a certificate and others do not, so none is
    /// required.
    pub fn behind_given(presents_certificate: bool) -> Self {
        if presents_certificate { Self::Requested } else { Self::Ignored }
    }
}

/// The flags of an origin that serves TLS.
pub fn tls_flags(lab: &Lab, clients: ClientCertificates) -> Vec<OsString> {
    let mut flags: Vec<OsString> =
        vec!["--cert".into(), lab.certificate(ORIGIN).into(), "--key".into(), lab.key(ORIGIN).into()];
    if clients != ClientCertificates::Ignored {
        flags.extend(["--client-ca".into(), lab.authority().into()]);
    }
    if clients == ClientCertificates::Requested {
        flags.push("--accept-anonymous-clients".into());
    }
    flags
}

/// Starts the origins and the applications of all arms. Each application gets as many processes as the arm with most upstreams needs; other
/// arms use the first of them. Arms with a network have origins in it. Plain TCP has separate origins, because its first byte does not
/// distinguish it from other protocols.
pub(super) fn start_origins(
    plan: &Plan,
    setting: &Setting<'_>,
    link: Option<&Link>,
    networks: &Networks,
    lab: Option<&Lab>,
) -> Result<(Vec<OriginProcess>, Origins), RunError> {
    let is_mutual = plan.arms.iter().any(|arm| arm.origin_security() == Some(Tls::Mtls));
    // The two ends of a link are two machines. The far machine has the processors that the proxies have without a link.
    let processors =
        if link.is_some() { setting.placement.proxy.as_slice() } else { setting.placement.origin() };
    let log = |name: &str| setting.directory.join(format!("{name}.log"));
    let start_origin = |ends: Ends<'_>, name: &str, more: &[OsString]| -> Result<OriginProcess, RunError> {
        let clients = match name {
            GIVEN => ClientCertificates::behind_given(plan.presents_certificate()),
            _ if is_mutual => ClientCertificates::Required,
            _ => ClientCertificates::Ignored,
        };
        let secured = lab.map_or_else(Vec::new, |lab| tls_flags(lab, clients));
        let more: Vec<OsString> = more.iter().cloned().chain(secured).collect();
        let started = ends.at_servers(false, || {
            OriginProcess::start(setting.program, ends.listening_origin(), &more, &log(name), processors)
        });
        Ok(started??)
    };
    // Applications serve plaintext only; plans refuse arms that would connect to one over TLS.
    let start_application = |application: &Application, ends: Ends<'_>, name: &str, arm: Option<&Arm>| {
        let flags = arm.map(Arm::application_flags).unwrap_or_default();
        let started = ends.at_servers(false, || {
            application.start(setting.folder, ends.listening_origin(), &flags, &log(name), processors)
        });
        Ok::<_, RunError>(started??)
    };
    let here = Ends { link, network: None };
    let mut all: Vec<OriginProcess> = Vec::new();
    let mut shared = Vec::new();
    let changes = plan.timeline.as_ref().is_some_and(Timeline::changes_origins);
    for (application, count) in plan.shared_applications() {
        let before = all.len();
        for _ in 0..count {
            let number = all.len();
            let name = format!("origin-{}", number + 1);
            let file = default_file(setting, number);
            let mut flags: Vec<OsString> = Vec::new();
            if changes {
                fs::write(&file, "").map_err(|source| RunError::File { path: file.clone(), source })?;
                flags.extend(["--default-file".into(), file.into()]);
            }
            all.push(match application {
                Some(application) => start_application(application, here, &name, None)?,
                None => start_origin(here, &name, &flags)?,
            });
        }
        let addresses = all.iter().skip(before).map(|origin| origin.address).collect();
        shared.push((application.cloned(), addresses));
    }
    let bytes = USUAL_BYTES.to_string();
    let size = format!("size={bytes}");
    let of_tcp = ["--tcp-request-size", &bytes, "--default", &size].map(OsString::from);
    let mut own = BTreeMap::new();
    for (number, arm) in plan.arms.iter().enumerate() {
        if arm.has_own_origins() {
            let ends = Ends::around_arm(link, networks, number);
            let name = |upstream: usize| match upstream {
                1 => format!("origin-{}", arm.folder(0)),
                _ => format!("origin-{}-{upstream}", arm.folder(0)),
            };
            let flags = if arm.conditions.protocol == Protocol::Tcp { of_tcp.as_slice() } else { &[] };
            let origins = (1..=arm.upstreams).map(|upstream| match arm.application() {
                Some(application) => start_application(application, ends, &name(upstream), Some(arm)),
                None => start_origin(ends, &name(upstream), flags),
            });
            let origins = origins.collect::<Result<Vec<_>, RunError>>()?;
            own.insert(arm.id.clone(), origins.iter().map(|origin| origin.address).collect());
            all.extend(origins);
        }
    }
    let mut tcp = Vec::new();
    for number in 1..=plan.tcp_origins() {
        let origin = start_origin(here, &format!("{TCP}-{number}"), &of_tcp)?;
        tcp.push(origin.address);
        all.push(origin);
    }
    let mut given = None;
    if plan.arms.iter().any(|arm| arm.chain.is_given()) {
        let origin = start_origin(here, GIVEN, &[])?;
        given = Some(origin.address);
        all.push(origin);
    }
    Ok((all, Origins { shared, tcp, given, own }))
}

#[cfg(test)]
mod tests {
    use hoptax_subject::lab::PeerNames;

    use super::*;

    #[test]
    fn an_origin_asks_its_clients_for_certificates_only_if_they_may_have_some() {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::create(folder.path(), [], &PeerNames::default()).unwrap();
        for (clients, requests, accepts_anonymous) in [
            (ClientCertificates::Ignored, false, false),
            (ClientCertificates::Requested, true, true),
            (ClientCertificates::Required, true, false),
        ] {
            let flags = tls_flags(&lab, clients);
            let has = |flag: &str| flags.iter().any(|other| other == flag);
            assert!(has("--cert"));
            assert_eq!(
                (has("--client-ca"), has("--accept-anonymous-clients")),
                (requests, accepts_anonymous),
                "{flags:?}"
            );
        }
    }
}
