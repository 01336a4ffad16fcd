//! Converts an Envoy bootstrap to a listeners file, and lists the parts that the file cannot express.
//!
//! The list is not guessed: the file is rendered, and every part of the bootstrap that is missing or different in the result is named.

mod differences;
mod left_out;
mod listener;
mod pruned;
mod target;

pub use left_out::LeftOut;

use std::collections::{BTreeMap, BTreeSet};

use hoptax_text::yaml::write::{Written, written};
use serde_json::{Map, Value, json};

use crate::plan::{Source, read};
use crate::render::{Rendered, render};

/// A listeners file for a bootstrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The file, YAML.
    pub text: String,
    /// The parts that it does not express.
    pub left: Vec<LeftOut>,
}

/// The keys of a section of the file, in order.
type Keys = Map<String, Value>;

/// The clusters of a bootstrap by name.
type Clusters<'v> = BTreeMap<&'v str, &'v Value>;

/// A listeners file for a bootstrap, or for a part of one that has `static_resources`.
pub fn import(bootstrap: &Value) -> Imported {
    let mut left = Vec::new();
    let items = |path: &str| bootstrap.pointer(path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all = items("/static_resources/clusters");
    let clusters: Clusters<'_> = all.iter().map(|cluster| (name_of(cluster), cluster)).collect();
    let mut sections: Vec<Keys> = Vec::new();
    let mut listeners = Vec::new();
    let mut changed = Vec::new();
    for (index, one) in items("/static_resources/listeners").iter().enumerate() {
        let name = name_of(one);
        let pointer = format!("/static_resources/listeners/{index}");
        let unchanged = one;
        let (one, removed) = pruned::pruned(one, &clusters);
        match listener::section(&one, &clusters) {
            Ok(section) => {
                let words = removed.iter().map(|line| format!("listener `{name}`: {line}"));
                left.extend(words.map(|words| LeftOut::new(words).at(pointer.clone())));
                sections.push(section);
            }
            Err(why) => left.push(LeftOut::new(format!("listener `{name}`: {why}")).at(pointer.clone())),
        }
        if one != *unchanged {
            changed.push(pointer);
        }
        listeners.push(one);
    }
    let mut file = Keys::new();
    let admin = bootstrap.pointer("/admin/address/socket_address/port_value").filter(|port| **port != 9901);
    if let Some(port) = admin {
        file.insert("admin".to_owned(), json!({"port": port}));
    }
    let limit = items("/overload_manager/resource_monitors")
        .iter()
        .find_map(|monitor| monitor.pointer("/typed_config/max_active_downstream_connections"));
    if let Some(limit) = limit.filter(|limit| **limit != 50_000) {
        file.insert("connection_limit".to_owned(), limit.clone());
    }
    if let Some(ca) = target::authorities(all, &mut left) {
        file.insert("ca".to_owned(), ca);
    }
    let (text, rendered) = accepted(&mut file, sections, &mut left);
    match rendered {
        Some(rendered) => {
            let mut expressible = bootstrap.clone();
            if let Some(all) = expressible.pointer_mut("/static_resources/listeners") {
                *all = listeners.into();
            }
            differences::of_bootstrap(&expressible, &rendered.bootstrap(), &mut left);
        }
        None => left.push(LeftOut::new("no listener can be expressed")),
    }
    keep_to_listeners(&changed, &mut left);
    Imported { text, left }
}

/// Shortens the pointers into listeners that were reduced to the listeners themselves, because the numbers of their items have changed.
fn keep_to_listeners(changed: &[String], left: &mut [LeftOut]) {
    for pointer in left.iter_mut().filter_map(|part| part.pointer.as_mut()) {
        let is_inside = |listener: &&String| {
            pointer.strip_prefix(listener.as_str()).is_some_and(|inside| inside.starts_with('/'))
        };
        if let Some(listener) = changed.iter().find(is_inside) {
            pointer.clone_from(listener);
        }
    }
}

/// A file without the sections that have problems, with its rendering; none if no section remains. Of sections with the same port, or with
/// different options for the same connections, the first one is kept.
fn accepted(file: &mut Keys, mut sections: Vec<Keys>, left: &mut Vec<LeftOut>) -> (String, Option<Rendered>) {
    while !sections.is_empty() {
        let all = sections.iter().cloned().map(Value::Object);
        file.insert("listeners".to_owned(), all.collect());
        let Written { text, lines } = written(&Value::Object(file.clone()));
        let result = read(Source { name: "imported", text: &text }, None).and_then(|plan| render(&plan));
        let problems = match result {
            Ok(rendered) => return (text, Some(rendered)),
            Err(problems) => problems,
        };
        let starts: Vec<u64> = lines
            .iter()
            .filter(|(path, _)| path.starts_with("/listeners/") && path.matches('/').count() == 2)
            .map(|(_, line)| *line)
            .collect();
        let mut refused: BTreeSet<usize> = BTreeSet::new();
        for problem in &problems.0 {
            let index = starts.partition_point(|start| *start <= problem.line).checked_sub(1);
            let name = index.and_then(|index| sections.get(index)?.get("name")?.as_str());
            left.push(LeftOut::new(match name {
                Some(name) => format!("listener `{name}`: {}", problem.message),
                None => problem.message.clone(),
            }));
            refused.extend(index);
        }
        if refused.is_empty() {
            break;
        }
        let mut index = 0..;
        sections.retain(|_| index.next().is_some_and(|index| !refused.contains(&index)));
    }
    (String::new(), None)
}

/// The name of a message.
fn name_of(message: &Value) -> &str {
    message.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Adds a key, if there is a value.
fn add(keys: &mut Keys, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        keys.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_into_a_reduced_listener_leads_to_the_listener_because_its_items_moved() {
        let part = |pointer: &str| LeftOut::new("x").at(pointer);
        let listener = "/static_resources/listeners/1";
        let inside = ["/filter_chains/0", "", "0/filter_chains/0"];
        let mut left = inside.map(|path| part(&format!("{listener}{path}")));
        keep_to_listeners(&[listener.to_owned()], &mut left);
        let other = "/static_resources/listeners/10/filter_chains/0";
        assert_eq!(left, [part(listener), part(listener), part(other)]);
    }
}
