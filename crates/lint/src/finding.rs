//! A finding: a fault that a rule found, with its place in the texts of a configuration.

use hoptax_bootstrap::{Configuration, Place, tree};
use serde_json::Value;

use crate::found::Found;
use crate::rule::{Rule, Severity};

/// A fault that a rule found at a place in a file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The place.
    pub place: Place,
    /// The path to the node in the configuration: its pointer, with the names of items instead of their numbers. It does not change when
    /// lines or items are added around the node.
    pub path: String,
    /// The index of the configuration's text with that place.
    pub text: usize,
    /// The fault.
    pub found: Found,
}

impl Finding {
    pub(crate) fn new(rule: &'static Rule, found: Found, configuration: &Configuration) -> Self {
        let (text, place) = found.place.clone().unwrap_or_else(|| configuration.placed(&found.at));
        Self { rule, place, path: named(configuration.tree(), &found.at), text, found }
    }

    /// A finding about a line of a file without a node.
    pub(crate) fn at_line(rule: &'static Rule, file: &str, text: usize, line: u64, message: String) -> Self {
        let place = Place { file: file.to_owned(), line, column: 1, pointer: String::new() };
        Self { rule, place, path: String::new(), text, found: Found::new("", message) }
    }

    /// Sort key: the most severe first, in a severity those that open the proxy to strangers, then by text and place.
    pub(crate) fn order(&self) -> (Severity, bool, usize, u64, &str, &str) {
        let is_behind = !self.rule.opens_to_strangers();
        (self.rule.severity, is_behind, self.text, self.place.line, self.rule.id, &self.place.pointer)
    }

    /// Returns true if it has the same message at the same place.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let is_there = self.text == other.text && self.place.line == other.place.line && self.place.line > 0;
        is_there && self.rule.id == other.rule.id && self.found.message == other.found.message
    }
}

/// A pointer with the names of items instead of their numbers, where items have names.
fn named(root: &Value, pointer: &str) -> String {
    let mut path = String::new();
    let mut node = Some(root);
    for step in pointer.split('/').skip(1) {
        let key = tree::key_of(step);
        let is_item = node.is_some_and(Value::is_array);
        node = node.and_then(|node| match node {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(&*key),
        });
        let name = node.filter(|_| is_item).map_or("", |item| tree::text(item, "/name"));
        tree::push(&mut path, if name.is_empty() { &key } else { name });
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_named_if_they_have_names() {
        let tree = json!({"a": [{"b": 1}, {"name": "x/y", "c~": [{"d": 2}]}]});
        for (pointer, expected) in
            [("", ""), ("/a/0/b", "/a/0/b"), ("/a/1/c~0/0/d", "/a/x~1y/c~0/0/d"), ("/a/7/e", "/a/7/e")]
        {
            assert_eq!(named(&tree, pointer), expected);
        }
    }
}
