//! A text of a configuration, in YAML or JSON.

use std::collections::BTreeSet;
use std::ops::Range;

use hoptax_text::yaml::envoy::{self, Key, Node, Tree};
use serde_json::Value;

use crate::lines::{Lines, Position};
use crate::names;
use crate::place::{Place, Problem};

/// A text and its location.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its name in problems: the name of its file, or of a value in a file whose lines differ from those of the text.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// The line of the file at which the text begins, from 1.
    pub(crate) first_line: u64,
    /// Number of characters before each line of the text in its file; none if it is not known.
    pub(crate) indent: Option<u64>,
}

/// A parsed text.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) source: Source,
    /// Its content, with the field names of the protocol buffers.
    pub(crate) value: Value,
    /// Its lines; none for JSON in one line.
    lines: Option<Lines>,
}

impl Source {
    /// A file.
    pub(crate) fn file(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), first_line: 1, indent: Some(0) }
    }

    /// The place of a line of the text; 0 for none.
    pub(crate) fn place(&self, line: u64) -> Place {
        let line = if line == 0 { 0 } else { line + self.first_line - 1 };
        Place { file: self.name.clone(), line, column: 0, pointer: String::new() }
    }

    /// The column of a byte of the text in its file, in characters from 1; 0 if it is not known.
    fn column(&self, byte: usize) -> u64 {
        let line = self.text.get(..byte).and_then(|before| before.rsplit('\n').next());
        line.zip(self.indent).map_or(0, |(line, indent)| indent + line.chars().count() as u64 + 1)
    }

    /// The problem for a YAML text that cannot be read.
    pub(crate) fn unreadable(&self, error: &envoy::Error) -> Problem {
        Problem {
            place: self.place(error.line),
            message: format!("neither YAML nor JSON: {}", error.message),
        }
    }
}

impl Document {
    /// Parses a text by the rules of Envoy, which reads only the first of several documents.
    pub(crate) fn parse(source: &Source) -> Result<Self, Problem> {
        if let Some(value) = envoy::json(&source.text) {
            return Ok(Self::from_json(source, value));
        }
        let tree = envoy::first(&source.text).map_err(|error| source.unreadable(&error))?;
        let value = tree.to_value();
        Ok(Self::from_yaml(source, tree, value))
    }

    /// A text that is JSON.
    pub(crate) fn from_json(source: &Source, value: Value) -> Self {
        Self::new(source, value, Lines::from_json(&source.text))
    }

    /// A text that is YAML, with its value.
    pub(crate) fn from_yaml(source: &Source, tree: Tree, value: Value) -> Self {
        Self::new(source, value, Some(Lines::Yaml(tree)))
    }

    /// A value without a text. Its places have no lines.
    pub(crate) fn from_value(name: &str, value: Value) -> Self {
        Self::new(&Source::file(name, ""), value, None)
    }

    fn new(source: &Source, mut value: Value, lines: Option<Lines>) -> Self {
        names::normalise(&mut value);
        Self { source: source.clone(), value, lines }
    }

    /// The place of a node.
    pub(crate) fn place(&self, pointer: &str) -> Place {
        let Source { name, text, first_line, .. } = &self.source;
        let pointer = pointer.to_owned();
        let Some(lines) = &self.lines else {
            let file = if *first_line > 1 { format!("{name}:{first_line}") } else { name.clone() };
            return Place { file, line: 0, column: 0, pointer };
        };
        let Position { line, byte } = lines.position(text, &pointer);
        let column = byte.map_or(0, |byte| self.source.column(byte));
        Place { file: name.clone(), line: line + first_line - 1, column, pointer }
    }

    /// Keys that a mapping has more than once, each at the place of its repetition.
    pub(crate) fn duplicates(&self) -> Vec<(Place, String)> {
        fn walk<'t>(tree: &'t Tree, bytes: &Range<usize>, found: &mut Vec<&'t Key>) {
            // An alias leads to nodes elsewhere, whose keys are checked there.
            let is_inside = |inner: &Range<usize>| bytes.start <= inner.start && inner.end <= bytes.end;
            match &tree.node {
                Node::Scalar(..) => {}
                Node::Sequence(items) => {
                    items
                        .iter()
                        .filter(|item| is_inside(&item.bytes))
                        .for_each(|item| walk(item, &item.bytes, found));
                }
                Node::Mapping(entries) => {
                    let mut keys = BTreeSet::new();
                    for (key, value) in entries.iter().filter(|(key, _)| is_inside(&key.bytes)) {
                        if !keys.insert(key.text.as_str()) {
                            found.push(key);
                        }
                        walk(value, &value.bytes, found);
                    }
                }
            }
        }
        let mut found = Vec::new();
        if let Some(tree) = self.tree() {
            walk(tree, &tree.bytes, &mut found);
        }
        let file = &self.source.name;
        let placed = found.into_iter().map(|key| {
            let (line, column) = (key.line + self.source.first_line - 1, self.source.column(key.bytes.start));
            (Place { file: file.clone(), line, column, pointer: String::new() }, key.text.clone())
        });
        placed.collect()
    }

    /// The content as YAML, with the bytes of its nodes; none for JSON.
    pub(crate) fn tree(&self) -> Option<&Tree> {
        match &self.lines {
            Some(Lines::Yaml(tree)) => Some(tree),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Document, Problem> {
        Document::parse(&Source::file(name, text))
    }

    #[test]
    fn a_file_is_yaml_or_json_and_an_error_names_the_line() {
        let yaml = parse("a.yaml", "admin:\n  address: x\n").unwrap();
        let json = parse("a.json", r#"{"admin": {"address": "x"}}"#).unwrap();
        assert_eq!(yaml.value, json.value);
        assert_eq!(yaml.place("/admin/address").to_string(), "a.yaml:2");
        assert_eq!(json.place("/admin/address").to_string(), "a.json /admin/address");
        let lines = parse("a.json", "{\"admin\": {\n  \"address\": \"x\"}}").unwrap();
        assert_eq!(lines.place("/admin/address").to_string(), "a.json:2");
        let problem = parse("a.yaml", "a: 1\nb: [1\nsecret: hunter2").unwrap_err();
        assert!(problem.place.line > 0, "{problem:?}");
        assert!(!problem.message.contains("hunter2"), "{}", problem.message);
    }

    #[test]
    fn lines_of_a_text_inside_of_a_file_are_those_of_the_file() {
        let inside = |text: &str| Source { first_line: 6, ..Source::file("map.yaml", text) };
        let yaml = Document::parse(&inside("admin:\n  address: x\n")).unwrap();
        assert_eq!(yaml.place("/admin/address").to_string(), "map.yaml:7");
        let json = Document::parse(&inside(r#"{"admin": {"address": "x"}}"#)).unwrap();
        assert_eq!(json.place("/admin/address").to_string(), "map.yaml:6 /admin/address");
        assert_eq!(Document::parse(&inside("a: 1\nb: *c\n")).unwrap_err().place.to_string(), "map.yaml:7");
    }
}
