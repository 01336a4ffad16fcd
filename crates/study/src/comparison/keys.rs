//! What differs between two arms, by the keys of their entries in study files.

use std::collections::BTreeSet;

use hoptax_result::KeyDifference;
use serde_json::{Map, Value};

use crate::file::ArmEntry;

/// Keys that say what an arm is called and compared with.
const NAMES: [&str; 2] = ["name", "compared_with"];
/// The key whose values are not shown: they are nodes of configurations, which may be secret.
const REPLACE: &str = "replace";
/// The key whose value maps variables, which may be secret, too.
const ENV: &str = "env";

/// The keys of two arms whose values differ, in the order of their paths.
pub fn key_differences(reference: &ArmEntry, other: &ArmEntry) -> Vec<KeyDifference> {
    let value = |entry: &ArmEntry| {
        let mut value = serde_json::to_value(entry).unwrap_or_default();
        if let Value::Object(keys) = &mut value {
            keys.retain(|key, _| !NAMES.contains(&key.as_str()));
        }
        value
    };
    let mut found = Vec::new();
    compare(String::new(), Some(&value(reference)), Some(&value(other)), &mut found);
    found
}

fn compare(path: String, one: Option<&Value>, other: Option<&Value>, found: &mut Vec<KeyDifference>) {
    if one == other {
        return;
    }
    let key = path.rsplit('.').next().unwrap_or_default();
    if key == REPLACE {
        found.push(KeyDifference { key: path, reference: None, value: None });
        return;
    }
    if key == ENV {
        variables(&path, [one, other], found);
        return;
    }
    match (one, other) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => mappings(&path, (one, other), found),
        (Some(Value::Array(one)), Some(Value::Array(other)))
            if one.len() == other.len() && one.iter().chain(other).all(Value::is_object) =>
        {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(format!("{path}[{index}]"), Some(one), Some(other), found);
            }
        }
        _ => {
            // Flags are those of a command line.
            let separator = if path.ends_with("flags") { " " } else { ", " };
            let [reference, value] = [one, other].map(|value| value.map(|value| text(value, separator)));
            found.push(KeyDifference { key: path, reference, value });
        }
    }
}

/// Environment variables, each with a key of its own. Those whose names look like secrets have no values.
fn variables(path: &str, both: [Option<&Value>; 2], found: &mut Vec<KeyDifference>) {
    let [one, other] = both.map(|value| value.and_then(Value::as_object));
    let names: BTreeSet<&String> = [one, other].into_iter().flatten().flat_map(Map::keys).collect();
    for name in names {
        let [reference, value] = [one, other].map(|all| all.and_then(|all| all.get(name)));
        if reference != value {
            let shown = |value: Option<&Value>| {
                value.filter(|_| !hoptax_secrets::is_name(name)).map(|value| text(value, ""))
            };
            let (reference, value) = (shown(reference), shown(value));
            found.push(KeyDifference { key: format!("{path}.{name}"), reference, value });
        }
    }
}

fn mappings(
    path: &str,
    (one, other): (&Map<String, Value>, &Map<String, Value>),
    found: &mut Vec<KeyDifference>,
) {
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        compare(path, one.get(key), other.get(key), found);
    }
}

/// A value as a line, with this between items.
fn text(value: &Value, separator: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(|item| text(item, separator)).collect::<Vec<_>>().join(separator)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(one: &str, other: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let entry = |text: &str| -> ArmEntry {
            let text = format!("name: x\narms: [{text}]\nloads: [{{name: all, loop: closed}}]\n");
            crate::file::read("x.yaml", &text).unwrap().0.arms.remove(0)
        };
        let found = key_differences(&entry(one), &entry(other)).into_iter();
        found.map(|one| (one.key, one.reference, one.value)).collect()
    }

    fn key(key: &str, values: [Option<&str>; 2]) -> (String, Option<String>, Option<String>) {
        let [one, other] = values.map(|value| value.map(str::to_owned));
        (key.to_owned(), one, other)
    }

    #[test]
    fn keys_of_arms_and_of_their_proxies_are_compared() {
        assert_eq!(
            of(
                "{name: a, functions: [jwt], env: {A: b}, flags: [-l, info]}",
                "{name: b, functions: [jwt, lua], envoy: 1.39.3}"
            ),
            [
                key("env.A", [Some("b"), None]),
                key("envoy", [None, Some("1.39.3")]),
                key("flags", [Some("-l info"), None]),
                key("functions", [Some("jwt"), Some("jwt, lua")]),
            ]
        );
        assert_eq!(
            of("{name: a, hops: [{name: x}, {workers: 1}]}", "{name: a, hops: [{name: x}, {workers: 2}]}"),
            [key("hops[1].workers", [Some("1"), Some("2")])]
        );
        assert_eq!(
            of("{name: a, hops: [x]}", "{name: a, hops: [x, z]}"),
            [key("hops", [Some("x"), Some("x, z")])]
        );
        assert_eq!(of("{name: a, hops: [x]}", "{name: b, hops: [x]}"), []);
    }

    #[test]
    fn variables_whose_names_look_like_secrets_have_no_values() {
        assert_eq!(
            of(
                "{name: a, functions: [jwt], env: {API_TOKEN: hunter2, SAME: x, LEVEL: '1'}}",
                "{name: a, functions: [jwt], env: {API_TOKEN: hunter3, SAME: x, LEVEL: '2', DB_PASSWORD: hunter4}}"
            ),
            [
                key("env.API_TOKEN", [None, None]),
                key("env.DB_PASSWORD", [None, None]),
                key("env.LEVEL", [Some("1"), Some("2")]),
            ]
        );
    }

    #[test]
    fn replaced_nodes_of_configurations_are_not_shown() {
        let arm = |value: &str| format!("{{name: a, hops: [{{config: a.yaml, replace: {{/a: {value}}}}}]}}");
        assert_eq!(of(&arm("hunter2"), &arm("other")), [key("hops[0].replace", [None, None])]);
    }
}
