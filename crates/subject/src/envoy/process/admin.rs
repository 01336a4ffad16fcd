//! Client of the admin interface of a live Envoy: readiness, addresses of listeners, and statistics.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use hoptax_bootstrap::statistics::is_matched;
use serde::Deserialize;

/// Time limit for a response. A configuration of many megabytes has equally large statistics.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response: an Envoy with 10,000 clusters has 60 MB of statistics.
const MOST_BYTES: u64 = 1 << 28;

/// The statistics of a proxy at one moment. A histogram counts as one, since the number of its values is not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics(BTreeMap<String, u64>);

impl Statistics {
    fn parse(text: &str) -> Self {
        let of = |line: &str| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_owned(), value.trim().parse().unwrap_or(1)))
        };
        Self(text.lines().filter_map(of).collect())
    }

    /// The sum of the statistics whose names match a pattern, in which `*` is a wildcard.
    pub(super) fn sum(&self, pattern: &str) -> u64 {
        self.0.iter().filter(|(name, _)| is_matched(name, pattern)).map(|(_, value)| value).sum()
    }

    /// Returns the increase of each counter that grew since an earlier moment.
    pub fn grown_since(&self, earlier: &Self) -> BTreeMap<String, u64> {
        let grown = |(name, value): (&String, &u64)| {
            let by = value.saturating_sub(earlier.0.get(name).copied().unwrap_or(0));
            (by > 0).then(|| (name.clone(), by))
        };
        self.0.iter().filter_map(grown).collect()
    }
}

/// The clusters of `/clusters?format=json`, of which only the counters of endpoints are read.
#[derive(Deserialize)]
struct Clusters {
    #[serde(default)]
    cluster_statuses: Vec<ClusterStatus>,
}

#[derive(Deserialize)]
struct ClusterStatus {
    #[serde(default)]
    host_statuses: Vec<HostStatus>,
}

#[derive(Deserialize)]
struct HostStatus {
    address: AdminAddress,
    #[serde(default)]
    stats: Vec<HostStatistic>,
}

