//! Secrets become texts of the lab of the same length, which requests then present where a filter asks for them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hoptax_secrets::is_name;
use serde_json::{Value, json};

use super::Context;
use super::masks::Syntax;
use crate::tree::{self, COMPARED, items, join, last_step, message_type, text};

/// The user of the lab, `lab` with the password `lab`, as basic authentication stores it.
const USER: &str = "lab:{SHA}OVP53fl1q1CX7kaNmVVcW0QRab8=";
/// The header with which that user authenticates.
pub(crate) const BASIC_USER: &str = "Basic bGFiOmxhYg==";
/// The key of the lab for authentication by key.
pub(crate) const API_KEY: &str = "lab-key";

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

/// Endings of further fields that hold secrets. `token` is not one: fields also name cookies and places of tokens.
const ENDINGS: [&str; 7] =
    ["password", "passwd", "passphrase", "secret", "api_key", "access_key", "private_key"];

/// Steps of pointers behind which names are the user's own, or those of code of the user.
const OWN: [&str; 9] = [
    "configuration",
    "filter_config",
    "plugin_config",
    "module_config",
    "key_values",
    "metadata",
    "filter_metadata",
    "static_layer",
    "value",
];

/// Steps of pointers behind which texts are code.
const CODE: [&str; 3] = ["default_source_code", "source_codes", "inline_code"];

pub(super) fn adapt(context: &mut Context<'_>) {
    replace_credentials(context);
    discovered_secrets(context);
    let found = context.find(&|pointer, node| {
        is_secret_field(pointer) && (node.is_string() || is_source(node)) && !is_of_the_lab(node)
    });
    for pointer in found {
        let what = format!("the secret `{}`", last_step(&pointer));
        let Some(node) = context.tree.pointer(&pointer).cloned() else { continue };
        let hidden = hidden(context, &node);
        let hidden = if node.is_string() { hidden } else { json!({"inline_string": hidden}) };
        if hidden != node {
            context.replace(&pointer, hidden, &what, "a text of the lab");
        }
    }
    headers(context);
    compared_values(context);
    texts(context);
}

/// The name of a field, or of the user's own setting, by the last step that is no index.
fn is_secret_field(pointer: &str) -> bool {
    let name = pointer.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default();
    if SECRET.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    let is_own = pointer.split('/').any(|step| OWN.contains(&step));
    is_own && is_name(name)
}

/// Values of headers with names of secrets.
fn headers(context: &mut Context<'_>) {
    for pointer in context.find(&|_, node| is_name(text(node, "/key"))) {
        for key in ["value", "raw_value"] {
            let at = join(&pointer, key);
            let Some(value) = context.tree.pointer(&at).filter(|value| value.is_string()).cloned() else {
                continue;
            };
            let hidden = hidden(context, &value);
            if hidden != value {
                let with = "a text of the lab of the same length";
                context.replace(&at, hidden, "the value of a secret header", with);
            }
        }
    }
}

/// What is replaced in matchers of secret values.
const COMPARED_WITH: &str = "what the value of a secret header or parameter is compared with";

/// What matchers compare the values of such headers and parameters with. Requests present the same texts of the lab.
fn compared_values(context: &mut Context<'_>) {
    let is_meant = |node: &Value| {
        is_name(text(node, "/name")) && COMPARED.iter().any(|key| node.get(key).is_some())
            || is_name(text(node, "/name"))
                && ["string_match", "safe_regex_match"].iter().any(|key| node.get(key).is_some())
            || is_name(text(node, "/input/typed_config/header_name")) && node.get("value_match").is_some()
    };
    for pointer in context.find(&|_, node| is_meant(node)) {
        for matcher in ["", "/string_match", "/value_match"] {
            for key in COMPARED {
                let at = format!("{pointer}{matcher}/{key}");
                let Some(value) = context.tree.pointer(&at).filter(|value| value.is_string()).cloned() else {
                    continue;
                };
                let hidden = hidden(context, &value);
                if hidden != value {
                    context.replace(&at, hidden, COMPARED_WITH, "a text of the lab of the same length");
                }
            }
            compared_expressions(context, &format!("{pointer}{matcher}"));
        }
    }
}

/// Regular expressions that such values are compared with.
fn compared_expressions(context: &mut Context<'_>, matcher: &str) {
    for key in ["safe_regex", "safe_regex_match"] {
        let at = format!("{matcher}/{key}/regex");
        let Some(expression) = context.tree.pointer(&at).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        let masked = context.masks.expression(&expression);
        if masked != expression {
            context.replace(&at, masked.into(), COMPARED_WITH, "an expression of the lab of the same length");
        }
    }
}

