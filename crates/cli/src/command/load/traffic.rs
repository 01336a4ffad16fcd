//! Builds the traffic of a load from URLs, bodies and request files.

use std::fs;

use hoptax_load::{Dial, Family, Protocol, RequestSpec, Resolver, Sources, Target, Traffic, negotiate};
use hoptax_proto::Services;
use hoptax_wire::grpc::framed;

use super::{reflection, requests};
use crate::arguments::{LoadArguments, ProtocolChoice};
use crate::exit::Failure;
use crate::security;

/// Default body size of TCP and WebSocket, which need a body, bytes.
const DEFAULT_BYTES: usize = 64;

/// Builds the traffic from the arguments. With `--protocol auto`, the server chooses the protocol.
pub(super) fn read(arguments: &LoadArguments) -> Result<Traffic, Failure> {
    let given = Given::read(arguments)?;
    let dial = given.dial.clone();
    let mut traffic = given.traffic(arguments.protocol.named())?;
    if arguments.protocol == ProtocolChoice::Auto
        && let Some(first) = traffic.negotiable()
    {
        let security = security::client(&arguments.security, traffic.alpn())?;
        let protocol = negotiate(first, &dial, &security, arguments.timeout).map_err(Failure::environment)?;
        if protocol != traffic.protocol() {
            traffic = given.traffic(Some(protocol))?;
        }
    }
    if traffic.protocol() == Protocol::Http3 {
        for (is_given, flag) in [
            (dial.unix_socket.is_some(), "--unix-socket"),
            (dial.proxy_protocol.is_some(), "--proxy-protocol"),
        ] {
            if is_given {
                return Err(Failure::bad_input(format!("{flag} requires TCP; HTTP/3 uses UDP")));
            }
        }
    }
    traffic.dial = dial;
    traffic.expectation = arguments.expect.clone().unwrap_or_default();
    if let Some(other) = traffic.other_protocol() {
        return Err(Failure::bad_input(format!(
            "the URLs use different protocols, {} and {other}: start one load for each",
            traffic.protocol()
        )));
    }
    if arguments.streams > 1 && !traffic.protocol().has_streams() {
        return Err(Failure::bad_input(format!(
            "--streams requires HTTP/2 or gRPC; a connection of {} carries one request at a time: raise --connections",
            traffic.protocol()
        )));
    }
    traffic.set_streams(arguments.streams, arguments.answer_size);
    if traffic.is_secure() {
        traffic.set_tls(&security::client(&arguments.security, traffic.alpn())?);
    }
    Ok(traffic)
}

/// The arguments of the requests, with all files read.
struct Given<'a> {
    arguments: &'a LoadArguments,
    resolver: Resolver,
    dial: Dial,
    services: Option<Services>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The requests of `--requests`.
    listed: Option<Vec<requests::Listed>>,
}

impl<'a> Given<'a> {
    fn read(arguments: &'a LoadArguments) -> Result<Self, Failure> {
        let body = body(arguments)?;
        let (resolver, dial) = (resolver(arguments), dial(arguments)?);
        let services = match &arguments.proto {
            Some(file) => Some(Services::read(file).map_err(Failure::bad_input)?),
            None if arguments.reflection => Some(reflection::services(arguments, &resolver, &dial)?),
            None => None,
        };
        let headers: Vec<_> = arguments.headers.iter().flat_map(|given| given.0.clone()).collect();
        let listed = match (&arguments.requests, arguments.urls.as_slice()) {
            (None, _) => None,
            (Some(path), [url]) => Some(requests::read(path, url, &arguments.method, &headers)?),
            (Some(_), _) => {
                return Err(Failure::bad_input("--requests needs exactly one URL, the host of paths"));
            }
        };
        Ok(Self { arguments, resolver, dial, services, headers, body, listed })
    }

    /// The requests in a protocol, by default that of each URL.
    fn traffic(&self, protocol: Option<Protocol>) -> Result<Traffic, Failure> {
        let Some(listed) = &self.listed else {
            let (method, headers) = (&self.arguments.method, &self.headers);
            let targets = all(self
                .arguments
                .urls
                .iter()
                .map(|url| self.target(protocol, url, method, headers, self.body.clone())))?;
            return weighted(targets, &self.arguments.weights);
        };
        Ok(Traffic::in_turn(all(listed.iter().map(|(place, request)| {
            let request = request.as_ref().map_err(Clone::clone)?;
            self.target(protocol, &request.url, &request.method, &request.headers, request.body.clone())
                .map_err(|error| format!("{place}: {error}"))
        }))?))
    }

