//! Reads YAML by the rules of Envoy, which differ from those of YAML 1.2.
//!
//! Envoy parses with yaml-cpp and converts each node on its own (`source/common/protobuf/yaml_utility.cc`): it reads the first
//! document only, leaves keys with the tag `!ignore` out, takes the last of equal keys, knows no merge keys, and no tag but those.
//! Of scalars without quotes it reads the booleans of YAML 1.1 and integers in the notation of C. It passes every other number on
//! as a text, which fields of floating-point type accept, too.

mod scalar;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Value};

use self::scalar::{is_null, scalar};

/// Most nodes that the aliases of all documents may stand for, a long text as several. A bootstrap with thousands of clusters has fewer; a few
/// lines of nested aliases more.
const MOST_ALIASED: usize = 1_000_000;
/// Most nodes in all of a text, each of which takes a hundred bytes of memory and more.
const MOST_NODES: usize = 5_000_000;
/// Most nodes that anchors keep for aliases. Anchors inside of each other keep the innermost nodes once for each of them.
const MOST_KEPT: usize = 2_000_000;
/// Most collections inside of each other, as in yaml-cpp.
const MOST_NESTED: usize = 500;
/// The bytes of a text that take as much memory as a node.
const BYTES_OF_NODE: usize = 64;
/// The tag of keys that Envoy leaves out.
const IGNORED: &str = "!ignore";

/// A node with its line.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The line on which it begins, from 1; of a text in lines of its own, the first of these. An alias has its own line, and the nodes
    /// inside of it have theirs.
    pub line: u64,
    /// Its bytes in the text, without a tag or an anchor before it. A list in lines of its own begins with its first item or the dash
    /// before that, and a collection in lines of its own ends with its last node. A text in lines of its own begins with the first that
    /// is not empty. The content of an alias is elsewhere.
    pub bytes: Range<usize>,
    /// The number of its anchor in the document; an alias has that of the node that it stands for; 0 for none.
    pub anchor: usize,
    /// Its content.
    pub node: Node,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub enum Node {
    /// Null, a boolean, a number or a text.
    Scalar(Value, Style),
    /// A list.
    Sequence(Vec<Tree>),
    /// A mapping: keys, and values. Of equal keys the last counts.
    Mapping(Vec<(Key, Tree)>),
}

/// A key with its line.
#[derive(Clone, Debug)]
pub struct Key {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its bytes in the text.
    pub bytes: Range<usize>,
    /// Its text.
    pub text: String,
}

/// Style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The scalar is in one piece with the text around it: plain or in quotes.
    Flow,
    /// As lines of its own, `|`, which are those of the text.
    Literal,
    /// As lines of its own, `>`, which are joined.
    Folded,
}

