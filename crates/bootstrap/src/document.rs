//! One text of a configuration, in YAML or JSON.

use hoptax_text::yaml::envoy::{self, Tree};
use serde_json::Value;

use crate::lines::Lines;
use crate::names;
use crate::place::{Place, Problem};

/// A text, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its name in problems: that of its file, or of the value in a file whose lines are not those of the text.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// The line of the file that is the first of the text, from 1.
    pub(crate) first_line: u64,
}

/// A parsed text.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    name: String,
    first_line: u64,
    /// Its content, with the field names of the protocol buffers.
    pub(crate) value: Value,
    /// Its lines; none for JSON in one line.
    lines: Option<Lines>,
}

impl Source {
    /// A file.
    pub(crate) fn file(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), first_line: 1 }
    }

    /// The place of a line of the text; 0 for none.
    pub(crate) fn place(&self, line: u64) -> Place {
        let line = if line == 0 { 0 } else { line + self.first_line - 1 };
        Place { file: self.name.clone(), line, pointer: String::new() }
    }

    /// The problem that a text in YAML cannot be read.
    pub(crate) fn unreadable(&self, error: &envoy::Error) -> Problem {
        Problem {
            place: self.place(error.line),
            message: format!("neither YAML nor JSON: {}", error.message),
        }
    }
}

impl Document {
    /// Parses a text by the rules of Envoy, which reads the first of several documents.
    pub(crate) fn parse(source: &Source) -> Result<Self, Problem> {
        // The JSON parser is faster than that of YAML, which matters for dumps of many megabytes.
        if let Ok(value) = serde_json::from_str(&source.text) {
            return Ok(Self::of_json(source, value));
        }
        let tree = envoy::first(&source.text).map_err(|error| source.unreadable(&error))?;
        Ok(Self::of_yaml(source, tree))
    }

    /// A text that is JSON.
    pub(crate) fn of_json(source: &Source, value: Value) -> Self {
        Self::new(source, value, Lines::of_json(&source.text))
    }

    /// A text that is YAML.
    pub(crate) fn of_yaml(source: &Source, tree: Tree) -> Self {
        Self::new(source, tree.to_value(), Some(Lines::Yaml(tree)))
    }

    fn new(source: &Source, mut value: Value, lines: Option<Lines>) -> Self {
        names::normalise(&mut value);
        Self { name: source.name.clone(), first_line: source.first_line, value, lines }
    }

    /// The place of a node.
    pub(crate) fn place(&self, pointer: &str) -> Place {
        let pointer = pointer.to_owned();
        match &self.lines {
            Some(lines) => {
                Place { file: self.name.clone(), line: lines.line(&pointer) + self.first_line - 1, pointer }
            }
            None if self.first_line > 1 => {
                Place { file: format!("{}:{}", self.name, self.first_line), line: 0, pointer }
            }
            None => Place { file: self.name.clone(), line: 0, pointer },
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
