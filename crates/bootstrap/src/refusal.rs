//! Maps the reason why Envoy refuses a bootstrap to nodes of the user's configuration.
//!
//! Envoy knows only the adapted bootstrap, and most of its reasons name no position, but a path of fields, an extension, a resource or a
//! value. These are searched in the configuration, with the most reliable method first.

mod constraint;
mod path;

use std::fmt;

use hoptax_text::list::alternatives;
use serde_json::Value;

use crate::adapt::{Adapted, extensions, missing_extension};
use crate::place::Place;
use crate::tree::{self, is_version, is_within, last_name, last_step};

/// Maximum number of places to name. Further places are only counted.
const MOST_NAMED: usize = 4;
/// The shortest text to search inside of values.
const SHORTEST_PART: usize = 3;

/// The methods to find nodes. The first one with a result decides.
const WAYS: [fn(&Value, &str) -> Vec<String>; 8] = [
    path::find,
    constraint::find,
    lacking_extension,
    refused_expression,
    equal_value,
    value_with_part,
    named_field,
    named_kind,
];

/// The prefixes of RE2's reasons for refusing a regular expression. The expression, or its wrong part, follows
/// (<https://github.com/google/re2>, `re2/regexp.cc`).
const EXPRESSION_ERRORS: [&str; 13] = [
    "invalid escape sequence: ",
    "invalid character class: ",
    "invalid character class range: ",
    "missing ]: ",
    "missing ): ",
    "unexpected ): ",
    "trailing \\: ",
    "no argument for repetition operator: ",
    "invalid repetition size: ",
    "bad repetition operator: ",
    "invalid perl operator: ",
    "invalid UTF-8: ",
    "invalid named capture group: ",
];

/// The reason why Envoy refuses a configuration, for its user. It displays as `envoy.yaml:12: Envoy refuses the configuration: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The possible places, sorted, each line once; the file without a line if none was found.
    pub places: Vec<Place>,
    /// Envoy's reason, without names that exist only in the adapted bootstrap.
    pub reason: String,
}

impl Adapted {
    /// Returns the reason why Envoy refuses the bootstrap without some nodes ([`Adapted::without`]), given its message.
    pub fn refusal<'p>(&self, message: &str, without: impl IntoIterator<Item = &'p String>) -> Refusal {
        let mut tree = self.tree.clone();
        for pointer in without {
            tree::remove(&mut tree, pointer);
        }
        let reason = tidy(message);
        let nodes = WAYS.iter().map(|find| find(&tree, &reason)).find(|found| !found.is_empty());
        let mut places: Vec<Place> =
            nodes.unwrap_or_default().iter().map(|pointer| self.place(pointer)).collect();
        places.sort();
        places.dedup_by(|next, place| next.to_string() == place.to_string());
        if places.is_empty() {
            let file = self.place("").file;
            places.push(Place { file, line: 0, column: 0, pointer: String::new() });
        }
        Refusal { places, reason: path::without_position(&reason) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named: Vec<String> = self.places.iter().take(MOST_NAMED).map(ToString::to_string).collect();
        match self.places.len().saturating_sub(MOST_NAMED) {
            0 => {}
            1 => named.push("one more place".to_owned()),
            more => named.push(format!("{more} more places")),
        }
        write!(f, "{}: Envoy refuses the configuration: {}", alternatives(&named), self.reason)
    }
}

/// The reason in a message: without the origin of the log line, and without the refused document, which comes after a colon.
fn tidy(message: &str) -> String {
    const START: &str = "error initializing configuration '";
    let reason = message.rsplit_once(START).and_then(|(_, rest)| rest.split_once("': "));
    let reason = reason.map_or(message, |(_, reason)| reason);
    let before_document = if reason.starts_with(constraint::START) { "): " } else { "): {\n" };
    let end = reason.find(before_document).map(|at| at + 1);
    let reason = end.and_then(|end| reason.get(..end)).unwrap_or(reason).trim();
    // The JSON parser separates words by a random number of spaces.
    if reason.contains("INVALID_ARGUMENT") {
        reason.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        reason.to_owned()
    }
}

