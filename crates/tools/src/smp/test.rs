//! A test configuration as loads.

use std::net::IpAddr;
use std::time::Duration;

use hoptax_load::{HostPort, Protocol as LoadProtocol, Target};

use crate::smp::document::{Client, Protocol, TestConfig, read};
use crate::smp::duration;

/// The highest rate of `hoptax load`, requests per second.
const MAX_RATE: i64 = 10_000_000;
/// Texts that `hoptax load` replaces, and SMP does not.
const PLACEHOLDERS: [&str; 2] = ["{counter}", "{random}"];

/// The load of one client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedLoad {
    /// The URLs that are requested, in turn.
    pub urls: Vec<String>,
    /// The load in words, for example `10 requests/s, 2 connections, 30m`.
    pub summary: String,
    /// Number of connections.
    pub connections: u32,
    /// Requests per second; none for a closed loop.
    pub rate: Option<f64>,
    /// Length of the record.
    pub length: Duration,
    /// The protocol, if the URLs do not state it.
    pub protocol: Option<LoadProtocol>,
    /// The method.
    pub method: &'static str,
    /// Headers, names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// Settings of the configuration without effect, each with the reason.
    pub ignored: Vec<String>,
}

impl PlannedLoad {
    /// Returns the reasons why the load is refused: its URLs that are invalid, or whose server is neither on this machine nor allowed. A
    /// name other than `localhost` may have any address, so it is not looked up.
    fn refused(&self, allowed: &[HostPort]) -> Vec<String> {
        let refused = |url: &String| {
            let HostPort { host, port } = match Target::host_and_port(url) {
                Ok(found) => found,
                Err(error) => return Some(error.to_string()),
            };
            let host = host.to_ascii_lowercase();
            let is_here =
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            let server = HostPort { host, port };
            if is_here || allowed.contains(&server) {
                return None;
            }
            let HostPort { host, port } = server;
            let place =
                if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
            Some(format!(
                "its load goes to `{place}`, which may be another machine, but a file must not choose a target by itself: allow it with \
                 `--target {place}`"
            ))
        };
        self.urls.iter().filter_map(refused).collect()
    }
}

/// The loads that a file is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// The loads of the clients that send, each with the number of its client, from 1.
    pub loads: Vec<(usize, PlannedLoad)>,
    /// Settings of the file without effect.
    pub unused: Vec<String>,
}

impl Chosen {
    /// Returns the reasons why they are refused: all targets that are neither on this machine nor allowed, before any load begins.
    pub fn refused(&self, allowed: &[HostPort]) -> Vec<String> {
        self.loads.iter().flat_map(|(_, load)| load.refused(allowed)).collect()
    }
}

/// The loads of the only test configuration in a file: those of all clients, or of the one with this number, from 1.
///
/// # Errors
/// All problems of a step.
pub fn choose(text: &str, client: Option<u32>) -> Result<Chosen, Vec<String>> {
    let file = read(text)?;
    let tests: Vec<_> = file.documents.iter().filter_map(|document| document.test.as_ref()).collect();
    let [test] = tests.as_slice() else {
        return Err(vec![format!("it has {} test configurations, but must have one", tests.len())]);
    };
    let all = plan(test)?;
    let clients = all.len();
    let is_chosen = |number: usize| client.is_none_or(|client| number == client as usize);
    let loads: Vec<_> = (1..).zip(all).filter(|(number, _)| is_chosen(*number)).collect();
    if let (Some(client), true) = (client, loads.is_empty()) {
        return Err(vec![format!("there is no client {client}: it has {clients}")]);
    }
    Ok(Chosen { loads, unused: file.unused })
}

/// The loads of a test, one for each client.
///
/// # Errors
/// All problems.
pub fn plan(test: &TestConfig) -> Result<Vec<PlannedLoad>, Vec<String>> {
    let mut problems = Vec::new();
    let length = duration::parse(&test.duration);
    if length.is_none() {
        problems.push(if test.duration.is_empty() {
            "`duration` is missing: write it as `30s` or `1h30m`".to_owned()
        } else {
            format!("`duration: {}` is not a duration above 0: write it as `30s` or `1h30m`", test.duration)
        });
    }
    if test.clients.is_empty() {
        problems.push("`clients` is empty: nothing sends a load".to_owned());
    }
    let mut loads = Vec::new();
    for (index, client) in test.clients.iter().enumerate() {
        match of_client(client) {
            Ok(mut load) => {
                load.length = length.unwrap_or_default();
                load.summary += &format!(", {}", test.duration);
                loads.push(load);
            }
            Err(more) => {
                let placed = |problem: String| format!("`clients[{index}]`: {problem}");
                problems.extend(more.into_iter().map(placed));
            }
        }
    }
    if problems.is_empty() { Ok(loads) } else { Err(problems) }
}

