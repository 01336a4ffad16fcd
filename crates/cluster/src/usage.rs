//! CPU time of containers, by the metrics that the kubelet of a node has from its control groups (`/metrics/cadvisor`).
//!
//! The node reads them every ten seconds or so, at another moment for each container, and states the time of each reading. Two readings
//! with their times are exact; what happened between them is not known.
//!
//! Source: <https://kubernetes.io/docs/reference/instrumentation/cri-pod-container-metrics/>.

use std::collections::BTreeMap;

/// The metric, a counter.
const METRIC: &str = "container_cpu_usage_seconds_total";

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Container {
    /// The namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub name: String,
}

/// A reading of the counter of a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The control group of the container, which is another one after it was restarted: its counter then began again.
    pub group: String,
    /// Its time by the clock of the node, since 1970, ms.
    pub at_ms: i64,
    /// CPU time of the container since its start, seconds.
    pub cpu_s: f64,
}

/// The last reading of each container of a node. Lines without a time, of whole pods and of single processors are left out.
pub fn readings(metrics: &str) -> BTreeMap<Container, Reading> {
    metrics.lines().filter_map(reading).collect()
}

fn reading(line: &str) -> Option<(Container, Reading)> {
    let rest = line.strip_prefix(METRIC)?.strip_prefix('{')?;
    let mut container = Container::default();
    let (mut group, mut is_of_all_processors) = (String::new(), true);
    let after = labels(rest, |name, value| match name {
        "namespace" => container.namespace = value,
        "pod" => container.pod = value,
        "container" => container.name = value,
        "id" => group = value,
        "cpu" => is_of_all_processors = value == "total",
        _ => {}
    })?;
    let mut words = after.split_ascii_whitespace();
    let (cpu_s, at_ms) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let is_whole = is_of_all_processors && !container.pod.is_empty() && !container.name.is_empty();
    is_whole.then_some((container, Reading { group, at_ms, cpu_s }))
}

/// Calls `on_label` with each label of a line, from the first on, and returns what stands after them. None if they do not end.
fn labels(text: &str, mut on_label: impl FnMut(&str, String)) -> Option<&str> {
    let mut rest = text.trim_start_matches([',', ' ']);
    while !rest.starts_with('}') {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next()?.1 {
                    'n' => '\n',
                    letter => letter,
                }),
                (_, letter) => value.push(letter),
            }
        };
        on_label(name, value);
        rest = after.get(end + 1..)?.trim_start_matches([',', ' ']);
    }
    rest.get(1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_those_of_containers_with_their_times() {
        let metrics = r#"# HELP container_cpu_usage_seconds_total Cumulative cpu time consumed in seconds.
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="",cpu="total",id="/kubepods",image="",name="",namespace="",pod=""} 9 1764440000000
container_cpu_usage_seconds_total{container="",cpu="total",id="/kubepods/pod1",image="",name="",namespace="shop",pod="cart"} 8 1764440000000
container_cpu_usage_seconds_total{container="envoy",cpu="total",id="/a,b}",image="x\"y\\",name="n",namespace="shop",pod="cart"} 1.5e+00 1764440000123
container_cpu_usage_seconds_total{container="envoy",cpu="cpu01",id="/a,b}",namespace="shop",pod="cart"} 0.7 1764440000123
container_cpu_usage_seconds_total{container="late",cpu="total",namespace="shop",pod="cart"} 2
container_cpu_user_seconds_total{container="envoy",namespace="shop",pod="cart"} 7 1764440000123
container_cpu_usage_seconds_total{container="broken
"#;
        let envoy =
            Container { namespace: "shop".to_owned(), pod: "cart".to_owned(), name: "envoy".to_owned() };
        let reading = Reading { group: "/a,b}".to_owned(), at_ms: 1_764_440_000_123, cpu_s: 1.5 };
        let expected = BTreeMap::from([(envoy, reading)]);
        assert_eq!(readings(metrics), expected);
    }
}
