//! A Prometheus as a source of containers' CPU times: its address, queries and answers.
//!
//! It scrapes the metrics of the kubelets ([`usage`](crate::usage)), usually every 10 to 60 seconds. A range query is answered with the
//! stored values and their times, without interpolation.
//!
//! Source: <https://prometheus.io/docs/prometheus/latest/querying/api/>.

mod answer;

use std::fmt;
use std::str::FromStr;

use form_urlencoded::byte_serialize;

use crate::name::Namespace;
use crate::usage::{CPU_TIME, PERIODS, THROTTLED, THROTTLED_S};

pub use self::answer::{has_series, readings};

/// The time range of queries. It is longer than the time between two stored values.
const RANGE: &str = "2m";
/// The containers of pods: without the sums of pods, which name none, without what holds their namespaces, and without single processors.
const OF_CONTAINERS: &str = "container!=\"\",container!=\"POD\",pod!=\"\",cpu=~\"total|\"";

/// The address of a Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A service in the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// A server that this machine reaches over HTTP.
    Url {
        /// Its name or address. An IPv6 address is in brackets.
        host: String,
        /// Its port.
        port: u16,
        /// The prefix of its paths: empty, or with a leading and without a trailing slash.
        prefix: String,
    },
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("https://") {
            return Err(format!(
                "`{text}` uses TLS, which hoptax does not support here: forward its port (`kubectl port-forward`), and use \
                 `http://127.0.0.1:PORT`, or name its service, `NAMESPACE/SERVICE:PORT`, if its pods have none"
            ));
        }
        of_url(text).or_else(|| of_service(text)).ok_or_else(|| {
            format!(
                "`{text}` is not the address of a Prometheus: use `NAMESPACE/SERVICE:PORT`, such as `monitoring/prometheus:9090`, or a \
                 URL, such as `http://127.0.0.1:9090`"
            )
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service { namespace, name, port } => write!(f, "{namespace}/{name}:{port}"),
            Self::Url { host, port, prefix } => write!(f, "http://{host}:{port}{prefix}"),
        }
    }
}

fn of_service(text: &str) -> Option<Address> {
    let (service, port) = text.rsplit_once(':')?;
    let (namespace, name) = service.split_once('/')?;
    // Both are DNS labels, which can be parts of a path.
    let label = |text: &str| text.parse::<Namespace>().ok().map(|label| label.as_str().to_owned());
    Some(Address::Service { namespace: label(namespace)?, name: label(name)?, port: number(port)? })
}

fn of_url(text: &str) -> Option<Address> {
    let rest = text.strip_prefix("http://")?;
    let is_plain =
        rest.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'@' | b'"'));
    let (server, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_whole = |host: &str| {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        !host.is_empty() && (inner.is_some() || !host.contains([':', '[', ']']))
    };
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) if is_whole(host) => (host, number(port)?),
        _ => (server, 80),
    };
    let path = path.trim_end_matches('/');
    let prefix = if path.is_empty() { String::new() } else { format!("/{path}") };
    (is_plain && is_whole(host)).then(|| Address::Url { host: host.to_owned(), port, prefix })
}

fn number(port: &str) -> Option<u16> {
    port.parse().ok().filter(|port| *port > 0)
}

/// The query that checks for CPU times of containers. The answer is a count.
pub fn any() -> String {
    format!("count({CPU_TIME}{{{OF_CONTAINERS}}})")
}

/// The query for the CPU times and limits of the containers in these namespaces.
pub fn of_namespaces<'a>(namespaces: impl IntoIterator<Item = &'a str>) -> String {
    // A template may contain an invalid namespace name; such a namespace has no containers.
    let named = namespaces.into_iter().filter(|name| name.parse::<Namespace>().is_ok());
    let namespaces = named.collect::<Vec<_>>().join("|");
    let metrics = [CPU_TIME, PERIODS, THROTTLED, THROTTLED_S].join("|");
    format!("{{__name__=~\"{metrics}\",namespace=~\"{namespaces}\",{OF_CONTAINERS}}}[{RANGE}]")
}

/// The path of a query.
pub fn path(prefix: &str, query: &str) -> String {
    let query: String = byte_serialize(query.as_bytes()).collect();
    format!("{prefix}/api/v1/query?query={query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_service_with_its_port_or_a_url() {
        for (text, shown) in [
            ("monitoring/prometheus-k8s:9090", "monitoring/prometheus-k8s:9090"),
            ("http://127.0.0.1:9090", "http://127.0.0.1:9090"),
            ("http://prometheus.example/", "http://prometheus.example:80"),
            ("http://prometheus.example/a/b/", "http://prometheus.example:80/a/b"),
            ("http://[::1]:9090/a", "http://[::1]:9090/a"),
            ("http://[::1]", "http://[::1]:80"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(shown.parse::<Address>(), Ok(address), "what is shown is an address, too");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_an_example_of_one() {
        for text in [
            "",
            "prometheus:9090",
            "monitoring/prometheus",
            "monitoring/prometheus:web",
            "monitoring/prometheus:0",
            "monitoring/../secrets:80",
            "a/b/c:80",
            "http://",
            "http://:9090",
            "http://::1:9090",
            "http://a:b",
            "http://a:99999",
            "http://me:hunter2@a:9090",
            "http://a/?query=up",
            "http://a b/",
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.contains("`monitoring/prometheus:9090`"), "{text}: {error}");
        }
        let error = "https://prometheus.example".parse::<Address>().unwrap_err();
        assert!(error.contains("TLS") && error.contains("kubectl port-forward"), "{error}");
    }

    #[test]
    fn a_question_is_for_what_is_stored_of_the_containers_of_namespaces() {
        let query = of_namespaces(["hoptax-mesh-1-istio", "no\"name", "istio-system"]);
        assert_eq!(
            query,
            "{__name__=~\"container_cpu_usage_seconds_total|container_cpu_cfs_periods_total|\
             container_cpu_cfs_throttled_periods_total|container_cpu_cfs_throttled_seconds_total\",\
             namespace=~\"hoptax-mesh-1-istio|istio-system\",container!=\"\",container!=\"POD\",pod!=\"\",\
             cpu=~\"total|\"}[2m]"
        );
        assert_eq!(
            path("/p", "{a=~\"b c|d\"}[2m]"),
            "/p/api/v1/query?query=%7Ba%3D%7E%22b+c%7Cd%22%7D%5B2m%5D"
        );
        assert!(any().starts_with("count(container_cpu_usage_seconds_total{container!="), "{}", any());
    }
}
