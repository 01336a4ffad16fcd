//! Translates Wikimedia's files with listeners: hiera data of hosts and values of Helm charts. Their keys become those of a listeners file;
//! positions stay.

use std::collections::BTreeSet;

use hoptax_text::yaml::envoy::{Key, Node, Style, Tree};
use serde_json::Value;

/// The keys of a hiera file, each with its name in a listeners file.
const OF_HIERA: [(&str, &str); 2] =
    [("profile::services_proxy::envoy::listeners", "listeners"), ("service::catalog", "services")];

/// The key of a hiera file with the names of a host's listeners. Without it, the host has all of them.
const ENABLED: &str = "profile::services_proxy::envoy::enabled_listeners";

/// The key of a chart's values with listeners by name.
const OF_CHART: &str = "services_proxy";

/// The service keys that a listeners file uses; services in a hiera catalogue have many others.
const OF_SERVICE: [&str; 3] = ["port", "encryption", "upstream"];

/// The upstream keys that a listeners file uses; in a chart, upstreams also have keys of their connections.
const OF_UPSTREAM: [&str; 3] = ["address", "port", "encryption"];

/// Addresses of an upstream, from which charts generate network policies.
const ADDRESSES: &str = "ips";

/// Returns true if a key shows that a file has one of these formats.
pub(crate) fn is_of_listeners(key: &str) -> bool {
    key == OF_CHART || OF_HIERA.iter().any(|(long, short)| *long == key && *short == "listeners")
}

/// The translated tree, with only the listeners that a hiera file enables.
pub(super) struct Translated {
    pub(super) root: Tree,
    /// True if keys were translated.
    pub(super) is_foreign: bool,
    /// Names of enabled listeners that do not exist.
    pub(super) missing: Vec<Tree>,
}

/// Translates a tree.
pub(super) fn translated(root: Tree) -> Translated {
    let Node::Mapping(mut entries) = root.node else {
        return Translated { root, is_foreign: false, missing: Vec::new() };
    };
    let missing = keep_enabled(&mut entries);
    let is_hiera = entries.iter().any(|(key, _)| OF_HIERA.iter().any(|(long, _)| *long == key.text));
    let is_chart =
        entries.iter().any(|(key, value)| key.text == OF_CHART && matches!(value.node, Node::Mapping(_)));
    let entries = if is_hiera {
        entries.into_iter().filter_map(of_hiera).collect()
    } else if is_chart {
        // Other values of a chart are unrelated, whatever their names.
        let meant = entries.into_iter().filter(|(key, _)| key.text == OF_CHART);
        meant.map(|(key, value)| (renamed(key, "listeners"), of_chart(value))).collect()
    } else {
        entries
    };
    let root = Tree { node: Node::Mapping(entries), ..root };
    Translated { root, is_foreign: is_hiera || is_chart, missing }
}

/// Keeps the listeners that a hiera file enables. Returns the names that do not exist.
fn keep_enabled(entries: &mut [(Key, Tree)]) -> Vec<Tree> {
    let enabled = entries.iter().find(|(key, _)| key.text == ENABLED).map(|(_, value)| value.clone());
    let Some(Node::Sequence(enabled)) = enabled.map(|value| value.node) else { return Vec::new() };
    let all = entries.iter_mut().find(|(key, _)| is_of_listeners(&key.text) && key.text != OF_CHART);
    let Some(Node::Sequence(listeners)) = all.map(|(_, value)| &mut value.node) else { return Vec::new() };
    let wanted: BTreeSet<&str> = enabled.iter().filter_map(text).collect();
    let present: BTreeSet<String> = listeners.iter().filter_map(name).map(str::to_owned).collect();
    // Keep a listener without a name, so that it is reported as a problem.
    listeners.retain(|listener| name(listener).is_none_or(|name| wanted.contains(name)));
    let is_missing = |one: &&Tree| text(one).is_some_and(|name| !present.contains(name));
    enabled.iter().filter(is_missing).cloned().collect()
}

/// The name of a listener.
fn name(listener: &Tree) -> Option<&str> {
    let Node::Mapping(keys) = &listener.node else { return None };
    keys.iter().find(|(key, _)| key.text == "name").and_then(|(_, value)| text(value))
}

fn text(tree: &Tree) -> Option<&str> {
    match &tree.node {
        Node::Scalar(Value::String(text), _) => Some(text),
        _ => None,
    }
}

fn renamed(key: Key, name: &str) -> Key {
    Key { text: name.to_owned(), ..key }
}

/// Translates an entry of hiera; none if it is unrelated.
fn of_hiera((key, mut value): (Key, Tree)) -> Option<(Key, Tree)> {
    let Some((_, short)) = OF_HIERA.iter().find(|(long, _)| *long == key.text) else {
        return (!key.text.contains("::")).then_some((key, value));
    };
    if let (&"services", Node::Mapping(services)) = (short, &mut value.node) {
        for (_, service) in services {
            if let Node::Mapping(keys) = &mut service.node {
                keys.retain(|(key, _)| OF_SERVICE.contains(&key.text.as_str()));
            }
        }
    }
    Some((renamed(key, short), value))
}

/// Converts the listeners of a chart, which are a mapping by name, to a list.
fn of_chart(value: Tree) -> Tree {
    let Node::Mapping(listeners) = value.node else { return value };
    let listener = |(name, mut section): (Key, Tree)| {
        if let Node::Mapping(keys) = section.node {
            let own = Tree {
                line: name.line,
                bytes: name.bytes.clone(),
                anchor: 0,
                node: Node::Scalar(Value::String(name.text.clone()), Style::Flow),
            };
            let mut all = vec![(renamed(name, "name"), own)];
            all.extend(flattened(keys).into_iter().map(|(key, mut value)| {
                if key.text == "split"
                    && let Node::Mapping(keys) = value.node
                {
                    value.node = Node::Mapping(flattened(keys));
                }
                (key, value)
            }));
            section.node = Node::Mapping(all);
        }
        section
    };
    Tree { node: Node::Sequence(listeners.into_iter().map(listener).collect()), ..value }
}

/// Moves the connection keys that a chart has inside of `upstream` to the same level as `upstream`.
fn flattened(keys: Vec<(Key, Tree)>) -> Vec<(Key, Tree)> {
    let mut all = Vec::with_capacity(keys.len());
    for (key, mut value) in keys {
        if key.text == "upstream"
            && let Node::Mapping(inner) = value.node
        {
            let (own, others): (Vec<_>, Vec<_>) =
                inner.into_iter().partition(|(key, _)| OF_UPSTREAM.contains(&key.text.as_str()));
            value.node = Node::Mapping(own);
            all.extend(others.into_iter().filter(|(key, _)| key.text != ADDRESSES));
        }
        all.push((key, value));
    }
    all
}
