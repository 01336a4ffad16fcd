//! Differences between two configurations, by filter, log, tracer, TLS and routes instead of by line of text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::adapt::Adapted;
use crate::parts::{Part, PartKind};
use crate::place::Place;
use crate::tree::compact;

/// A part that only one of two configurations has, or that differs between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its kind.
    pub kind: PartKind,
    /// Its name.
    pub name: String,
    /// Its place in the first configuration; none if only the second has it.
    pub first: Option<Place>,
    /// Its place in the second configuration; none if only the first has it.
    pub second: Option<Place>,
    /// Paths of its fields that differ, if both configurations have it. Values are left out, because they may be secret.
    pub fields: Vec<String>,
}

/// Differences between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Parts that a request passes, in the order of the first configuration, followed by those that only the second has.
    pub parts: Vec<Difference>,
    /// True if a request passes the parts that both have in another order.
    pub is_order_different: bool,
    /// Paths of all other fields that differ: in listeners, routes, clusters and so on.
    pub rest: Vec<String>,
}

/// A configuration and the parts that its request passes.
#[derive(Clone, Copy)]
pub struct TakenApart<'a> {
    /// The configuration as adapted to the lab.
    pub adapted: &'a Adapted,
    /// Its parts; see [`crate::parts::parts`].
    pub parts: &'a [Part],
}

impl TakenApart<'_> {
    /// The nodes of one of its parts.
    fn nodes(self, part: &Part) -> Vec<Value> {
        let nodes = part.pointers.iter().filter_map(|pointer| self.adapted.tree.pointer(pointer));
        nodes.filter(|node| !node.is_null()).map(compact).collect()
    }

    /// Returns the configuration without its parts.
    fn rest(self) -> Value {
        without_empty(&self.adapted.without(self.parts.iter().flat_map(|part| &part.pointers)))
    }
}

/// The differences between two configurations. Both are adapted to the same lab, so addresses, certificates and secrets do not differ.
pub fn differences(first: TakenApart<'_>, second: TakenApart<'_>) -> Differences {
    let is_it = |one: &Part, other: &Part| one.kind == other.kind && one.name == other.name;
    let place_of = |part: &Part, all: &[Part]| all.iter().position(|other| is_it(part, other));
    let mut parts = Vec::new();
    for part in first.parts {
        let same = second.parts.iter().find(|other| is_it(part, other));
        let fields = same.map_or_else(Vec::new, |same| between_nodes(first.nodes(part), second.nodes(same)));
        if same.is_none() || !fields.is_empty() {
            parts.push(Difference {
                kind: part.kind,
                name: part.name.clone(),
                first: Some(part.place.clone()),
                second: same.map(|same| same.place.clone()),
                fields,
            });
        }
    }
    let only = second.parts.iter().filter(|part| place_of(part, first.parts).is_none());
    parts.extend(only.map(|part| Difference {
        kind: part.kind,
        name: part.name.clone(),
        first: None,
        second: Some(part.place.clone()),
        fields: Vec::new(),
    }));
    let common: Vec<usize> = first.parts.iter().filter_map(|part| place_of(part, second.parts)).collect();
    let mut found = Vec::new();
    fields(&first.rest(), &second.rest(), "", &mut found);
    Differences { parts, is_order_different: !common.is_sorted(), rest: found }
}

/// The paths at which the nodes of a part differ.
fn between_nodes(one: Vec<Value>, other: Vec<Value>) -> Vec<String> {
    let mut found = Vec::new();
    // Most parts have a single node, which needs no number.
    match (one.as_slice(), other.as_slice()) {
        ([one], [other]) => fields(one, other, "", &mut found),
        _ => fields(&Value::Array(one), &Value::Array(other), "", &mut found),
    }
    found
}

/// Adds the paths below `path` at which two nodes differ: `clusters[cart].connect_timeout`. The items of a list are
/// compared by their names if all have one, and by their numbers otherwise.
fn fields(one: &Value, other: &Value, path: &str, found: &mut Vec<String>) {
    if one == other {
        return;
    }
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match (one.get(key), other.get(key)) {
                    (Some(one), Some(other)) => fields(one, other, &below, found),
                    _ => found.push(below),
                }
            }
        }
        (Value::Array(one), Value::Array(other)) => match (by_name(one), by_name(other)) {
            (Some(one), Some(other)) => named_items(&one, &other, path, found),
            _ if one.len() == other.len() => {
                for (number, (one, other)) in one.iter().zip(other).enumerate() {
                    fields(one, other, &format!("{path}[{number}]"), found);
                }
            }
            _ => found.push(path.to_owned()),
        },
        _ => found.push(path.to_owned()),
    }
}

/// The items of a list by their names, with their numbers.
type Named<'a> = BTreeMap<&'a str, (usize, &'a Value)>;

/// Like [`fields`], for lists whose items have names. Their order may matter, as for routes.
fn named_items(one: &Named<'_>, other: &Named<'_>, path: &str, found: &mut Vec<String>) {
    let names: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
    let mut common = Vec::new();
    for name in names {
        let below = format!("{path}[{name}]");
        match (one.get(name), other.get(name)) {
            (Some((first, one)), Some((second, other))) => {
                common.push((*first, *second));
                fields(one, other, &below, found);
            }
            _ => found.push(below),
        }
    }
    common.sort_unstable();
    if !common.is_sorted_by_key(|(_, second)| *second) {
        found.push(format!("{path} (order)"));
    }
}

/// The items of a list by their names. None if an item has no name, or two have the same.
fn by_name(items: &[Value]) -> Option<Named<'_>> {
    let items_with_names =
        items.iter().enumerate().map(|(number, item)| Some((item.get("name")?.as_str()?, (number, item))));
    let named: Named<'_> = items_with_names.collect::<Option<_>>()?;
    (named.len() == items.len()).then_some(named)
}