/// The extension that this Envoy lacks.
fn lacking_extension(tree: &Value, reason: &str) -> Vec<String> {
    let Some(name) = missing_extension(reason) else { return Vec::new() };
    let found = extensions(tree, name);
    // Envoy also looks up an extension by name if it has no configuration.
    if found.is_empty() { find(tree, &|_, node| tree::text(node, "/name") == name) } else { found }
}

/// The regular expressions that RE2 refuses: those that contain the part in the reason and are invalid.
fn refused_expression(tree: &Value, reason: &str) -> Vec<String> {
    let part = EXPRESSION_ERRORS.iter().find_map(|start| reason.split_once(start));
    let Some((_, part)) = part else { return Vec::new() };
    let with_part = find(tree, &|pointer, node| {
        last_step(pointer) == "regex" && node.as_str().is_some_and(|text| text.contains(part))
    });
    let is_invalid = |pointer: &&String| {
        let text = tree.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        regex_syntax::parse(text).is_err()
    };
    let invalid: Vec<String> = with_part.iter().filter(is_invalid).cloned().collect();
    if invalid.is_empty() { with_part } else { invalid }
}

/// A text that a reason names, and the word before it: `cluster` in `unknown cluster 'shop'`.
#[derive(Debug, PartialEq, Eq)]
struct Term<'a> {
    word: &'a str,
    text: &'a str,
}

/// Returns the terms of a reason: quoted texts, then texts after certain words, then the text after a colon.
fn terms(reason: &str) -> Vec<Term<'_>> {
    const BEFORE: [&str; 3] = [" named ", "entry of domain ", "cipher suites "];
    let term = |start: usize, text| Term { word: word_before(reason, start), text };
    let mut all = quoted(reason);
    for before in BEFORE {
        let starts = reason.match_indices(before).map(|(at, _)| at + before.len());
        all.extend(starts.filter_map(|start| {
            let text = reason.get(start..)?.split_whitespace().next()?.trim_end_matches(['.', ',', ':']);
            Some(term(start, text))
        }));
    }
    for (at, colon) in reason.match_indices(": ") {
        let start = at + colon.len();
        let Some(rest) = reason.get(start..) else { continue };
        let line = rest.lines().next().unwrap_or_default();
        let sentence = line.split_once(". ").map_or(line, |(sentence, _)| sentence);
        all.extend([line, line.trim_end_matches('.'), sentence].map(|text| term(start, text)));
    }
    all.retain(|term| !term.text.is_empty());
    all
}

/// Texts in quotes. An apostrophe is not a quote.
fn quoted(reason: &str) -> Vec<Term<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = reason.get(from..).and_then(|rest| rest.find(['\'', '"'])).map(|at| from + at) {
        from = start + 1;
        let (before, behind) =
            (reason.get(..start).unwrap_or_default(), reason.get(from..).unwrap_or_default());
        let quote = if reason.get(start..from) == Some("\"") { '"' } else { '\'' };
        let is_inside = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
        if is_inside(before.chars().next_back()) {
            continue;
        }
        let mut ends = behind.match_indices(quote).map(|(at, _)| at);
        let is_end = |at: &usize| !is_inside(behind.get(at + 1..).and_then(|rest| rest.chars().next()));
        let Some(end) = ends.find(is_end) else { continue };
        found.push(Term { word: word_before(reason, start), text: behind.get(..end).unwrap_or_default() });
        from += end + 1;
    }
    found
}

/// Returns the last word before a position: the kind of the name there.
fn word_before(reason: &str, position: usize) -> &str {
    let mut words = reason.get(..position).unwrap_or_default().rsplit(|c: char| !c.is_ascii_alphanumeric());
    words.find(|word| !word.is_empty() && !["named", "name", "with"].contains(word)).unwrap_or_default()
}

