//! The dashboard of Grafana in `docs/`, beside what `/metrics` serves.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::{PLACES, STREAMS, Site};

const DASHBOARD: &str = include_str!("../../../../docs/reference/grafana-dashboard.json");
/// The columns of a dashboard.
const COLUMNS: u64 = 24;
/// The label that Prometheus gives each server.
const INSTANCE: &str = "instance";

fn dashboard() -> Value {
    serde_json::from_str(DASHBOARD).unwrap()
}

fn list<'a>(value: &'a Value, place: &str) -> &'a Vec<Value> {
    value.pointer(place).and_then(Value::as_array).unwrap_or_else(|| panic!("{place}: {value}"))
}

fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("{place}: {value}"))
}

/// The names of metrics in an expression.
fn names(expression: &str) -> BTreeSet<&str> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("hoptax")).collect()
}

/// All expressions of a dashboard, with the panel of each.
fn expressions(dashboard: &Value) -> Vec<(&str, &Value)> {
    let panels = list(dashboard, "/panels").iter();
    panels
        .flat_map(|panel| list(panel, "/targets").iter().map(move |target| (text(target, "/expr"), panel)))
        .collect()
}

/// The metrics that a server has, each with its type.
fn served(metrics: &str) -> BTreeMap<&str, &str> {
    let types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split_once(' ').unwrap()).collect()
}

/// The values of a label of a metric.
fn values<'a>(metrics: &'a str, metric: &str, label: &str) -> BTreeSet<&'a str> {
    let begin = format!("{metric}{{{label}=\"");
    metrics.lines().filter_map(|line| line.strip_prefix(&begin)?.split('"').next()).collect()
}

#[test]
fn every_metric_is_on_the_dashboard_and_every_metric_of_the_dashboard_is_served() {
    let (dashboard, metrics) = (dashboard(), Site::new().get("/metrics").body);
    let served = served(&metrics);
    assert!(served.len() > 5, "{metrics}");
    let drawn: BTreeSet<&str> =
        expressions(&dashboard).into_iter().flat_map(|(expression, _)| names(expression)).collect();
    let served: BTreeSet<&str> = served.into_keys().collect();
    assert_eq!(drawn, served);
    for variable in list(&dashboard, "/templating/list").iter().filter(|one| one["type"] == "query") {
        for place in ["/definition", "/query/query"] {
            let used = names(text(variable, place));
            assert!(!used.is_empty() && used.is_subset(&drawn), "{variable}");
        }
    }
}

#[test]
fn counters_are_drawn_by_their_growth_and_gauges_as_they_are() {
    let (dashboard, metrics) = (dashboard(), Site::new().get("/metrics").body);
    let served = served(&metrics);
    for (expression, panel) in expressions(&dashboard) {
        for name in names(expression) {
            let (before, _) = expression.split_once(name).unwrap();
            let is_growth = before.ends_with("rate(") || before.ends_with("increase(");
            assert_eq!(is_growth, served[name] == "counter", "{expression}");
            let unit = text(panel, "/fieldConfig/defaults/unit");
            let is_per_second = ["reqps", "cps"].contains(&unit);
            assert_eq!(is_per_second, before.ends_with("rate("), "{unit}: {expression}");
        }
    }
}

#[test]
fn series_are_told_apart_by_labels_that_are_served_and_each_value_is_explained() {
    let (dashboard, metrics) = (dashboard(), Site::new().get("/metrics").body);
    for (expression, panel) in expressions(&dashboard) {
        let (_, rest) = expression.split_once(" by (").unwrap_or_else(|| panic!("{expression}"));
        let label = rest.split_once(')').unwrap().0;
        for target in list(panel, "/targets") {
            assert_eq!(text(target, "/legendFormat"), format!("{{{{{label}}}}}"), "{expression}");
        }
        if label == INSTANCE {
            continue;
        }
        for name in names(expression) {
            let values = values(&metrics, name, label);
            assert!(values.len() > 1, "{name}: {label}");
            for value in values {
                assert!(text(panel, "/description").contains(&format!("`{value}`")), "{label}: {value}");
            }
        }
    }
}

#[test]
fn lines_are_at_the_limits_of_the_server() {
    let dashboard = dashboard();
    let line = |metric: &str| {
        let all = expressions(&dashboard);
        let (_, panel) = all.iter().find(|(expression, _)| names(expression).contains(metric)).unwrap();
        assert_eq!(panel["fieldConfig"]["defaults"]["custom"]["thresholdsStyle"]["mode"], "dashed");
        list(panel, "/fieldConfig/defaults/thresholds/steps").last().unwrap()["value"].as_u64()
    };
    assert_eq!(line("hoptax_serve_connections"), Some(PLACES as u64));
    assert_eq!(line("hoptax_serve_event_streams"), Some(STREAMS as u64));
}

/// The schema of classic dashboards of Grafana 11: <https://grafana.com/docs/grafana/latest/visualizations/dashboards/build-dashboards/view-dashboard-json-model/>.
/// Later releases migrate it. What they change up to version 43 is not in this one: `refresh` is a text, and there are no `time_options`.
#[test]
fn grafana_11_and_later_read_the_dashboard() {
    let dashboard = dashboard();
    assert_eq!(dashboard["schemaVersion"], json!(39));
    assert_eq!(dashboard["id"], Value::Null, "a number belongs to one Grafana");
    assert!(dashboard["refresh"].is_string() && dashboard["timepicker"]["time_options"].is_null());
    let id = text(&dashboard, "/uid");
    assert!(id.len() <= 40 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{id}");
    let variables: Vec<&str> =
        list(&dashboard, "/templating/list").iter().map(|one| text(one, "/name")).collect();
    assert_eq!(variables, ["datasource", INSTANCE]);
    let mut ids = BTreeSet::new();
    let mut covered = BTreeSet::new();
    for panel in list(&dashboard, "/panels") {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert_eq!(panel["type"], "timeseries", "{panel}");
        for place in ["/title", "/description", "/fieldConfig/defaults/unit"] {
            assert!(!text(panel, place).is_empty(), "{place}: {panel}");
        }
        for value in list(panel, "/targets").iter().chain([panel]) {
            assert_eq!(value["datasource"], json!({"type": "prometheus", "uid": "${datasource}"}));
        }
        let [height, width, left, top] =
            ["h", "w", "x", "y"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(height > 0 && width > 0 && left + width <= COLUMNS, "{panel}");
        for place in (left..left + width).flat_map(|x| (top..top + height).map(move |y| (x, y))) {
            assert!(covered.insert(place), "two panels at {place:?}");
        }
    }
}
