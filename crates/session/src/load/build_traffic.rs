//! Builds the traffic of a load from URLs, bodies and request files.

use hoptax_load::{
    Connect, Content, Dial, Expectation, MessageTimes, Protocol, RequestSpec, Resolver, Sources, Target,
    Traffic, negotiate, without_user,
};
use hoptax_result::DataPlan;
use hoptax_wire::grpc::framed;
use hoptax_wire::proto::Services;

use super::data::Table;
use super::requests::{Listed, Request, made_of_all};
use super::{
    Body, Data, DataOrder, GivenUrl, Load, Requests, Servers, ServiceSource, TimedMessages, reflection,
    requests,
};
use crate::failure::Failure;
use crate::tls::ClientTls;
use crate::update::{Say, Update};

/// Default body size of protocols whose requests are never empty, bytes.
const DEFAULT_BYTES: usize = 64;

/// The traffic of a load in the form that the engine sends. If the load states no protocol, the server chooses one.
pub(super) fn traffic_of(load: &Load, say: Say<'_>) -> Result<Traffic, Failure> {
    let Load { requests: wanted, servers, connections, tls, .. } = load;
    let (resolver, dial) = (resolver(servers), dial(servers)?);
    let services = match &wanted.services {
        Some(ServiceSource::Proto(file)) => Some(Services::read(file).map_err(Failure::bad_input)?),
        Some(ServiceSource::Reflection) => Some(reflection::services(load, &resolver, &dial)?),
        None => None,
    };
    let target = |protocol: Option<Protocol>, request: &Request| {
        let spec = |body| RequestSpec {
            url: &request.url,
            method: &request.method,
            headers: request.headers.clone(),
            body,
            protocol,
            deadline: Some(wanted.timeout),
            server_name: tls.server_name.as_deref(),
            resolver: Some(&resolver),
        };
        let body = request.body.clone();
        let target = Target::from_spec(&spec(body.clone())).map_err(|error| error.to_string())?;
        // A request of a file has a path before its body.
        if target.protocol.content() == Content::Bytes && wanted.file.is_none() && target.path() != "/" {
            let title = target.protocol.title();
            return Err(format!("`{}` has a path, which {title} does not send: remove it", target.url));
        }
        match target.protocol.content() {
            Content::Calls => {
                let message = message(services.as_ref(), target.path(), wanted.messages, body)?;
                // A bidirectional call repeats its message by itself.
                let is_conversation = wanted.timed == Some(TimedMessages::Both);
                let times = if is_conversation { 1 } else { wanted.messages as usize };
                Target::from_spec(&spec(framed(&message).repeat(times)))
            }
            Content::Messages | Content::Bytes if body.is_empty() => {
                Target::from_spec(&spec(vec![b'x'; DEFAULT_BYTES]))
            }
            Content::Requests | Content::Messages | Content::Bytes => return Ok(target),
        }
        .map_err(|error| error.to_string())
    };
    let requests = listed(wanted)?;
    check_weights(requests.len(), &wanted.weights)?;
    let is_cookie = |(name, _): &(String, String)| name.eq_ignore_ascii_case("cookie");
    let has_cookies =
        requests.iter().flat_map(|one| &one.request).any(|request| request.headers.iter().any(is_cookie));
    let read = |data: &Data| Table::read(&data.file).map(|table| (table, data.order));
    let rows = wanted.data.as_ref().map(read).transpose()?;
    let in_protocol = |protocol: Option<Protocol>| -> Result<Traffic, Failure> {
        let (requests, target) = (requests.clone(), |request: &Request| target(protocol, request));
        if let Some((table, order)) = &rows {
            return filled(table, *order, requests, target, &wanted.weights);
        }
        let targets = made_of_all(requests, |request| target(&request))?;
        Ok(match wanted.weights.as_slice() {
            [] => Traffic::in_turn(targets),
            weights => Traffic::by_weight(targets, weights),
        })
    };
    let mut traffic = in_protocol(wanted.protocol)?;
    if servers.resolve_every.is_some() && !traffic.has_refreshed_names() {
        return Err(Failure::bad_input(
            "`--resolve-every` has no name to look up: the hosts are addresses, or --resolve sets their addresses; remove it, or use a \
             host name in the URL",
        ));
    }
    if wanted.protocol.is_none()
        && let Some(first) = traffic.negotiable()
    {
        let protocol = negotiated(first, &dial, traffic.alpn(), load, say)?;
        if protocol != traffic.protocol() {
            traffic = in_protocol(Some(protocol))?;
        }
    }
    set_dial(&mut traffic, dial)?;
    traffic.refresh = resolver.refresh();
    traffic.expectation = wanted.expect.iter().fold(Expectation::default(), Expectation::and);
    check_protocol(&traffic, connections.streams)?;
    check_options(wanted, traffic.protocol())?;
    traffic.messages = timed_messages(wanted, traffic.protocol())?;
    if wanted.keeps_cookies {
        keep_cookies(&mut traffic, has_cookies)?;
    }
    traffic.unstated = unstated(load);
    traffic.set_streams(connections.streams, wanted.response_bytes);
    if traffic.is_secure() {
        traffic.set_tls(&tls.config(traffic.alpn())?);
    } else {
        check_no_tls(tls, traffic.protocol())?;
    }
    Ok(traffic)
}

