//! The request that callers repeat to an arm, and the statuses that they expect of it.

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_functions::REQUEST_PATH;
use hoptax_load::Content;
use hoptax_result::Answer;
use hoptax_subject::digest::sha256;
use serde_json::json;

use crate::file::Protocol;
use crate::plan::{Arm, Load, Plan, USUAL_BYTES};

/// The gRPC method that is called: the origin's echo.
const ECHO: &str = "/hoptax.echo.v1.Echo/Unary";

/// The expected statuses of responses of an arm; all below 400 if empty. The load states them; if it does not, and the user gave the
/// configuration or the server of the arm, they are those of its first answer.
pub fn expected_statuses(arm: &Arm, load: &Load, answer: Option<&Answer>) -> Vec<u16> {
    match answer.filter(|_| arm.request.is_some()) {
        Some(answer) if load.expect.is_empty() => answer.statuses.keys().copied().collect(),
        _ => load.expect.clone(),
    }
}

/// The repeated request of an arm.
pub struct Request {
    /// Its URL.
    pub url: String,
    /// Its method.
    pub method: String,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body; a framed message for gRPC.
    pub body: Vec<u8>,
    /// The protocol in which it is sent.
    pub protocol: hoptax_load::Protocol,
}

impl Request {
    /// The request of an arm to `authority`.
    pub fn new(plan: &Plan, arm: &Arm, authority: &str) -> Self {
        if let Some(given) = &arm.request {
            return Self::through_given(arm, given, authority);
        }
        let conditions = &arm.conditions;
        let query = conditions.query().map_or_else(String::new, |query| format!("?{query}"));
        let is_secure = arm.caller_security().is_some();
        let protocol = match conditions.protocol {
            Protocol::Http1 if is_secure && arm.has_quic_callers() => hoptax_load::Protocol::Http3,
            other => other.of_load(),
        };
        let scheme = protocol.usual_scheme(is_secure);
        let message = || conditions.body.clone().unwrap_or_else(|| vec![b'x'; USUAL_BYTES as usize]);
        let (path, body) = match protocol.content() {
            Content::Requests => (REQUEST_PATH, conditions.body.clone().unwrap_or_default()),
            Content::Calls => (ECHO, framed(&message())),
            Content::Messages => (REQUEST_PATH, message()),
            Content::Bytes => ("", message()),
        };
        let of_study = plan.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        Self {
            url: format!("{scheme}://{authority}{path}{query}"),
            method: if conditions.body.is_some() { "POST" } else { "GET" }.to_owned(),
            headers: of_study.chain(conditions.all_headers()).collect(),
            body,
            protocol,
        }
    }

    /// The request through a given configuration: its own, with the additions of the conditions and the functions of
    /// the arm. Headers that functions of other arms need are left out, since they may select another route.
    fn through_given(arm: &Arm, given: &DerivedRequest, authority: &str) -> Self {
        let conditions = &arm.conditions;
        let query = conditions.query().map_or_else(String::new, |query| {
            let join = if given.path.contains('?') { '&' } else { '?' };
            format!("{join}{query}")
        });
        let scheme = if given.tls.is_some() { "https" } else { "http" };
        let host = ("host".to_owned(), given.host.clone());
        let own: Vec<(String, String)> = [host].into_iter().chain(given.headers.clone()).collect();
        let of_functions = arm.functions.headers().into_iter().chain(conditions.all_headers());
        let of_functions: Vec<(String, String)> =
            of_functions.filter(|(name, _)| own.iter().all(|(other, _)| other != name)).collect();
        Self {
            url: format!("{scheme}://{authority}{}{query}", given.path),
            method: given.method.clone(),
            headers: own.into_iter().chain(of_functions).collect(),
            body: conditions.body.clone().unwrap_or_default(),
            // Plans refuse protocols other than HTTP.
            protocol: conditions.protocol.of_load(),
        }
    }
}

/// The hash of the requests of an arm under a load, independent of the address. Of these, other callers get only the
/// URL.
pub fn requests_sha256(plan: &Plan, arm: &Arm, load: &Load) -> String {
    let Request { url, method, headers, body, protocol } = Request::new(plan, arm, "ADDRESS");
    let parts = match &load.caller {
        None => json!([protocol.as_str(), method, url, headers, body]),
        Some(caller) => json!([caller.name(), url]),
    };
    sha256(parts.to_string().as_bytes())
}

/// A gRPC message frame: the uncompressed flag, the length in four bytes, and the message.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0], length.as_slice(), message].concat()
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
