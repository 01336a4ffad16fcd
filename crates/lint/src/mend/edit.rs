//! Turns one change into edits of the bytes of a text.

use std::collections::BTreeSet;

use hoptax_bootstrap::Way;
use hoptax_text::yaml::envoy::{Node, Style, Tree};
use serde_json::{Map, Value};

use super::render::{Form, block, flow, key_in, nested, under};
use super::{Edit, Refused};
use crate::found::Change;

/// The step in a list for an item after the last one.
const NEXT: &str = "-";
/// A message with exactly one of several fields: an existing field remains.
const CHOICE: &str = "explicit_http_config";

/// A text to change.
pub(super) struct Original<'t> {
    text: &'t str,
    root: &'t Tree,
    is_json: bool,
    /// True if its lines end in CR LF.
    has_returns: bool,
    /// Anchors of nodes to which aliases refer.
    shared: BTreeSet<usize>,
}

impl<'t> Original<'t> {
    /// A text with its parsed content.
    pub(super) fn new(text: &'t str, root: &'t Tree) -> Self {
        let (mut seen, mut shared) = (BTreeSet::new(), BTreeSet::new());
        each(root, &mut |tree| {
            if tree.anchor != 0 && !seen.insert(tree.anchor) {
                shared.insert(tree.anchor);
            }
        });
        let is_json = serde_json::from_str::<Value>(text).is_ok();
        Self { text, root, is_json, has_returns: text.contains("\r\n"), shared }
    }

    /// The edits that make a change.
    pub(super) fn edits(&self, change: &Change) -> Result<Vec<Edit>, Refused> {
        let at = change.at();
        let way = Way::new(self.root, at);
        let passed = way.through.iter().map(|(tree, _)| *tree).chain([way.end]);
        self.unshared(passed)?;
        let mut edits = match (change, way.left.as_slice()) {
            (Change::Remove { .. }, []) => vec![self.remove(&way)?],
            (Change::Remove { .. }, _) => return Err(Refused::Form),
            (Change::Set { value, .. }, []) => self.set(way.end, at, value)?,
            (Change::Set { value, .. }, [next, inner @ ..]) => {
                let created = at.split('/').count() - inner.len();
                let created: Vec<&str> = at.split('/').take(created).collect();
                vec![self.insert(way.end, &created.join("/"), next, &nested(inner, value))?]
            }
        };
        if self.has_returns {
            for edit in &mut edits {
                edit.by = edit.by.replace('\n', "\r\n");
            }
        }
        Ok(edits)
    }

