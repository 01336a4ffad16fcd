//! Differences between two bootstraps: parts of the first that are missing or different in the second.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{LeftOut, name_of};

/// Adds everything in `original` that `rendered` does not have.
pub(super) fn of_bootstrap(original: &Value, rendered: &Value, left: &mut Vec<LeftOut>) {
    let Value::Object(keys) = original else { return };
    for (key, value) in keys {
        if key == "static_resources" {
            of_resources(value, rendered.get(key), left);
        } else {
            let pointer = format!("/{}", escaped(key));
            compare(value, rendered.get(key), "the bootstrap", &format!("/{key}"), &pointer, left);
        }
    }
}

fn of_resources(original: &Value, rendered: Option<&Value>, left: &mut Vec<LeftOut>) {
    let Value::Object(kinds) = original else { return };
    for (kind, messages) in kinds {
        let singular = kind.trim_end_matches('s');
        let of_kind = rendered.and_then(|all| all.get(kind)).and_then(Value::as_array);
        let by_name: BTreeMap<&str, &Value> =
            of_kind.into_iter().flatten().map(|one| (name_of(one), one)).collect();
        for (index, message) in messages.as_array().into_iter().flatten().enumerate() {
            let pointer = format!("/static_resources/{kind}/{index}");
            let name = name_of(message);
            let what = format!("{singular} `{name}`");
            // For a listener that was left out completely, the reason is already in the list.
            match by_name.get(name).copied() {
                Some(own) => compare(message, Some(own), &what, "", &pointer, left),
                None if kind == "listeners" => {}
                None => {
                    let words = format!("{what}: no listener here sends requests to it");
                    left.push(LeftOut::new(words).at(pointer));
                }
            }
        }
    }
}

/// Adds the fields that `own` lacks. A node that is missing completely is added as a whole.
fn compare(
    original: &Value,
    own: Option<&Value>,
    what: &str,
    path: &str,
    pointer: &str,
    left: &mut Vec<LeftOut>,
) {
    match (original, own) {
        (_, Some(own)) if is_same(original, own) => {}
        // An empty message has no content to lose.
        (Value::Object(keys), None) if keys.is_empty() => {}
        (Value::Object(keys), Some(Value::Object(other))) => {
            for (key, value) in keys {
                let pointer = format!("{pointer}/{}", escaped(key));
                compare(value, other.get(key), what, &format!("{path}/{key}"), &pointer, left);
            }
        }
        (Value::Array(items), Some(Value::Array(other))) => {
            for (index, item) in items.iter().enumerate() {
                let name = name_of(item);
                // Match filters and hosts by name, because their order may differ. If a host has another name, and for routes, which have
                // none, match by position.
                let same = if name.is_empty() { None } else { other.iter().find(|one| name_of(one) == name) };
                let domains = item.get("domains");
                let same = same.or_else(|| {
                    domains.and_then(|own| other.iter().find(|one| one.get("domains") == Some(own)))
                });
                let same = same
                    .or_else(|| other.get(index).filter(|one| name_of(one).is_empty() || name.is_empty()));
                let step = if name.is_empty() { index.to_string() } else { name.to_owned() };
                let pointer = format!("{pointer}/{index}");
                compare(item, same, what, &format!("{path}/{step}"), &pointer, left);
            }
        }
        _ => left.push(LeftOut::of_field(what, path, pointer)),
    }
}

/// A key as a step of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns true if two values have the same meaning: durations may be written in several ways.
fn is_same(one: &Value, other: &Value) -> bool {
    let seconds = |value: &Value| value.as_str()?.strip_suffix('s')?.parse::<f64>().ok();
    one == other || seconds(one).is_some_and(|own| seconds(other) == Some(own))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_are_found_by_their_domains_and_routes_by_their_numbers_if_their_names_are_not_there() {
        let hosts = |name: &str, route: &Value| json!({"hosts": [{"name": name, "domains": ["*"], "routes": [route]}]});
        let (original, rendered) = (hosts("a", &json!({"name": "b", "c": 1})), hosts("x", &json!({"c": 1})));
        let mut left = Vec::new();
        of_bootstrap(&original, &rendered, &mut left);
        let words: Vec<&str> = left.iter().map(|part| part.words.as_str()).collect();
        assert_eq!(words, ["the bootstrap: /hosts/a/name", "the bootstrap: /hosts/a/routes/b/name"]);
    }

    #[test]
    fn what_is_missing_is_named_once_and_what_is_the_same_is_not() {
        let original = json!({
            "admin": {"a": 1},
            "node": {"id": "x"},
            "static_resources": {
                "listeners": [{"name": "a", "t": "1.50s", "u": {"v": {"w": 1, "x": 2}}, "f": [{"name": "lua", "c": 1}, {"name": "router"}]}],
                "clusters": [{"name": "b"}],
            },
        });
        let rendered = json!({
            "admin": {"a": 2},
            "static_resources": {"listeners": [{"name": "a", "t": "1.5s", "f": [{"name": "router"}]}], "clusters": []},
        });
        let mut left = Vec::new();
        of_bootstrap(&original, &rendered, &mut left);
        let expected = [
            "the bootstrap: /admin/a",
            "the bootstrap: /node",
            "listener `a`: /u",
            "listener `a`: /f/lua",
            "cluster `b`: no listener here sends requests to it",
        ];
        let words: Vec<&str> = left.iter().map(|part| part.words.as_str()).collect();
        assert_eq!(words, expected);
        // Each leads to its part of the original.
        for (part, value) in left.iter().zip([json!(1), json!({"id": "x"})]) {
            assert_eq!(original.pointer(part.pointer.as_ref().unwrap()), Some(&value), "{part:?}");
        }
        assert_eq!(left[3].pointer.as_deref(), Some("/static_resources/listeners/0/f/0"));
        assert_eq!(left[4].pointer.as_deref(), Some("/static_resources/clusters/0"));
        let mut none = Vec::new();
        of_bootstrap(&original, &original, &mut none);
        assert!(none.is_empty(), "{none:?}");
    }
}
