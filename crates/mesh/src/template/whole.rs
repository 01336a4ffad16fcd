//! A template as a value: merged with the template that it extends, with repeated messages expanded.

use hoptax_functions::repeat_within;
use serde_json::Value;

use super::built_in::{BUILT_IN, built_in};

/// The value of a text, merged with the built-in template that it extends.
pub(super) fn whole(text: &str) -> Result<Value, String> {
    let own: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let Some(name) = own["extends"].as_str() else { return Ok(own) };
    let Some(base) = built_in(name) else {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        return Err(format!("`extends` is `{name}`, but must be {}", names.join(", ")));
    };
    Ok(merged(whole(base)?, own))
}

/// Merges maps, appends lists, and replaces other values.
fn merged(base: Value, own: Value) -> Value {
    match (base, own) {
        (Value::Object(mut all), Value::Object(own)) => {
            for (key, value) in own {
                let value = match all.get_mut(&key) {
                    Some(base) => merged(base.take(), value),
                    None => value,
                };
                // An existing key keeps its position.
                all.insert(key, value);
            }
            Value::Object(all)
        }
        (Value::Array(mut all), Value::Array(own)) => {
            all.extend(own);
            Value::Array(all)
        }
        (_, own) => own,
    }
}

/// Expands each message in a list of an object by its `times`, as in the catalogue of functions.
pub(super) fn repeat(objects: &mut [Value]) {
    for object in objects.iter_mut().filter_map(Value::as_object_mut) {
        repeat_within(std::slice::from_mut(object));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_adds_to_maps_and_lists_of_what_it_extends_and_replaces_the_rest() {
        let base = json!({"name": "a", "url": "u", "origin": {"proxies": ["p"]}, "objects": [{"kind": "A"}]});
        let own = json!({"name": "b", "origin": {"labels": {"x": "y"}}, "objects": [{"kind": "B"}]});
        let expected = json!({
            "name": "b",
            "url": "u",
            "origin": {"proxies": ["p"], "labels": {"x": "y"}},
            "objects": [{"kind": "A"}, {"kind": "B"}],
        });
        assert_eq!(merged(base, own), expected);
    }

    #[test]
    fn a_message_of_an_object_stands_for_many() {
        let mut objects =
            [json!({"spec": {"rules": [{"times": 2, "digits": 1, "path": "/#"}, {"path": "/"}]}})];
        repeat(&mut objects);
        assert_eq!(objects, [json!({"spec": {"rules": [{"path": "/0"}, {"path": "/1"}, {"path": "/"}]}})]);
    }
}