    /// Refuses nodes to which aliases refer.
    fn unshared<'n>(&self, mut nodes: impl Iterator<Item = &'n Tree>) -> Result<(), Refused> {
        if nodes.any(|tree| self.is_shared(tree)) { Err(Refused::Alias) } else { Ok(()) }
    }

    /// Returns true if an alias refers to a node. This includes nodes in a part that Envoy ignores, whose content Envoy reads only through
    /// the alias.
    fn is_shared(&self, tree: &Tree) -> bool {
        self.shared.contains(&tree.anchor) || tree.anchor != 0 && self.byte(tree.bytes.start) == b'*'
    }

    /// Refuses a node that contains a node to which aliases refer.
    fn unshared_inside(&self, tree: &Tree) -> Result<(), Refused> {
        let mut found = Ok(());
        each(tree, &mut |tree| {
            if self.is_shared(tree) {
                found = Err(Refused::Alias);
            }
        });
        found
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }

    fn form(&self, tree: &Tree) -> Form {
        match self.byte(tree.bytes.start) {
            _ if self.is_json => Form::Json,
            b'{' | b'[' => Form::Flow,
            _ => Form::Block,
        }
    }

    /// Returns the start of the line with a byte.
    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
    }

    /// Returns the end of the line with a byte, without its newline.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.split('\n').next().unwrap_or_default().trim_end_matches('\r').len()
    }

    /// Returns the end of the last line of a block collection.
    fn last_line_end(&self, tree: &Tree) -> usize {
        self.line_end(self.text.get(..tree.bytes.end).unwrap_or_default().trim_end().len())
    }

    /// The number of spaces before a byte in its line, where dashes of lists count as spaces.
    fn indentation(&self, at: usize) -> usize {
        self.text.get(self.line_start(at)..at).map_or(0, |before| before.chars().count())
    }

    /// Sets a node to a value. In an existing message, fields with the same names are changed, and other fields remain.
    fn set(&self, tree: &Tree, at: &str, value: &Value) -> Result<Vec<Edit>, Refused> {
        let (Value::Object(fields), Node::Mapping(_)) = (value, &tree.node) else {
            return if tree.to_value() == *value {
                Ok(Vec::new())
            } else {
                Ok(vec![self.replace(tree, value)?])
            };
        };
        let mut missing = Map::new();
        let mut edits = Vec::new();
        for (key, value) in fields {
            let at = hoptax_bootstrap::tree::join(at, key);
            let way = Way::new(tree, &hoptax_bootstrap::tree::join("", key));
            if !way.left.is_empty() {
                missing.insert(key.clone(), value.clone());
                edits.push(self.insert(tree, &at, key, value)?);
            } else if key != CHOICE {
                self.unshared([way.end].into_iter())?;
                edits.extend(self.set(way.end, &at, value)?);
            }
        }
        // An empty node gets all fields at once.
        if missing.len() > 1 && is_empty(tree) {
            return Ok(vec![self.replace(tree, &Value::Object(missing))?]);
        }
        Ok(edits)
    }

    /// Replaces a whole value.
    fn replace(&self, tree: &Tree, value: &Value) -> Result<Edit, Refused> {
        let is_in_one_piece = match &tree.node {
            Node::Scalar(_, style) => *style == Style::Flow && !tree.bytes.is_empty(),
            _ => self.form(tree) != Form::Block,
        };
        if !is_in_one_piece {
            return Err(Refused::Form);
        }
        self.unshared_inside(tree)?;
        Ok(Edit { bytes: tree.bytes.clone(), by: flow(value, self.is_json), ..Edit::default() })
    }

    /// Inserts an entry, or an item after the last one. `at` is its pointer.
    fn insert(&self, around: &Tree, at: &str, key: &str, value: &Value) -> Result<Edit, Refused> {
        let creates = (key != NEXT).then(|| at.to_owned());
        if self.form(around) != Form::Block {
            return self.insert_in_brackets(around, key, value).map(|edit| Edit { creates, ..edit });
        }
        let end = self.last_line_end(around);
        let (by, depth) = match &around.node {
            Node::Sequence(items) if key == NEXT => {
                let first = items.first().ok_or(Refused::Form)?.bytes.start;
                let before = self.text.get(self.line_start(first)..first).unwrap_or_default();
                let dash = before.rfind('-').ok_or(Refused::Form)?;
                let indent = before.get(..dash).map_or(0, |before| before.chars().count());
                let item = block(value, indent + 2);
                (format!("\n{:indent$}- {}", "", item.trim_start()), 2 * indent + 1)
            }
            Node::Mapping(entries) => {
                let (first, _) = entries.first().ok_or(Refused::Form)?;
                let indent = self.indentation(first.bytes.start);
                let key = key_in(key, Form::Block);
                (format!("\n{:indent$}{key}:{}", "", under(value, indent)), 2 * indent)
            }
            _ => return Err(Refused::Form),
        };
        Ok(Edit { bytes: end..end, by, creates, depth })
    }

    /// Inserts an entry after an opening bracket, or an item after the last one.
    fn insert_in_brackets(&self, around: &Tree, key: &str, value: &Value) -> Result<Edit, Refused> {
        let open = around.bytes.start;
        let new = |key: &str| match key {
            NEXT => flow(value, self.is_json),
            key => format!("{}: {}", key_in(key, self.form(around)), flow(value, self.is_json)),
        };
        let (neighbour, place) = match &around.node {
            Node::Mapping(entries) => (entries.first().map(|(key, _)| key.bytes.start), open + 1),
            Node::Sequence(items) if key == NEXT => {
                let last = items.last().map(|item| &item.bytes);
                (last.map(|last| last.start), last.map_or(open + 1, |last| last.end))
            }
            _ => return Err(Refused::Form),
        };
        let new = new(key);
        let Some(neighbour) = neighbour else {
            // Into an empty collection, only one insertion can be made at a time.
            let bracket = self.text.get(open..=open).ok_or(Refused::Form)?;
            return Ok(Edit { bytes: open..open + 1, by: format!("{bracket}{new}"), ..Edit::default() });
        };
        // Its neighbour may be on a separate line.
        let line = self.line_start(neighbour);
        let indent = self.indentation(neighbour);
        let is_own =
            line > open && self.text.get(line..neighbour).is_some_and(|before| before.trim().is_empty());
        let by = match (&around.node, is_own) {
            (Node::Mapping(_), true) => format!("\n{:indent$}{new},", ""),
            (Node::Mapping(_), false) => format!("{new}, "),
            (_, true) => format!(",\n{:indent$}{new}", ""),
            (_, false) => format!(", {new}"),
        };
        Ok(Edit { bytes: place..place, by, ..Edit::default() })
    }

    /// Removes an entry or an item.
    fn remove(&self, way: &Way<'_>) -> Result<Edit, Refused> {
        self.unshared_inside(way.end)?;
        let (around, index) = *way.through.last().ok_or(Refused::Form)?;
        let starts: Vec<usize> = match &around.node {
            Node::Mapping(entries) => entries.iter().map(|(key, _)| key.bytes.start).collect(),
            Node::Sequence(items) => items.iter().map(|item| item.bytes.start).collect(),
            Node::Scalar(..) => return Err(Refused::Form),
        };
        let start = *starts.get(index).ok_or(Refused::Form)?;
        let end = way.end.bytes.end;
        let (before, after) = (index.checked_sub(1).and_then(|at| starts.get(at)), starts.get(index + 1));
        let bytes = if self.form(around) == Form::Block {
            if starts.len() == 1 {
                return Err(Refused::Form);
            }
            let line = self.line_start(start);
            let before = self.text.get(line..start).unwrap_or_default().trim();
            let is_item = matches!(around.node, Node::Sequence(_)) && before == "-";
            let last = self.last_line_end(way.end);
            let next_line = self.text.get(last..).and_then(|rest| rest.find('\n'));
            match after {
                _ if before.is_empty() || is_item => {
                    line..next_line.map_or(self.text.len(), |newline| last + newline + 1)
                }
                // The next entry moves to its place after the dash.
                Some(&next) if index == 0 => start..next,
                _ => return Err(Refused::Form),
            }
        } else {
            match (before, after) {
                (_, Some(&next)) => start..next,
                (Some(_), None) => {
                    let comma = self.text.get(..start).and_then(|before| before.rfind(','));
                    comma.ok_or(Refused::Form)?..end
                }
                (None, None) => start..end,
            }
        };
        Ok(Edit { bytes, ..Edit::default() })
    }
}

/// Calls `visit` for each node.
fn each(tree: &Tree, visit: &mut dyn FnMut(&Tree)) {
    visit(tree);
    match &tree.node {
        Node::Scalar(..) => {}
        Node::Sequence(items) => items.iter().for_each(|item| each(item, visit)),
        Node::Mapping(entries) => entries.iter().for_each(|(_, value)| each(value, visit)),
    }
}

fn is_empty(tree: &Tree) -> bool {
    matches!(&tree.node, Node::Mapping(entries) if entries.is_empty())
}
