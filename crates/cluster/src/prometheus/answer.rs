//! The answers of a Prometheus.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::LimitPeriods;
use serde::Deserialize;

use crate::excerpt::excerpt;
use crate::usage::{CPU_TIME, Container, OF_LIMITS, Reading};

/// The newest values of containers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The newest reading of each container.
    pub readings: BTreeMap<Container, Reading>,
    /// True if the times of the readings are those of the questions of Prometheus to a node, and not those at which the node read:
    /// `honor_timestamps` is off. All containers of a node then have the same one; a node reads each at another moment.
    pub have_times_of_scrapes: bool,
}

/// The answer to a question.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    status: String,
    #[serde(default)]
    data: Option<Data>,
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    result: Option<Vec<Series>>,
}

/// A series, with its values if the question was for a range of time.
#[derive(Deserialize)]
struct Series {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    /// Each with its time, seconds since 1970.
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// The newest value of a series of a container.
struct Sample<'a> {
    metric: &'a str,
    container: Container,
    group: &'a str,
    /// The server that Prometheus asked.
    instance: &'a str,
    at_ms: i64,
    value: f64,
}

/// True if an answer has a series.
///
/// # Errors
/// Why there is no answer.
pub fn has_series(status: u16, body: &[u8]) -> Result<bool, String> {
    answered(status, body).map(|series| !series.is_empty())
}

/// The newest readings in an answer. Of several series of a container, such as those of two starts or of two that asked the same node, the one
/// with the newest value counts: each value is that of the same counter at its own time. Values that are no numbers, and series of single
/// processors, are left out.
///
/// # Errors
/// Why there is no answer.
pub fn samples(status: u16, body: &[u8]) -> Result<Samples, String> {
    let series = answered(status, body)?;
    let newest: Vec<Sample<'_>> = series.iter().filter_map(Series::newest).collect();
    let mut chosen: BTreeMap<&Container, &Sample<'_>> = BTreeMap::new();
    for sample in newest.iter().filter(|sample| sample.metric == CPU_TIME) {
        let before = chosen.get(&sample.container);
        if before.is_none_or(|before| before.at_ms < sample.at_ms) {
            chosen.insert(&sample.container, sample);
        }
    }
    let limit = |of: &Sample<'_>| {
        let mut limit: Option<LimitPeriods> = None;
        for (metric, set) in OF_LIMITS {
            let is_it = |one: &&Sample<'_>| {
                one.metric == metric
                    && one.container == of.container
                    && one.group == of.group
                    && one.at_ms == of.at_ms
            };
            if let Some(one) = newest.iter().find(is_it) {
                set(limit.get_or_insert_default(), one.value);
            }
        }
        limit
    };
    let reading = |sample: &Sample<'_>| Reading {
        group: sample.group.to_owned(),
        at_us: sample.at_ms.saturating_mul(1_000),
        cpu_s: sample.value,
        limit: limit(sample),
        limit_of_pod: None,
    };
    let have_times_of_scrapes = have_times_of_scrapes(chosen.values().copied());
    let readings = chosen.into_iter().map(|(container, sample)| (container.clone(), reading(sample)));
    Ok(Samples { readings: readings.collect(), have_times_of_scrapes })
}

/// True if most containers have a time that another one of their node has, too.
fn have_times_of_scrapes<'a>(chosen: impl Iterator<Item = &'a Sample<'a>>) -> bool {
    let (mut containers, mut times) = (0_usize, BTreeSet::new());
    for sample in chosen {
        containers += 1;
        times.insert((sample.instance, sample.at_ms));
    }
    containers > 1 && times.len() * 2 <= containers
}

/// The series of an answer.
fn answered(status: u16, body: &[u8]) -> Result<Vec<Series>, String> {
    let Ok(answer) = serde_json::from_slice::<Answer>(body) else {
        return Err(if status == 200 {
            "its answer is not that of the API of Prometheus".to_owned()
        } else {
            format!("it answered with status {status}")
        });
    };
    if answer.status != "success" {
        let Answer { error_type, error, .. } = answer;
        return Err(format!("it answered with an error, {}: {}", excerpt(&error_type), excerpt(&error)));
    }
    let result = answer.data.and_then(|data| data.result);
    result.ok_or_else(|| "its answer has no result".to_owned())
}

impl Series {
    fn label(&self, name: &str) -> &str {
        self.metric.get(name).map_or("", String::as_str)
    }