#[derive(Deserialize)]
struct HostStatistic {
    name: String,
    /// Absent for 0.
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct Listeners {
    listener_statuses: Vec<ListenerStatus>,
}

#[derive(Deserialize)]
struct ListenerStatus {
    name: String,
    local_address: AdminAddress,
}

/// An address as the admin interface writes it.
#[derive(Deserialize)]
struct AdminAddress {
    socket_address: Option<SocketAddressStatus>,
}

#[derive(Deserialize)]
struct SocketAddressStatus {
    address: String,
    port_value: u16,
}

impl AdminAddress {
    fn socket(&self) -> Option<SocketAddr> {
        let status = self.socket_address.as_ref()?;
        Some(SocketAddr::new(status.address.parse().ok()?, status.port_value))
    }
}

/// Checks that an Envoy is live.
///
/// # Errors
/// When it is not live, or does not respond.
pub fn live(admin: SocketAddr) -> Result<(), String> {
    let state = get(admin, "/ready")?;
    if state.trim() == "LIVE" { Ok(()) } else { Err(format!("its admin interface reports {}", state.trim())) }
}

/// The address of the listener of this name, or the part that is still missing.
pub(super) fn listener_when_live(admin: SocketAddr, listener: &str) -> Result<SocketAddr, String> {
    live(admin)?;
    listeners(admin)?.remove(listener).ok_or_else(|| format!("its listener `{listener}` has no port yet"))
}

/// The addresses of its listeners by name, without listeners that have no port yet.
pub(super) fn listeners(admin: SocketAddr) -> Result<BTreeMap<String, SocketAddr>, String> {
    listeners_in(&get(admin, "/listeners?format=json")?)
}

fn listeners_in(text: &str) -> Result<BTreeMap<String, SocketAddr>, String> {
    let listeners: Listeners = serde_json::from_str(text)
        .map_err(|error| format!("its list of listeners cannot be read: {error}"))?;
    let bound = |listener: ListenerStatus| {
        let address = listener.local_address.socket().filter(|address| address.port() != 0)?;
        Some((listener.name, address))
    };
    Ok(listeners.listener_statuses.into_iter().filter_map(bound).collect())
}

/// Its statistics now, or why they cannot be read.
pub(super) fn statistics(admin: SocketAddr) -> Result<Statistics, String> {
    Ok(Statistics::parse(&get(admin, "/stats?usedonly")?))
}

/// The statistics whose names match a pattern, in which `*` is a wildcard, including those that were never used.
pub(super) fn matching(admin: SocketAddr, pattern: &str) -> Result<BTreeMap<String, u64>, String> {
    // The interface takes a regular expression, which may match more.
    let text = get(admin, &format!("/stats?filter={}", pattern.replace('*', ".*")))?;
    let all = Statistics::parse(&text).0;
    Ok(all.into_iter().filter(|(name, _)| is_matched(name, pattern)).collect())
}

/// Requests that the proxy sent to endpoints with these addresses, retries included; none if no cluster has such an endpoint.
pub(super) fn requests_to(admin: SocketAddr, addresses: &[SocketAddr]) -> Result<Option<u64>, String> {
    requests_in(&get(admin, "/clusters?format=json")?, addresses)
}

fn requests_in(clusters: &str, addresses: &[SocketAddr]) -> Result<Option<u64>, String> {
    let clusters: Clusters = serde_json::from_str(clusters)
        .map_err(|error| format!("its list of clusters cannot be read: {error}"))?;
    let hosts = clusters.cluster_statuses.into_iter().flat_map(|cluster| cluster.host_statuses);
    let ours = hosts.filter(|host| host.address.socket().is_some_and(|address| addresses.contains(&address)));
    let requests = ours.map(|host| {
        let total = host.stats.iter().find(|statistic| statistic.name == "rq_total");
        total.and_then(|statistic| statistic.value.parse().ok()).unwrap_or(0)
    });
    Ok(requests.reduce(|sum: u64, one: u64| sum.saturating_add(one)))
}

/// The response to a GET request.
///
/// # Errors
/// When the admin interface does not respond within five seconds.
pub fn get(admin: SocketAddr, path: &str) -> Result<String, String> {
    text(agent().get(format!("http://{admin}{path}")).call())
}

/// The response to a POST request.
///
/// # Errors
/// As [`get`].
pub fn post(admin: SocketAddr, path: &str) -> Result<String, String> {
    text(agent().post(format!("http://{admin}{path}")).send_empty())
}

fn agent() -> ureq::Agent {
    // While Envoy starts, `/ready` responds with an error status and the state.
    ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .max_redirects(0)
        // The interface is on this machine, so proxies in the environment do not apply.
        .proxy(None)
        .build()
        .into()
}

fn text(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<String, String> {
    let failure = |error: ureq::Error| format!("its admin interface does not respond: {error}");
    let mut response = response.map_err(failure)?;
    response.body_mut().with_config().limit(MOST_BYTES).read_to_string().map_err(failure)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::process::Command;
    use std::thread;

    use super::*;
    use crate::named_proxy::NamedProxy;

    #[test]
    fn no_request_goes_through_a_proxy_that_the_environment_names() {
        let proxy = NamedProxy::new();
        // Runs in another process, because concurrent tests share the environment of this one.
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.args(["envoy::process::admin::tests::a_request_to_this_machine", "--exact", "--ignored"]);
        proxy.set(&mut own);
        let output = own.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        proxy.assert_unused();
    }

    #[test]
    #[ignore = "run by the test above, with a proxy in its environment"]
    fn a_request_to_this_machine() {
        let admin = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = admin.local_addr().unwrap();
        let serving = thread::spawn(move || {
            let (mut stream, _) = admin.accept().unwrap();
            let count = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nLIVE\n").unwrap();
            count
        });
        assert_eq!(get(address, "/ready"), Ok("LIVE\n".to_owned()));
        assert!(serving.join().unwrap() > 0);
    }

    #[test]
    fn statistics_are_found_by_patterns() {
        let statistics = Statistics::parse("a.b.ok: 3\na.c.ok: 4\na.b.bad: 5\nhistogram: P0(1,1) P25(2,2)\n");
        assert_eq!(statistics.sum("a.*.ok"), 7);
        assert_eq!(statistics.sum("a.b.ok"), 3);
        assert_eq!(statistics.sum("*bad"), 5);
        assert_eq!(statistics.sum("histogram"), 1);
        assert_eq!(statistics.sum("b.ok"), 0);
    }

    #[test]
    fn growth_is_that_of_each_statistic_that_grew() {
        let [before, now] = ["a: 3\nb: 1\nc: 5\n", "a: 4\nb: 1\nc: 2\nd: 7\n"].map(Statistics::parse);
        let grown = now.grown_since(&before);
        assert_eq!(grown, [("a".to_owned(), 1), ("d".to_owned(), 7)].into());
    }

    #[test]
    fn requests_are_counted_by_the_address_of_their_endpoint() {
        let host = |port: u16, stats: &str| {
            format!(
                r#"{{"address":{{"socket_address":{{"address":"127.0.0.1","port_value":{port}}}}},"stats":[{stats}]}}"#
            )
        };
        let total =
            |value: &str| format!(r#"{{"type":"GAUGE","name":"rq_active"}},{{"name":"rq_total"{value}}}"#);
        let text = format!(
            r#"{{"cluster_statuses":[{{"name":"a","host_statuses":[{},{}]}},{{"name":"none"}},{{"name":"b","host_statuses":[{},{{"address":{{"pipe":{{"path":"/p"}}}}}}]}}]}}"#,
            host(1, &total(r#","value":"7""#)),
            host(2, &total(r#","value":"100""#)),
            host(1, &total("")),
        );
        let of = |ports: &[u16]| {
            let addresses: Vec<SocketAddr> =
                ports.iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port))).collect();
            requests_in(&text, &addresses)
        };
        assert_eq!(of(&[1]), Ok(Some(7)));
        assert_eq!(of(&[1, 2]), Ok(Some(107)));
        assert_eq!(of(&[3]), Ok(None), "no cluster has it");
        assert_eq!(requests_in("{}", &[]), Ok(None));
        assert!(requests_in("<html>", &[]).is_err());
    }

    #[test]
    fn the_port_is_read_from_the_admin_interface() {
        let listeners = r#"{"listener_statuses":[{"name":"internal","local_address":{}},{"name":"ingress","local_address":
            {"socket_address":{"address":"127.0.0.1","port_value":34567}}}]}"#;
        let ingress: SocketAddr = ([127, 0, 0, 1], 34567).into();
        assert_eq!(listeners_in(listeners), Ok(BTreeMap::from([("ingress".to_owned(), ingress)])));
        assert_eq!(listeners_in(&listeners.replace("34567", "0")), Ok(BTreeMap::new()));
        assert!(listeners_in("<html>").is_err());
    }
}
