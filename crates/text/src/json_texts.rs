//! The texts in a JSON value.

use serde_json::Value;

/// A value with words replaced in its texts, but not in its keys.
pub fn replaced(value: &Value, words: &[(&str, &str)]) -> Value {
    match value {
        Value::String(text) => {
            words.iter().fold(text.clone(), |text, (word, by)| text.replace(word, by)).into()
        }
        Value::Array(items) => items.iter().map(|item| replaced(item, words)).collect(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.clone(), replaced(value, words)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_replaced_in_texts_at_any_depth() {
        let value = json!({"a": [{"b": "x-{{ namespace }}"}], "{{ namespace }}": 1});
        let expected = json!({"a": [{"b": "x-ns"}], "{{ namespace }}": 1});
        assert_eq!(replaced(&value, &[("{{ namespace }}", "ns")]), expected);
    }
}
