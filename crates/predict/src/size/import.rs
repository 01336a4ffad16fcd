//! Graphs from the files of other programs: the topologies of isotope, and manifests of Kubernetes.

pub mod isotope;
pub mod kubernetes;
mod sizes;

use std::collections::BTreeMap;

use hoptax_plan::file::{Problem, templated};
use hoptax_result::ungrouped;
use hoptax_text::yaml::{Node, Placed, is_plain};
use serde_json::Value;

use crate::size::graph::{CallStep, GraphFile, ServiceSection};

/// A graph that was converted.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The graph.
    pub graph: GraphFile,
    /// Assumptions, and settings that a graph cannot express, each in a sentence.
    pub notes: Vec<String>,
}

impl Imported {
    /// Its graph file, with the notes as comments.
    pub fn to_yaml(&self) -> String {
        let value = serde_json::to_value(&self.graph).unwrap_or_default();
        let mut text: String = self.notes.iter().map(|note| format!("# {note}\n")).collect();
        for (key, value) in value.as_object().into_iter().flatten() {
            match value.as_array() {
                Some(items) => {
                    text += &format!("{key}:\n");
                    text.extend(items.iter().map(|item| format!("  - {}\n", flow(item))));
                }
                None => text += &format!("{key}: {}\n", flow(value)),
            }
        }
        text
    }
}

/// YAML on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key}: {}", flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) if is_plain(text) => text.clone(),
        // Whole numbers without decimals: `2` instead of `2.0`.
        other => other
            .as_f64()
            .filter(|number| number.fract().abs() <= 0.0)
            .map_or_else(|| other.to_string(), |number| ungrouped(number, 0)),
    }
}

/// The entries of a mapping; empty for any other node.
fn entries(node: &Placed) -> impl Iterator<Item = (&str, &Placed)> {
    let entries = match &node.value {
        Node::Mapping(entries) => entries.as_slice(),
        _ => &[],
    };
    entries.iter().map(|(key, value)| (key.value.as_str(), value))
}

/// The value of a key of a mapping.
fn field<'a>(node: &'a Placed, key: &str) -> Option<&'a Placed> {
    entries(node).find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// The value at a path of keys.
fn at<'a>(node: &'a Placed, path: &[&str]) -> Option<&'a Placed> {
    path.iter().try_fold(node, |node, key| field(node, key))
}

/// The items of a list; empty for any other node.
fn items(node: &Placed) -> &[Placed] {
    match &node.value {
        Node::Sequence(items) => items,
        _ => &[],
    }
}

/// A string.
fn string(node: &Placed) -> Option<&str> {
    match &node.value {
        Node::Scalar(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// A number.
fn number(node: &Placed) -> Option<f64> {
    match &node.value {
        Node::Scalar(Value::Number(number)) => number.as_f64(),
        _ => None,
    }
}

/// A positive whole number.
fn count(node: &Placed) -> Option<u32> {
    number(node).filter(|number| *number >= 1.0 && *number <= 1e6 && number.fract() == 0.0).map(|n| n as u32)
}

/// A problem with a node. If the value is an unrendered template, the problem says so instead.
fn problem_at(node: &Placed, message: String) -> Problem {
    let (line, column) = (node.referenced.line(), node.referenced.column());
    let of_template = match &node.value {
        Node::Scalar(value) => templated(value, line, column),
        _ => None,
    };
    of_template.unwrap_or(Problem { line, column, message })
}

/// The names of services that call each other in a cycle; none if there is no cycle.
fn cycle(services: &[ServiceSection]) -> Option<Vec<&str>> {
    let places: BTreeMap<&str, usize> =
        services.iter().enumerate().map(|(place, service)| (service.name.as_str(), place)).collect();
    let called = |service: &ServiceSection| -> Vec<usize> {
        let calls = service.calls.iter().flat_map(CallStep::calls);
        calls.filter_map(|call| places.get(call.service.as_str()).copied()).collect()
    };
    let calls: Vec<Vec<usize>> = services.iter().map(called).collect();
    let mut callers = vec![Vec::new(); services.len()];
    for (caller, calls) in calls.iter().enumerate() {
        for called in calls {
            callers[*called].push(caller);
        }
    }
    // A service is not part of a cycle if it calls only services that are not.
    let mut open: Vec<usize> = calls.iter().map(Vec::len).collect();
    let mut ended: Vec<usize> = (0..services.len()).filter(|place| open[*place] == 0).collect();
    while let Some(place) = ended.pop() {
        for caller in &callers[place] {
            open[*caller] -= 1;
            if open[*caller] == 0 {
                ended.push(*caller);
            }
        }
    }
    let mut way = vec![open.iter().position(|calls| *calls > 0)?];
    loop {
        let next = *calls[*way.last()?].iter().find(|called| open[**called] > 0)?;
        if let Some(first) = way.iter().position(|place| *place == next) {
            return Some(way.iter().skip(first).map(|place| services[*place].name.as_str()).collect());
        }
        way.push(next);
    }
}

/// A list of names for a sentence.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("`{}`", names.collect::<Vec<_>>().join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::graph::{CallSection, CallStep, GRAPH_FILE, ServiceSection};

    #[test]
    fn a_graph_is_written_as_it_is_read() {
        let call = |service: &str, factor| CallSection { service: service.to_owned(), factor };
        let graph = GraphFile {
            name: "1e3".to_owned(),
            entry: "front".to_owned(),
            protocol: hoptax_plan::file::Protocol::Grpc,
            services: vec![
                ServiceSection {
                    workers: 3,
                    service_time_us: 1_500.0,
                    calls: vec![
                        CallStep::One(call("yes", 0.25)),
                        CallStep::Together(vec![call("yes", 1.0), call("yes", 2.0)]),
                    ],
                    functions: vec!["rbac{rules=50}".to_owned()],
                    ..ServiceSection::named("front")
                },
                ServiceSection { proxy: false, ..ServiceSection::named("yes") },
            ],
        };
        let text = Imported { graph: graph.clone(), notes: vec!["a note".to_owned()] }.to_yaml();
        let (read, _) = GRAPH_FILE.read("graph.yaml", &text).unwrap();
        assert_eq!(read, graph, "{text}");
        assert!(text.starts_with("# a note\nname: \"1e3\"\n"), "{text}");
        assert!(text.contains("calls: [{service: \"yes\", factor: 0.25}"), "{text}");
    }
}
