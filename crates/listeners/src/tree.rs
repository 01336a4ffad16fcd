//! Parses a text to a tree with positions, in which all keys are unique.
//!
//! YAML is read as Envoy reads it, and in bounded time: aliases that expand to a million nodes, and 500 nested collections, are refused.
//! Merge keys (`<<`), which Envoy does not support, are resolved here, because tools that write such files use them.

mod foreign;

use std::collections::BTreeMap;
use std::ops::Range;

use hoptax_text::file::LARGEST_BYTES;
use hoptax_text::yaml::envoy::{Key, Node, Tree, documents};
use serde_json::Value;

use crate::problem::Problem;

pub(crate) use foreign::is_of_listeners;

/// A text with its tree.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    /// The name of the file.
    pub(crate) name: &'t str,
    text: &'t str,
    /// The byte offset of each line.
    lines: Vec<usize>,
    pub(crate) root: Tree,
    /// True for a Wikimedia file, which has other defaults.
    pub(crate) is_foreign: bool,
    /// Duplicate keys, and merges of nodes that are not mappings. The tree has the first of duplicate keys.
    pub(crate) problems: Vec<Problem>,
}

impl<'t> Document<'t> {
    /// Reads a text.
    ///
    /// # Errors
    /// The problems that prevent parsing.
    pub(crate) fn read(name: &'t str, text: &'t str) -> Result<Self, Vec<Problem>> {
        let at_line =
            |line, message: String| vec![Problem { file: name.to_owned(), line, column: 0, message }];
        if text.len() > LARGEST_BYTES {
            return Err(at_line(
                1,
                format!("the file has {} MiB, more than {}", text.len() >> 20, LARGEST_BYTES >> 20),
            ));
        }
        let mut all = documents(text);
        let first = match all.next() {
            None => return Err(at_line(1, "the file is empty; it needs `listeners`".to_owned())),
            Some(Err(error)) => return Err(at_line(error.line, unreadable(text, &error))),
            Some(Ok(first)) => first,
        };
        match all.next() {
            Some(Err(error)) => return Err(at_line(error.line, unreadable(text, &error))),
            Some(Ok(second)) => {
                return Err(at_line(second.line, "a second document; put all listeners into one".to_owned()));
            }
            None => {}
        }
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut document = Self { name, text, lines, root: first, is_foreign: false, problems: Vec::new() };
        let mut problems = Vec::new();
        let root = std::mem::replace(&mut document.root, empty());
        let root = document.resolved(root, &mut problems);
        let translated = foreign::translated(root);
        for one in &translated.missing {
            let message = format!("enables {}, but no listener has that name", shown(one));
            problems.push(document.problem(&one.bytes, message));
        }
        (document.root, document.is_foreign) = (translated.root, translated.is_foreign);
        document.problems = problems;
        Ok(document)
    }

