//! Validates a tree against the schema of the file, and reports a problem for each node that does not fit.

use hoptax_text::nearest::hint;
use hoptax_text::yaml::envoy::{Key, Node, Tree};
use serde_json::{Map, Value};

use crate::file::check_of;
use crate::problem::Problem;
use crate::tree::{Document, shortened, shown};

/// All nodes of a tree that do not fit a schema, and its duplicate keys.
pub(crate) fn problems(document: &Document<'_>, schema: &Value) -> Vec<Problem> {
    let mut check = Check { document, schema, found: document.problems.clone() };
    check.node(schema, &document.root, "the file");
    check.found
}

struct Check<'t> {
    document: &'t Document<'t>,
    /// The root schema, which contains the targets of references.
    schema: &'t Value,
    found: Vec<Problem>,
}

impl<'t> Check<'t> {
    fn add(&mut self, tree: &Tree, message: String) {
        self.found.push(self.document.problem(&tree.bytes, message));
    }

    /// The schema that a reference points to.
    fn resolved(&self, schema: &'t Value) -> &'t Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
        target.and_then(|path| self.schema.pointer(path)).unwrap_or(schema)
    }

    fn node(&mut self, schema: &'t Value, tree: &Tree, what: &str) {
        let schema = self.resolved(schema);
        if let Node::Scalar(Value::Null, _) = tree.node {
            return self.add(tree, format!("{what} is empty"));
        }
        let alternatives =
            ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)).and_then(Value::as_array);
        if let Some(alternatives) = alternatives {
            return self.one_of(alternatives, tree, what);
        }
        if let Some(words) = words(schema) {
            return self.word(&words, tree, what);
        }
        if !fits(schema, &tree.node) {
            return self.misfit(schema, tree, what);
        }
        match &tree.node {
            Node::Mapping(entries) => self.mapping(schema, tree, entries, what),
            Node::Sequence(items) => self.list(schema, tree, items, what),
            Node::Scalar(value, _) => self.scalar(schema, tree, value, what),
        }
    }

    /// Reports a node with the wrong type. An apparent number may be a text, or too large.
    fn misfit(&mut self, schema: &Value, tree: &Tree, what: &str) {
        let message = match &tree.node {
            Node::Scalar(Value::String(text), _)
                if types(schema).contains(&"integer")
                    && !text.is_empty()
                    && text.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                let (least, most) = range(schema);
                if text.parse::<i128>().is_ok_and(|number| number <= most) {
                    format!(
                        "{what} must be a whole number, but the quotes make {} a text: remove them",
                        shown(tree)
                    )
                } else {
                    format!("{what} must be from {least} to {most}, not {}", shown(tree))
                }
            }
            _ => format!("{what} must be {}, not {}", kind(schema), shown(tree)),
        };
        self.add(tree, message);
    }

    /// Selects the alternative for the node's kind.
    fn one_of(&mut self, alternatives: &'t [Value], tree: &Tree, what: &str) {
        let possible = alternatives.iter().map(|one| self.resolved(one));
        let possible: Vec<&Value> =
            possible.filter(|one| one.get("type").and_then(Value::as_str) != Some("null")).collect();
        let words: Option<Vec<&str>> = possible.iter().map(|one| one.get("const")?.as_str()).collect();
        if let Some(words) = words {
            return self.word(&words, tree, what);
        }
        if let [only] = possible.as_slice() {
            return self.node(only, tree, what);
        }
        if let Some(one) = possible.iter().find(|one| fits(one, &tree.node)) {
            return self.node(one, tree, what);
        }
        let kinds: Vec<String> = possible.iter().map(|one| kind(one)).collect();
        self.add(tree, format!("{what} must be {}, not {}", kinds.join(" or "), shown(tree)));
    }

    fn word(&mut self, words: &[&str], tree: &Tree, what: &str) {
        let text = match &tree.node {
            Node::Scalar(Value::String(text), _) => text,
            _ => "",
        };
        if !words.contains(&text) {
            let hint = hint(text, words.iter().copied());
            let message =
                format!("{what} must be one of `{}`, not {}{hint}", words.join("`, `"), shown(tree));
            self.add(tree, message);
        }
    }

    fn mapping(&mut self, schema: &'t Value, tree: &Tree, entries: &[(Key, Tree)], what: &str) {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        for (key, value) in entries {
            match (properties.and_then(|known| known.get(&key.text)), others) {
                (Some(one), _) | (None, Some(one)) => {
                    self.node(one, value, &format!("`{}`", shortened(&key.text)));
                }
                (None, None) => {
                    let known = properties.unwrap_or(&none).keys().map(String::as_str);
                    let message = unknown_key(&key.text, &known.collect::<Vec<_>>());
                    self.found.push(self.document.problem(&key.bytes, message));
                }
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !entries.iter().any(|(key, _)| key.text == name) {
                self.add(tree, format!("{what} has no key `{name}`"));
            }
        }
    }

    fn list(&mut self, schema: &'t Value, tree: &Tree, items: &[Tree], what: &str) {
        if schema.get("minItems").and_then(Value::as_u64).is_some_and(|least| (items.len() as u64) < least) {
            self.add(tree, format!("{what} is an empty list"));
        }
        let Some(of_item) = schema.get("items") else { return };
        for (index, item) in items.iter().enumerate() {
            self.node(of_item, item, &format!("entry {} of {what}", index + 1));
        }
    }

    fn scalar(&mut self, schema: &'t Value, tree: &Tree, value: &Value, what: &str) {
        if let Value::String(text) = value {
            let form = schema.get("format").and_then(Value::as_str).and_then(check_of);
            if let Some(Err(why)) = form.map(|check| check(text)) {
                self.add(tree, format!("{what} is {}: {why}", shown(tree)));
            } else if schema.get("format").and_then(Value::as_str) == Some("ip")
                && text.parse::<std::net::IpAddr>().is_err()
            {
                self.add(tree, format!("{what} must be an IP address, not {}", shown(tree)));
            } else if text.is_empty() && schema.get("minLength").is_some() {
                self.add(tree, format!("{what} is empty"));
            } else if schema.get("pattern").and_then(Value::as_str) == Some("^/") && !text.starts_with('/') {
                self.add(tree, format!("{what} must begin with `/`, not be {}", shown(tree)));
            }
        }
        let Some(number) = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)) else {
            return;
        };
        let (least, most) = range(schema);
        if number < least || number > most {
            self.add(tree, format!("{what} must be from {least} to {most}, not `{number}`"));
        }
    }
}

