//! One change as an edit of the bytes of a text.

use hoptax_bootstrap::is_field;
use hoptax_text::yaml::envoy::{Key, Node, Tree};
use serde_json::Value;

use super::render::{Form, block, flow, key_in, nested};
use super::{Edit, Refused};
use crate::finding::Change;

/// The step of a list that means an item behind its last.
const NEXT: &str = "-";

/// A node with what is around it.
struct Step<'t> {
    tree: &'t Tree,
    /// The collection around it, and its number there.
    around: Option<(&'t Tree, usize)>,
}

/// The edit that makes a change.
pub(super) fn edit(text: &str, root: &Tree, change: &Change, is_json: bool) -> Result<Edit, Refused> {
    let steps: Vec<String> =
        change.at().split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let mut at = Step { tree: root, around: None };
    let mut done = 0;
    for step in &steps {
        let found = match &at.tree.node {
            Node::Sequence(items) => step.parse().ok().filter(|index: &usize| *index < items.len()),
            // A single value may stand where a list is meant.
            Node::Mapping(entries) if step == "0" && entry(entries, step).is_none() => {
                done += 1;
                continue;
            }
            Node::Mapping(entries) => entry(entries, step),
            Node::Scalar(..) => None,
        };
        let Some(index) = found else { break };
        let child = match &at.tree.node {
            Node::Sequence(items) => items.get(index),
            Node::Mapping(entries) => entries.get(index).map(|(_, value)| value),
            Node::Scalar(..) => None,
        };
        let child = child.ok_or(Refused::Form)?;
        if text.as_bytes().get(child.bytes.start) == Some(&b'*') {
            return Err(Refused::Alias);
        }
        at = Step { tree: child, around: Some((at.tree, index)) };
        done += 1;
    }
    let rest = steps.get(done..).unwrap_or_default();
    match (change, rest) {
        (Change::Remove { .. }, []) => remove(text, &at),
        (Change::Remove { .. }, _) => Err(Refused::Form),
        (Change::Set { value, .. }, []) => replace(text, at.tree, value, is_json),
        (Change::Set { value, .. }, [next, inner @ ..]) => {
            let mut edit = insert(text, at.tree, next, &nested(inner, value), is_json)?;
            if next != NEXT {
                edit.creates = Some(steps.get(..=done).unwrap_or_default().join("/"));
            }
            Ok(edit)
        }
    }
}

/// The number of the entry with this key: the last of equal ones counts.
fn entry(entries: &[(Key, Tree)], step: &str) -> Option<usize> {
    let exact = entries.iter().rposition(|(key, _)| key.text == step);
    exact.or_else(|| entries.iter().rposition(|(key, _)| is_field(&key.text, step)))
}

fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or_default()
}

fn form(text: &str, tree: &Tree, is_json: bool) -> Form {
    match byte(text, tree.bytes.start) {
        _ if is_json => Form::Json,
        b'{' | b'[' => Form::Flow,
        _ => Form::Block,
    }
}

/// Replaces a value in one piece.
fn replace(text: &str, tree: &Tree, value: &Value, is_json: bool) -> Result<Edit, Refused> {
    let is_in_one_piece = match &tree.node {
        Node::Scalar(_, style) => *style == hoptax_text::yaml::envoy::Style::Flow && !tree.bytes.is_empty(),
        _ => matches!(byte(text, tree.bytes.start), b'{' | b'['),
    };
    if !is_in_one_piece {
        return Err(Refused::Form);
    }
    Ok(Edit { bytes: tree.bytes.clone(), by: flow(value, is_json), creates: None })
}

/// Where the line of a byte begins.
fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// Where the line of a byte ends, without its newline.
fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at + newline)
}

/// Where the last line of a collection in lines ends.
fn last_line_end(text: &str, tree: &Tree) -> usize {
    let content = text.get(..tree.bytes.end).unwrap_or_default().trim_end();
    line_end(text, content.len())
}

/// The spaces before a byte in its line, counting dashes of lists as such.
fn indentation(text: &str, at: usize) -> usize {
    text.get(line_start(text, at)..at).map_or(0, |before| before.chars().count())
}

