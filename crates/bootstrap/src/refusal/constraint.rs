//! Reasons about a constraint of a message: `Proto constraint validation failed (ClusterValidationError.Name: ...)`.
//!
//! The path begins at the message that Envoy validates: the bootstrap, or the message of an extension, of which there may be several.

use serde_json::Value;

use super::{find as find_nodes, item};
use crate::tree::{extension_type, items, join, last_step, message_type};

/// Resources that Envoy validates separately, and the lists of the bootstrap that hold them.
const RESOURCES: [(&str, &str); 2] =
    [("Listener", "/static_resources/listeners"), ("Cluster", "/static_resources/clusters")];

/// The beginning of such a reason.
pub(super) const START: &str = "Proto constraint validation failed (";

/// A step of the path.
struct Step<'a> {
    /// A field, as the generated code names it: `StatPrefix`.
    field: &'a str,
    /// The index of an item, or the key of an entry.
    index: Option<&'a str>,
}

/// A field of a message that may violate the constraint.
struct Candidate<'a> {
    pointer: String,
    /// Its value; none if the message lacks it.
    value: Option<&'a Value>,
}

/// The fields at the path. If it exists in several messages, those that can violate the constraint.
pub(super) fn find(tree: &Value, reason: &str) -> Vec<String> {
    let Some((_, path)) = reason.split_once(START) else { return Vec::new() };
    let mut steps = Vec::new();
    let (mut message, mut what) = ("", "");
    for (index, part) in path.split(" | caused by ").enumerate() {
        let (head, cause) = part.split_once(": ").unwrap_or((part, ""));
        what = cause;
        // A required choice between fields has no path of its own.
        let Some((error, field)) = head.split_once("ValidationError.") else { continue };
        if index == 0 {
            message = error;
        }
        let (field, index) = match field.split_once('[') {
            Some((field, index)) => (field, Some(index.trim_end_matches(']'))),
            None => (field, None),
        };
        steps.push(Step { field, index });
    }
    let mut found: Vec<Candidate<'_>> = Vec::new();
    for (pointer, node) in roots(tree, message) {
        follow(pointer, node, &steps, &mut found);
    }
    let is_about_absence = ["required", "at least"].iter().any(|word| what.contains(word));
    let is_preferred = |candidate: &&Candidate<'_>| candidate.value.is_none_or(is_empty) == is_about_absence;
    let preferred: Vec<&Candidate<'_>> = found.iter().filter(is_preferred).collect();
    let all = if preferred.is_empty() { found.iter().collect() } else { preferred };
    all.into_iter().map(|candidate| candidate.pointer.clone()).collect()
}

/// The messages of a type, by its last step.
fn roots<'a>(tree: &'a Value, message: &str) -> Vec<(String, &'a Value)> {
    if message == "Bootstrap" {
        return vec![(String::new(), tree)];
    }
    if let Some((_, list)) = RESOURCES.iter().find(|(name, _)| *name == message) {
        return items(tree, list);
    }
    if message.is_empty() {
        return Vec::new();
    }
    let is_it = |of: &str| of.rsplit('.').next() == Some(message);
    let is_meant = |pointer: &str, node: &Value| match message {
        "RouteConfiguration" => last_step(pointer) == "route_config",
        // A wrapped configuration is inside of the wrapper, where it has no type.
        _ if node.pointer("/typed_config/value").is_some() => is_it(extension_type(node)),
        _ => is_it(message_type(node)),
    };
    let found = find_nodes(tree, &is_meant).into_iter().map(|pointer| {
        let wrapped = format!("{pointer}/typed_config/value");
        if tree.pointer(&wrapped).is_some() { wrapped } else { pointer }
    });
    found.filter_map(|pointer| tree.pointer(&pointer).map(|node| (pointer, node))).collect()
}

/// Adds the fields at the path below a node; none if a step before the last one does not exist.
fn follow<'a>(pointer: String, node: &'a Value, steps: &[Step<'_>], found: &mut Vec<Candidate<'a>>) {
    let Some((step, rest)) = steps.split_first() else {
        found.push(Candidate { pointer, value: Some(node) });
        return;
    };
    let mut fields = node.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let Some((key, value)) = fields.find(|(key, _)| is_field(key, step.field)) else {
        if rest.is_empty() {
            found.push(Candidate { pointer, value: None });
        }
        return;
    };
    let pointer = join(&pointer, key);
    match (step.index, value) {
        (None, _) => follow(pointer, value, rest, found),
        (Some(key), Value::Object(_)) => {
            if let Some(value) = value.get(key) {
                follow(join(&pointer, key), value, rest, found);
            }
        }
        (Some(index), _) => {
            if let Ok(index) = index.parse() {
                if let Some((key, value)) = item(value, index) {
                    follow(join(&pointer, &key), value, rest, found);
                }
                return;
            }
            // Envoy before 1.14 does not state the index of an item.
            for (step, value) in items(value, "") {
                follow(format!("{pointer}{step}"), value, rest, found);
            }
        }
    }
}

/// True if a key is the field that generated code calls `field`: `http2_protocol_options` is `Http2ProtocolOptions`.
fn is_field(key: &str, field: &str) -> bool {
    key.chars()
        .filter(|c| *c != '_')
        .map(|c| c.to_ascii_lowercase())
        .eq(field.chars().map(|c| c.to_ascii_lowercase()))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(Value::is_null),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}
