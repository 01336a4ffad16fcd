//! Messages that stand for many. Parsing ten thousand clusters from YAML takes seconds, for each fragment that a plan asks for.

use hoptax_text::json_texts::replaced;
use serde_json::{Map, Value};

/// The key of a message that says for how many it stands.
const TIMES: &str = "times";
/// The key of the first number of such a message; 0 without it.
const FROM: &str = "from";
/// The key of the least number of digits of its numbers; 4 without it.
const DIGITS: &str = "digits";
/// The character that stands for the number of a message in its texts.
const NUMBER: &str = "#";

/// All messages. One with `times: N` stands for N messages, in whose texts `#` is their number, of four digits from 0000, or of `digits`
/// from `from`. A number such as a port may be written as a text, as JSON for Envoy allows.
pub fn repeated(messages: &[Map<String, Value>]) -> Vec<Map<String, Value>> {
    let copies = |message: &Map<String, Value>| -> Vec<Map<String, Value>> {
        let of = |key: &str| message.get(key).and_then(Value::as_u64);
        let Some(times) = of(TIMES) else { return vec![message.clone()] };
        let (from, digits) = (of(FROM).unwrap_or(0), of(DIGITS).unwrap_or(4) as usize);
        let fields = || message.iter().filter(|(key, _)| ![TIMES, FROM, DIGITS].contains(&key.as_str()));
        let copy = |number: u64| {
            let number = format!("{number:0digits$}");
            let words = [(NUMBER, number.as_str())];
            fields().map(|(key, value)| (key.clone(), replaced(value, &words))).collect()
        };
        (from..from.saturating_add(times)).map(copy).collect()
    };
    messages.iter().flat_map(copies).collect()
}

/// Replaces each message in a list within these messages by all that it stands for.
pub fn repeat_within(messages: &mut [Map<String, Value>]) {
    messages.iter_mut().flat_map(Map::values_mut).for_each(repeat_in);
}

fn repeat_in(value: &mut Value) {
    match value {
        Value::Array(items) => {
            let all = |item: Value| match item {
                Value::Object(message) => repeated(&[message]).into_iter().map(Value::Object).collect(),
                other => vec![other],
            };
            *items = std::mem::take(items).into_iter().flat_map(all).collect();
            items.iter_mut().for_each(repeat_in);
        }
        Value::Object(entries) => entries.values_mut().for_each(repeat_in),
        _ => {}
    }
}

/// For how many messages these stand.
pub fn count(messages: &[Map<String, Value>]) -> u64 {
    messages.iter().map(|message| message.get(TIMES).and_then(Value::as_u64).unwrap_or(1)).sum()
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

    #[test]
    fn numbers_begin_and_are_as_long_as_a_message_says() {
        let message = json!({"times": 3, "from": 9, "digits": 1, "key": "key-#"});
        let all = json!(repeated(&[message.as_object().unwrap().clone()]));
        assert_eq!(all, json!([{"key": "key-9"}, {"key": "key-10"}, {"key": "key-11"}]));
        let none = json!({"times": 0, "from": 1, "name": "#"});
        assert!(repeated(&[none.as_object().unwrap().clone()]).is_empty());
    }

    #[test]
    fn messages_in_lists_of_others_stand_for_many_too() {
        let keys = json!([{"times": 2, "key": "#"}, {"key": "own"}]);
        let filter = json!({"name": "#", "config": {"keys": keys, "times": 5}});
        let mut messages = [filter.as_object().unwrap().clone()];
        repeat_within(&mut messages);
        let keys = json!([{"key": "0000"}, {"key": "0001"}, {"key": "own"}]);
        assert_eq!(json!(messages), json!([{"name": "#", "config": {"keys": keys, "times": 5}}]));
    }
}