/// Refuses TLS options of a load without TLS: who gives one expects that TLS is measured.
fn check_no_tls(tls: &ClientTls, protocol: Protocol) -> Result<(), Failure> {
    let scheme = match protocol.content() {
        Content::Requests => "https",
        Content::Calls => "grpcs",
        Content::Messages => "wss",
        Content::Bytes => "tls",
    };
    match tls.first_option() {
        Some(option) => Err(Failure::bad_input(format!(
            "`{option}` is for TLS, and no URL uses it: write `{scheme}://...`, or remove {option}"
        ))),
        None => Ok(()),
    }
}

/// The properties of a load that the plan in its result does not state, in words.
fn unstated(load: &Load) -> Vec<String> {
    let Load { requests, servers, tls, account, .. } = load;
    let has_user = requests.urls.iter().any(|url| without_user(url) != **url);
    let all = [
        ("headers", !requests.headers.is_empty()),
        ("credentials", has_user),
        ("request file", requests.file.is_some()),
        ("body", requests.body != Body::Empty),
        ("protocol", requests.protocol.is_some()),
        ("addresses", !servers.resolve.is_empty() || servers.family.is_some() || servers.resolve_all),
        ("TLS options", *tls != ClientTls::default()),
        ("account", account.is_some()),
    ];
    all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name.to_owned()).collect()
}

/// The requests of the file, or one for each URL.
fn listed(wanted: &Requests) -> Result<Vec<Listed>, Failure> {
    let body = wanted.body.bytes()?;
    if let Some(path) = &wanted.file {
        let [url] = wanted.urls.as_slice() else {
            return Err(Failure::bad_input("--requests needs exactly one URL, the host of paths"));
        };
        return requests::read(path, url, wanted);
    }
    let request = |url: &GivenUrl| Request {
        url: url.to_string(),
        method: wanted.method.clone(),
        headers: wanted.headers.clone(),
        body: body.clone(),
    };
    let listed = |url| Listed { place: String::new(), request: Ok(request(url)) };
    Ok(wanted.urls.iter().map(listed).collect())
}

/// The protocol that the server of a request chooses.
///
/// If connections are opened ahead, a failed negotiation is an error, because they would fail in the same way. Connections that are opened
/// on demand may fail, and their failures are counted. After a failed negotiation they use HTTP/1.1, as with a server that chooses nothing,
/// or HTTP/2 if they have several streams, which HTTP/1.1 does not support.
fn negotiated(
    first: &Target,
    dial: &Dial,
    alpn: Option<&[u8]>,
    load: &Load,
    say: Say<'_>,
) -> Result<Protocol, Failure> {
    let security = load.tls.config(alpn)?;
    let failure = match negotiate(first, dial, &security, load.requests.timeout) {
        Ok(protocol) => return Ok(protocol),
        Err(error) => load.tls.failed(&error.into()),
    };
    if load.connections.lifetime.connect == Connect::Ahead {
        return Err(failure);
    }
    let protocol = if load.connections.streams > 1 { Protocol::Http2 } else { Protocol::Http1 };
    say(Update::Problem(&format!("cannot negotiate the protocol, using {protocol}: {failure}")));
    Ok(protocol)
}

/// Checks that one protocol suits all requests and the number of streams.
fn check_protocol(traffic: &Traffic, streams: u32) -> Result<(), Failure> {
    let protocol = traffic.protocol();
    if let Some(other) = traffic.other_protocol() {
        return Err(Failure::bad_input(format!(
            "the URLs use different protocols, {protocol} and {other}: start one load for each"
        )));
    }
    if streams > 1 && !protocol.has_streams() {
        let or = if protocol.content() == Content::Requests { ", or choose --protocol http2" } else { "" };
        return Err(Failure::bad_input(format!(
            "--streams requires HTTP/2, HTTP/3 or gRPC; a connection of {protocol} carries one request at a time: raise \
             --connections{or}"
        )));
    }
    Ok(())
}

