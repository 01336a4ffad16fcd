//! Secrets become texts of the lab of the same length, which requests then present where a filter asks for them.

use serde_json::{Value, json};

use super::Context;
use crate::tree::{self, items, join, last_step, message_type, text};

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

/// Headers whose values are secret.
const HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"];

pub(super) fn adapt(context: &mut Context<'_>) {
    replace_credentials(context);
    discovered_secrets(context);
    let found = context.find(&|pointer, node| {
        let is_meant = SECRET.contains(&last_step(pointer)) && (node.is_string() || is_source(node));
        is_meant && !is_of_the_lab(node)
    });
    for pointer in found {
        let what = format!("the secret `{}`", last_step(&pointer));
        let Some(node) = context.tree.pointer(&pointer) else { continue };
        let hidden = if node.is_string() { hidden(node) } else { json!({"inline_string": hidden(node)}) };
        context.replace(&pointer, hidden, &what, "a text of the lab");
    }
    let headers =
        context.find(&|_, node| HEADERS.contains(&text(node, "/key").to_ascii_lowercase().as_str()));
    for pointer in headers {
        for key in ["value", "raw_value"] {
            let at = join(&pointer, key);
            if let Some(value) = context.tree.pointer(&at).filter(|value| value.is_string()) {
                let hidden = hidden(value);
                context.replace(
                    &at,
                    hidden,
                    "the value of a secret header",
                    "a text of the lab of the same length",
                );
            }
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
fn hidden(node: &Value) -> Value {
    let text =
        node.as_str().or_else(|| node.get("inline_string").and_then(Value::as_str)).unwrap_or("secret");
    "x".repeat(text.len()).into()
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