fn of_client(client: &Client) -> Result<PlannedLoad, Vec<String>> {
    let mut problems = Vec::new();
    let urls: Vec<String> =
        client.endpoint_urls.iter().map(|url| with_scheme(url, client.protocol)).collect();
    if urls.is_empty() {
        problems.push("`endpoint_urls` is empty: there is no target".to_owned());
    }
    if client.protocol == Protocol::Udp {
        problems.push("`protocol` is UDP, which hoptax does not send".to_owned());
    }
    if !(0..=MAX_RATE).contains(&client.rps) {
        problems.push(format!("`rps: {}` is not between 0 and {MAX_RATE}", client.rps));
    }
    let connections = u32::try_from(client.connections).ok();
    if connections.is_none() {
        problems.push(format!("`connections: {}` is not a number of connections", client.connections));
    }
    let headers = headers(client);
    for (name, value) in &headers {
        if !is_header_name(name) {
            problems.push(format!("`{name}` is not the name of a header"));
        } else if value.chars().any(char::is_control) {
            problems.push(format!(
                "the value of the header `{name}` has a line break or another control character"
            ));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // 0 is the value of an absent field.
    let connections = connections.unwrap_or_default().max(1);
    let rate = match client.rps {
        0 => "as fast as possible (closed loop)".to_owned(),
        rps => format!("{rps} requests/s (open loop)"),
    };
    let plural = if connections == 1 { "" } else { "s" };
    let has_own_method = client.body.is_empty() || client.protocol == Protocol::Tcp;
    let is_grpc = client.protocol == Protocol::Grpc && urls.iter().all(|url| url.starts_with("http"));
    let trimmed = |(name, value): (String, String)| (name, value.trim().to_owned());
    Ok(PlannedLoad {
        urls,
        summary: format!("{rate}, {connections} connection{plural}"),
        connections,
        rate: (client.rps > 0).then_some(client.rps as f64),
        length: Duration::ZERO,
        protocol: is_grpc.then_some(LoadProtocol::Grpc),
        method: if has_own_method { "GET" } else { "POST" },
        headers: headers.into_iter().map(trimmed).collect(),
        body: client.body.clone(),
        ignored: ignored(client),
    })
}

/// A URL; one without a scheme gets that of the protocol.
fn with_scheme(url: &str, protocol: Protocol) -> String {
    if url.contains("://") {
        return url.to_owned();
    }
    let scheme = match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Grpc => "grpc",
        Protocol::Unstated | Protocol::Http | Protocol::Udp => "http",
    };
    format!("{scheme}://{url}")
}

/// All headers, with those that SMP has fields for.
fn headers(client: &Client) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> =
        client.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    if !client.cookies.is_empty() {
        let pairs: Vec<String> =
            client.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        headers.push(("Cookie".to_owned(), pairs.join("; ")));
    }
    if !client.content_type.is_empty() {
        headers.push(("Content-Type".to_owned(), client.content_type.clone()));
    }
    headers
}

/// A token of RFC 9110, section 5.6.2.
fn is_header_name(name: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_token)
}

