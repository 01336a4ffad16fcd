//! Reads the fields of a message from JSON or YAML, under their names in the proto file or in JSON (`rps`, `endpoint_urls`,
//! `endpointUrls`), and collects all problems and the fields that nothing reads.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Problems of a file, and its unused fields.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) problems: Vec<String>,
    /// The paths of fields that were not read.
    pub(crate) unused: Vec<String>,
}

/// A message whose fields are taken one by one.
pub(crate) struct Message<'a> {
    fields: Map<String, Value>,
    path: String,
    notes: &'a mut Notes,
}

/// Reads a message with `read`, and notes the fields that it leaves.
pub(crate) fn message<T>(
    value: Value,
    path: &str,
    notes: &mut Notes,
    read: impl FnOnce(&mut Message<'_>) -> T,
) -> Option<T> {
    let Value::Object(fields) = value else {
        notes.problems.push(format!("`{path}` is not a mapping"));
        return None;
    };
    let mut message = Message { fields, path: path.to_owned(), notes };
    let read = read(&mut message);
    let left: Vec<String> = message.fields.keys().map(|name| message.at(name)).collect();
    message.notes.unused.extend(left);
    Some(read)
}

impl Message<'_> {
    /// A field that is present and not null.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let value = self.fields.remove(name).or_else(|| self.fields.remove(&in_json(name)))?;
        (!value.is_null()).then_some(value)
    }

    pub(crate) fn text(&mut self, name: &str) -> String {
        self.scalar(name, "text in quotes", |value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// A whole number; in JSON, those of 64 bits are texts.
    pub(crate) fn integer(&mut self, name: &str) -> i64 {
        let whole =
            |number: f64| (number.fract() == 0.0 && number.abs() < 2_f64.powi(53)).then_some(number as i64);
        self.scalar(name, "a whole number", |value| match value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_i64().or_else(|| other.as_f64().and_then(whole)),
        })
        .unwrap_or_default()
    }

    /// A number; none if it is absent.
    pub(crate) fn number(&mut self, name: &str) -> Option<f64> {
        self.scalar(name, "a number", |value| match value {
            Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            other => other.as_f64(),
        })
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.scalar(name, "`true` or `false`", Value::as_bool).unwrap_or_default()
    }

    /// A value of an enumeration, by its name or its number; 0 if absent.
    pub(crate) fn enumeration(&mut self, name: &str, names: &[&str]) -> usize {
        let words = format!("one of {}", names.join(", "));
        self.scalar(name, &words, |value| match value {
            Value::String(text) => names.iter().position(|one| one == text),
            other => other.as_u64().map(|number| number as usize).filter(|number| *number < names.len()),
        })
        .unwrap_or_default()
    }

    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        let read = |value: &Value| {
            let all = value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned));
            all.collect::<Option<Vec<_>>>()
        };
        self.scalar(name, "a list of texts", read).unwrap_or_default()
    }

    pub(crate) fn labels(&mut self, name: &str) -> BTreeMap<String, String> {
        let read = |value: &Value| {
            let all = value.as_object()?.iter();
            all.map(|(key, one)| Some((key.clone(), one.as_str()?.to_owned())))
                .collect::<Option<BTreeMap<_, _>>>()
        };
        self.scalar(name, "a mapping of texts; put numbers in quotes", read).unwrap_or_default()
    }

    /// A message in a field.
    pub(crate) fn message<T>(&mut self, name: &str, read: impl FnOnce(&mut Message<'_>) -> T) -> Option<T> {
        let value = self.take(name)?;
        let path = self.at(name);
        message(value, &path, self.notes, read)
    }

    /// The messages in a repeated field.
    pub(crate) fn messages<T>(&mut self, name: &str, read: impl Fn(&mut Message<'_>) -> T) -> Vec<T> {
        let path = self.at(name);
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(all)) => {
                let numbered = all.into_iter().enumerate();
                numbered
                    .filter_map(|(index, value)| {
                        message(value, &format!("{path}[{index}]"), self.notes, &read)
                    })
                    .collect()
            }
            Some(_) => {
                self.notes.problems.push(format!("`{path}` is not a list"));
                Vec::new()
            }
        }
    }

    fn scalar<T>(&mut self, name: &str, what: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.take(name)?;
        let read = read(&value);
        if read.is_none() {
            let problem = format!("`{}` is not {what}", self.at(name));
            self.notes.problems.push(problem);
        }
        read
    }

    fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// The name of a field in JSON: `endpointUrls` for `endpoint_urls`.
fn in_json(name: &str) -> String {
    let mut upper = false;
    let mut text = String::new();
    for character in name.chars() {
        match character {
            '_' => upper = true,
            other if upper => {
                text.extend(other.to_uppercase());
                upper = false;
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_have_two_names_and_what_is_not_read_is_noted() {
        let mut notes = Notes::default();
        let value =
            json!({"endpointUrls": ["a"], "rps": "12", "connections": 3.0, "x": {"y": 1}, "none": null});
        let read = message(value, "clients[0]", &mut notes, |one| {
            (one.texts("endpoint_urls"), one.integer("rps"), one.integer("connections"), one.text("none"))
        });
        assert_eq!(read, Some((vec!["a".to_owned()], 12, 3, String::new())));
        assert!(notes.problems.is_empty(), "{notes:?}");
        assert_eq!(notes.unused, ["clients[0].x"]);
    }

    #[test]
    fn all_problems_are_collected_with_their_places() {
        let mut notes = Notes::default();
        let value = json!({"a": 1, "b": "x", "c": [1], "d": {"e": 1}, "f": 3, "g": {"h": [2]}, "i": 1.5});
        message(value, "test", &mut notes, |one| {
            one.text("a");
            one.integer("b");
            one.texts("c");
            one.labels("d");
            one.enumeration("f", &["A", "B"]);
            one.message("g", |inner| inner.messages("h", |_| ()));
            one.integer("i");
        });
        assert_eq!(
            notes.problems,
            [
                "`test.a` is not text in quotes",
                "`test.b` is not a whole number",
                "`test.c` is not a list of texts",
                "`test.d` is not a mapping of texts; put numbers in quotes",
                "`test.f` is not one of A, B",
                "`test.g.h[0]` is not a mapping",
                "`test.i` is not a whole number",
            ]
        );
        message(json!(1), "", &mut notes, |_| ());
        assert_eq!(notes.problems.last().unwrap(), "`` is not a mapping");
    }
}