    /// A problem at a range of bytes.
    pub(crate) fn problem(&self, bytes: &Range<usize>, message: impl Into<String>) -> Problem {
        let line = self.lines.partition_point(|start| *start <= bytes.start).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..bytes.start).unwrap_or_default();
        let column = before.trim_start_matches('\u{feff}').chars().count() as u64 + 1;
        Problem { file: self.name.to_owned(), line: line as u64, column, message: message.into() }
    }

    /// A problem with the node at a path such as `/listeners/3/port`: at its key, or at its parent if it does not exist.
    pub(crate) fn problem_at(&self, path: &str, message: impl Into<String>) -> Problem {
        self.problem(&find(&self.root, path), message)
    }

    /// Returns true if the file has a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        matches!(&self.root.node, Node::Mapping(entries) if entries.iter().any(|(own, _)| own.text == key))
    }

    /// The bytes of an item in a list of the file.
    pub(crate) fn item(&self, list: &str, index: usize) -> Option<Range<usize>> {
        let Node::Mapping(entries) = &self.root.node else { return None };
        let (_, list) = entries.iter().find(|(key, _)| key.text == list)?;
        match &list.node {
            Node::Sequence(items) => items.get(index).map(|item| item.bytes.clone()),
            _ => None,
        }
    }

    /// The tree with merge keys resolved. Duplicate keys are reported as problems.
    fn resolved(&self, tree: Tree, problems: &mut Vec<Problem>) -> Tree {
        let node = match tree.node {
            scalar @ Node::Scalar(..) => scalar,
            Node::Sequence(items) => {
                Node::Sequence(items.into_iter().map(|item| self.resolved(item, problems)).collect())
            }
            Node::Mapping(entries) => {
                let mut own: Vec<(Key, Tree)> = Vec::with_capacity(entries.len());
                // Use a map, because a file may have many thousands of services.
                let mut places: BTreeMap<String, u64> = BTreeMap::new();
                let mut merged = Vec::new();
                for (key, value) in entries {
                    let value = self.resolved(value, problems);
                    if key.text == "<<" {
                        merged.push((key, value));
                    } else if let Some(line) = places.get(&key.text) {
                        let name = shortened(&key.text);
                        let message = format!("duplicate key `{name}`, also in line {line}");
                        problems.push(self.problem(&key.bytes, message));
                    } else {
                        places.insert(key.text.clone(), key.line);
                        own.push((key, value));
                    }
                }
                for (key, value) in merged {
                    let sources = match value.node {
                        Node::Sequence(items) => items,
                        _ => vec![value],
                    };
                    for source in sources {
                        let Node::Mapping(inherited) = source.node else {
                            problems.push(self.problem(&key.bytes, "`<<` merges mappings only"));
                            continue;
                        };
                        for (name, value) in inherited {
                            if !places.contains_key(&name.text) {
                                places.insert(name.text.clone(), name.line);
                                own.push((name, value));
                            }
                        }
                    }
                }
                Node::Mapping(own)
            }
        };
        Tree { node, ..tree }
    }
}

fn empty() -> Tree {
    Tree { line: 1, bytes: 0..0, anchor: 0, node: Node::Mapping(Vec::new()) }
}

/// The reason why a text is invalid. Names tabs, because they are invisible.
fn unreadable(text: &str, error: &hoptax_text::yaml::envoy::Error) -> String {
    let line = text.lines().nth((error.line as usize).saturating_sub(1)).unwrap_or_default();
    let indent: String = line.chars().take_while(|letter| letter.is_whitespace()).collect();
    let hint = if indent.contains('\t') {
        "; this line begins with a tab, but YAML needs spaces for indentation"
    } else {
        ""
    };
    format!("not YAML: {}{hint}", error.message)
}

/// The bytes of the key or item at a path, or of the nearest existing ancestor.
fn find(root: &Tree, path: &str) -> Range<usize> {
    let (mut node, mut bytes) = (root, root.bytes.clone());
    for step in path.split('/').skip(1) {
        let next = match &node.node {
            Node::Sequence(items) => {
                let item = step.parse().ok().and_then(|index: usize| items.get(index));
                item.map(|item| (item, item.bytes.clone()))
            }
            Node::Mapping(entries) => {
                let entry = entries.iter().find(|(key, _)| key.text == step);
                entry.map(|(key, value)| (value, key.bytes.clone()))
            }
            Node::Scalar(..) => None,
        };
        let Some((inner, own)) = next else { break };
        (node, bytes) = (inner, own);
    }
    bytes
}

/// Returns a scalar as shown in messages.
pub(crate) fn shown(tree: &Tree) -> String {
    match &tree.node {
        Node::Sequence(_) => "a list".to_owned(),
        Node::Mapping(_) => "a mapping".to_owned(),
        Node::Scalar(Value::Null, _) => "empty".to_owned(),
        Node::Scalar(Value::String(text), _) => format!("`{}`", shortened(text)),
        Node::Scalar(value, _) => format!("`{value}`"),
    }
}

/// A text of the user, shortened to one line for a message.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let line: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    let line = line.replace("\\\"", "\"").replace("\\'", "'");
    if text.chars().count() > LONGEST { format!("{line}…") } else { line }
}