/// Inserts an entry or an item into a collection.
fn insert(text: &str, around: &Tree, key: &str, value: &Value, is_json: bool) -> Result<Edit, Refused> {
    let form = form(text, around, is_json);
    let (first, is_list) = match &around.node {
        Node::Mapping(entries) => (entries.first().map(|(key, _)| key.bytes.start), false),
        Node::Sequence(items) if key == NEXT => (items.first().map(|item| item.bytes.start), true),
        _ => return Err(Refused::Form),
    };
    if form != Form::Block {
        return Ok(insert_in_brackets(text, around, first, (!is_list).then_some(key), value, is_json));
    }
    let first = first.ok_or(Refused::Form)?;
    let end = last_line_end(text, around);
    let by = if is_list {
        let before = text.get(line_start(text, first)..first).unwrap_or_default();
        let dash = before.rfind('-').ok_or(Refused::Form)?;
        let indent = before.get(..dash).map_or(0, |before| before.chars().count());
        let item = block(value, indent + 2);
        format!("\n{:indent$}- {}", "", item.trim_start())
    } else {
        let indent = indentation(text, first);
        let key = key_in(key, Form::Block);
        format!("\n{:indent$}{key}:{}", "", under(value, indent))
    };
    Ok(Edit { bytes: end..end, by, creates: None })
}

/// A value behind its key: beside it, or in lines under it.
fn under(value: &Value, indent: usize) -> String {
    match value {
        Value::Object(entries) if !entries.is_empty() => format!("\n{}", block(value, indent + 2)),
        Value::Array(items) if !items.is_empty() => format!("\n{}", block(value, indent)),
        other => format!(" {}", flow(other, false)),
    }
}

/// Inserts behind an opening bracket.
fn insert_in_brackets(
    text: &str,
    around: &Tree,
    first: Option<usize>,
    key: Option<&str>,
    value: &Value,
    is_json: bool,
) -> Edit {
    let open = around.bytes.start + 1;
    let form = if is_json { Form::Json } else { Form::Flow };
    let key = key.map(|key| format!("{}: ", key_in(key, form))).unwrap_or_default();
    let value = flow(value, is_json);
    let by = match first {
        None => format!("{key}{value}"),
        // The first entry has a line of its own.
        Some(first) if line_start(text, first) > open => {
            let indent = indentation(text, first);
            format!("\n{:indent$}{key}{value},", "")
        }
        Some(_) => format!("{key}{value}, "),
    };
    Edit { bytes: open..open, by, creates: None }
}

/// Removes an entry or an item.
fn remove(text: &str, at: &Step<'_>) -> Result<Edit, Refused> {
    let (around, index) = at.around.ok_or(Refused::Form)?;
    let starts: Vec<usize> = match &around.node {
        Node::Mapping(entries) => entries.iter().map(|(key, _)| key.bytes.start).collect(),
        Node::Sequence(items) => items.iter().map(|item| item.bytes.start).collect(),
        Node::Scalar(..) => return Err(Refused::Form),
    };
    let start = *starts.get(index).ok_or(Refused::Form)?;
    let (before, after) = (index.checked_sub(1).and_then(|at| starts.get(at)), starts.get(index + 1));
    let bytes = if matches!(byte(text, around.bytes.start), b'{' | b'[') {
        match (before, after) {
            (_, Some(&next)) => start..next,
            (Some(_), None) => {
                let comma = text.get(..start).and_then(|before| before.rfind(',')).ok_or(Refused::Form)?;
                comma..at.tree.bytes.end
            }
            (None, None) => start..at.tree.bytes.end,
        }
    } else {
        if starts.len() == 1 {
            return Err(Refused::Form);
        }
        let line = line_start(text, start);
        let is_first_in_line = text.get(line..start).is_some_and(|before| before.trim().is_empty());
        let is_item = matches!(around.node, Node::Sequence(_))
            && text.get(line..start).is_some_and(|before| before.trim() == "-");
        let end = last_line_end(text, at.tree);
        match after {
            _ if is_first_in_line || is_item => line..(end + 1).min(text.len()),
            // The next entry takes its place behind the dash.
            Some(&next) if index == 0 => start..next,
            _ => return Err(Refused::Form),
        }
    };
    Ok(Edit { bytes, by: String::new(), creates: None })
}
