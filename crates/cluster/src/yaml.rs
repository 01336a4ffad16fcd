//! Writes manifests as YAML, in blocks, as people read them.

use hoptax_text::yaml::is_plain;
use serde_json::Value;

/// Documents of YAML, one after the other.
pub(crate) fn documents<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    values.into_iter().map(block).collect::<Vec<_>>().join("---\n")
}

/// A value as a block, with a line break at its end.
fn block(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text
}

/// Writes the lines of a value, whose first one may continue a line that has begun.
fn write(text: &mut String, value: &Value, depth: usize) {
    let indent = |text: &mut String, number: usize| {
        if number > 0 {
            text.push_str(&"  ".repeat(depth));
        }
    };
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (number, (key, value)) in entries.iter().enumerate() {
                indent(text, number);
                text.push_str(&scalar(&Value::from(key.as_str())));
                text.push(':');
                if has_lines(value) {
                    let below = depth + usize::from(value.is_object());
                    text.push('\n');
                    text.push_str(&"  ".repeat(below));
                    write(text, value, below);
                } else {
                    text.push(' ');
                    write(text, value, depth);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (number, item) in items.iter().enumerate() {
                indent(text, number);
                text.push_str("- ");
                write(text, item, depth + 1);
            }
        }
        value => {
            text.push_str(&scalar(value));
            text.push('\n');
        }
    }
}

/// True for what has lines of its own.
fn has_lines(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// A value on one line: all of JSON is YAML.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_is_read_as_the_value_that_was_written() {
        let value = json!({
            "a": "text", "b": "yes", "c": {"d": [1, {"e": [], "f": {}}, ["x", "y"], [[true]]], "g.h/i": null},
            "j": "a: b # c", "k": [{"l": {"m": 1.5}, "n": "0:1"}], "": "",
        });
        let text = block(&value);
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value, "{text}");
    }

    #[test]
    fn lists_are_not_indented_and_documents_are_separated() {
        let of = |value: &Value| documents([value, &json!({"z": 1})]);
        let text = of(&json!({"a": [{"b": 1, "c": {"d": "/e"}}], "f": "true"}));
        assert_eq!(text, "a:\n- b: 1\n  c:\n    d: /e\nf: \"true\"\n---\nz: 1\n");
    }
}
