//! The lines of the nodes of a file, by their JSON pointers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hoptax_text::yaml::envoy::{Key, Node, Tree};

use crate::names::is_field;

/// The lines of a file.
#[derive(Clone, Debug)]
pub(crate) enum Lines {
    /// Lines of a YAML text.
    Yaml(Tree),
    /// Lines of a JSON text.
    Json(JsonLines),
}

impl Lines {
    /// The lines of a valid JSON text. None if the text is a single line, because line numbers are then useless.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        text.trim().contains('\n').then(|| Self::Json(JsonLines::scan(text)))
    }

    /// Returns the position of the node at a pointer, or of the nearest node around it. If the node has a key, this is the position of the
    /// key. The steps are field names as in [`crate::names`], whatever the spelling in the file.
    pub(crate) fn position(&self, text: &str, pointer: &str) -> Position {
        match self {
            Self::Yaml(root) => Way::new(root, pointer).position(),
            Self::Json(lines) => lines.position(text, steps(pointer)),
        }
    }
}

/// The position of a node in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// Its line, from 1.
    pub(crate) line: u64,
    /// Its first byte, if that is known.
    pub(crate) byte: Option<usize>,
}

/// The steps of a pointer.
pub(crate) fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(crate::tree::key_of)
}

/// Takes a step from a mapping: to the entry with this key, or to the mapping itself if the step leads into a list but the file has a
/// single value.
fn entry<'k, T>(entries: &(impl Iterator<Item = (&'k str, T)> + Clone), step: &str) -> Step<T> {
    // JSON parsers keep the last of equal keys.
    let exact = entries.clone().filter(|(key, _)| *key == step).last();
    match exact.or_else(|| entries.clone().filter(|(key, _)| is_field(key, step)).last()) {
        Some((_, found)) => Step::To(found),
        None if step == "0" => Step::Stay,
        None => Step::Nowhere,
    }
}

enum Step<T> {
    To(T),
    Stay,
    Nowhere,
}

/// The path of a pointer through a YAML text, as far as nodes exist.
pub struct Way<'t> {
    /// The collections on the path, each with the index of the item or entry taken.
    pub through: Vec<(&'t Tree, usize)>,
    /// The last node on the path.
    pub end: &'t Tree,
    /// The remaining steps, for which no node exists.
    pub left: Vec<String>,
}

impl<'t> Way<'t> {
    /// The path of a pointer from a root. Its steps are field names in the spelling of protocol buffers, whatever the spelling in the text.
    pub fn new(root: &'t Tree, pointer: &str) -> Self {
        let (mut through, mut end) = (Vec::new(), root);
        let mut steps = steps(pointer);
        for step in steps.by_ref() {
            let next = match &end.node {
                Node::Sequence(items) => {
                    let item = step.parse().ok().and_then(|index: usize| Some((index, items.get(index)?)));
                    item.map_or(Step::Nowhere, Step::To)
                }
                Node::Mapping(entries) => Self::entry(entries, &step),
                Node::Scalar(..) => Step::Nowhere,
            };
            match next {
                Step::To((index, child)) => {
                    through.push((end, index));
                    end = child;
                }
                Step::Stay => {}
                Step::Nowhere => {
                    let left = std::iter::once(step).chain(steps).map(Cow::into_owned).collect();
                    return Self { through, end, left };
                }
            }
        }
        Self { through, end, left: Vec::new() }
    }

    fn entry(entries: &'t [(Key, Tree)], step: &str) -> Step<(usize, &'t Tree)> {
        let named = entries.iter().enumerate();
        entry(&named.map(|(index, (key, value))| (key.text.as_str(), (index, value))), step)
    }

    /// The line and the first byte of the last node, or of its key if it has one.
    fn position(&self) -> Position {
        let key = self.through.last().and_then(|(around, index)| match &around.node {
            Node::Mapping(entries) => entries.get(*index).map(|(key, _)| (key.line, key.bytes.start)),
            _ => None,
        });
        let (line, byte) = key.unwrap_or((self.end.line, self.end.bytes.start));
        Position { line, byte: Some(byte) }
    }
}

/// The lines of a JSON text: its nodes in their order. A `/config_dump` of many megabytes has
/// hundreds of thousands of nodes, so a node is small.
#[derive(Clone, Debug)]
pub(crate) struct JsonLines {
    nodes: Vec<JsonNode>,
    /// The node numbers of the items of long lists, by the number of the list. In shorter lists, an item is found by stepping over the
    /// items before it.
    long: BTreeMap<usize, Vec<u32>>,
}