/// Refuses options that would change nothing with a protocol.
fn check_options(wanted: &Requests, protocol: Protocol) -> Result<(), Failure> {
    let (usual, title) = (Requests::default(), protocol.title());
    let has_no_effect = if protocol.content() == Content::Bytes {
        let without =
            |option: &str| format!("{option} is not for {title}, which sends the body alone: remove it");
        [(wanted.method != usual.method, "--method"), (!wanted.headers.is_empty(), "--header")]
            .into_iter()
            .find_map(|(is_given, option)| is_given.then(|| without(option)))
    } else {
        (wanted.response_bytes != usual.response_bytes)
            .then(|| format!("--response-size is for TCP, not {title}: remove it"))
    };
    has_no_effect.map_or(Ok(()), |problem| Err(Failure::bad_input(problem)))
}

/// Returns the messages of gRPC calls that are timed.
fn timed_messages(wanted: &Requests, protocol: Protocol) -> Result<Option<MessageTimes>, Failure> {
    let messages = wanted.messages;
    Ok(match wanted.timed {
        None => None,
        Some(_) if !protocol.is_grpc() => {
            return Err(Failure::bad_input(format!("--grpc-stream is for gRPC, not {protocol}")));
        }
        Some(TimedMessages::Server) => Some(MessageTimes::Received),
        Some(TimedMessages::Client) if messages == 1 => {
            return Err(Failure::bad_input(
                "`--grpc-stream client` sends several messages: add `--messages 100`",
            ));
        }
        Some(TimedMessages::Client) => Some(MessageTimes::Sent(messages)),
        Some(TimedMessages::Both) => Some(MessageTimes::RoundTrips(messages)),
    })
}

