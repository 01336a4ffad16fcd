//! Files of Wikimedia that hold listeners: hiera of hosts and values of charts. Their keys become those of our file; positions stay.

use std::collections::BTreeSet;

use hoptax_text::yaml::envoy::{Key, Node, Style, Tree};
use serde_json::Value;

/// The keys of a file of hiera, each with its shorter name in our file.
const OF_HIERA: [(&str, &str); 2] =
    [("profile::services_proxy::envoy::listeners", "listeners"), ("service::catalog", "services")];

/// The key of a file of hiera with the names of the listeners that a host has; without it, it has all.
const ENABLED: &str = "profile::services_proxy::envoy::enabled_listeners";

/// The key of a chart's values with listeners by name.
const OF_CHART: &str = "services_proxy";

/// The keys that services have here; those of a catalogue of hiera have many others.
const OF_SERVICE: [&str; 3] = ["port", "encryption", "upstream"];

/// The keys of an upstream here; a chart has those of its connections there too.
const OF_UPSTREAM: [&str; 3] = ["address", "port", "encryption"];

/// Addresses of an upstream, from which charts make network policies.
const ADDRESSES: &str = "ips";

/// Returns true if a key shows that a file is of one of these forms.
pub(crate) fn is_of_listeners(key: &str) -> bool {
    key == OF_CHART || OF_HIERA.iter().any(|(long, short)| *long == key && *short == "listeners")
}

/// The tree with the keys of our file, with the listeners alone that a file of hiera enables.
pub(super) struct Translated {
    pub(super) root: Tree,
    /// True if it had other keys.
    pub(super) is_foreign: bool,
    /// Names of enabled listeners that are not there.
    pub(super) missing: Vec<Tree>,
}

/// The tree with the keys of our file.
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
        // Other values of a chart are about other things, under any names.
        let meant = entries.into_iter().filter(|(key, _)| key.text == OF_CHART);
        meant.map(|(key, value)| (renamed(key, "listeners"), of_chart(value))).collect()
    } else {
        entries
    };
    let root = Tree { node: Node::Mapping(entries), ..root };
    Translated { root, is_foreign: is_hiera || is_chart, missing }
}

/// Keeps the listeners that a file of hiera enables. The names of those that are not there.
fn keep_enabled(entries: &mut [(Key, Tree)]) -> Vec<Tree> {
    let enabled = entries.iter().find(|(key, _)| key.text == ENABLED).map(|(_, value)| value.clone());
    let Some(Node::Sequence(enabled)) = enabled.map(|value| value.node) else { return Vec::new() };
    let all = entries.iter_mut().find(|(key, _)| is_of_listeners(&key.text) && key.text != OF_CHART);
    let Some(Node::Sequence(listeners)) = all.map(|(_, value)| &mut value.node) else { return Vec::new() };
    let wanted: BTreeSet<&str> = enabled.iter().filter_map(text).collect();
    let present: BTreeSet<String> = listeners.iter().filter_map(name).map(str::to_owned).collect();
    // A listener without a name stays: it is a problem to report.
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

/// An entry of hiera; none if it is about something else.
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

/// The listeners of a chart, which are by name there, as a list.
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

/// Keys with those that a chart has inside of `upstream` beside it.
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