/// Reason why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line, from 1.
    pub line: u64,
    /// The message about the fault. It quotes nothing of the text.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl Tree {
    /// The value without lines.
    pub fn to_value(&self) -> Value {
        match &self.node {
            Node::Scalar(value, _) => value.clone(),
            Node::Sequence(items) => items.iter().map(Self::to_value).collect(),
            Node::Mapping(entries) => {
                let entries = entries.iter().map(|(key, tree)| (key.text.clone(), tree.to_value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The number of its nodes, a long text as several.
    fn size(&self) -> usize {
        let more = match &self.node {
            Node::Scalar(value, _) => value.as_str().map_or(0, str::len) / BYTES_OF_NODE,
            Node::Sequence(items) => items.iter().map(Self::size).sum(),
            Node::Mapping(entries) => {
                let of_entry = |(key, tree): &(Key, Self)| key.text.len() / BYTES_OF_NODE + tree.size();
                entries.iter().map(of_entry).sum()
            }
        };
        1 + more
    }

    /// The most collections inside of each other, with itself.
    fn depth(&self) -> usize {
        match &self.node {
            Node::Scalar(..) => 0,
            Node::Sequence(items) => 1 + items.iter().map(Self::depth).max().unwrap_or_default(),
            Node::Mapping(entries) => {
                1 + entries.iter().map(|(_, tree)| tree.depth()).max().unwrap_or_default()
            }
        }
    }
}

/// The first document, which is all that Envoy reads; null if it is empty.
///
/// # Errors
/// The reason why Envoy refuses it.
pub fn first(text: &str) -> Result<Tree, Error> {
    let empty = Tree { line: 1, bytes: 0..0, anchor: 0, node: Node::Scalar(Value::Null, Style::Flow) };
    documents(text).next().unwrap_or(Ok(empty))
}

/// The value of a text that is JSON, whose parser is faster than that of YAML, which matters for dumps of many megabytes. None for another
/// text, and for one that may have more nodes than are read: [`first`] says where.
pub fn json(text: &str) -> Option<Value> {
    let begins_node = |byte: &u8| matches!(byte, b',' | b':' | b'[' | b'{');
    let most = text.bytes().filter(begins_node).count();
    if most > MOST_NODES { None } else { serde_json::from_str(text).ok() }
}

/// All documents, for files that are not for Envoy itself. It ends with the first error. The iterator is in a box, since each crate that calls
/// this would compile the parser otherwise.
pub fn documents(text: &str) -> Box<dyn Iterator<Item = Result<Tree, Error>> + '_> {
    Box::new(documents_up_to(text, MOST_NODES))
}

fn documents_up_to(text: &str, most_nodes: usize) -> impl Iterator<Item = Result<Tree, Error>> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MOST_NESTED,
        block_nesting_limit: MOST_NESTED,
    };
    let content = text.trim_start_matches('\u{feff}');
    let mut loader = Loader {
        parser: Parser::new_from_str_with_options(content, options),
        before: text.len() - content.len(),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        aliased: 0,
        kept: 0,
        nodes_left: most_nodes,
        has_failed: false,
    };
    std::iter::from_fn(move || loader.document())
}

/// The comments of the first document that are in a text, each with its line, without the sign before it. Comments behind an
/// unreadable part are left out.
pub fn comments(text: &str) -> Vec<(u64, String)> {
    let options = granit_parser::options! {
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MOST_NESTED,
        block_nesting_limit: MOST_NESTED,
    };
    let events = Parser::new_from_str_with_options(text.trim_start_matches('\u{feff}'), options);
    let read = events.map_while(Result::ok);
    let found = read.filter_map(|(event, span)| match event {
        Event::Comment(comment, _) => Some((span.start.line() as u64, comment.into_owned())),
        _ => None,
    });
    found.collect()
}

/// A collection that has not ended.
struct Open {
    line: u64,
    start: usize,
    anchor: usize,
    tag: Option<String>,
    content: Content,
}

enum Content {
    Sequence(Vec<Tree>),
    /// Entries, and the key whose value comes next.
    Mapping(Vec<(Key, Tree)>, Option<Entry>),
}

/// Kind of an entry by its key.
enum Entry {
    Named(Key),
    Ignored,
}

/// A complete node, as an anchor keeps it.
#[derive(Clone)]
struct Complete {
    /// The node. A key without an anchor is nothing but its text, and its value is null.
    tree: Tree,
    /// Its text as a key; none for a list or a mapping, and for a value that is no key.
    key: Option<String>,
    tag: Option<String>,
}

struct Loader<'input, T: granit_parser::BorrowedInput<'input>> {
    parser: Parser<'input, T>,
    /// The bytes of the text before the parsed part.
    before: usize,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Complete>,
    /// The nodes that aliases of all documents stand for.
    aliased: usize,
    /// The nodes that anchors of the document keep.
    kept: usize,
    /// Number of further nodes that the text may have.
    nodes_left: usize,
    has_failed: bool,
}

impl<'input, T: granit_parser::BorrowedInput<'input>> Loader<'input, T> {
    fn document(&mut self) -> Option<Result<Tree, Error>> {
        while !self.has_failed {
            let next = self.parser.next_event()?;
            let read = next.map_err(|error| refusal(&error)).and_then(|(event, span)| self.take(event, span));
            match read {
                Ok(None) => {}
                Ok(Some(root)) => return Some(Ok(root)),
                Err(error) => {
                    self.has_failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// Takes an event. A document is complete with its root.
    fn take(&mut self, event: Event<'input>, span: Span) -> Result<Option<Tree>, Error> {
        let line = span.start.line() as u64;
        let is_node = matches!(
            event,
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) | Event::Alias(_)
        );
        if is_node {
            let left = self.nodes_left.checked_sub(1);
            self.nodes_left = left.ok_or_else(|| error(line, "more than five million nodes"))?;
        }
        let [start, end] =
            [span.start, span.end].map(|mark| self.before + mark.byte_offset().unwrap_or_default());
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                self.kept = 0;
                Ok(None)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_of_lines = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                // The parser means the first line that is not empty.
                let empty = if is_of_lines { text.len() - text.trim_start_matches('\n').len() } else { 0 };
                let line = line.saturating_sub(empty as u64);
                let tag = text_of(tag);
                // An alias may stand for a key or for a value. Other nodes are one of them, and a large file has millions.
                let (is_key, is_anchor) = (self.is_at_key(), anchor != 0);
                let value =
                    if is_key && !is_anchor { Value::Null } else { scalar(&text, style, tag.as_deref()) };
                // A key is its text, whatever it would be as a value.
                let is_null = is_null(&text, style, tag.as_deref());
                let text_of_key = || if is_null { "null".to_owned() } else { text.into_owned() };
                let key = (is_key || is_anchor).then(text_of_key);
                let style = match style {
                    ScalarStyle::Literal => Style::Literal,
                    ScalarStyle::Folded => Style::Folded,
                    _ => Style::Flow,
                };
                let tree = Tree { line, bytes: start..end, anchor, node: Node::Scalar(value, style) };
                self.place(Complete { tree, key, tag })
            }
            Event::SequenceStart(_, anchor, tag) => {
                let content = Content::Sequence(Vec::new());
                self.open.push(Open { line, start, anchor, tag: text_of(tag), content });
                Ok(None)
            }
            Event::MappingStart(_, anchor, tag) => {
                let content = Content::Mapping(Vec::new(), None);
                self.open.push(Open { line, start, anchor, tag: text_of(tag), content });
                Ok(None)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { line, start, anchor, tag, content }) = self.open.pop() else {
                    return Ok(None);
                };
                let last = match &content {
                    Content::Sequence(items) => items.last(),
                    Content::Mapping(entries, _) => entries.last().map(|(_, value)| value),
                };
                // A collection in lines ends where the parser finds that it has ended, which is behind comments.
                let is_in_brackets = span.end.index() > span.start.index();
                let end = if is_in_brackets { end } else { last.map_or(start, |last| last.bytes.end) };
                let node = match content {
                    Content::Sequence(items) => Node::Sequence(items),
                    Content::Mapping(entries, _) => Node::Mapping(entries),
                };
                let tree = Tree { line, bytes: start..end, anchor, node };
                self.place(Complete { tree, key: None, tag })
            }
            Event::Alias(anchor) => {
                let Some(complete) = self.anchors.get(&anchor) else {
                    return Err(error(
                        line,
                        "an alias refers to a node that contains it, which would never end",
                    ));
                };
                // Both are decided before the copy, which may be large.
                self.aliased += complete.tree.size();
                if self.aliased > MOST_ALIASED {
                    return Err(error(line, "its aliases refer to more than a million nodes"));
                }
                if self.open.len() + complete.tree.depth() > MOST_NESTED {
                    return Err(error(line, "its aliases lead to more than 500 nested collections"));
                }
                let Complete { mut tree, key, tag } = complete.clone();
                tree.line = line;
                tree.bytes = start..end;
                self.place(Complete { tree, key, tag })
            }
            _ => Ok(None),
        }
    }

    /// Returns true if the next node is the key of an entry.
    fn is_at_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Mapping(_, None), .. }))
    }

    /// Places a node into the collection around it.
    fn place(&mut self, complete: Complete) -> Result<Option<Tree>, Error> {
        let anchor = complete.tree.anchor;
        if anchor != 0 && !self.anchors.contains_key(&anchor) {
            self.kept += complete.tree.size();
            if self.kept > MOST_KEPT {
                return Err(error(complete.tree.line, "its anchors hold more than two million nodes"));
            }
            self.anchors.insert(anchor, complete.clone());
        }
        let Complete { tree, key, tag } = complete;
        let Some(around) = self.open.last_mut() else { return Ok(Some(tree)) };
        match &mut around.content {
            Content::Sequence(items) => items.push(tree),
            Content::Mapping(entries, pending) => match pending.take() {
                Some(Entry::Named(key)) => entries.push((key, tree)),
                Some(Entry::Ignored) => {}
                None if tag.as_deref() == Some(IGNORED) => *pending = Some(Entry::Ignored),
                None => {
                    let Some(text) = key else {
                        return Err(error(
                            tree.line,
                            "a key is a list or a mapping; Envoy accepts texts only",
                        ));
                    };
                    *pending = Some(Entry::Named(Key { line: tree.line, bytes: tree.bytes, text }));
                }
            },
        }
        Ok(None)
    }
}

fn text_of(tag: Option<Cow<'_, granit_parser::Tag>>) -> Option<String> {
    tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()))
}

fn error(line: u64, message: &str) -> Error {
    Error { line, message: message.to_owned() }
}

/// Returns the error of the parser as one of this module. Names of anchors and keys may be in it, but no values.
fn refusal(scan: &ScanError) -> Error {
    let message = scan.kind().to_string();
    Error {
        line: scan.marker().line() as u64,
        message: message.lines().next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests;