/// Sets the network path to the servers, if the protocol supports it.
fn set_dial(traffic: &mut Traffic, dial: Dial) -> Result<(), Failure> {
    if traffic.protocol().uses_quic() {
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
    Ok(())
}

/// Makes connections keep cookies, unless requests already have some.
fn keep_cookies(traffic: &mut Traffic, has_cookies: bool) -> Result<(), Failure> {
    if traffic.protocol().content() != Content::Requests {
        return Err(Failure::bad_input(format!(
            "--cookies is for HTTP/1.1, HTTP/2 and HTTP/3, not {}",
            traffic.protocol()
        )));
    }
    if has_cookies {
        return Err(Failure::bad_input(
            "--cookies and a header `Cookie` would send two such headers: leave one of them out",
        ));
    }
    traffic.keeps_cookies = true;
    Ok(())
}

/// The resolver of host names.
fn resolver(servers: &Servers) -> Resolver {
    if servers.unix_socket.is_some() {
        return Resolver::unused();
    }
    let resolver = Resolver::new(servers.resolve.clone(), servers.family);
    let resolver = if servers.resolve_all { resolver.with_all() } else { resolver };
    match servers.resolve_every {
        Some(every) => resolver.refreshed_every(every),
        None => resolver,
    }
}

/// Returns the network path to the servers.
fn dial(servers: &Servers) -> Result<Dial, Failure> {
    Ok(Dial {
        sources: Sources::new(servers.sources.clone()).map_err(Failure::bad_input)?,
        unix_socket: servers.unix_socket.clone(),
        proxy_protocol: servers.proxy_protocol,
    })
}

/// The traffic whose requests are filled in from rows.
fn filled(
    table: &Table,
    order: DataOrder,
    requests: Vec<Listed>,
    target: impl Fn(&Request) -> Result<Target, String>,
    weights: &[f64],
) -> Result<Traffic, Failure> {
    if !weights.is_empty() && order == DataOrder::InTurn {
        return Err(Failure::bad_input(
            "--weights draws requests at random, so rows must be drawn too: add `--data-order random`, or leave out --weights",
        ));
    }
    let targets = table.targets(requests, target)?;
    let (mut traffic, order) = match order {
        DataOrder::InTurn => (Traffic::in_turn(targets), "in-turn"),
        DataOrder::Random => {
            let each =
                if weights.is_empty() { vec![1.0; targets.len()] } else { weights.repeat(table.len()) };
            (Traffic::by_weight(targets, &each), "random")
        }
    };
    traffic.data = Some(DataPlan { rows: table.len() as u32, order: order.to_owned() });
    Ok(traffic)
}

/// Refuses weights that do not match the number of URLs.
fn check_weights(urls: usize, weights: &[f64]) -> Result<(), Failure> {
    if !weights.is_empty() && weights.len() != urls {
        return Err(Failure::bad_input(format!(
            "{} URLs and {} weights: give one weight for each URL, in the same order",
            urls,
            weights.len()
        )));
    }
    if !weights.iter().all(|weight| weight.is_finite() && *weight > 0.0) {
        return Err(Failure::bad_input("weights must be above 0; remove URLs that should not be requested"));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plan_does_not_state_is_named_without_its_value() {
        let with = |url: &str, change: fn(&mut Load)| {
            let urls = vec![GivenUrl::from(url.to_owned())];
            let mut load = Load { requests: Requests { urls, ..Requests::default() }, ..Load::default() };
            change(&mut load);
            traffic_of(&load, &|_| ()).unwrap().unstated
        };
        let url = "http://127.0.0.1:1/";
        assert!(with(url, |_| ()).is_empty());
        let header = |load: &mut Load| {
            load.requests.headers = vec![("authorization".to_owned(), "secret".to_owned())];
            load.requests.body = Body::Bytes(3);
        };
        assert_eq!(with(url, header), ["headers", "body"]);
        assert_eq!(with("http://me:secret@127.0.0.1:1/", |_| ()), ["credentials"]);
        assert_eq!(with(url, |load| load.servers.resolve_all = true), ["addresses"]);
        assert_eq!(with("tls://127.0.0.1:1", |load| load.tls.trusts_all = true), ["TLS options"]);
    }

    #[test]
    fn an_option_that_would_change_nothing_is_refused_with_the_protocol() {
        let refused = |url: &str, change: fn(&mut Requests)| {
            let mut requests = Requests { urls: vec![GivenUrl::from(url.to_owned())], ..Requests::default() };
            change(&mut requests);
            let load = Load { requests, ..Load::default() };
            traffic_of(&load, &|_| ()).err().map(|failure| failure.to_string())
        };
        let (tcp, http) = ("tcp://127.0.0.1:1", "http://127.0.0.1:1/");
        let method = refused(tcp, |requests| requests.method = "POST".to_owned()).unwrap();
        assert_eq!(method, "--method is not for TCP, which sends the body alone: remove it");
        let header = |requests: &mut Requests| requests.headers = vec![("a".to_owned(), "b".to_owned())];
        assert!(refused(tcp, header).unwrap().starts_with("--header is not for TCP"));
        let path = refused("tcp://127.0.0.1:1/a", |_| ()).unwrap();
        assert_eq!(path, "`tcp://127.0.0.1:1/a` has a path, which TCP does not send: remove it");
        let size = |requests: &mut Requests| requests.response_bytes = 9;
        assert_eq!(refused(http, size).unwrap(), "--response-size is for TCP, not HTTP/1.1: remove it");
        assert_eq!((refused(tcp, size), refused(http, header)), (None, None));
        assert_eq!((refused(tcp, |_| ()), refused("tcp://127.0.0.1:1/", |_| ())), (None, None));
    }

    #[test]
    fn an_option_of_tls_is_refused_if_no_url_uses_tls() {
        let refused = |urls: &[&str], change: fn(&mut ClientTls)| {
            let urls = urls.iter().map(|url| GivenUrl::from((*url).to_owned())).collect();
            let mut load = Load { requests: Requests { urls, ..Requests::default() }, ..Load::default() };
            load.requests.protocol = Some(Protocol::Http1);
            change(&mut load.tls);
            traffic_of(&load, &|_| ()).err().map(|failure| failure.to_string())
        };
        let (plain, secure) = ("http://127.0.0.1:1/", "https://127.0.0.1:1/");
        assert_eq!(
            refused(&[plain], |tls| tls.authorities = Some("ca.pem".into())).unwrap(),
            "`--ca` is for TLS, and no URL uses it: write `https://...`, or remove --ca"
        );
        let resumption =
            [(|tls| tls.resumes = Some(false)) as fn(&mut ClientTls), |tls| tls.resumes = Some(true)];
        for change in resumption {
            assert!(refused(&[plain], change).unwrap().starts_with("`--tls-resumption` is"));
        }
        assert_eq!(refused(&[plain], |_| ()), None);
        assert_eq!(refused(&[plain, secure], |tls| tls.trusts_all = true), None);
    }
}
