//! Replaces secrets by texts of the lab with the same length. Requests present them where a filter requires them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hoptax_text::secrets::is_name;
use serde_json::{Map, Value, json};

use super::Context;
use super::masks::{Syntax, Taken};
use crate::tree::{self, COMPARED, items, join, last_name, last_step, message, text};

/// Length of the replacement for a secret of unknown length: 16 bytes in hexadecimal.
const USUAL: usize = 32;

/// Fields that hold secrets: text, or a data source.
const SECRET: [&str; 15] = [
    "private_key",
    "password",
    "auth_password",
    "downstream_auth_password",
    "downstream_auth_passwords",
    "auth_username",
    "secret_access_key",
    "access_key_id",
    "session_token",
    "client_secret",
    "client_key",
    "api_key",
    "access_token",
    "secret",
    "token",
];

/// Suffixes of further fields that hold secrets. `token` is not one of them, because such fields may name cookies or locations of tokens.
const ENDINGS: [&str; 7] =
    ["password", "passwd", "passphrase", "secret", "api_key", "access_key", "private_key"];

/// Steps of pointers below which the user, or the user's code, chooses the names.
const OWN: [&str; 11] = [
    "configuration",
    "filter_config",
    "plugin_config",
    "module_config",
    "key_values",
    "metadata",
    "filter_metadata",
    "static_layer",
    "json_format",
    "typed_json_format",
    "value",
];

/// Steps of pointers below which texts are code.
const CODE: [&str; 3] = ["default_source_code", "source_codes", "inline_code"];

pub(super) fn adapt(context: &mut Context<'_>) {
    generic_secrets(context);
    let certificates = context.lab.folder.join("certificates");
    // Keys for certificates of the lab are files of the lab.
    let is_of_the_lab = |node: &Value| Path::new(text(node, "/filename")).starts_with(&certificates);
    let found = context.find(&|pointer, node| {
        (node.is_string() || is_source(node))
            && is_secret_field(&context.tree, pointer)
            && !is_of_the_lab(node)
    });
    for pointer in found {
        let what = format!("the secret `{}`", last_name(&pointer));
        hide(context, &pointer, &what, "a text of the lab");
    }
    headers(context);
    compared_values(context);
    compared_keys(context);
    texts(context);
}

/// True if the last step that is not an index is the name of a secret: of a field, or of the user's own setting.
fn is_secret_field(tree: &Value, pointer: &str) -> bool {
    let name = last_name(pointer);
    SECRET.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || is_own(tree, pointer) && is_name(name)
}

/// True if the user, or the user's code, chooses the names in a pointer. A `value` that wraps an Envoy message has Envoy's fields.
fn is_own(tree: &Value, pointer: &str) -> bool {
    let wraps = |before: &str| {
        let message = tree.pointer(before).map(message);
        message.is_some_and(|message| !message.at.is_empty() && message.of.starts_with("envoy."))
    };
    let mut at = 0;
    pointer.split('/').skip(1).any(|step| {
        let before = pointer.get(..at).unwrap_or_default();
        at += 1 + step.len();
        OWN.contains(&step) && !(step == "value" && wraps(before))
    })
}

/// Replaces the values of headers with names of secrets.
fn headers(context: &mut Context<'_>) {
    for pointer in context.find(&|_, node| is_name(text(node, "/key"))) {
        for key in ["value", "raw_value"] {
            hide_text(context, &join(&pointer, key), "the value of a secret header");
        }
    }
}

/// Description of a replaced text in a matcher of secret values.
const COMPARED_WITH: &str = "the text that a secret header or parameter is compared with";

/// True if the input of a matcher is a header or a parameter with the name of a secret.
fn has_secret_input(node: &Value) -> bool {
    ["header_name", "query_param"]
        .iter()
        .any(|key| is_name(text(node, &format!("/input/typed_config/{key}"))))
}

/// Replaces the texts with which matchers compare the values of such headers and parameters. Requests present the same texts of the lab.
fn compared_values(context: &mut Context<'_>) {
    let is_meant = |node: &Value| {
        let has = |keys: &[&str]| keys.iter().any(|key| node.get(key).is_some());
        (has(&COMPARED) || has(&["string_match", "safe_regex_match"])) && is_name(text(node, "/name"))
            || has(&["value_match"]) && has_secret_input(node)
    };
    for pointer in context.find(&|_, node| is_meant(node)) {
        for matcher in ["", "/string_match", "/value_match"] {
            for key in COMPARED {
                hide_text(context, &format!("{pointer}{matcher}/{key}"), COMPARED_WITH);
            }
            compared_expressions(context, &format!("{pointer}{matcher}"));
        }
    }
}