/// Fewest items of a long list.
const LONG: usize = 100;

#[derive(Clone, Copy, Debug)]
struct JsonNode {
    /// Start and end of its key in the text, without quotes; None for the root and for items of lists.
    key: Option<(u32, u32)>,
    /// The line of its key, or of the node if it has none, from 1.
    line: u32,
    /// The number of the first node after it and its descendants.
    end: u32,
}

impl JsonLines {
    /// Scans a text that is valid JSON.
    fn scan(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut nodes: Vec<JsonNode> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let (mut at, mut line, mut key) = (0, 1, None);
        while let Some(&byte) = bytes.get(at) {
            let mut next = at + 1;
            match byte {
                b'\n' => line += 1,
                b' ' | b'\t' | b'\r' | b',' | b':' => {}
                b'}' | b']' => {
                    let end = number(nodes.len());
                    if let Some(node) = open.pop().and_then(|index| nodes.get_mut(index)) {
                        node.end = end;
                    }
                }
                _ => {
                    if byte == b'"' {
                        let end = end_of_string(bytes, next);
                        if key.is_none() && is_key(bytes, end + 1) {
                            key = Some(((number(next), number(end)), line));
                            at = end + 1;
                            continue;
                        }
                        next = end + 1;
                    } else if matches!(byte, b'{' | b'[') {
                        open.push(nodes.len());
                    } else {
                        let rest = bytes.get(next..).unwrap_or_default();
                        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                        next += rest.iter().position(is_end).unwrap_or(rest.len());
                    }
                    let (key, line) = key.take().map_or((None, line), |(key, line)| (Some(key), line));
                    nodes.push(JsonNode { key, line, end: number(nodes.len() + 1) });
                }
            }
            at = next;
        }
        let mut lines = Self { nodes, long: BTreeMap::new() };
        lines.add_long_lists();
        lines
    }

    fn add_long_lists(&mut self) {
        for (list, node) in self.nodes.iter().enumerate() {
            if (node.end as usize).saturating_sub(list) <= LONG {
                continue;
            }
            let is_list = self.children(list).next().is_some_and(|(_, first)| first.key.is_none());
            let items: Vec<u32> = self.children(list).map(|(item, _)| number(item)).collect();
            if is_list && items.len() >= LONG {
                self.long.insert(list, items);
            }
        }
    }

    /// The number of an item of a list.
    fn item(&self, list: usize, index: usize) -> Option<usize> {
        match self.long.get(&list) {
            Some(items) => items.get(index).map(|item| *item as usize),
            None => self.children(list).nth(index).map(|(item, _)| item),
        }
    }

    fn position<'s>(&self, text: &str, steps: impl Iterator<Item = Cow<'s, str>>) -> Position {
        let mut around = 0;
        for step in steps {
            let next = match self.children(around).next() {
                None => Step::Nowhere,
                Some((_, first)) if first.key.is_none() => {
                    let item = step.parse().ok().and_then(|index| self.item(around, index));
                    item.map_or(Step::Nowhere, Step::To)
                }
                Some(_) => {
                    let keys = self.children(around).map(|(index, node)| (key_of(text, node), index));
                    entry(&keys, &step)
                }
            };
            match next {
                Step::To(index) => around = index,
                Step::Stay => {}
                Step::Nowhere => break,
            }
        }
        let node = self.nodes.get(around);
        Position {
            line: node.map_or(1, |node| node.line.into()),
            byte: node.and_then(|node| node.key).map(|(start, _)| (start as usize).saturating_sub(1)),
        }
    }

    /// The direct children of a node, with their numbers.
    fn children(&self, around: usize) -> impl Iterator<Item = (usize, JsonNode)> + Clone {
        let end = self.nodes.get(around).map_or(0, |node| node.end as usize);
        let at = move |index: usize| self.nodes.get(index).filter(|_| index < end).map(|node| (index, *node));
        std::iter::successors(at(around + 1), move |(_, node)| at(node.end as usize))
    }
}

/// The key of a node as it is written. Field names need no escapes; a user's key with an escape is not found.
fn key_of(text: &str, node: JsonNode) -> &str {
    let range = node.key.map(|(start, end)| start as usize..end as usize);
    range.and_then(|range| text.get(range)).unwrap_or_default()
}

/// Positions beyond 4 GiB are not supported.
fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// The position of the quote that ends a string whose content begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(length) if rest.get(length) == Some(&b'\\') => at += length + 2,
            Some(length) => return at + length,
            None => return bytes.len(),
        }
    }
}

