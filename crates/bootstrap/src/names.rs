//! Field names: protocol buffers in JSON may be written `socketAddress` or `socket_address`, and parsers of Envoy accept a
//! single value where a list is meant. Everything behind this module sees the first form only.

use serde_json::Value;

/// Mappings whose keys belong to the user.
const FREE: [&str; 5] = ["metadata", "filter_metadata", "static_layer", "json_format", "node"];

/// Mappings whose keys are names that the user chose, with messages of Envoy below them.
const NAMED: [&str; 5] = [
    "providers",
    "requirement_map",
    "policies",
    "typed_per_filter_config",
    "typed_extension_protocol_options",
];

/// Lists for which a single value may be given.
const LISTS: [&str; 8] = [
    "listeners",
    "clusters",
    "filter_chains",
    "filters",
    "http_filters",
    "virtual_hosts",
    "access_log",
    "lb_endpoints",
];

/// Renames the fields of a tree and wraps single values.
pub(crate) fn normalise(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(entries) => {
            let is_camel = |key: &String| is_camel_case(key);
            if entries.keys().any(is_camel) {
                let own = std::mem::take(entries);
                entries.extend(own.into_iter().map(|(key, value)| (snake_case(key), value)));
            }
            for (key, value) in entries {
                if FREE.contains(&key.as_str()) {
                    continue;
                }
                if let Some(named) = value.as_object_mut().filter(|_| NAMED.contains(&key.as_str())) {
                    named.values_mut().for_each(normalise);
                    continue;
                }
                normalise(value);
                if LISTS.contains(&key.as_str()) && value.is_object() {
                    *value = Value::Array(vec![value.take()]);
                }
            }
        }
        _ => {}
    }
}

/// Whether a key is a field name in camel case. Names of extensions have dots, and names of headers dashes.
fn is_camel_case(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_lowercase())
        && key.contains(|c: char| c.is_ascii_uppercase())
        && key.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Whether a key is a field, in either spelling.
pub(crate) fn is_field(key: &str, field: &str) -> bool {
    key == field || is_camel_case(key) && snake_case(key.to_owned()) == field
}

fn snake_case(key: String) -> String {
    if !is_camel_case(&key) {
        return key;
    }
    let lower = |c: char| {
        let underscore = c.is_ascii_uppercase().then_some('_');
        underscore.into_iter().chain(std::iter::once(c.to_ascii_lowercase()))
    };
    key.chars().flat_map(lower).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_spellings_of_a_field_are_the_same_and_keys_of_users_stay() {
        let mut value = json!({
            "staticResources": {"listeners": {"filterChains": [{"transportSocket": {}}]}},
            "typed_per_filter_config": {"envoy.filters.http.jwtAuthn": {}},
            "metadata": {"userKey": 1},
            "providers": {"ourIdp": {"localJwks": {}}},
        });
        normalise(&mut value);
        let wanted = json!({
            "static_resources": {"listeners": [{"filter_chains": [{"transport_socket": {}}]}]},
            "typed_per_filter_config": {"envoy.filters.http.jwtAuthn": {}},
            "metadata": {"userKey": 1},
            "providers": {"ourIdp": {"local_jwks": {}}},
        });
        assert_eq!(value, wanted);
    }
}