/// Replaces the keys of mappings in which matchers look up such values.
fn compared_keys(context: &mut Context<'_>) {
    let mut found = context.find(&|_, node| node.get("input").is_some() && has_secret_input(node));
    // A mapping may contain another matcher, whose pointer changes with the keys around it, so inner matchers come first.
    found.sort_by_key(|pointer| Reverse(pointer.len()));
    for pointer in found {
        for kind in ["exact_match_map", "prefix_match_map"] {
            let at = format!("{pointer}/{kind}/map");
            let Some(entries) = context.tree.pointer(&at).and_then(Value::as_object).cloned() else {
                continue;
            };
            let (mut hidden, mut taken) = (Map::new(), Taken::default());
            for (key, value) in &entries {
                let key = context.masks.distinct(key, &mut taken);
                hidden.insert(key, value.clone());
            }
            if hidden != entries {
                context.replace(&at, hidden.into(), COMPARED_WITH, "texts of the lab of the same length");
            }
        }
    }
}

/// Replaces regular expressions with which such values are compared.
fn compared_expressions(context: &mut Context<'_>, matcher: &str) {
    for key in ["safe_regex", "safe_regex_match"] {
        let at = format!("{matcher}/{key}/regex");
        let Some(expression) = context.text(&at) else { continue };
        let masked = context.masks.expression(&expression);
        if masked != expression {
            context.replace(&at, masked.into(), COMPARED_WITH, "an expression of the lab of the same length");
        }
    }
}

/// Masks secrets in longer texts: code, settings of code, log formats, bodies, and URLs and PEM in any text.
fn texts(context: &mut Context<'_>) {
    let is_text = |pointer: &str, node: &Value| {
        node.is_string() && last_step(pointer) != "@type" && !pointer.contains("/local_jwks/")
    };
    for pointer in context.find(&is_text) {
        let Some(value) = context.text(&pointer) else { continue };
        let key = last_step(&pointer);
        let syntax = if pointer.split('/').any(|step| CODE.contains(&step)) {
            Syntax::Code
        } else if key == "inline_string" || key == "inline_bytes" || is_own(&context.tree, &pointer) {
            Syntax::Settings
        } else {
            Syntax::Other
        };
        let decoded =
            if key == "inline_bytes" || key == "value" { BASE64_STANDARD.decode(&value).ok() } else { None };
        let masked = match decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(decoded) => {
                context.masks.text(&decoded, syntax).map(|masked| BASE64_STANDARD.encode(masked))
            }
            None => context.masks.text(&value, syntax),
        };
        if let Some(masked) = masked {
            let what = format!("secrets in the text `{key}`");
            context.replace(&pointer, masked.into(), &what, "texts of the lab of the same length");
        }
    }
}

/// True if a node is a data source.
fn is_source(node: &Value) -> bool {
    ["inline_string", "inline_bytes", "filename", "environment_variable"]
        .iter()
        .any(|key| node.get(key).is_some())
}

/// Replaces a secret, which is a text or a data source, unless it belongs to the lab.
fn hide(context: &mut Context<'_>, at: &str, what: &str, with: &str) {
    let Some(node) = context.tree.pointer(at).cloned() else { return };
    let hidden = hidden(context, &node);
    if hidden != node {
        context.replace(at, hidden, what, with);
    }
}

/// Replaces a secret that is a text.
fn hide_text(context: &mut Context<'_>, at: &str, what: &str) {
    if context.tree.pointer(at).is_some_and(Value::is_string) {
        hide(context, at, what, "a text of the lab of the same length");
    }
}

/// The replacement for a secret, which is a text or a data source, with the same length.
fn hidden(context: &mut Context<'_>, node: &Value) -> Value {
    if let Some(text) = node.as_str() {
        return context.masks.value(text).into();
    }
    let hidden = match context.content(node) {
        Some(content) => context.masks.bytes(&content),
        None => "x".repeat(USUAL),
    };
    json!({"inline_string": hidden})
}

