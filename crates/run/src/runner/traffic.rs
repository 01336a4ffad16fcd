//! Traffic from the generator to an arm: requests, and TLS settings.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hoptax_bootstrap::request::RequestTls;
use hoptax_functions::{KeyExchangeGroup, Tls};
use hoptax_load::{self, ClientConfig, RequestSpec, Target, Traffic};
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
    if let (Some(lab), Some(tls)) = (lab, given_tls) {
        traffic.set_tls(&security_of_given(lab, tls, traffic.alpn(), plan.resumes(load))?);
        return Ok(traffic);
    }
    if let (Some(lab), Some(security)) = (lab, arm.caller_security()) {
        let is_mutual = security == Tls::Mtls;
        let group = arm.key_exchange_group().unwrap_or_default();
        traffic.set_tls(&generator_security(lab, traffic.alpn(), is_mutual, plan.resumes(load), group)?);
    }
    Ok(traffic)
}

/// TLS settings of the generator for a given configuration, which chooses version and group itself.
fn security_of_given(
    lab: &Lab,
    tls: &RequestTls,
    alpn: Option<&[u8]>,
    resumes: bool,
) -> Result<Arc<ClientConfig>, ArmError> {
    let identity = tls.presents_certificate.then(|| identity(lab)).transpose()?;
    // The filter chain may be selected by the protocol that a client offers.
    let of_chain = tls.application_protocols.first().map(|protocol| protocol.clone().into_bytes());
    Ok(client_config(ClientSecurity {
        authorities: certificates_from_pem(&read(lab.authority())?)?,
        identity,
        verifies_once: true,
        resumes,
        alpn: of_chain.or(alpn.map(<[u8]>::to_vec)),
        ..ClientSecurity::default()
    })?)
}

impl From<SetupError> for ArmError {
    fn from(error: SetupError) -> Self {
        Self::Security(error.to_string())
    }
}

fn read(path: PathBuf) -> Result<Vec<u8>, ArmError> {
    fs::read(path).map_err(|error| ArmError::Security(error.to_string()))
}

fn identity(lab: &Lab) -> Result<Identity, ArmError> {
    Ok(Identity::from_pem(&read(lab.certificate(GENERATOR))?, &read(lab.key(GENERATOR))?)?)
}

/// TLS settings of the generator: as those of its proxies, with a single version and group, so that nothing is
/// negotiated.
fn generator_security(
    lab: &Lab,
    alpn: Option<&[u8]>,
    is_mutual: bool,
    resumes: bool,
    group: KeyExchangeGroup,
) -> Result<Arc<ClientConfig>, ArmError> {
    Ok(client_config(ClientSecurity {
        authorities: certificates_from_pem(&read(lab.authority())?)?,
        identity: is_mutual.then(|| identity(lab)).transpose()?,
        verifies_once: true,
        versions: Versions::Only13,
        groups: vec![group.registered_name().to_owned()],
        resumes,
        alpn: alpn.map(<[u8]>::to_vec),
        ..ClientSecurity::default()
    })?)
}
