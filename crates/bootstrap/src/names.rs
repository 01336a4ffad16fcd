//! Normalises field names and lists: protocol buffers in JSON may use `socketAddress` or `socket_address`, and Envoy's parsers accept a
//! single value in place of a list. The rest of the crate sees only `socket_address`, and only lists.

use serde_json::{Map, Value};

use crate::tree::{message, message_type, push, push_index};

/// Packages of messages that Envoy knows.
const PACKAGES: [&str; 3] = ["envoy.", "xds.", "udpa."];

/// Mappings whose keys, and everything below them, are the user's own.
const FREE: [&str; 10] = [
    FILTER_METADATA,
    "static_layer",
    "json_format",
    "typed_json_format",
    "node",
    "key_values",
    "context_extensions",
    "filter_context",
    "default_subset",
    "record",
];

/// Mappings whose keys are names chosen by the user, with Envoy messages below them.
const NAMED: [&str; 9] = [
    "providers",
    "requirement_map",
    "policies",
    "source_codes",
    "map",
    "plugins_config",
    TYPED_FILTER_METADATA,
    "typed_per_filter_config",
    "typed_extension_protocol_options",
];

/// A field that holds the two fields below. In some messages it holds the user's own fields.
const METADATA: &str = "metadata";
const FILTER_METADATA: &str = "filter_metadata";
const TYPED_FILTER_METADATA: &str = "typed_filter_metadata";

/// A field of structures, and of messages that wrap another one.
const VALUE: &str = "value";

/// Transport sockets that a cluster selects by endpoint metadata: the keys of `match` are keys of the user's metadata.
const SOCKET_MATCHES: &str = "transport_socket_matches";
const SOCKET_MATCH: &str = "match";

/// Lists for which a single value may be given.
const LISTS: [&str; 9] = [
    "listeners",
    "clusters",
    "filter_chains",
    "filters",
    "http_filters",
    "virtual_hosts",
    "access_log",
    "lb_endpoints",
    SOCKET_MATCHES,
];

/// Renames the fields of a tree and wraps single values.
pub(crate) fn normalise(value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(normalise);
        return;
    }
    if let Some(entries) = value.as_object_mut() {
        rename(entries, is_camel_case);
    }
    let has_users_value = has_users_value(value);
    let Some(entries) = value.as_object_mut() else { return };
    for (key, value) in entries {
        // Most nodes are scalars, which have no fields.
        if !value.is_object() && !value.is_array() {
            continue;
        }
        let key = key.as_str();
        if FREE.contains(&key) || key == VALUE && has_users_value {
            continue;
        }
        if key == METADATA {
            normalise_metadata(value);
            continue;
        }
        if let Some(named) = value.as_object_mut().filter(|_| NAMED.contains(&key)) {
            named.values_mut().for_each(normalise);
            continue;
        }
        match key {
            SOCKET_MATCHES => normalise_socket_matches(value),
            _ => normalise(value),
        }
        if LISTS.contains(&key) && value.is_object() {
            *value = Value::Array(vec![value.take()]);
        }
    }
}

/// Calls `visit` for every field of Envoy's messages, with its pointer and its name, but not for the user's own keys.
pub(crate) fn walk_fields(root: &Value, visit: &mut dyn FnMut(&str, &str)) {
    fn step(node: &Value, pointer: &mut String, visit: &mut dyn FnMut(&str, &str)) {
        let length = pointer.len();
        match node {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    push_index(pointer, index);
                    step(item, pointer, visit);
                    pointer.truncate(length);
                }
            }
            Value::Object(entries) => {
                let has_users_value = has_users_value(node);
                for (key, value) in entries {
                    push(pointer, key);
                    visit(pointer, key);
                    if !(is_of_user(key) || key == VALUE && has_users_value) {
                        inside(key, value, pointer, visit);
                    }
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }
    fn inside(key: &str, value: &Value, pointer: &mut String, visit: &mut dyn FnMut(&str, &str)) {
        let length = pointer.len();
        match value.as_object().filter(|_| NAMED.contains(&key)) {
            Some(named) => {
                for (name, inner) in named {
                    push(pointer, name);
                    step(inner, pointer, visit);
                    pointer.truncate(length);
                }
            }
            None => step(value, pointer, visit),
        }
    }
    step(root, &mut String::new(), visit);
}

/// True if all or some of the keys below a field are the user's own.
fn is_of_user(key: &str) -> bool {
    FREE.contains(&key) || [METADATA, SOCKET_MATCHES].contains(&key)
}

/// Renames the keys of a mapping for which `is_field` holds.
fn rename(entries: &mut Map<String, Value>, is_field: impl Fn(&str) -> bool) {
    if entries.keys().any(|key| is_field(key)) {
        let own = std::mem::take(entries);
        let renamed = |key: String| if is_field(&key) { snake_case(key) } else { key };
        entries.extend(own.into_iter().map(|(key, value)| (renamed(key), value)));
    }
}

/// True if a message has a field `value` with the user's own content: a structure, or the settings of an extension that is not part of
/// Envoy.
fn has_users_value(value: &Value) -> bool {
    if value.get(VALUE).is_none() {
        return false;
    }
    let is_structure = ["google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"]
        .contains(&message_type(value));
    let message = message(value);
    let is_known = PACKAGES.iter().any(|package| message.of.starts_with(package));
    is_structure || !message.at.is_empty() && !is_known
}

/// Renames the fields of a metadata message. Envoy reads addresses in typed metadata.
fn normalise_metadata(value: &mut Value) {
    let Some(entries) = value.as_object_mut() else { return };
    rename(entries, |key| is_field(key, FILTER_METADATA) || is_field(key, TYPED_FILTER_METADATA));
    if let Some(typed) = entries.get_mut(TYPED_FILTER_METADATA).and_then(Value::as_object_mut) {
        typed.values_mut().for_each(normalise);
    }
}

/// Normalises transport sockets, and keeps the conditions that select them.
fn normalise_socket_matches(value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(normalise_socket_matches);
        return;
    }
    let selected_by = value.get(SOCKET_MATCH).cloned();
    normalise(value);
    if let (Some(selected_by), Some(entry)) = (selected_by, value.get_mut(SOCKET_MATCH)) {
        *entry = selected_by;
    }
}