/// Replaces secrets that filters name by static secrets, except TLS secrets, which are in files.
fn generic_secrets(context: &mut Context<'_>) {
    let mut secrets: BTreeMap<String, Value> = BTreeMap::new();
    for pointer in context.find(&|pointer, node| last_step(pointer) == "sds_config" && node.is_object()) {
        let Some((parent, _)) = pointer.rsplit_once('/') else { continue };
        let name = context.tree.pointer(parent).map_or("", |node| text(node, "/name")).to_owned();
        let (secret, with) = generic_secret(context, &name);
        context.replace(&pointer, Value::Null, "a secret that is discovered", with);
        secrets.insert(name, secret);
    }
    let statics: Vec<(String, String, bool)> = items(&context.tree, "/static_resources/secrets")
        .into_iter()
        .map(|(pointer, secret)| {
            (pointer, text(secret, "/name").to_owned(), secret.get("generic_secret").is_some())
        })
        .collect();
    for (pointer, name, is_generic) in statics {
        tree::remove(&mut context.tree, &pointer);
        if is_generic {
            let (secret, with) = generic_secret(context, &name);
            context.list(&pointer, "a static secret", with);
            secrets.insert(name, secret);
        } else {
            context.list(&pointer, "a static secret", "files of the lab, where it is used");
        }
    }
    for secret in secrets.into_values() {
        tree::append(&mut context.tree, "secrets", secret);
    }
}