/// True if the string that ends before `at` is a key: a colon follows.
fn is_key(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::tree;

    /// A text with its lines.
    struct Text<'a>(Lines, &'a str);

    impl Text<'_> {
        fn line(&self, pointer: &str) -> u64 {
            self.0.position(self.1, pointer).line
        }
    }

    fn json(text: &str) -> Text<'_> {
        Text(Lines::from_json(text).unwrap(), text)
    }

    fn yaml(text: &str) -> Text<'_> {
        Text(Lines::Yaml(hoptax_text::yaml::envoy::first(text).unwrap()), text)
    }

    #[test]
    fn nodes_of_json_have_the_lines_of_their_keys() {
        let text = r#"{
  "a": {"x": 1, "y": "}]\"{"},
  "list": [
    [], {},
    {"name": "b, : [",
     "deep":
       {"z": null}},
    -1.5e3, true
  ],
  "a/b~": [1,
    2],
  "last": "end"
}"#;
        let lines = json(text);
        let expected = [
            ("", 1),
            ("/a", 2),
            ("/a/y", 2),
            ("/list", 3),
            ("/list/1", 4),
            ("/list/2/name", 5),
            ("/list/2/deep/z", 7),
            ("/list/2/deep", 6),
            ("/list/4", 8),
            ("/a~1b~0/1", 11),
            ("/last", 12),
            ("/list/0/none", 4),
            ("/list/9", 3),
            ("/none/x", 1),
        ];
        for (pointer, line) in expected {
            assert_eq!(lines.line(pointer), line, "{pointer}");
        }
    }

    #[test]
    fn a_field_is_found_in_the_other_spelling_and_where_a_list_is_meant() {
        let yaml = yaml("staticResources:\n  listeners:\n    name: a\n    filterChains: []\n");
        let json =
            json("{\"staticResources\": {\n\"listeners\": {\n\"name\": \"a\",\n\"filterChains\": []}}}");
        for lines in [yaml, json] {
            assert_eq!(lines.line("/static_resources/listeners"), 2);
            assert_eq!(lines.line("/static_resources/listeners/0/name"), 3);
            assert_eq!(lines.line("/static_resources/listeners/0/filter_chains"), 4);
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts_as_in_the_parser() {
        assert_eq!(json("{\n\"a\": 1,\n\"a\": 2}").line("/a"), 3);
    }

    #[test]
    fn items_of_long_lists_have_their_lines() {
        let items = |count: usize| {
            let item = |number: usize| format!("\n{{\"a\": [{number}],\n\"b\": 1}}");
            (0..count).map(item).collect::<Vec<String>>().join(",")
        };
        for count in [LONG - 1, LONG, LONG + 1] {
            let text = format!("{{\"list\": [{}],\n\"last\": [\n[]]}}", items(count));
            let lines = json(&text);
            for index in 0..count {
                let first = 2 + 2 * index as u64;
                assert_eq!(lines.line(&format!("/list/{index}")), first);
                assert_eq!(lines.line(&format!("/list/{index}/a/0")), first);
                assert_eq!(lines.line(&format!("/list/{index}/b")), first + 1);
            }
            assert_eq!(lines.line(&format!("/list/{count}")), 1);
            assert_eq!(lines.line("/last/0"), 3 + 2 * count as u64);
        }
    }

    #[test]
    fn json_in_one_line_has_no_lines() {
        assert!(Lines::from_json("{\"a\": 1}\n").is_none());
    }

    proptest::proptest! {
        /// JSON is valid YAML, so the YAML parser knows the line of each value. Keys are on the same line here.
        #[test]
        fn json_has_the_lines_that_the_parser_of_yaml_finds(
            texts in proptest::collection::vec("[a-z\"\\\\{}\\[\\]:, ]{0,6}", 1..6),
            numbers in proptest::collection::vec(-5.0..1e9_f64, 0..4),
        ) {
            let map: serde_json::Map<String, Value> =
                texts.iter().enumerate().map(|(index, text)| (format!("k{index}"), text.clone().into())).collect();
            let value = serde_json::json!({"texts": texts, "map": map, "numbers": [numbers, [{"a": [], "b": {}}]]});
            let text = serde_json::to_string_pretty(&value).unwrap();
            let lines = json(&text);
            let yaml = yaml(&text);
            tree::walk(&value, "", &mut |pointer, _| assert_eq!(lines.line(pointer), yaml.line(pointer), "{pointer}: {text}"));
        }
    }
}