    /// The newest value; none without one, and if it is not that of a whole container.
    fn newest(&self) -> Option<Sample<'_>> {
        let of = |name: &str| self.label(name).to_owned();
        let container = Container { namespace: of("namespace"), pod: of("pod"), name: of("container") };
        let is_of_container =
            !container.pod.is_empty() && !container.name.is_empty() && container.name != "POD";
        let is_whole = is_of_container && matches!(self.label("cpu"), "" | "total");
        let number = |(at_s, value): &(f64, String)| {
            let value: f64 = value.parse().ok()?;
            value.is_finite().then_some(((at_s * 1e3).round() as i64, value))
        };
        let newest = self.values.iter().filter_map(number).max_by_key(|(at_ms, _)| *at_ms);
        let (at_ms, value) = newest.filter(|_| is_whole)?;
        let (metric, group, instance) = (self.label("__name__"), self.label("id"), self.label("instance"));
        Some(Sample { metric, container, group, instance, at_ms, value })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn container(name: &str) -> Container {
        Container { namespace: "shop".to_owned(), pod: "cart".to_owned(), name: name.to_owned() }
    }

    /// A series with more labels than those of every container.
    fn series(metric: &str, name: &str, more: &Value, values: &[(f64, &str)]) -> Value {
        let mut labels = json!({
            "__name__": metric, "namespace": "shop", "pod": "cart", "container": name, "id": "/a", "cpu": "total",
            "instance": "node-1:10250",
        });
        for (label, value) in more.as_object().into_iter().flatten() {
            labels[label] = value.clone();
        }
        json!({"metric": labels, "values": values})
    }

    fn answer(series: &[Value]) -> Vec<u8> {
        let data = json!({"resultType": "matrix", "result": series});
        json!({"status": "success", "data": data}).to_string().into_bytes()
    }

    fn of(series: &[Value]) -> Samples {
        samples(200, &answer(series)).unwrap()
    }

    fn reading(group: &str, at_us: i64, cpu_s: f64) -> Reading {
        Reading { group: group.to_owned(), at_us, cpu_s, ..Reading::default() }
    }

    #[test]
    fn readings_are_the_newest_values_of_whole_containers_with_their_times() {
        let values = [(1_764_440_000.123, "1.5"), (1_764_440_015.456, "2.25"), (1_764_440_030.0, "NaN")];
        let found = of(&[
            series(CPU_TIME, "envoy", &json!({}), &values),
            series(CPU_TIME, "envoy", &json!({"cpu": "cpu00"}), &[(1_764_440_020.0, "1")]),
            series(CPU_TIME, "", &json!({}), &values),
            series(CPU_TIME, "POD", &json!({}), &values),
            series(CPU_TIME, "none", &json!({}), &[]),
            series("container_cpu_user_seconds_total", "other", &json!({}), &values),
        ]);
        let expected = BTreeMap::from([(container("envoy"), reading("/a", 1_764_440_015_456_000, 2.25))]);
        assert_eq!(found.readings, expected);
    }

    #[test]
    fn of_two_starts_and_of_two_that_asked_the_same_node_the_newest_value_counts() {
        let found = |series: &[Value]| of(series).readings.remove(&container("envoy")).unwrap();
        let old = series(CPU_TIME, "envoy", &json!({"id": "/old"}), &[(100.0, "90")]);
        let new = series(CPU_TIME, "envoy", &json!({"id": "/new"}), &[(110.0, "1"), (120.0, "2")]);
        for both in [[old.clone(), new.clone()], [new, old]] {
            assert_eq!(found(&both), reading("/new", 120_000_000, 2.0));
        }
        let replica = |name: &str, at_s: f64, value: &str| {
            series(CPU_TIME, "envoy", &json!({"prometheus_replica": name}), &[(at_s, value)])
        };
        let both = [replica("a", 110.0, "5"), replica("b", 105.0, "4")];
        assert_eq!(found(&both), reading("/a", 110_000_000, 5.0));
    }

