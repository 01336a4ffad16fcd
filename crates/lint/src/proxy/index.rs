//! The mappings of a configuration by their fields and by the types of their messages.

use std::collections::{BTreeMap, HashMap};

use hoptax_bootstrap::tree;
use serde_json::Value;

use super::Node;

/// The mappings of a configuration by their fields and by the types of their messages. One walk builds it for all rules, because a file
/// with thousands of listeners has millions of nodes. Null fields count as not stated.
#[derive(Default)]
pub(crate) struct Index<'a> {
    /// All mappings and lists, each before those inside of it.
    collections: Vec<Collection<'a>>,
    /// Numbers of mappings by their fields, in order.
    by_field: HashMap<&'a str, Vec<usize>>,
    /// Numbers of messages by their types, in order.
    by_type: HashMap<&'a str, Vec<usize>>,
    /// All string values.
    texts: Vec<&'a str>,
}

/// A mapping or a list.
struct Collection<'a> {
    value: &'a Value,
    /// The number of the collection around it.
    around: usize,
    /// Its step from that collection.
    step: Step<'a>,
}

/// The step to a node from the node around it.
enum Step<'a> {
    /// No step: the whole configuration.
    Root,
    /// To the entry of a mapping with this key.
    Key(&'a str),
    /// To the item of a list with this number.
    Item(usize),
}

impl<'a> Index<'a> {
    /// Makes the index of a configuration.
    pub(super) fn new(root: &'a Value) -> Self {
        let mut index = Self::default();
        index.add(root, 0, Step::Root);
        index
    }

    fn add(&mut self, value: &'a Value, around: usize, step: Step<'a>) {
        let number = self.collections.len();
        match value {
            Value::Object(entries) => {
                self.collections.push(Collection { value, around, step });
                // Added before the fields of inner mappings, so that numbers stay in order.
                for (field, _) in entries.iter().filter(|(_, value)| !value.is_null()) {
                    self.by_field.entry(field).or_default().push(number);
                    if field == "@type" {
                        self.by_type.entry(tree::message(value).of).or_default().push(number);
                    }
                }
                for (key, value) in entries {
                    self.add(value, number, Step::Key(key));
                }
            }
            Value::Array(items) => {
                self.collections.push(Collection { value, around, step });
                for (item, value) in items.iter().enumerate() {
                    self.add(value, number, Step::Item(item));
                }
            }
            Value::String(text) => self.texts.push(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The mappings that have one of these fields, in the order of the configuration.
    pub(crate) fn with_any(&self, fields: &[&str]) -> Vec<Node<'a>> {
        self.nodes(fields.iter().filter_map(|field| self.by_field.get(*field)))
    }

    /// Returns true if a mapping has one of these fields.
    pub(crate) fn has_any(&self, fields: &[&str]) -> bool {
        fields.iter().any(|field| self.by_field.contains_key(*field))
    }

    /// The typed configurations with messages of types for which `is_meant` holds, in the order of the configuration.
    pub(crate) fn of_type(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Node<'a>> {
        self.nodes(self.by_type.iter().filter(|(of, _)| is_meant(of)).map(|(_, numbers)| numbers))
    }

    /// All texts that are values.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.texts.iter().copied()
    }

    /// The collections with the numbers in these lists, each once and in order.
    fn nodes<'s>(&self, lists: impl Iterator<Item = &'s Vec<usize>>) -> Vec<Node<'a>> {
        let mut numbers: Vec<usize> = lists.flatten().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let node = |number: usize| {
            let Collection { value, .. } = self.collections.get(number)?;
            let mut at = String::new();
            self.lead_to(number, &mut at);
            Some(Node { at, value })
        };
        numbers.into_iter().filter_map(node).collect()
    }

    /// Extends the pointer of the root to a node.
    fn lead_to(&self, number: usize, pointer: &mut String) {
        let Some(Collection { around, step, .. }) = self.collections.get(number) else { return };
        match step {
            Step::Root => {}
            Step::Key(key) => {
                self.lead_to(*around, pointer);
                tree::push(pointer, key);
            }
            Step::Item(item) => {
                self.lead_to(*around, pointer);
                tree::push_index(pointer, *item);
            }
        }
    }
}

