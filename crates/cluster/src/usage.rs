//! CPU time of containers, by the metrics that the kubelet of a node has from its control groups (`/metrics/cadvisor`).
//!
//! The node reads them every ten seconds or so, at another moment for each container, and states the time of each reading. Two readings
//! with their times are exact; what happened between them is not known.
//!
//! Source: <https://kubernetes.io/docs/reference/instrumentation/cri-pod-container-metrics/>,
//! <https://github.com/google/cadvisor/blob/master/docs/storage/prometheus.md>.

use std::collections::BTreeMap;

use hoptax_result::LimitPeriods;

/// The metric of CPU time, a counter.
pub(crate) const CPU_TIME: &str = "container_cpu_usage_seconds_total";
/// The metrics of the limit of a container, which only a container with a limit has.
pub(crate) const PERIODS: &str = "container_cpu_cfs_periods_total";
pub(crate) const THROTTLED: &str = "container_cpu_cfs_throttled_periods_total";
pub(crate) const THROTTLED_S: &str = "container_cpu_cfs_throttled_seconds_total";

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
    /// Its time by a clock of the node, whose zero may be anywhere, us.
    pub at_us: i64,
    /// CPU time of the container since its start, seconds.
    pub cpu_s: f64,
    /// Periods of its CPU limit since its start; none where they are not known, and of a container without a limit.
    pub limit: Option<LimitPeriods>,
    /// Periods of the limit of its pod, which kubelets do not tell.
    pub limit_of_pod: Option<LimitPeriods>,
}

/// A value of a metric of a container.
pub(crate) struct Line {
    pub(crate) container: Container,
    pub(crate) group: String,
    pub(crate) value: f64,
    pub(crate) at_us: i64,
}

/// Sets a number of the limit of a container.
type Set = fn(&mut LimitPeriods, f64);

/// The metrics of the limit of a container, each with the number that it sets.
const OF_LIMITS: [(&str, Set); 3] = [
    (PERIODS, |limit, value| limit.periods = value as u64),
    (THROTTLED, |limit, value| limit.throttled = value as u64),
    (THROTTLED_S, |limit, value| limit.throttled_s = value),
];

/// The last reading of each container of a node. Lines without a time, of whole pods and of single processors are left out.
pub fn readings(metrics: &str) -> BTreeMap<Container, Reading> {
    newest(|metric| metrics.lines().filter_map(move |text| line(text, metric)))
}

/// The newest reading of each container by the values of each metric. Of several that count the same container, such as its control groups
/// before and after a restart, the one with the newest value counts. The periods of a limit are those of the same reading.
pub(crate) fn newest<I: Iterator<Item = Line>>(
    lines_of: impl Fn(&'static str) -> I,
) -> BTreeMap<Container, Reading> {
    let mut all: BTreeMap<Container, Reading> = BTreeMap::new();
    for Line { container, group, value, at_us } in lines_of(CPU_TIME) {
        if all.get(&container).is_none_or(|before| before.at_us <= at_us) {
            all.insert(container, Reading { group, at_us, cpu_s: value, ..Reading::default() });
        }
    }
    for (metric, set) in OF_LIMITS {
        for Line { container, group, value, at_us } in lines_of(metric) {
            let reading = all.get_mut(&container);
            if let Some(reading) = reading.filter(|one| one.group == group && one.at_us == at_us) {
                set(reading.limit.get_or_insert_default(), value);
            }
        }
    }
    all
}

fn line(text: &str, metric: &str) -> Option<Line> {
    let rest = text.strip_prefix(metric)?.strip_prefix('{')?;
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
    let (value, at_ms): (f64, i64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let is_whole = is_of_all_processors && !container.pod.is_empty() && !container.name.is_empty();
    is_whole.then_some(Line { container, group, value, at_us: at_ms.saturating_mul(1_000) })
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
        let (group, at_us) = ("/a,b}".to_owned(), 1_764_440_000_123_000);
        let expected =
            BTreeMap::from([(envoy, Reading { group, at_us, cpu_s: 1.5, limit: None, limit_of_pod: None })]);
        assert_eq!(readings(metrics), expected);
    }

    #[test]
    fn of_two_groups_of_a_container_the_newest_value_counts() {
        let line = |id: &str, value: &str, at_ms: &str| {
            format!(
                "container_cpu_usage_seconds_total{{container=\"envoy\",id=\"{id}\",namespace=\"shop\",pod=\"cart\"}} {value} {at_ms}\n"
            )
        };
        let (old, new) = (line("/old", "90", "1764440000123"), line("/new", "1", "1764440000124"));
        for metrics in [format!("{old}{new}"), format!("{new}{old}")] {
            let found: Vec<Reading> = readings(&metrics).into_values().collect();
            let (group, at_us) = ("/new".to_owned(), 1_764_440_000_124_000);
            assert_eq!(found, [Reading { group, at_us, cpu_s: 1.0, ..Reading::default() }]);
        }
    }

    #[test]
    fn the_periods_of_a_limit_are_those_of_the_same_reading() {
        let metrics = r#"container_cpu_cfs_periods_total{container="envoy",id="/b",namespace="shop",pod="cart"} 40 1764440000123
container_cpu_cfs_periods_total{container="free",id="/other",namespace="shop",pod="cart"} 7 1764440000123
container_cpu_cfs_throttled_periods_total{container="envoy",id="/a",namespace="shop",pod="cart"} 9 1764440000123
container_cpu_cfs_throttled_periods_total{container="envoy",id="/b",namespace="shop",pod="cart"} 4 1764440000123
container_cpu_cfs_throttled_seconds_total{container="envoy",id="/b",namespace="shop",pod="cart"} 0.25 1764440000123
container_cpu_usage_seconds_total{container="envoy",cpu="total",id="/b",namespace="shop",pod="cart"} 1.5 1764440000123
container_cpu_usage_seconds_total{container="free",cpu="total",id="/c",namespace="shop",pod="cart"} 2.5 1764440000123
"#;
        let limits = |metrics: &str| -> Vec<Option<LimitPeriods>> {
            readings(metrics).into_values().map(|reading| reading.limit).collect()
        };
        let limit = LimitPeriods { periods: 40, throttled: 4, throttled_s: 0.25 };
        assert_eq!(limits(metrics), [Some(limit), None]);
        let later = metrics.replace("1.5 1764440000123", "1.5 1764440000124");
        assert_eq!(limits(&later), [None, None], "they are those of another time");
    }
}
