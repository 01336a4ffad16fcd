//! Messages that stand for many. Parsing ten thousand clusters from YAML takes seconds, each time a plan asks for the fragment.

use serde_json::{Map, Value};

/// The key of a message that says for how many it stands.
const TIMES: &str = "times";
/// The character that stands for the number of a message in its texts.
const NUMBER: char = '#';

/// All messages. One with `times: N` stands for N messages, in whose texts `#` is their number, of four digits from 0000. A number
/// such as a port may be written as a text, as JSON for Envoy allows.
pub fn repeated(messages: &[Map<String, Value>]) -> Vec<Map<String, Value>> {
    let copies = |message: &Map<String, Value>| -> Vec<Map<String, Value>> {
        let Some(times) = message.get(TIMES).and_then(Value::as_u64) else { return vec![message.clone()] };
        let fields = || message.iter().filter(|(key, _)| *key != TIMES);
        let copy = |number: u64| {
            let number = format!("{number:04}");
            fields().map(|(key, value)| (key.clone(), numbered(value, &number))).collect()
        };
        (0..times).map(copy).collect()
    };
    messages.iter().flat_map(copies).collect()
}

/// For how many messages these stand.
pub fn count(messages: &[Map<String, Value>]) -> u64 {
    messages.iter().map(|message| message.get(TIMES).and_then(Value::as_u64).unwrap_or(1)).sum()
}

fn numbered(value: &Value, number: &str) -> Value {
    match value {
        Value::String(text) => text.replace(NUMBER, number).into(),
        Value::Array(items) => items.iter().map(|item| numbered(item, number)).collect(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.clone(), numbered(value, number)));
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
    fn a_message_stands_for_as_many_as_it_says() {
        let messages: Vec<Map<String, Value>> = serde_json::from_value(json!([
            {"name": "once #"},
            {"times": 3, "name": "many-#", "nested": [{"port": "1#", "other": 5}]},
        ]))
        .unwrap();
        assert_eq!(count(&messages), 4);
        let all = json!(repeated(&messages));
        let expected = json!([
            {"name": "once #"},
            {"name": "many-0000", "nested": [{"port": "10000", "other": 5}]},
            {"name": "many-0001", "nested": [{"port": "10001", "other": 5}]},
            {"name": "many-0002", "nested": [{"port": "10002", "other": 5}]},
        ]);
        assert_eq!(all, expected);
    }
}
