//! Replaces commands for environment variables, whose values Envoy inherits from the user's shell, by a text of the lab.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use super::Context;
use crate::tree::join;

/// Replacement of the value of a variable.
const TEXT: &str = "lab";

/// A command in a format. Two percent signs outside of a command are an escaped percent sign.
static COMMAND: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"%%|%[A-Z0-9_]+(?:\(.*?\))?(?::[0-9]+)?%").ok());
/// Prefix of the command for a variable.
const VARIABLE: &str = "%ENVIRONMENT(";

pub(super) fn adapt(context: &mut Context<'_>) {
    let has_variable = |text: &str| text.contains(VARIABLE) && without_variables(text) != text;
    for pointer in context.find(&|_, node| node.as_str().is_some_and(has_variable)) {
        let text = context.tree.pointer(&pointer).and_then(Value::as_str).unwrap_or_default();
        let without = without_variables(text).into_owned();
        context.replace(&pointer, without.into(), "the value of an environment variable", "the text `lab`");
    }
    let is_tag = |pointer: &str, node: &Value| {
        pointer.contains("/custom_tags/") && node.get("environment").is_some_and(Value::is_object)
    };
    for pointer in context.find(&is_tag) {
        let at = join(&pointer, "environment");
        context.replace(&at, Value::Null, "the value of an environment variable", "the text `lab`");
        if let Some(tag) = context.tree.pointer_mut(&pointer).and_then(Value::as_object_mut) {
            tag.insert("literal".to_owned(), json!({"value": TEXT}));
        }
    }
    for pointer in context.find(&|_, node| node.get("host_env_keys").is_some_and(Value::is_array)) {
        let Some(entries) = context.tree.pointer_mut(&pointer).and_then(Value::as_object_mut) else {
            continue;
        };
        let names = entries.get("host_env_keys").and_then(Value::as_array).cloned().unwrap_or_default();
        let values = entries.entry("key_values").or_insert_with(|| Value::Object(Map::new()));
        if let Some(values) = values.as_object_mut() {
            let names = names.iter().filter_map(Value::as_str);
            values.extend(names.map(|name| (name.to_owned(), Value::from(TEXT))));
        }
        let with = "the text `lab`, in `key_values`";
        let at = join(&pointer, "host_env_keys");
        context.replace(&at, Value::Null, "values of environment variables", with);
    }
}

/// A text whose commands for environment variables are replaced.
pub(super) fn without_variables(text: &str) -> Cow<'_, str> {
    let Some(command) = COMMAND.as_ref() else { return text.into() };
    command.replace_all(text, |found: &Captures<'_>| {
        let found = &found[0];
        if found.starts_with(VARIABLE) { TEXT.to_owned() } else { found.to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use crate::fixture::adapted;

    #[test]
    fn commands_for_variables_of_the_environment_are_replaced_and_listed_with_their_places() {
        let adapted = adapted(
            "static_resources:
  listeners:
    - name: a
      access_log:
        - typed_config:
            log_format:
              json_format:
                key: 'of %ENVIRONMENT(AWS_SECRET_ACCESS_KEY):4%'
                apiToken: '%ENVIRONMENT(TOKEN)%'
                next: '%REQ(A)%%ENVIRONMENT(HOME)%'
                plain: '%%ENVIRONMENT(HOME)%% %REQ(A)%'
      filter_chains:
        - filters:
            - typed_config:
                tracing: {custom_tags: [{tag: a, environment: {name: A, default_value: b}}]}
                http_filters:
                  - typed_config: {config: {vm_config: {environment_variables: {host_env_keys: [A, B], key_values: {own: c}}}}}",
        );
        let list: Vec<String> =
            adapted.replacements.iter().map(|one| format!("{}: {}", one.place, one.node)).collect();
        for what in [
            "8: the value of an environment variable",
            "9: the value of an environment variable",
            "10: the value of an environment variable",
            "15: the value of an environment variable",
            "17: values of environment variables",
        ] {
            assert!(list.contains(&format!("envoy.yaml:{what}")), "{list:?}");
        }
        let listener = &adapted.bootstrap()["static_resources"]["listeners"][0];
        let format = &listener["access_log"][0]["typed_config"]["log_format"]["json_format"];
        assert_eq!(format["key"], "of lab");
        assert_eq!(format["apiToken"], "lab");
        assert_eq!(format["next"], "%REQ(A)%lab");
        assert_eq!(format["plain"], "%%ENVIRONMENT(HOME)%% %REQ(A)%");
        let text = listener["filter_chains"].to_string();
        assert!(text.contains(r#"[{"tag":"a","literal":{"value":"lab"}}]"#), "{text}");
        assert!(
            text.contains(r#""environment_variables":{"key_values":{"own":"c","A":"lab","B":"lab"}}"#),
            "{text}"
        );
        assert_eq!(adapted.without_secrets(b"at %ENVIRONMENT(A)%\n".to_vec()), b"at lab\n");
    }
}
