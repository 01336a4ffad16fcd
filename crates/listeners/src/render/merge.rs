//! Merges the fields that catalogue functions set into a message.

use serde_json::{Map, Value};

/// Merges a part into a message: mappings key by key, lists by appending. If a value exists already, it must be equal, or its dotted path
/// must be in `replaces`, the paths that a function overrides.
pub(super) fn merge(
    message: &mut Value,
    part: &Map<String, Value>,
    path: &str,
    replaces: &[String],
) -> Result<(), String> {
    let Value::Object(keys) = message else { return Ok(()) };
    for (key, value) in part {
        let path = format!("{path}.{key}");
        if replaces.contains(&path) {
            keys.insert(key.clone(), value.clone());
            continue;
        }
        match (keys.get_mut(key), value) {
            (None, _) => {
                keys.insert(key.clone(), value.clone());
            }
            (Some(own @ Value::Object(_)), Value::Object(inner)) => merge(own, inner, &path, replaces)?,
            (Some(Value::Array(own)), Value::Array(items)) => own.extend(items.iter().cloned()),
            (Some(own), value) if own == value => {}
            (Some(own), value) => {
                return Err(format!(
                    "its `functions` set `{path}` to {value}, and the listener sets it to {own}: remove one of them"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_values_are_refused_unless_they_are_replaced() {
        let part = json!({"a": {"b": 2, "d": 3}, "e": [2]});
        let part = part.as_object().unwrap();
        let mut message = json!({"a": {"b": 1, "c": 1}, "e": [1]});
        let error = merge(&mut message.clone(), part, "cluster", &[]).unwrap_err();
        assert!(error.contains("`cluster.a.b` to 2, and the listener sets it to 1"), "{error}");
        merge(&mut message, part, "cluster", &["cluster.a.b".to_owned()]).unwrap();
        assert_eq!(message, json!({"a": {"b": 2, "c": 1, "d": 3}, "e": [1, 2]}));
    }
}