/// The secret of the lab with this name, and its description.
fn generic_secret(context: &mut Context<'_>, name: &str) -> (Value, &'static str) {
    let given = context.configuration.secrets.get(name);
    let source =
        given.and_then(|given| given.pointer("/generic_secret/secret")).unwrap_or(&Value::Null).clone();
    let with = if context.content(&source).is_some() {
        "a static secret of the lab of the same length"
    } else {
        "a static secret of the lab (32 letters; the length of the original is not known)"
    };
    (json!({"name": name, "generic_secret": {"secret": hidden(context, &source)}}), with)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{adapted, configuration, lab};

    use super::*;

    /// A configuration with these settings of a filter.
    fn with_filter(typed_config: &Value) -> String {
        json!({"static_resources": {"listeners": [{"name": "a", "filter_chains": [{"filters": [{"typed_config": typed_config}]}]}]}})
            .to_string()
    }

    /// Returns the settings of the filter once adapted, and the replacements.
    fn settings(typed_config: &Value) -> (Value, Vec<String>) {
        let adapted = adapted(&with_filter(typed_config));
        let pointer = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config";
        let settings = adapted.bootstrap().pointer(pointer).unwrap().clone();
        (settings, adapted.replacements.into_iter().map(|one| one.node).collect())
    }

    /// The replacement for a generic secret, and its description.
    fn generic(secret: &Value, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> (Value, String) {
        let statics = json!([{"name": "s", "generic_secret": {"secret": secret}}]);
        let text =
            json!({"static_resources": {"listeners": [{"name": "a"}], "secrets": statics}}).to_string();
        let adapted = configuration(&text).unwrap().adapt(&lab(), read).unwrap();
        let secret =
            adapted.bootstrap().pointer("/static_resources/secrets/0/generic_secret/secret").unwrap().clone();
        let list = adapted.replacements.into_iter().find(|one| one.node == "a static secret");
        (secret, list.unwrap().with)
    }

    #[test]
    fn a_generic_secret_has_the_length_of_the_original_wherever_that_is() {
        let read = |path: &str| (path == "/etc/secret").then(|| b"hunter2-a\n".to_vec());
        for (source, masked) in [
            (json!({"inline_string": "Basic hunter2-a"}), "Basic xxxxxxxxx"),
            (json!({"inline_bytes": BASE64_STANDARD.encode("hunter2-a")}), "xxxxxxxxx"),
            (json!({"filename": "/etc/secret"}), "xxxxxxxxx\n"),
        ] {
            let (secret, with) = generic(&source, &read);
            assert_eq!(secret, json!({"inline_string": masked}));
            assert!(with.ends_with("of the same length"), "{with}");
        }
        for unknown in [
            json!({"filename": "/etc/missing"}),
            json!({"environment_variable": "SECRET"}),
            json!({"inline_string": "[redacted]"}),
        ] {
            let (secret, with) = generic(&unknown, &read);
            assert_eq!(secret, json!({"inline_string": "x".repeat(USUAL)}));
            assert!(with.contains(&format!("({USUAL} letters;")), "{with}");
        }
    }

    #[test]
    fn the_list_names_the_field_of_a_list_of_secrets() {
        let passwords = json!([{"inline_string": "hunter2-a"}, {"inline_string": "hunter2-bc"}]);
        let (settings, list) = settings(&json!({"downstream_auth_passwords": passwords}));
        let masked = json!([{"inline_string": "xxxxxxxxx"}, {"inline_string": "xxxxxxxxxx"}]);
        assert_eq!(settings["downstream_auth_passwords"], masked);
        assert_eq!(
            list.iter().filter(|what| *what == "the secret `downstream_auth_passwords`").count(),
            2,
            "{list:?}"
        );
    }

    #[test]
    fn keys_of_mappings_that_secret_headers_are_looked_up_in_are_masked_also_in_each_other() {
        let tree = |input: &str, name: &str, entries: &Value| {
            let input = json!({"name": "i", "typed_config": {input: name}});
            json!({"matcher_tree": {"input": input, "exact_match_map": {"map": entries}}})
        };
        let inner = tree("query_param", "sig", &json!({"hunter2/c": {"action": {"name": "skip"}}}));
        let matcher =
            tree("header_name", "x-api-key", &json!({"hunter2a": {"matcher": inner}, "hunter2b": {}}));
        let (settings, list) = settings(&json!({"xds_matcher": matcher}));
        let inner = tree("query_param", "sig", &json!({"xxxxxxxxx": {"action": {"name": "skip"}}}));
        let wanted =
            tree("header_name", "x-api-key", &json!({"xxxxxxxx": {"matcher": inner}, "xxxxxxx1": {}}));
        assert_eq!(settings["xds_matcher"], wanted);
        assert_eq!(list.iter().filter(|what| *what == COMPARED_WITH).count(), 2, "{list:?}");
        let other = tree("header_name", "x-shop", &json!({"north": {}}));
        assert_eq!(self::settings(&json!({"xds_matcher": other})).0["xds_matcher"], other);
    }

    #[test]
    fn headers_parameters_and_settings_with_less_common_names_are_masked() {
        let matching = json!({
            "headers": [{"name": "x-auth", "string_match": {"exact": "hunter2-a"}}],
            "query_parameters": [{"name": "sig", "string_match": {"exact": "hunter2-b"}}],
        });
        let header = |key: &str| json!({"header": {"key": key, "value": "hunter2-c"}});
        let headers = ["x-auth-key", "x-hub-signature", "X-Honeycomb-Team"].map(header);
        let format = json!({"json_format": {"apiToken": "hunter2-d", "hmac": "%REQ(X-HMAC)%"}});
        let given = json!({"match": matching, "add": headers, "log_format": format, "plugin_config": {"license_key": "hunter2-e"}});
        let (settings, _) = settings(&given);
        let text = settings.to_string();
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(settings["log_format"]["json_format"]["hmac"], "%REQ(X-HMAC)%");
        let others = json!({"plugin_config": {"author": "ann", "design": "oak", "signal": "on"}});
        assert_eq!(self::settings(&others).0, others);
    }

    #[test]
    fn a_message_of_envoy_that_is_wrapped_keeps_its_fields_and_settings_of_others_do_not() {
        let wrapped = |of: &str| {
            let value = json!({"authorization_endpoint": "endpoint-a"});
            json!({"@type": "type.googleapis.com/udpa.type.v1.TypedStruct", "type_url": format!("type.googleapis.com/{of}"), "value": value})
        };
        let is_kept = |of: &str| settings(&wrapped(of)).0["value"] == wrapped(of)["value"];
        assert!(is_kept("envoy.extensions.filters.http.oauth2.v3.OAuth2Config"));
        assert!(!is_kept("corp.example.Settings"));
    }

    #[test]
    fn a_key_of_the_user_is_replaced_although_its_folder_is_called_as_that_of_the_lab() {
        let (settings, _) = settings(&json!({"private_key": {"filename": "/etc/certificates/hunter2.pem"}}));
        assert_eq!(settings["private_key"], json!({"inline_string": "x".repeat(USUAL)}));
    }

    #[test]
    fn no_secret_is_in_the_places_of_the_list() {
        let text = json!({"static_resources": {"listeners": [{"name": "a", "metadata": {"filter_metadata": {
            "own": {"password": "hunter2-ab", "by_key": {"hunter2-ab": {"token": "hunter2-c"}}},
        }}}]}});
        let replacements = adapted(&text.to_string()).replacements;
        assert!(
            replacements.iter().any(|one| one.place.pointer.ends_with("/by_key/xxxxxxxxxx/token")),
            "{replacements:?}"
        );
        assert!(!format!("{replacements:?}").contains("hunter2"), "{replacements:?}");
    }
}
