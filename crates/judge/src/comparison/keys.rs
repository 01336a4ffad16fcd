//! Differences between two arms, by the keys of their entries in study files.

use std::collections::BTreeSet;

use hoptax_plan::file::ArmEntry;
use hoptax_result::KeyDifference;
use serde_json::{Map, Value};

/// Keys that name an arm and the arm that it is compared with.
const NAMES: [&str; 2] = ["name", "compared_with"];
/// The key whose values are not shown, because they are nodes of configurations and may be secret.
const REPLACE: &str = "replace";
/// Keys that map names to values. Values whose names look like those of secrets are not shown.
const NAMED: [&str; 2] = ["env", "headers"];
/// Placeholder for a secret within a longer value.
const HIDDEN: &str = "(not shown)";

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
    compare("", "", String::new(), Some(&value(reference)), Some(&value(other)), &mut found);
    found
}

/// Adds the differences between two values of a key. The key comes with its parent key and its path.
fn compare(
    above: &str,
    key: &str,
    path: String,
    one: Option<&Value>,
    other: Option<&Value>,
    found: &mut Vec<KeyDifference>,
) {
    if one == other {
        return;
    }
    if is_hidden(above, key) {
        found.push(KeyDifference { key: path, reference: None, value: None });
        return;
    }
    let empty = Value::Object(Map::new());
    let is_named = NAMED.contains(&key) && [one, other].into_iter().flatten().all(Value::is_object);
    let [one, other] = [one, other].map(|value| value.or(is_named.then_some(&empty)));
    match (one, other) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => mappings(key, &path, one, other, found),
        (Some(Value::Array(one)), Some(Value::Array(other)))
            if one.len() == other.len() && one.iter().chain(other).all(Value::is_object) =>
        {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(above, key, format!("{path}[{index}]"), Some(one), Some(other), found);
            }
        }
        _ => {
            // Flags of a command line are separated by spaces.
            let separator = if key == "flags" { " " } else { ", " };
            let shown = |value: &Value| text(&without_secrets(key, value), separator);
            let [reference, value] = [one, other].map(|value| value.map(shown));
            found.push(KeyDifference { key: path, reference, value });
        }
    }
}

/// Returns true if the value of a key is secret, or may be.
fn is_hidden(above: &str, key: &str) -> bool {
    let is_name = NAMED.contains(&above);
    (key == REPLACE && !is_name) || (is_name && hoptax_text::secrets::is_name(key))
}

/// The value of a key without the secrets in it.
fn without_secrets(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let shown = entries.iter().map(|(own, value)| {
                let value = if is_hidden(key, own) { HIDDEN.into() } else { without_secrets(own, value) };
                (own.clone(), value)
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => items.iter().map(|item| without_secrets(key, item)).collect(),
        other => other.clone(),
    }
}

fn mappings(
    key: &str,
    path: &str,
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    found: &mut Vec<KeyDifference>,
) {
    let own_keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for own in own_keys {
        let path = if path.is_empty() { own.clone() } else { format!("{path}.{own}") };
        compare(key, own, path, one.get(own), other.get(own), found);
    }
}

/// A value as one line, with `separator` between the items of a list.
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

    fn differing(one: &str, other: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let entry = |text: &str| -> ArmEntry {
            let text = format!("name: x\narms: [{text}]\nloads: [{{name: all, loop: closed}}]\n");
            hoptax_plan::file::read("x.yaml", &text).unwrap().0.arms.remove(0)
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
            differing(
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
            differing(
                "{name: a, hops: [{name: x}, {workers: 1}]}",
                "{name: a, hops: [{name: x}, {workers: 2}]}"
            ),
            [key("hops[1].workers", [Some("1"), Some("2")])]
        );
        assert_eq!(
            differing("{name: a, hops: [x]}", "{name: a, hops: [x, z]}"),
            [key("hops", [Some("x"), Some("x, z")])]
        );
        assert_eq!(differing("{name: a, hops: [x]}", "{name: b, hops: [x]}"), []);
    }

    #[test]
    fn variables_whose_names_look_like_secrets_have_no_values() {
        assert_eq!(
            differing(
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
    fn secrets_are_not_shown_within_longer_values_either() {
        let found = differing(
            "{name: a, hops: [{functions: [jwt], env: {API_TOKEN: hunter2, A: b}}, {config: a.yaml, replace: {/a: hunter3}}]}",
            "{name: a, functions: [jwt]}",
        );
        let text = format!("{found:?}");
        assert!(text.contains("API_TOKEN") && text.contains("a.yaml") && !text.contains("hunter"), "{text}");
        let request = |value: &str, other: &str| {
            format!(
                "{{name: a, hops: [{{config: a.yaml}}], request: {{headers: {{authorization: {value}, env: {other}, replace: {other}}}}}}}"
            )
        };
        assert_eq!(
            differing(&request("hunter2", "a"), &request("hunter3", "b")),
            [
                key("request.headers.authorization", [None, None]),
                key("request.headers.env", [Some("a"), Some("b")]),
                key("request.headers.replace", [Some("a"), Some("b")]),
            ]
        );
    }

    #[test]
    fn replaced_nodes_of_configurations_are_not_shown() {
        let arm = |value: &str| format!("{{name: a, hops: [{{config: a.yaml, replace: {{/a: {value}}}}}]}}");
        assert_eq!(differing(&arm("hunter2"), &arm("other")), [key("hops[0].replace", [None, None])]);
    }
}
