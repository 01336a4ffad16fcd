//! What differs between two configurations: by filter, log, tracer, TLS and routes, not by text.

use std::fmt;

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
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, .. } = self;
        match (&self.first, &self.second) {
            (Some(first), Some(second)) => write!(f, "{kind} `{name}` differs ({first}, {second})"),
            (Some(only), None) | (None, Some(only)) => write!(f, "{kind} `{name}` only in {only}"),
            (None, None) => write!(f, "{kind} `{name}`"),
        }
    }
}

/// What differs between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Parts that a request passes, in the order in which it meets them in the first configuration, and then those that
    /// only the second has.
    pub parts: Vec<Difference>,
    /// Whether anything else differs: listeners, clusters, the route of the request.
    pub is_rest_different: bool,
}

/// The differences between two configurations, each with the parts that its request passes ([`crate::parts::parts`]). Both
/// are adapted to the same lab, so addresses, certificates and secrets do not differ.
pub fn differences(first: (&Adapted, &[Part]), second: (&Adapted, &[Part])) -> Differences {
    let is_it = |one: &Part, other: &Part| one.kind == other.kind && one.name == other.name;
    let mut parts = Vec::new();
    for part in first.1 {
        let same = second.1.iter().find(|other| is_it(part, other));
        if same.is_none_or(|same| contents(first.0, part) != contents(second.0, same)) {
            parts.push(Difference {
                kind: part.kind,
                name: part.name.clone(),
                first: Some(part.place.clone()),
                second: same.map(|same| same.place.clone()),
            });
        }
    }
    let only = second.1.iter().filter(|part| first.1.iter().all(|other| !is_it(part, other)));
    parts.extend(only.map(|part| Difference {
        kind: part.kind,
        name: part.name.clone(),
        first: None,
        second: Some(part.place.clone()),
    }));
    let rest = |(adapted, parts): (&Adapted, &[Part])| {
        without_empty(&adapted.without(parts.iter().flat_map(|part| &part.pointers)))
    };
    Differences { parts, is_rest_different: rest(first) != rest(second) }
}

/// The nodes of a part.
fn contents(adapted: &Adapted, part: &Part) -> Vec<Value> {
    let nodes = part.pointers.iter().filter_map(|pointer| adapted.tree.pointer(pointer));
    nodes.filter(|node| !node.is_null()).map(compact).collect()
}

/// A copy without empty lists and mappings, which a removed part leaves.
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
    use crate::fixture::{EDGE, adapted};
    use crate::parts::parts;
    use crate::request::derive;

    fn between(one: &str, other: &str) -> Differences {
        let [first, second] = [one, other].map(|text| {
            let adapted = adapted(text);
            let request = derive(&adapted, &adapted.listeners[0]).unwrap();
            let parts = parts(&adapted, &adapted.listeners[0], &request);
            (adapted, parts)
        });
        differences((&first.0, &first.1), (&second.0, &second.1))
    }

    fn texts(found: &Differences) -> Vec<String> {
        found.parts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_configuration_does_not_differ_from_itself_with_other_addresses_and_secrets() {
        assert_eq!(between(EDGE, EDGE), Differences::default());
        let other = EDGE.replace("port_value: 443", "port_value: 8443").replace("hunter2-key", "another-key");
        assert_ne!(other, EDGE);
        assert_eq!(between(EDGE, &other), Differences::default());
    }

    #[test]
    fn a_filter_that_is_missing_or_configured_otherwise_is_named_with_its_place() {
        let cors = "                  - name: cors\n                    typed_config: {\"@type\": \
                    type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}\n";
        assert!(EDGE.contains(cors));
        let without = EDGE.replace(cors, "");
        assert_eq!(texts(&between(EDGE, &without)), ["HTTP filter `cors` only in envoy.yaml:55"]);
        assert_eq!(texts(&between(&without, EDGE)), ["HTTP filter `cors` only in envoy.yaml:55"]);
        let changed = EDGE.replace("endpoint: /api/v2/spans", "endpoint: /other");
        let found = texts(&between(EDGE, &changed));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("tracer `envoy.tracers.zipkin` differs (envoy.yaml:"), "{found:?}");
        assert!(!between(EDGE, &changed).is_rest_different);
    }

    #[test]
    fn what_is_no_part_differs_as_the_rest() {
        let found = between(EDGE, &EDGE.replace("{cluster: cart}", "{cluster: cart, timeout: 3s}"));
        assert!(found.parts.is_empty() && found.is_rest_different, "{found:?}");
    }
}
