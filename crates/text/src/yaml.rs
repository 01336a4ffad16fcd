//! A YAML document as a tree with source positions, for errors that name a line.

pub mod envoy;
mod plain;
pub mod template;
pub mod write;

use std::fmt;

pub use plain::is_plain;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
pub use serde_saphyr::Spanned;

/// A node with its position.
pub type Placed = Spanned<Node>;

/// The content of a node.
#[derive(Clone, Debug)]
pub enum Node {
    /// Null, a boolean, a number or a string.
    Scalar(Value),
    /// A list.
    Sequence(Vec<Placed>),
    /// A mapping: keys with their positions, and values.
    Mapping(Vec<(Spanned<String>, Placed)>),
}

impl Node {
    /// The value without positions.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::Sequence(items) => items.iter().map(|item| item.value.to_value()).collect(),
            Self::Mapping(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.value.clone(), node.value.to_value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}

/// The node at `pointer`, a JSON pointer such as `/loads/0/rate`, or the nearest one that encloses it.
pub fn find<'a>(root: &'a Placed, pointer: &str) -> &'a Placed {
    let mut node = root;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match &node.value {
            Node::Sequence(items) => step.parse().ok().and_then(|index: usize| items.get(index)),
            Node::Mapping(entries) => entries.iter().find(|(key, _)| key.value == step).map(|(_, node)| node),
            Node::Scalar(_) => None,
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    node
}

/// The parser's message without the position, which is reported separately, and without its advice to programmers.
pub fn message(error: &serde_saphyr::Error) -> String {
    const ENDS: [&str; 4] = [" at line ", ", set DuplicateKeyPolicy", "; use Option", "; use from_str"];
    let whole = error.without_snippet().to_string();
    let message = whole.strip_prefix("error: ").unwrap_or(&whole);
    let end = ENDS.iter().filter_map(|end| message.find(end)).min();
    end.and_then(|end| message.get(..end)).unwrap_or(message).to_owned()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number, a boolean, a list or a mapping")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Number::from_f64(value)
            .map(|number| Node::Scalar(Value::Number(number)))
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Node::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = mapping.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Mapping(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_no_advice_to_programmers() {
        let message_of = |text: &str| message(&serde_saphyr::from_str::<Placed>(text).unwrap_err());
        assert_eq!(message_of("a: 1\n---\nb: 2\n"), "multiple YAML documents detected");
        assert_eq!(message_of("a: 1\na: 2\n"), "duplicate mapping key: a");
    }

    #[test]
    fn a_pointer_leads_to_its_node_or_to_the_nearest_one_around_it() {
        let root: Placed = serde_saphyr::from_str("a:\n  - b/c: 1\n  - 2\n").unwrap();
        let line = |pointer| find(&root, pointer).referenced.line();
        assert_eq!(["/a/0/b~1c", "/a/1", "/a/1/x/y", "/z"].map(line), [2, 3, 3, 1]);
    }
}