    fn target(
        &self,
        protocol: Option<Protocol>,
        url: &str,
        method: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
    ) -> Result<Target, String> {
        let arguments = self.arguments;
        let asked = |body| RequestSpec {
            url,
            method,
            headers: headers.to_vec(),
            body,
            protocol,
            deadline: Some(arguments.timeout),
            server_name: arguments.security.server_name.as_deref(),
            resolver: Some(&self.resolver),
        };
        let target = Target::from_spec(&asked(body.clone())).map_err(|error| error.to_string())?;
        match target.protocol {
            Protocol::Grpc => {
                let message = message(self.services.as_ref(), target.path(), arguments.messages, body)?;
                Target::from_spec(&asked(framed(&message).repeat(arguments.messages as usize)))
            }
            Protocol::Tcp | Protocol::WebSocket if body.is_empty() => {
                Target::from_spec(&asked(vec![b'x'; DEFAULT_BYTES]))
            }
            _ => return Ok(target),
        }
        .map_err(|error| error.to_string())
    }
}

/// The resolver of host names.
fn resolver(arguments: &LoadArguments) -> Resolver {
    if arguments.unix_socket.is_some() {
        return Resolver::unused();
    }
    let family = match (arguments.ipv4, arguments.ipv6) {
        (true, _) => Some(Family::V4),
        (_, true) => Some(Family::V6),
        _ => None,
    };
    let resolver = Resolver::new(arguments.resolve.clone(), family);
    if arguments.resolve_all { resolver.with_all() } else { resolver }
}

/// How connections reach the servers.
fn dial(arguments: &LoadArguments) -> Result<Dial, Failure> {
    Ok(Dial {
        sources: Sources::new(arguments.source_addresses.clone()).map_err(Failure::bad_input)?,
        unix_socket: arguments.unix_socket.clone(),
        proxy_protocol: arguments.proxy_protocol.map(Into::into),
    })
}

/// All values, or all errors.
fn all<T>(read: impl Iterator<Item = Result<T, String>>) -> Result<Vec<T>, Failure> {
    let (mut fine, mut wrong) = (Vec::new(), Vec::new());
    for one in read {
        match one {
            Ok(one) => fine.push(one),
            Err(error) => wrong.push(error),
        }
    }
    if wrong.is_empty() { Ok(fine) } else { Err(Failure::bad_input(wrong.join("\n"))) }
}

fn weighted(targets: Vec<Target>, weights: &[f64]) -> Result<Traffic, Failure> {
    if weights.is_empty() {
        return Ok(Traffic::in_turn(targets));
    }
    if weights.len() != targets.len() {
        return Err(Failure::bad_input(format!(
            "{} URLs and {} weights: give one weight for each URL, in the same order",
            targets.len(),
            weights.len()
        )));
    }
    if !weights.iter().all(|weight| weight.is_finite() && *weight > 0.0) {
        return Err(Failure::bad_input("weights must be above 0; remove URLs that are not to be requested"));
    }
    Ok(Traffic::by_weight(targets, weights))
}

/// The message of a call: the body itself, or the body encoded from JSON by the service definition.
fn message(services: Option<&Services>, path: &str, messages: u32, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(services) = services else { return Ok(body) };
    let call = services.call(path).map_err(|error| error.to_string())?;
    if messages > 1 && !call.takes_stream() {
        return Err(format!("`{path}` accepts one message, not {messages}: remove --messages"));
    }
    let json = String::from_utf8(body).map_err(|_| "the message is not JSON: it is not UTF-8".to_owned())?;
    call.encode(&json).map_err(|error| error.to_string())
}

fn body(arguments: &LoadArguments) -> Result<Vec<u8>, Failure> {
    if let Some(path) = &arguments.body_file {
        return fs::read(path).map_err(|error| {
            Failure::bad_input(format!("cannot read the body `{}`: {error}", path.display()))
        });
    }
    if let Some(bytes) = arguments.body_size {
        return Ok(vec![b'x'; bytes as usize]);
    }
    Ok(arguments.body.clone().unwrap_or_default().into_bytes())
}