fn ignored(client: &Client) -> Vec<String> {
    let mut ignored = Vec::new();
    let mut note = |applies: bool, text: String| {
        if applies {
            ignored.push(text);
        }
    };
    let generator = client.load_generator.as_str();
    note(
        !generator.is_empty() && generator != "hoptax",
        format!(
            "`load_generator: {generator}`: hoptax sends the load, and times requests from their intended start"
        ),
    );
    note(client.internal, "`internal`: the load comes from this machine".to_owned());
    note(client.connections == 0, "`connections` is 0 or missing: one connection is used".to_owned());
    note(
        !client.ssl_certificate.is_empty(),
        "`ssl_certificate`: SMP does not say whose it is; servers are verified with the authorities of this \
         machine"
            .to_owned(),
    );
    note(
        !client.additional_options.is_empty(),
        "`additional_options`: they belong to another load generator".to_owned(),
    );
    let mut texts = client.endpoint_urls.iter().chain(client.headers.values()).chain([&client.body]);
    let has_placeholder = texts.any(|text| PLACEHOLDERS.iter().any(|one| text.contains(one)));
    note(has_placeholder, "`{counter}` and `{random}` in a text are replaced for each request".to_owned());
    ignored
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn client() -> Client {
        Client {
            load_generator: "hoptax".to_owned(),
            protocol: Protocol::Http,
            connections: 2,
            rps: 10,
            endpoint_urls: vec!["http://127.0.0.1:8080/a".to_owned(), "127.0.0.1:8080/b".to_owned()],
            ..Client::default()
        }
    }

    fn test_of(client: Client) -> TestConfig {
        TestConfig { clients: vec![client], duration: "1m30s".to_owned(), ..TestConfig::default() }
    }

    fn planned(client: Client) -> PlannedLoad {
        plan(&test_of(client)).unwrap().remove(0)
    }

    #[test]
    fn a_client_becomes_a_load() {
        let load = planned(client());
        assert_eq!(load.urls, ["http://127.0.0.1:8080/a", "http://127.0.0.1:8080/b"]);
        assert_eq!((load.connections, load.rate, load.length), (2, Some(10.0), Duration::from_secs(90)));
        assert_eq!((load.method, load.body.as_str(), &load.headers), ("GET", "", &Vec::new()));
        assert_eq!(load.summary, "10 requests/s (open loop), 2 connections, 1m30s");
        assert!(load.ignored.is_empty());
        let headers = [("X-A".to_owned(), "b: c".to_owned())].into();
        let cookies = [("k".to_owned(), "v".to_owned()), ("l".to_owned(), "w".to_owned())].into();
        let (body, content_type) = ("{}".to_owned(), "application/json".to_owned());
        let load = planned(Client { rps: 0, headers, cookies, body, content_type, ..client() });
        let headers = [("X-A", "b: c"), ("Cookie", "k=v; l=w"), ("Content-Type", "application/json")];
        assert_eq!(load.headers, headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!((load.method, load.body.as_str(), load.rate), ("POST", "{}", None));
        assert!(load.summary.starts_with("as fast as possible (closed loop)"), "{}", load.summary);
    }

    #[test]
    fn a_client_is_chosen_by_its_number() {
        let text = "duration: 10s\nsmp_version: v0.0.1\nclients:\n- endpoint_urls: [\"http://127.0.0.1:1/\"]\n- endpoint_urls: [\"http://127.0.0.1:2/\"]\n";
        let numbers = |client| {
            let number = |(number, _): (usize, PlannedLoad)| number;
            choose(text, client).map(|chosen| chosen.loads.into_iter().map(number).collect::<Vec<_>>())
        };
        assert_eq!(numbers(None), Ok(vec![1, 2]));
        assert_eq!(numbers(Some(2)), Ok(vec![2]));
        assert_eq!(numbers(Some(3)), Err(vec!["there is no client 3: it has 2".to_owned()]));
    }

    #[test]
    fn the_protocol_chooses_the_scheme() {
        let load = |protocol| {
            let endpoint_urls = vec!["127.0.0.1:1".to_owned()];
            planned(Client { protocol, endpoint_urls, body: "x".to_owned(), ..client() })
        };
        assert_eq!(load(Protocol::Tcp).urls, ["tcp://127.0.0.1:1"]);
        assert_eq!((load(Protocol::Tcp).method, load(Protocol::Http).method), ("GET", "POST"));
        assert_eq!(load(Protocol::Grpc).urls, ["grpc://127.0.0.1:1"]);
        assert_eq!(load(Protocol::Unstated).urls, ["http://127.0.0.1:1"]);
        let grpc = planned(Client {
            protocol: Protocol::Grpc,
            endpoint_urls: vec!["http://a/S/M".to_owned()],
            ..client()
        });
        assert_eq!((grpc.protocol, load(Protocol::Grpc).protocol), (Some(LoadProtocol::Grpc), None));
    }

    #[test]
    fn what_has_no_effect_is_named() {
        let load = planned(Client {
            internal: true,
            load_generator: "fortio".to_owned(),
            connections: 0,
            ssl_certificate: "x".to_owned(),
            additional_options: "-stdclient".to_owned(),
            body: "{counter}".to_owned(),
            ..client()
        });
        let named = [
            "load_generator: fortio",
            "internal",
            "connections",
            "ssl_certificate",
            "additional_options",
            "{counter}",
        ];
        assert_eq!(load.ignored.len(), named.len(), "{:?}", load.ignored);
        for (line, name) in load.ignored.iter().zip(named) {
            assert!(line.starts_with(&format!("`{name}`")), "{line}");
        }
        assert_eq!(load.connections, 1);
    }

    #[test]
    fn all_problems_are_reported_together() {
        let bad = Client {
            protocol: Protocol::Udp,
            connections: -1,
            rps: MAX_RATE + 1,
            endpoint_urls: Vec::new(),
            headers: [("@/etc/passwd".to_owned(), "x".to_owned()), ("X".to_owned(), "a\r\nY: b".to_owned())]
                .into(),
            ..client()
        };
        let test =
            TestConfig { clients: vec![client(), bad], duration: "30".to_owned(), ..TestConfig::default() };
        let problems = plan(&test).unwrap_err();
        for (problem, words) in problems.iter().zip([
            "`duration: 30`",
            "`clients[1]`: `endpoint_urls` is empty",
            "UDP",
            "`rps: 10000001`",
            "`connections: -1`",
            "`@/etc/passwd` is not the name of a header",
            "the value of the header `X` has a line break",
        ]) {
            assert!(problem.contains(words), "{problem}");
        }
        assert_eq!(problems.len(), 7, "{problems:?}");
        let empty = plan(&TestConfig::default()).unwrap_err();
        assert!(
            empty[0].contains("`duration` is missing") && empty[1].contains("`clients` is empty"),
            "{empty:?}"
        );
    }

    fn to(url: &str) -> PlannedLoad {
        PlannedLoad { urls: vec![url.to_owned()], ..PlannedLoad::default() }
    }

    #[test]
    fn load_goes_to_this_machine_unless_the_user_names_the_other() {
        for url in [
            "http://127.0.0.1/",
            "http://127.8.0.1:80/a",
            "http://[::1]:80/",
            "http://LOCALHOST:1",
            "tcp://127.0.0.1:1",
        ] {
            assert_eq!(to(url).refused(&[]), Vec::<String>::new(), "{url}");
        }
        for (url, place) in [
            ("http://shop.test/", "shop.test:80"),
            ("https://shop.test/", "shop.test:443"),
            ("http://192.0.2.1:8080/", "192.0.2.1:8080"),
            ("http://0.0.0.0:1/", "0.0.0.0:1"),
            // Before the `@` is user information, not the host.
            ("http://127.0.0.1:80@shop.test/", "shop.test:80"),
            ("http://127.0.0.1.shop.test/", "127.0.0.1.shop.test:80"),
            ("http://localhost.shop.test/", "localhost.shop.test:80"),
            ("http://[::ffff:192.0.2.1]/", "[::ffff:192.0.2.1]:80"),
        ] {
            let problems = to(url).refused(&[]);
            assert!(problems.concat().contains(&format!("`--target {place}`")), "{url}: {problems:?}");
        }
        let allowed = [HostPort { host: "shop.test".to_owned(), port: 443 }];
        assert!(to("https://Shop.test/").refused(&allowed).is_empty());
        assert_eq!(to("http://shop.test/").refused(&allowed).len(), 1, "the port is another");
        assert_eq!(to("http://a b/").refused(&allowed).len(), 1, "not a URL");
        assert_eq!(to("http://{random}.test/").refused(&allowed).len(), 1);
    }

    proptest! {
        /// Whoever writes the file states headers, and no other part of a request by them.
        #[test]
        fn no_header_breaks_its_line(
            name in "[@A-Za-z: \r\n-]{1,6}", value in "[@/a-z\r\n\t]{0,8}", content_type in "[@/a-z\r\n]{0,8}",
        ) {
            let headers = [(name, value)].into();
            for load in plan(&test_of(Client { headers, content_type, ..client() })).into_iter().flatten() {
                for (name, value) in &load.headers {
                    prop_assert!(is_header_name(name) && !value.chars().any(char::is_control), "{}: {}", name, value);
                }
            }
        }
    }
}
