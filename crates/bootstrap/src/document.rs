//! One file of a configuration, in YAML or JSON.

use hoptax_yaml::Placed;
use serde_json::Value;

use crate::lines::Lines;
use crate::names;
use crate::place::{Place, Problem};

/// A parsed file.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    name: String,
    /// Its content, with the field names of the protocol buffers.
    pub(crate) value: Value,
    /// Its lines; none for JSON in one line.
    lines: Option<Lines>,
}

impl Document {
    /// Parses a file. `name` is its name in problems.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        // The JSON parser is faster than that of YAML, which matters for dumps of many megabytes.
        let (mut value, lines) = if let Ok(value) = serde_json::from_str(text) {
            (value, Lines::of_json(text))
        } else {
            let root = parse_yaml(name, text)?;
            (root.value.to_value(), Some(Lines::Yaml(root)))
        };
        names::normalise(&mut value);
        Ok(Self { name: name.to_owned(), value, lines })
    }

    /// The place of a node.
    pub(crate) fn place(&self, pointer: &str) -> Place {
        let line = self.lines.as_ref().map_or(0, |lines| lines.line(pointer));
        Place { file: self.name.clone(), line, pointer: pointer.to_owned() }
    }
}

fn parse_yaml(name: &str, text: &str) -> Result<Placed, Problem> {
    // The default budget refuses large files; this one is the user's own. Aliases stay limited.
    let options = serde_saphyr::options! { budget: None };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(0, |place| place.line());
        let place = Place { file: name.to_owned(), line, pointer: String::new() };
        let is_several = matches!(error.without_snippet(), serde_saphyr::Error::MultipleDocuments { .. });
        let message = if is_several {
            "a second document begins here; a file has one, so give each document a file of its own"
                .to_owned()
        } else {
            format!("neither YAML nor JSON: {}", hoptax_yaml::message(&error))
        };
        Problem { place, message }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_yaml_or_json_and_an_error_names_the_line() {
        let yaml = Document::parse("a.yaml", "admin:\n  address: x\n").unwrap();
        let json = Document::parse("a.json", r#"{"admin": {"address": "x"}}"#).unwrap();
        assert_eq!(yaml.value, json.value);
        assert_eq!(yaml.place("/admin/address").to_string(), "a.yaml:2");
        assert_eq!(json.place("/admin/address").to_string(), "a.json /admin/address");
        let lines = Document::parse("a.json", "{\"admin\": {\n  \"address\": \"x\"}}").unwrap();
        assert_eq!(lines.place("/admin/address").to_string(), "a.json:2");
        let problem = Document::parse("a.yaml", "admin: {}\n---\nadmin: {}\n").unwrap_err();
        assert!(problem.place.line > 0 && problem.message.contains("a file has one"), "{problem:?}");
        assert!(!problem.message.contains("from_str"), "{}", problem.message);
        let problem = Document::parse("a.yaml", "a: 1\nb: [1\nsecret: hunter2").unwrap_err();
        assert!(!problem.message.contains("hunter2"), "{}", problem.message);
    }
}
