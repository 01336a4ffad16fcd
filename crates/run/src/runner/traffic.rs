//! Traffic from the generator to an arm: requests, and TLS settings.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hoptax_functions::Tls;
use hoptax_load::{ClientConfig, RequestSpec, Target, Traffic};
use hoptax_plan::plan::{Arm, Load, Plan, USUAL_BYTES};
use hoptax_plan::request::{Request, expected_statuses};
use hoptax_result::Answer;
use hoptax_subject::lab::{GENERATOR, Lab};
use hoptax_wire::tls::{
    ClientSecurity, Identity, SetupError, Versions, certificates_from_pem, client_config,
};

use super::ArmError;

/// Timeout of connections and requests.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// The requests of an arm under a load. `answer` is its first answer, if it was tried.
pub(super) fn traffic(
    plan: &Plan,
    arm: &Arm,
    load: &Load,
    address: SocketAddr,
    lab: Option<&Lab>,
    answer: Option<&Answer>,
) -> Result<Traffic, ArmError> {
    let request = Request::new(plan, arm, &address.to_string());
    let given_tls = arm.request.as_ref().and_then(|request| request.tls.as_ref());
    let target = Target::from_spec(&RequestSpec {
        url: &request.url,
        method: &request.method,
        headers: request.headers,
        body: request.body,
        protocol: Some(request.protocol),
        server_name: given_tls.and_then(|tls| tls.server_name.as_deref()),
        ..RequestSpec::default()
    })?;
    let mut traffic = Traffic::from(target);
    traffic.set_streams(1, USUAL_BYTES);
    traffic.expectation.statuses = expected_statuses(arm, load, answer);
    let Some(lab) = lab else { return Ok(traffic) };
    let own = ClientSecurity { resumes: plan.resumes(load), ..ClientSecurity::default() };
    let alpn = traffic.alpn().map(<[u8]>::to_vec);
    if let Some(tls) = given_tls {
        // The configuration chooses version and group. Its filter chain may depend on the protocol that a client offers.
        let of_chain = tls.application_protocols.first().map(|protocol| protocol.clone().into_bytes());
        let own = ClientSecurity { alpn: of_chain.or(alpn), ..own };
        traffic.set_tls(&generator_security(lab, tls.presents_certificate, own)?);
    } else if let Some(security) = arm.caller_security() {
        // The same settings as for its proxies, with a single version and group, so that nothing is negotiated.
        let group = arm.key_exchange_group().unwrap_or_default();
        let (versions, groups) = (Versions::Only13, vec![group.registered_name().to_owned()]);
        let own = ClientSecurity { versions, groups, alpn, ..own };
        traffic.set_tls(&generator_security(lab, security == Tls::Mtls, own)?);
    }
    Ok(traffic)
}

impl From<SetupError> for ArmError {
    fn from(error: SetupError) -> Self {
        Self::Security(error.to_string())
    }
}

fn read(path: PathBuf) -> Result<Vec<u8>, ArmError> {
    fs::read(path).map_err(|error| ArmError::Security(error.to_string()))
}

/// TLS settings of the generator, which trusts the lab and may present a certificate from it. The other settings are those of `own`.
fn generator_security(
    lab: &Lab,
    presents_certificate: bool,
    own: ClientSecurity,
) -> Result<Arc<ClientConfig>, ArmError> {
    let identity = || -> Result<Identity, ArmError> {
        Ok(Identity::from_pem(&read(lab.certificate(GENERATOR))?, &read(lab.key(GENERATOR))?)?)
    };
    Ok(client_config(ClientSecurity {
        authorities: certificates_from_pem(&read(lab.authority())?)?,
        identity: presents_certificate.then(identity).transpose()?,
        verifies_once: true,
        ..own
    })?)
}