/// A copy without empty lists and mappings, which a removed part leaves behind.
fn without_empty(value: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Object(entries) => entries.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(entries) => {
            let kept = entries.iter().map(|(key, value)| (key.clone(), without_empty(value)));
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.iter().map(without_empty).filter(|item| !is_empty(item)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{EDGE, adapted, passed_parts};

    fn between(one: &str, other: &str) -> Differences {
        let [first, second] = [one, other].map(|text| {
            let adapted = adapted(text);
            let parts = passed_parts(&adapted);
            (adapted, parts)
        });
        differences(
            TakenApart { adapted: &first.0, parts: &first.1 },
            TakenApart { adapted: &second.0, parts: &second.1 },
        )
    }

    #[test]
    fn a_configuration_does_not_differ_from_itself_with_other_addresses_and_secrets() {
        assert_eq!(between(EDGE, EDGE), Differences::default());
        let other = EDGE.replace("port_value: 443", "port_value: 8443").replace("hunter2-key", "another-key");
        assert_ne!(other, EDGE);
        assert_eq!(between(EDGE, &other), Differences::default());
    }

    #[test]
    fn a_filter_that_only_one_has_is_named_with_its_place() {
        let cors = "                  - name: cors\n                    typed_config: {\"@type\": \
                    type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}\n";
        assert!(EDGE.contains(cors));
        let without = EDGE.replace(cors, "");
        for (one, other, is_first) in [(EDGE, without.as_str(), true), (without.as_str(), EDGE, false)] {
            let found = between(one, other);
            let [cors] = found.parts.as_slice() else { panic!("{found:?}") };
            assert_eq!((cors.kind, cors.name.as_str()), (PartKind::HttpFilter, "cors"));
            assert_eq!((cors.first.is_some(), cors.second.is_some()), (is_first, !is_first));
            let place = cors.first.as_ref().or(cors.second.as_ref()).unwrap();
            assert_eq!(place.to_string(), "envoy.yaml:55");
            assert!(!found.is_order_different, "{found:?}");
        }
    }

    #[test]
    fn parts_in_another_order_are_said_to_be() {
        let cors = "                  - name: cors\n                    typed_config: {\"@type\": \
                    type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}\n";
        let filters = "                http_filters:\n";
        assert!(EDGE.contains(cors) && EDGE.contains(filters));
        let other = EDGE.replace(cors, "").replacen(filters, &format!("{filters}{cors}"), 1);
        let found = between(EDGE, &other);
        assert!(found.is_order_different && found.parts.is_empty(), "{found:?}");
    }

    #[test]
    fn a_part_that_is_configured_otherwise_has_the_fields_that_differ_without_their_values() {
        let found = between(EDGE, &EDGE.replace("endpoint: /api/v2/spans", "endpoint: /other"));
        let [tracer] = found.parts.as_slice() else { panic!("{found:?}") };
        assert_eq!((tracer.kind, tracer.name.as_str()), (PartKind::Tracer, "envoy.tracers.zipkin"));
        assert!(tracer.first.is_some() && tracer.second.is_some());
        let [field] = tracer.fields.as_slice() else { panic!("{tracer:?}") };
        assert!(field.ends_with("collector_endpoint"), "{field}");
        assert!(found.rest.is_empty(), "{found:?}");
    }

    #[test]
    fn what_is_no_part_differs_with_its_path() {
        let found = between(EDGE, &EDGE.replace("{cluster: cart}", "{cluster: cart, timeout: 3s}"));
        assert!(found.parts.is_empty(), "{found:?}");
        let [field] = found.rest.as_slice() else { panic!("{found:?}") };
        assert!(
            field.starts_with("static_resources.listeners[") && field.ends_with(".route.timeout"),
            "{field}"
        );
    }

    #[test]
    fn items_are_compared_by_name_and_their_order_counts() {
        let paths = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| serde_json::from_str::<Value>(text).unwrap());
            let mut found = Vec::new();
            fields(&one, &other, "", &mut found);
            found
        };
        let [a, b] = [r#"{"name": "a", "x": 1}"#, r#"{"name": "b"}"#];
        let list = |items: &[&str]| format!("{{\"list\": [{}]}}", items.join(","));
        assert_eq!(paths(&list(&[a, b]), &list(&[a, b])), Vec::<String>::new());
        assert_eq!(paths(&list(&[a, b]), &list(&[b, a])), ["list (order)"]);
        assert_eq!(paths(&list(&[a, b]), &list(&[b])), ["list[a]"]);
        assert_eq!(paths(&list(&[a, b]), &list(&[r#"{"name": "a", "x": 2}"#, b])), ["list[a].x"]);
        assert_eq!(paths(&list(&["1", "2"]), &list(&["1", "3"])), ["list[1]"]);
        assert_eq!(paths(&list(&["1", "2"]), &list(&["1"])), ["list"]);
    }
}
