//! Reasons with the path of a node, which come from the JSON parser.

use serde_json::Value;

use super::{find as find_nodes, item};
use crate::tree::join;

/// The node at the path in a reason, or its unknown field; for an unknown value of an enumeration, where Envoy states no path, the nodes
/// with the value.
pub(super) fn find(tree: &Value, reason: &str) -> Vec<String> {
    if let Some((_, rest)) = reason.split_once("unknown enum value: '") {
        let value = rest.split_once('\'').map_or(rest, |(value, _)| value);
        return find_nodes(tree, &|_, node| node == value);
    }
    let Some((path, unknown)) = current(reason).or_else(|| former(reason)) else { return Vec::new() };
    let (mut pointer, node) = resolve(tree, path);
    if let Some(field) = unknown.filter(|field| node.get(field).is_some()) {
        pointer = join(&pointer, field);
    }
    // A reason about the whole bootstrap names no node.
    Some(pointer).filter(|pointer| !pointer.is_empty()).into_iter().collect()
}

/// The path, and the unknown field if there is one, in the format of protobuf since version 23:
/// `invalid JSON in T @ static_resources.clusters[1]: message T, near 300:25 (offset 9918): no such field: 'x'`.
fn current(reason: &str) -> Option<(&str, Option<&str>)> {
    let (_, rest) = reason.split_once("invalid JSON in ")?;
    let (head, _) = rest.split_once(", near ")?;
    let path =
        head.split_once(" @ ").map_or("", |(_, path)| path.split_once(": ").map_or(path, |(path, _)| path));
    let unknown = rest.split_once("no such field: '").and_then(|(_, rest)| rest.split_once('\''));
    Some((path, unknown.map(|(field, _)| field)))
}

/// The same in the format of earlier versions: `INVALID_ARGUMENT:(static_resources.clusters[0]) hosts: Cannot find field.`, without the
/// parentheses at the root.
fn former(reason: &str) -> Option<(&str, Option<&str>)> {
    let (_, rest) = reason.split_once("INVALID_ARGUMENT:")?;
    let (path, rest) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).unwrap_or(("", rest));
    let unknown = rest.split_once(": Cannot find field").map(|(field, _)| field.trim());
    // Other reasons of this form have only the path.
    (unknown.is_some() || !path.is_empty()).then_some((path, unknown))
}

/// The last existing node of a path, with its pointer. `<any>` is the message in a typed configuration, which is the same node in JSON.
fn resolve<'a>(tree: &'a Value, path: &str) -> (String, &'a Value) {
    let (mut pointer, mut node) = (String::new(), tree);
    for step in path.split('.').filter(|step| !step.is_empty() && *step != "<any>") {
        let (field, index) = match step.split_once('[') {
            Some((field, rest)) => (field, rest.trim_end_matches(']').parse::<usize>().ok()),
            None => (step, None),
        };
        let Some(next) = node.get(field).filter(|next| !next.is_null()) else { break };
        (pointer, node) = (join(&pointer, field), next);
        if let Some(index) = index {
            let Some((key, next)) = item(node, index) else { break };
            (pointer, node) = (join(&pointer, &key), next);
        }
    }
    (pointer, node)
}

/// A reason without the position in the adapted bootstrap, which is not the user's file.
pub(super) fn without_position(reason: &str) -> String {
    let Some((before, rest)) = reason.split_once(", near ") else { return reason.to_owned() };
    match rest.split_once("): ") {
        Some((position, behind)) if position.contains("(offset ") => format!("{before}: {behind}"),
        _ => reason.to_owned(),
    }
}