/// Values that equal a name in the reason: names of resources first, then references to them, then all others.
fn equal_value(tree: &Value, reason: &str) -> Vec<String> {
    for Term { word, text } in terms(reason) {
        let found = find(tree, &|_, node| node == text);
        if found.is_empty() {
            continue;
        }
        let word = word.to_ascii_lowercase();
        let list = format!("{word}s");
        let is_name = |pointer: &str| {
            let item = pointer.strip_suffix("/name").and_then(|item| item.rsplit_once('/'));
            item.is_some_and(|(parent, _)| last_step(parent).ends_with(&list))
        };
        let is_static =
            |pointer: &str| is_within(pointer, "/static_resources") && pointer.matches('/').count() == 4;
        let preferences: [&dyn Fn(&str) -> bool; 3] =
            [&|pointer| is_name(pointer) && is_static(pointer), &|pointer| is_name(pointer), &|pointer| {
                last_name(pointer).contains(&word)
            }];
        for is_preferred in preferences.iter().filter(|_| !word.is_empty()) {
            let preferred: Vec<String> =
                found.iter().filter(|pointer| is_preferred(pointer)).cloned().collect();
            if !preferred.is_empty() {
                return preferred;
            }
        }
        return found;
    }
    Vec::new()
}

/// Values that contain a name in the reason, or begin with it if it ends with dots.
fn value_with_part(tree: &Value, reason: &str) -> Vec<String> {
    for Term { text, .. } in terms(reason) {
        let start = text.strip_suffix("...");
        if start.unwrap_or(text).chars().count() < SHORTEST_PART {
            continue;
        }
        let is_meant = |value: &str| match start {
            Some(start) => value.trim_start().starts_with(start),
            None => value.contains(text),
        };
        let found = find(tree, &|_, node| node.as_str().is_some_and(is_meant));
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Words of a reason that may be fields or extensions.
fn words(reason: &str) -> impl Iterator<Item = &str> {
    reason.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Fields that the reason names in the singular or the plural. Only words with an underscore are certainly fields.
fn named_field(tree: &Value, reason: &str) -> Vec<String> {
    let named: Vec<&str> = words(reason).filter(|word| word.contains('_')).collect();
    find(tree, &|pointer, _| {
        let field = last_step(pointer);
        named.iter().any(|name| field == *name || field.strip_suffix('s') == Some(*name))
    })
}

/// Extensions whose kind the reason names: `basic auth` for `envoy.extensions.filters.http.basic_auth.v3.BasicAuth`.
fn named_kind(tree: &Value, reason: &str) -> Vec<String> {
    let text =
        format!(" {} ", words(&reason.to_ascii_lowercase()).collect::<Vec<_>>().join(" ").replace('_', " "));
    find(tree, &|_, node| {
        if node.get("typed_config").is_none() {
            return false;
        }
        let mut steps = tree::extension_type(node).rsplit('.').skip_while(|step| !is_version(step)).skip(1);
        // A kind of one word, such as `router`, may have another meaning in a reason.
        steps
            .next()
            .is_some_and(|kind| kind.contains('_') && text.contains(&format!(" {} ", kind.replace('_', " "))))
    })
}

/// The pointers of all nodes that are not removed and for which `is_meant` holds.
fn find(root: &Value, is_meant: &dyn Fn(&str, &Value) -> bool) -> Vec<String> {
    tree::find(root, &|pointer, node| !node.is_null() && is_meant(pointer, node))
}

/// The node with the number `index` in a list or a mapping, as Envoy counts: removed nodes do not count. Returns its step in a pointer, and
/// the node.
fn item(node: &Value, index: usize) -> Option<(String, &Value)> {
    match node {
        Value::Array(items) => {
            let (number, item) = items.iter().enumerate().filter(|(_, item)| !item.is_null()).nth(index)?;
            Some((number.to_string(), item))
        }
        Value::Object(entries) => {
            let (key, item) = entries.iter().filter(|(_, item)| !item.is_null()).nth(index)?;
            Some((key.clone(), item))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