/// True if a key is a field name in camel case. Names of extensions have dots, and names of headers dashes.
fn is_camel_case(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_lowercase())
        && key.contains(|c: char| c.is_ascii_uppercase())
        && key.chars().all(|c| c.is_ascii_alphanumeric())
}

/// True if a key is this field, in snake case or camel case.
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
            "transportSocketMatches": {"match": {"tlsMode": "istio"}, "transportSocket": {"typedConfig": {}}},
        });
        normalise(&mut value);
        let wanted = json!({
            "static_resources": {"listeners": [{"filter_chains": [{"transport_socket": {}}]}]},
            "typed_per_filter_config": {"envoy.filters.http.jwtAuthn": {}},
            "metadata": {"userKey": 1},
            "providers": {"ourIdp": {"local_jwks": {}}},
            "transport_socket_matches": [{"match": {"tlsMode": "istio"}, "transport_socket": {"typed_config": {}}}],
        });
        assert_eq!(value, wanted);
    }

    fn normalised(mut value: Value) -> Value {
        normalise(&mut value);
        value
    }

    #[test]
    fn metadata_has_two_fields_with_messages_of_envoy_in_the_typed_one() {
        let given = json!({"metadata": {
            "filterMetadata": {"envoy.lb": {"userKey": 1}},
            "typedFilterMetadata": {"ourName": {"socketAddress": {"portValue": 1}}},
        }});
        let wanted = json!({"metadata": {
            "filter_metadata": {"envoy.lb": {"userKey": 1}},
            "typed_filter_metadata": {"ourName": {"socket_address": {"port_value": 1}}},
        }});
        assert_eq!(normalised(given), wanted);
    }

    #[test]
    fn keys_of_structures_and_of_environments_stay() {
        for key in ["key_values", "context_extensions"] {
            let given = json!({key: {"dbPassword": {"userKey": 1}}});
            assert_eq!(normalised(given.clone()), given);
        }
        let structure =
            |of: &str| json!({"@type": format!("type.googleapis.com/{of}"), "value": {"userKey": 1}});
        for of in ["google.protobuf.Struct", "xds.type.v3.TypedStruct"] {
            assert_eq!(normalised(structure(of)), structure(of));
        }
    }

    #[test]
    fn names_of_scripts_and_values_that_are_compared_stay_and_messages_below_them_are_renamed() {
        for key in ["source_codes", "map"] {
            let given = json!({key: {"myScript": {"inlineString": "", "typedConfig": {"perRoute": 1}}}});
            let wanted = json!({key: {"myScript": {"inline_string": "", "typed_config": {"per_route": 1}}}});
            assert_eq!(normalised(given), wanted);
        }
    }

    #[test]
    fn wrapped_settings_are_renamed_if_they_are_those_of_envoy() {
        let wrapped = |of: &str, value: Value| {
            let of = format!("type.googleapis.com/{of}");
            json!({"@type": "type.googleapis.com/xds.type.v3.TypedStruct", "type_url": of, "value": value})
        };
        let (given, own) = (json!({"localJwks": {"userKey": 1}}), json!({"local_jwks": {"user_key": 1}}));
        for of in [
            "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
            "xds.type.matcher.v3.IPMatcher",
            "udpa.type.v1.Any",
        ] {
            assert_eq!(normalised(wrapped(of, given.clone())), wrapped(of, own.clone()), "{of}");
        }
        assert_eq!(normalised(wrapped("corp.Own", given.clone())), wrapped("corp.Own", given));
    }
}
