//! The requests of an arm, and the TLS settings of the generator.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hoptax_functions::{KeyExchangeGroup, REQUEST_PATH, Tls};
use hoptax_load::{self, ClientConfig, RequestSpec, Target, Traffic};
use hoptax_subject::lab::{GENERATOR, Lab};
use hoptax_wire::tls::{
    ClientSecurity, Identity, SetupError, Versions, certificates_from_pem, client_config,
};

use serde_json::json;

use super::ArmError;
use crate::file::{Caller, Protocol};
use crate::plan::{Arm, Load, Plan, USUAL_BYTES};
use crate::provenance::sha256;

/// The gRPC method that is called: the origin's echo.
const ECHO: &str = "/hoptax.echo.v1.Echo/Unary";

/// The requests of an arm under a load.
pub(super) fn traffic(
    plan: &Plan,
    arm: &Arm,
    load: &Load,
    address: SocketAddr,
    lab: Option<&Lab>,
) -> Result<Traffic, ArmError> {
    let request = Request::of(plan, arm, &address.to_string());
    let target = Target::from_spec(&RequestSpec {
        url: &request.url,
        method: request.method,
        headers: request.headers,
        body: request.body,
        protocol: Some(request.protocol),
        ..RequestSpec::default()
    })?;
    let mut traffic = Traffic::from(target);
    traffic.set_streams(1, USUAL_BYTES);
    traffic.expectation.statuses.clone_from(&load.expect);
    if let (Some(lab), Some(security)) = (lab, arm.caller_security()) {
        let is_mutual = security == Tls::Mtls;
        let group = arm.key_exchange_group().unwrap_or_default();
        traffic.set_tls(&generator_security(lab, traffic.alpn(), (is_mutual, plan.resumes(load)), group)?);
    }
    Ok(traffic)
}

/// The repeated request of an arm.
struct Request {
    url: String,
    method: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    protocol: hoptax_load::Protocol,
}

impl Request {
    /// The request of an arm to `authority`.
    fn of(plan: &Plan, arm: &Arm, authority: &str) -> Self {
        let conditions = &arm.conditions;
        let query = conditions.query().map_or_else(String::new, |query| format!("?{query}"));
        let (scheme, path, protocol) = match (conditions.protocol, arm.caller_security().is_some()) {
            (Protocol::Http1, false) => ("http", REQUEST_PATH, hoptax_load::Protocol::Http1),
            (Protocol::Http1, true) if arm.has_quic_callers() => {
                ("https", REQUEST_PATH, hoptax_load::Protocol::Http3)
            }
            (Protocol::Http1, true) => ("https", REQUEST_PATH, hoptax_load::Protocol::Http1),
            (Protocol::Http2, false) => ("http", REQUEST_PATH, hoptax_load::Protocol::Http2),
            (Protocol::Http2, true) => ("https", REQUEST_PATH, hoptax_load::Protocol::Http2),
            (Protocol::Grpc, false) => ("grpc", ECHO, hoptax_load::Protocol::Grpc),
            (Protocol::Grpc, true) => ("grpcs", ECHO, hoptax_load::Protocol::Grpc),
            (Protocol::WebSocket, false) => ("ws", REQUEST_PATH, hoptax_load::Protocol::WebSocket),
            (Protocol::WebSocket, true) => ("wss", REQUEST_PATH, hoptax_load::Protocol::WebSocket),
            (Protocol::Tcp, false) => ("tcp", "", hoptax_load::Protocol::Tcp),
            (Protocol::Tcp, true) => ("tls", "", hoptax_load::Protocol::Tcp),
        };
        let message = || conditions.body.clone().unwrap_or_else(|| vec![b'x'; USUAL_BYTES as usize]);
        let body = match conditions.protocol {
            Protocol::Http1 | Protocol::Http2 => conditions.body.clone().unwrap_or_default(),
            Protocol::Grpc => framed(&message()),
            Protocol::WebSocket | Protocol::Tcp => message(),
        };
        let of_study = plan.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        Self {
            url: format!("{scheme}://{authority}{path}{query}"),
            method: if conditions.body.is_some() { "POST" } else { "GET" },
            headers: of_study.chain(conditions.all_headers()).collect(),
            body,
            protocol,
        }
    }
}

/// The hash of the requests of an arm under a load, independent of the address. Of these, callers in PHP send only the
/// URL.
pub(crate) fn requests_sha256(plan: &Plan, arm: &Arm, load: &Load) -> String {
    let Request { url, method, headers, body, protocol } = Request::of(plan, arm, "ADDRESS");
    let parts = match load.caller {
        Caller::Hoptax => json!([protocol.as_str(), method, url, headers, body]),
        Caller::Php => json!(["php", url]),
    };
    sha256(parts.to_string().as_bytes())
}

/// A gRPC message frame: the uncompressed flag, the length in four bytes, and the message.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

/// TLS settings of the generator: as those of its proxies, with a single version and group, so that nothing is
/// negotiated.
fn generator_security(
    lab: &Lab,
    alpn: Option<&[u8]>,
    (is_mutual, resumes): (bool, bool),
    group: KeyExchangeGroup,
) -> Result<Arc<ClientConfig>, ArmError> {
    let read = |path: PathBuf| fs::read(path).map_err(|error| ArmError::Security(error.to_string()));
    let refused = |error: SetupError| ArmError::Security(error.to_string());
    let identity = Identity::from_pem(&read(lab.certificate(GENERATOR))?, &read(lab.key(GENERATOR))?);
    client_config(ClientSecurity {
        authorities: certificates_from_pem(&read(lab.authority())?).map_err(refused)?,
        identity: Some(identity.map_err(refused)?).filter(|_| is_mutual),
        verifies_once: true,
        versions: Versions::Only13,
        groups: vec![group.registered_name().to_owned()],
        resumes,
        alpn: alpn.map(<[u8]>::to_vec),
        ..ClientSecurity::default()
    })
    .map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grpc_message_has_a_length_prefix() {
        assert_eq!(framed(b"abc"), [0, 0, 0, 0, 3, b'a', b'b', b'c']);
        assert_eq!(framed(&[b'x'; 300])[..5], [0, 0, 0, 1, 44]);
    }
}
