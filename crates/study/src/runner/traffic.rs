//! What the generator sends to an arm, and how it secures it.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hoptax_functions::{REQUEST_PATH, Tls};
use hoptax_load::{Asked, ClientConfig, Speak, Target, Traffic};
use hoptax_subject::lab::{GENERATOR, Lab};
use hoptax_wire::tls::{ClientSecurity, Identity, SetupError, certificates_from_pem, client_config};

use super::ArmError;
use crate::file::Protocol;
use crate::plan::{Arm, Load, Plan, USUAL_BYTES};

/// The call of gRPC that is made: the origin's echo.
const ECHO: &str = "/hoptax.echo.v1.Echo/Unary";

/// The requests of an arm under a load.
pub(super) fn traffic(
    plan: &Plan,
    arm: &Arm,
    load: &Load,
    address: SocketAddr,
    lab: Option<&Lab>,
) -> Result<Traffic, ArmError> {
    let conditions = &arm.conditions;
    let query = conditions.query().map_or_else(String::new, |query| format!("?{query}"));
    let is_secure = arm.subject.is_secure() && arm.subject.position.links().first() == Some(&true);
    let lab = lab.filter(|_| is_secure || arm.secured().downstream.is_some());
    let is_mutual = arm.subject.mtls || arm.secured().downstream == Some(Tls::Mtls);
    let (scheme, path, protocol) = match (conditions.protocol, lab.is_some()) {
        (Protocol::Http1, false) => ("http", REQUEST_PATH, Speak::Http1),
        (Protocol::Http1, true) => ("https", REQUEST_PATH, Speak::Http1),
        (Protocol::Http2, false) => ("http", REQUEST_PATH, Speak::Http2),
        (Protocol::Http2, true) => ("https", REQUEST_PATH, Speak::Http2),
        (Protocol::Grpc, false) => ("grpc", ECHO, Speak::Grpc),
        (Protocol::Grpc, true) => ("grpcs", ECHO, Speak::Grpc),
        (Protocol::WebSocket, false) => ("ws", REQUEST_PATH, Speak::WebSocket),
        (Protocol::WebSocket, true) => ("wss", REQUEST_PATH, Speak::WebSocket),
        (Protocol::Tcp, false) => ("tcp", "", Speak::Tcp),
        (Protocol::Tcp, true) => ("tls", "", Speak::Tcp),
    };
    let message = || conditions.body.clone().unwrap_or_else(|| vec![b'x'; USUAL_BYTES as usize]);
    let body = match conditions.protocol {
        Protocol::Http1 | Protocol::Http2 => conditions.body.clone().unwrap_or_default(),
        Protocol::Grpc => framed(&message()),
        Protocol::WebSocket | Protocol::Tcp => message(),
    };
    let target = Target::asked(&Asked {
        url: &format!("{scheme}://{address}{path}{query}"),
        method: if conditions.body.is_some() { "POST" } else { "GET" },
        headers: plan
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .chain(conditions.all_headers())
            .collect(),
        body,
        protocol: Some(protocol),
        ..Asked::default()
    })?;
    let mut traffic = Traffic::from(target);
    traffic.set_streams(1, USUAL_BYTES);
    traffic.expectation.statuses.clone_from(&load.expect);
    if let Some(lab) = lab {
        traffic.set_tls(&generator_security(lab, traffic.alpn(), is_mutual, plan.resumes(load))?);
    }
    Ok(traffic)
}

/// A message as gRPC frames it: not compressed, and its length in four bytes.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

/// How the generator speaks TLS.
fn generator_security(
    lab: &Lab,
    alpn: Option<&[u8]>,
    is_mutual: bool,
    resumes: bool,
) -> Result<Arc<ClientConfig>, ArmError> {
    let read = |path: PathBuf| fs::read(path).map_err(|error| ArmError::Security(error.to_string()));
    let refused = |error: SetupError| ArmError::Security(error.to_string());
    let identity = Identity::from_pem(&read(lab.certificate(GENERATOR))?, &read(lab.key(GENERATOR))?);
    client_config(ClientSecurity {
        authorities: certificates_from_pem(&read(lab.authority())?).map_err(refused)?,
        identity: Some(identity.map_err(refused)?).filter(|_| is_mutual),
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
    fn a_message_of_grpc_says_its_length() {
        assert_eq!(framed(b"abc"), [0, 0, 0, 0, 3, b'a', b'b', b'c']);
        assert_eq!(framed(&[b'x'; 300])[..5], [0, 0, 0, 1, 44]);
    }
}