/// Secrets in longer texts: code, settings of code, logs, bodies, and URLs and PEM in any text.
fn texts(context: &mut Context<'_>) {
    let is_text = |pointer: &str, node: &Value| {
        node.is_string() && last_step(pointer) != "@type" && !pointer.contains("/local_jwks/")
    };
    for pointer in context.find(&is_text) {
        let Some(value) = context.tree.pointer(&pointer).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        let has_step = |steps: &[&str]| pointer.split('/').any(|step| steps.contains(&step));
        let key = last_step(&pointer);
        let syntax = if has_step(&CODE) {
            Syntax::Code
        } else if key == "inline_string" || key == "inline_bytes" || has_step(&OWN) {
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

/// Whether a node is a data source.
fn is_source(node: &Value) -> bool {
    ["inline_string", "inline_bytes", "filename", "environment_variable"]
        .iter()
        .any(|key| node.get(key).is_some())
}

/// Certificates of the lab have their keys in files of the lab.
fn is_of_the_lab(node: &Value) -> bool {
    node.get("filename").and_then(Value::as_str).is_some_and(|path| path.contains("/certificates/"))
}

/// As many letters as a text has; a secret that is not a text becomes a word.
fn hidden(context: &mut Context<'_>, node: &Value) -> Value {
    let text =
        node.as_str().or_else(|| node.get("inline_string").and_then(Value::as_str)).unwrap_or("secret");
    context.masks.value(text).into()
}

/// Users of basic authentication, and keys of authentication by key: as many as there were.
fn replace_credentials(context: &mut Context<'_>) {
    let found = context
        .find(&|_, node| message_type(node).contains(".basic_auth.v3.") && node.get("users").is_some());
    for pointer in found {
        let at = join(&pointer, "users");
        let number =
            context.tree.pointer(&at).map_or(1, |users| text(users, "/inline_string").lines().count().max(1));
        let more =
            (1..number).map(|number| format!("\n{}", USER.replacen("lab", &format!("lab{number}"), 1)));
        let users = std::iter::once(USER.to_owned()).chain(more).collect::<String>();
        context.replace(
            &at,
            json!({"inline_string": users}),
            "users and hashed passwords",
            "users of the lab, as many",
        );
    }
    let found = context.find(&|_, node| {
        message_type(node).contains(".api_key_auth.v3.") && node.get("credentials").is_some()
    });
    for pointer in found {
        let at = join(&pointer, "credentials");
        let number = items(&context.tree, &at).len();
        let key = |index: usize| if index == 0 { API_KEY.to_owned() } else { format!("{API_KEY}-{index}") };
        let keys: Vec<Value> = (0..number)
            .map(|index| json!({"key": key(index), "client": format!("client-{index}")}))
            .collect();
        context.replace(&at, keys.into(), "keys of clients", "keys of the lab, as many");
    }
}

/// Secrets that filters name, other than those of TLS, which have files: they become static secrets.
fn discovered_secrets(context: &mut Context<'_>) {
    let mut names = Vec::new();
    for pointer in context.find(&|pointer, node| last_step(pointer) == "sds_config" && node.is_object()) {
        let Some((parent, _)) = pointer.rsplit_once('/') else { continue };
        let parent = parent.to_owned();
        if let Some(node) = context.tree.pointer(&parent) {
            names.push(text(node, "/name").to_owned());
        }
        context.replace(&pointer, Value::Null, "a secret that is discovered", "a static secret of the lab");
    }
    let at = "/static_resources/secrets";
    let secrets: Vec<(String, String, bool)> = items(&context.tree, at)
        .into_iter()
        .map(|(pointer, secret)| {
            (pointer, text(secret, "/name").to_owned(), secret.get("generic_secret").is_some())
        })
        .collect();
    for (pointer, name, is_generic) in secrets {
        tree::remove(&mut context.tree, &pointer);
        let with =
            if is_generic { "a static secret of the lab" } else { "files of the lab, where it is used" };
        context.list(&pointer, "a static secret", with);
        if is_generic {
            names.push(name);
        }
    }
    names.sort();
    names.dedup();
    for name in names {
        let secret = json!({"name": name, "generic_secret": {"secret": {"inline_string": "x".repeat(32)}}});
        let statics = &mut context.tree["static_resources"]["secrets"];
        match statics.as_array_mut() {
            Some(secrets) => secrets.push(secret),
            None => *statics = json!([secret]),
        }
    }
}