/// The smallest and the largest number that a schema allows. Envoy reads larger numbers in YAML as texts.
fn range(schema: &Value) -> (i128, i128) {
    let stated = |key: &str| schema.get(key).and_then(Value::as_i64).map(i128::from);
    (stated("minimum").unwrap_or_default(), stated("maximum").unwrap_or(i128::from(i32::MAX)))
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    let hint = hint(key, known.iter().copied());
    let key = shortened(key);
    if hint.is_empty() {
        format!("unknown key `{key}`; valid keys: `{}`", known.join("`, `"))
    } else {
        format!("unknown key `{key}`{hint}")
    }
}

/// The allowed words of a text.
fn words(schema: &Value) -> Option<Vec<&str>> {
    schema.get("enum")?.as_array()?.iter().map(Value::as_str).collect()
}

/// The types that a schema allows, without null.
fn types(schema: &Value) -> Vec<&str> {
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one.as_str()],
        _ => Vec::new(),
    };
    types.into_iter().filter(|one| *one != "null").collect()
}

fn fits(schema: &Value, node: &Node) -> bool {
    let types = types(schema);
    let own: &[&str] = match node {
        Node::Mapping(_) => &["object"],
        Node::Sequence(_) => &["array"],
        Node::Scalar(Value::String(_), _) => &["string"],
        Node::Scalar(Value::Bool(_), _) => &["boolean"],
        Node::Scalar(Value::Number(number), _) if number.is_i64() || number.is_u64() => {
            &["integer", "number"]
        }
        Node::Scalar(..) => &["number"],
    };
    types.is_empty() || types.iter().any(|one| own.contains(one))
}

/// Returns the type that a schema accepts, as text.
fn kind(schema: &Value) -> String {
    let is_word = schema.get("const").is_some() || schema.get("enum").is_some();
    let of = |one: &&str| match *one {
        "object" => "a mapping",
        "array" => "a list",
        "string" if schema.get("format").and_then(Value::as_str) == Some("duration-with-unit") => {
            "a time with its unit such as `10s`"
        }
        "string" if schema.get("format").and_then(Value::as_str) == Some("ip") => "an IP address",
        "string" if is_word => "a word",
        "string" => "a text, in quotes if it looks like a number or like `yes`",
        "boolean" => "`true` or `false`",
        _ => "a whole number",
    };
    types(schema).iter().map(of).collect::<Vec<_>>().join(" or ")
}