/// Some nodes by their pointers, to find those inside of another node.
pub(crate) struct Places<'a>(BTreeMap<String, &'a Value>);

impl<'a> Places<'a> {
    /// Makes the places of nodes.
    pub(crate) fn new(nodes: Vec<Node<'a>>) -> Self {
        Self(nodes.into_iter().map(|Node { at, value }| (at, value)).collect())
    }

    /// The node itself, if it is one of these nodes, and those inside of it.
    pub(crate) fn inside(&self, around: &Node<'_>) -> impl Iterator<Item = Node<'a>> {
        // Pointers such as `/a-b` sort between `/a` and `/a/b`.
        let below = around.field("/");
        let inner = self.0.range(below.clone()..).take_while(move |(at, _)| at.starts_with(&below));
        let own = self.0.get_key_value(&around.at);
        own.into_iter().chain(inner).map(|(at, value)| Node { at: at.clone(), value })
    }

    /// Returns true if the node is one of these nodes, or contains one.
    pub(crate) fn has_inside(&self, around: &Node<'_>) -> bool {
        self.inside(around).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pointers(nodes: &[Node<'_>]) -> Vec<String> {
        nodes.iter().map(|node| node.at.clone()).collect()
    }

    #[test]
    fn mappings_are_found_by_fields_and_types_in_the_order_of_the_configuration() {
        let wrapped = json!({
            "@type": "type.googleapis.com/xds.type.v3.TypedStruct",
            "type_url": "type.googleapis.com/a.Limit",
            "value": {"@type": "x/b.Other"},
        });
        let root = json!({
            "list": [{"inner": [{"own": 1}], "own": {"own": 2}}, {"own": null}, null],
            "a/b": {"@type": "type.googleapis.com/a.Limit", "other": "text"},
            "own": wrapped,
        });
        let index = Index::new(&root);
        let with = |fields: &[&str]| pointers(&index.with_any(fields));
        assert_eq!(with(&["own"]), ["", "/list/0", "/list/0/inner/0", "/list/0/own"]);
        assert_eq!(with(&["other", "inner", "list", "none"]), ["", "/list/0", "/a~1b"]);
        for node in index.with_any(&["own", "other"]) {
            assert_eq!(root.pointer(&node.at), Some(node.value), "{}", node.at);
        }
        assert!(index.has_any(&["none", "own"]) && !index.has_any(&["none"]));
        assert_eq!(pointers(&index.of_type(|of| of.ends_with(".Limit"))), ["/a~1b", "/own"]);
        assert_eq!(index.texts().filter(|text| *text == "text").count(), 1);
        assert_eq!(index.texts().count(), 5);
    }

    #[test]
    fn places_inside_of_a_node_are_its_own_and_those_below() {
        let root =
            json!({"a": {"f": 1, "b": {"f": 1}, "c": [{"f": 1}]}, "a-b": {"f": 1}, "ab": {"f": 1}, "d": {}});
        let places = Places::new(Index::new(&root).with_any(&["f"]));
        let inside = |at: &str| {
            let around = Node { at: at.to_owned(), value: &root };
            let found: Vec<Node<'_>> = places.inside(&around).collect();
            assert_eq!(places.has_inside(&around), !found.is_empty());
            pointers(&found)
        };
        assert_eq!(inside("/a"), ["/a", "/a/b", "/a/c/0"]);
        assert_eq!(inside("/a/c"), ["/a/c/0"]);
        assert_eq!(inside("/a-b"), ["/a-b"]);
        assert_eq!(inside("/d"), [""; 0]);
        assert_eq!(inside("").len(), 5);
    }
}
