//! The answers of a Prometheus.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::excerpt::excerpt;
use crate::usage::{Container, Line, Reading, newest};

/// The answer to a query.
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

/// A series, with its values if it was a range query.
#[derive(Deserialize)]
struct Series {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    /// The values with their times, seconds since 1970.
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// True if an answer has a series.
///
/// # Errors
/// The reason, when the query failed.
pub fn has_series(status: u16, body: &[u8]) -> Result<bool, String> {
    answered(status, body).map(|series| !series.is_empty())
}

/// The newest readings in an answer. Of several series of a container, such as those of two that asked the same node, the one with the newest
/// value counts: each value is that of the same counter at its own time. Values that are no numbers are left out.
///
/// # Errors
/// Why there is no answer.
pub fn readings(status: u16, body: &[u8]) -> Result<BTreeMap<Container, Reading>, String> {
    let series = answered(status, body)?;
    Ok(newest(|metric| series.iter().filter_map(move |one| one.newest(metric))))
}

/// The series of an answer.
fn answered(status: u16, body: &[u8]) -> Result<Vec<Series>, String> {
    let Ok(answer) = serde_json::from_slice::<Answer>(body) else {
        return Err(if status == 200 {
            "its answer does not come from the API of Prometheus".to_owned()
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
    /// Its newest value, if it is one of this metric.
    fn newest(&self, metric: &str) -> Option<Line> {
        let label = |name: &str| self.metric.get(name).cloned().unwrap_or_default();
        if label("__name__") != metric {
            return None;
        }
        let number = |(at_s, value): &(f64, String)| {
            let value: f64 = value.parse().ok()?;
            value.is_finite().then_some(((at_s * 1e6).round() as i64, value))
        };
        let (at_us, value) = self.values.iter().filter_map(number).max_by_key(|(at_us, _)| *at_us)?;
        let container =
            Container { namespace: label("namespace"), pod: label("pod"), name: label("container") };
        Some(Line { container, group: label("id"), value, at_us })
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::LimitPeriods;
    use serde_json::{Value, json};

    use super::*;
    use crate::usage::{CPU_TIME, PERIODS, THROTTLED, THROTTLED_S};

    fn container(name: &str) -> Container {
        Container { namespace: "shop".to_owned(), pod: "cart".to_owned(), name: name.to_owned() }
    }

    /// A series of the container `envoy` with more labels than those of every container.
    fn series(metric: &str, more: &Value, values: &[(f64, &str)]) -> Value {
        let mut labels = json!({
            "__name__": metric, "namespace": "shop", "pod": "cart", "container": "envoy", "id": "/a", "cpu": "total",
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

    fn of(series: &[Value]) -> BTreeMap<Container, Reading> {
        readings(200, &answer(series)).unwrap()
    }

    fn reading(group: &str, at_us: i64, cpu_s: f64) -> Reading {
        Reading { group: group.to_owned(), at_us, cpu_s, ..Reading::default() }
    }

    #[test]
    fn readings_are_the_newest_values_of_containers_with_their_times() {
        let values = [
            (1_764_440_000.123, "1.5"),
            (1_764_440_015.456, "2.25"),
            (1_764_440_030.0, "NaN"),
            (1_764_440_030.0, "+Inf"),
            (1_764_440_030.0, "x"),
        ];
        let found = of(&[
            series(CPU_TIME, &json!({}), &values),
            series(CPU_TIME, &json!({"container": "none"}), &[]),
            series("container_cpu_user_seconds_total", &json!({"container": "other"}), &values),
        ]);
        let expected = BTreeMap::from([(container("envoy"), reading("/a", 1_764_440_015_456_000, 2.25))]);
        assert_eq!(found, expected);
    }

    #[test]
    fn of_two_starts_and_of_two_that_asked_the_same_node_the_newest_value_counts() {
        let found = |series: &[Value]| of(series).remove(&container("envoy")).unwrap();
        let old = series(CPU_TIME, &json!({"id": "/old"}), &[(100.0, "90")]);
        let new = series(CPU_TIME, &json!({"id": "/new"}), &[(110.0, "1"), (120.0, "2")]);
        for both in [[old.clone(), new.clone()], [new, old]] {
            assert_eq!(found(&both), reading("/new", 120_000_000, 2.0));
        }
        let replica = |name: &str, at_s: f64, value: &str| {
            series(CPU_TIME, &json!({"prometheus_replica": name}), &[(at_s, value)])
        };
        let both = [replica("a", 110.0, "5"), replica("b", 105.0, "4")];
        assert_eq!(found(&both), reading("/a", 110_000_000, 5.0));
    }

    #[test]
    fn the_periods_of_a_limit_are_those_of_the_same_reading() {
        let values = |value: &'static str| [(100.0, "0"), (110.0, value)];
        let limit = |series: &[Value]| of(series).remove(&container("envoy")).unwrap().limit;
        let all = [
            series(CPU_TIME, &json!({}), &values("2")),
            series(PERIODS, &json!({}), &values("40")),
            series(THROTTLED, &json!({}), &values("4")),
            series(THROTTLED_S, &json!({}), &values("0.25")),
            series(PERIODS, &json!({"id": "/b"}), &values("7")),
        ];
        assert_eq!(limit(&all), Some(LimitPeriods { periods: 40, throttled: 4, throttled_s: 0.25 }));
        assert_eq!(limit(&all[..1]), None);
        let late = series(PERIODS, &json!({}), &[(100.0, "40")]);
        assert_eq!(limit(&[all[0].clone(), late]), None, "they are those of another time");
    }

    #[test]
    fn an_answer_that_is_none_says_why_and_an_empty_one_has_no_series() {
        for (status, body, expected) in [
            (200, &b"<html>hunter2</html>"[..], "its answer does not come from the API of Prometheus"),
            (404, &b"404 page not found"[..], "it answered with status 404"),
            (200, &b"{\"status\": \"success\"}"[..], "its answer has no result"),
            (
                200,
                &b"{\"status\": \"success\", \"data\": {\"result\": [1.5, \"2\"]}}"[..],
                "does not come from the API",
            ),
            (
                422,
                &b"{\"status\": \"error\", \"errorType\": \"execution\", \"error\": \"query\\u001b[1m timed out\"}"[..],
                "it answered with an error, execution: query [1m timed out",
            ),
        ] {
            let why = readings(status, body).unwrap_err();
            assert!(why.contains(expected), "{why}");
            assert_eq!(has_series(status, body), Err(why));
        }
        assert_eq!(has_series(200, &answer(&[])), Ok(false));
        assert_eq!(readings(200, &answer(&[])), Ok(BTreeMap::new()));
        // The answer to a question for a number.
        let number = json!({"metric": {}, "value": [1_764_440_000.123, "12"]});
        assert_eq!(has_series(200, &answer(&[number])), Ok(true));
    }
}
