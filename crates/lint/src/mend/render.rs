//! Renders values as YAML or JSON for insertion into a text.

use hoptax_text::yaml::is_plain;
use serde_json::{Map, Value};

/// Style of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Items on separate lines.
    Block,
    /// Items in brackets.
    Flow,
    /// Items in brackets, with every text in quotes.
    Json,
}

/// A value inside of mappings with these keys.
pub(super) fn nested(keys: &[String], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |inner, key| {
        if key == "-" {
            return Value::Array(vec![inner]);
        }
        Value::Object(Map::from_iter([(key.clone(), inner)]))
    })
}

/// A key as it is written.
pub(super) fn key_in(key: &str, form: Form) -> String {
    text(key, form == Form::Json)
}

/// A text as it is written.
fn text(text: &str, is_json: bool) -> String {
    if !is_json && is_plain(text) { text.to_owned() } else { Value::from(text).to_string() }
}

/// A value in one line.
pub(super) fn flow(value: &Value, is_json: bool) -> String {
    match value {
        _ if is_json => value.to_string(),
        Value::String(content) => text(content, false),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| flow(item, false)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", key_in(key, Form::Flow), flow(value, false))
            };
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// A value for a key: on the same line, or on lines below it.
pub(super) fn under(value: &Value, indent: usize) -> String {
    match value {
        Value::Object(entries) if !entries.is_empty() => format!("\n{}", block(value, indent + 2)),
        Value::Array(items) if !items.is_empty() => format!("\n{}", block(value, indent)),
        other => format!(" {}", flow(other, false)),
    }
}

/// A value as indented lines, without the last newline.
pub(super) fn block(value: &Value, indent: usize) -> String {
    let lines: Vec<String> = match value {
        Value::Object(entries) if !entries.is_empty() => {
            let line = |(key, value): (&String, &Value)| {
                format!("{:indent$}{}:{}", "", key_in(key, Form::Block), under(value, indent))
            };
            entries.iter().map(line).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let line = |item: &Value| {
                let inner = block(item, indent + 2);
                format!("{:indent$}- {}", "", inner.trim_start())
            };
            items.iter().map(line).collect()
        }
        other => vec![format!("{:indent$}{}", "", flow(other, false))],
    };
    lines.join("\n")
}