    #[test]
    fn the_periods_of_a_limit_are_those_of_the_same_reading() {
        let [periods, throttled, throttled_s] = OF_LIMITS.map(|(metric, _)| metric);
        let values = |value: &'static str| [(100.0, "0"), (110.0, value)];
        let limit = |series: &[Value]| of(series).readings.remove(&container("envoy")).unwrap().limit;
        let all = [
            series(CPU_TIME, "envoy", &json!({}), &values("2")),
            series(periods, "envoy", &json!({}), &values("40")),
            series(throttled, "envoy", &json!({}), &values("4")),
            series(throttled_s, "envoy", &json!({}), &values("0.25")),
            series(periods, "envoy", &json!({"id": "/b"}), &values("7")),
        ];
        assert_eq!(limit(&all), Some(LimitPeriods { periods: 40, throttled: 4, throttled_s: 0.25 }));
        assert_eq!(limit(&all[..1]), None);
        let late = series(periods, "envoy", &json!({}), &[(100.0, "40")]);
        assert_eq!(limit(&[all[0].clone(), late]), None, "they are those of another time");
    }

    #[test]
    fn containers_of_a_node_with_one_time_have_that_of_a_scrape() {
        let of_all = |series: &[Value]| of(series).have_times_of_scrapes;
        let with_times = |times: [(&str, f64); 4]| {
            let names = ["a", "b", "c", "d"];
            let of = |(name, (instance, at_s)): (&str, (&str, f64))| {
                series(CPU_TIME, name, &json!({"instance": instance}), &[(at_s, "1")])
            };
            of_all(&names.into_iter().zip(times).map(of).collect::<Vec<_>>())
        };
        assert!(with_times([("1", 100.5), ("1", 100.5), ("2", 107.0), ("2", 107.0)]));
        assert!(!with_times([("1", 100.5), ("1", 103.0), ("2", 107.0), ("2", 109.0)]));
        // Two may be read in the same millisecond, and two nodes may be asked in the same one.
        assert!(!with_times([("1", 100.5), ("1", 100.5), ("1", 107.0), ("1", 109.0)]));
        assert!(!with_times([("1", 100.5), ("2", 100.5), ("3", 100.5), ("4", 100.5)]));
        assert!(!of_all(&[series(CPU_TIME, "a", &json!({}), &[(100.0, "1")])]), "one may have any time");
    }

    #[test]
    fn an_answer_that_is_none_says_why_and_an_empty_one_has_no_series() {
        for (status, body, expected) in [
            (200, &b"<html>hunter2</html>"[..], "its answer is not that of the API of Prometheus"),
            (404, &b"404 page not found"[..], "it answered with status 404"),
            (200, &b"{\"status\": \"success\"}"[..], "its answer has no result"),
            (
                200,
                &b"{\"status\": \"success\", \"data\": {\"result\": [1.5, \"2\"]}}"[..],
                "is not that of the API",
            ),
            (
                422,
                &b"{\"status\": \"error\", \"errorType\": \"execution\", \"error\": \"query\\u001b[1m timed out\"}"[..],
                "it answered with an error, execution: query [1m timed out",
            ),
        ] {
            let why = samples(status, body).unwrap_err();
            assert!(why.contains(expected), "{why}");
            assert_eq!(has_series(status, body), Err(why));
        }
        assert_eq!(has_series(200, &answer(&[])), Ok(false));
        assert_eq!(samples(200, &answer(&[])), Ok(Samples::default()));
        // The answer to a question for a number.
        let number = json!({"metric": {}, "value": [1_764_440_000.123, "12"]});
        assert_eq!(has_series(200, &answer(&[number])), Ok(true));
    }

    proptest! {
        #[test]
        fn bytes_of_a_stranger_are_no_readings(bytes in prop::collection::vec(any::<u8>(), 0..200), status in any::<u16>()) {
            prop_assert!(samples(status, &bytes).is_err());
        }

        #[test]
        fn any_times_values_and_labels_are_readings_or_are_left_out(
            all in prop::collection::vec((".{0,8}", any::<f64>(), ".{0,8}|-?[0-9]{1,400}"), 0..6), limit in 0..3_usize,
        ) {
            let of = |(label, at_s, value): &(String, f64, String)| {
                let labels = json!({"id": label, "instance": label, "cpu": if label.is_empty() { "cpu00" } else { "total" }});
                [CPU_TIME, OF_LIMITS[limit].0].map(|metric| series(metric, label, &labels, &[(*at_s, value.as_str())]))
            };
            let all: Vec<Value> = all.iter().flat_map(of).collect();
            // A time that is no number is none in JSON, and so makes it no answer.
            if let Ok(found) = samples(200, &answer(&all)) {
                prop_assert!(found.readings.keys().all(|container| !container.name.is_empty()));
                prop_assert!(found.readings.values().all(|reading| reading.cpu_s.is_finite()));
            }
        }
    }
}
