//! Differences between two bootstraps: parts of the first that are missing or different in the second.

use std::collections::BTreeMap;

use serde_json::Value;

use super::name_of;

/// Adds a line for everything in `original` that `rendered` does not have.
pub(super) fn of_bootstrap(original: &Value, rendered: &Value, left: &mut Vec<String>) {
    let Value::Object(keys) = original else { return };
    for (key, value) in keys {
        if key == "static_resources" {
            of_resources(value, rendered.get(key), left);
        } else {
            compare(value, rendered.get(key), "the bootstrap", &format!("/{key}"), left);
        }
    }
}

fn of_resources(original: &Value, rendered: Option<&Value>, left: &mut Vec<String>) {
    let Value::Object(kinds) = original else { return };
    for (kind, messages) in kinds {
        let singular = kind.trim_end_matches('s');
        let of_kind = rendered.and_then(|all| all.get(kind)).and_then(Value::as_array);
        let by_name: BTreeMap<&str, &Value> =
            of_kind.into_iter().flatten().map(|one| (name_of(one), one)).collect();
        for message in messages.as_array().into_iter().flatten() {
            let name = name_of(message);
            let what = format!("{singular} `{name}`");
            // For a listener that was left out completely, the reason is already in the list.
            match by_name.get(name).copied() {
                Some(own) => compare(message, Some(own), &what, "", left),
                None if kind == "listeners" => {}
                None => left.push(format!("{what}: no listener here sends requests to it")),
            }
        }
    }
}

/// Adds lines for the fields that `own` lacks. A node that is missing completely gets a single line.
fn compare(original: &Value, own: Option<&Value>, what: &str, path: &str, left: &mut Vec<String>) {
    match (original, own) {
        (_, Some(own)) if is_same(original, own) => {}
        // An empty message has no content to lose.
        (Value::Object(keys), None) if keys.is_empty() => {}
        (Value::Object(keys), Some(Value::Object(other))) => {
            for (key, value) in keys {
                compare(value, other.get(key), what, &format!("{path}/{key}"), left);
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
                compare(item, same, what, &format!("{path}/{step}"), left);
            }
        }
        _ => left.push(format!("{what}: {path}")),
    }
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
        assert_eq!(left, ["the bootstrap: /hosts/a/name", "the bootstrap: /hosts/a/routes/b/name"]);
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
        assert_eq!(left, expected);
        let mut none = Vec::new();
        of_bootstrap(&original, &original, &mut none);
        assert!(none.is_empty(), "{none:?}");
    }
}
