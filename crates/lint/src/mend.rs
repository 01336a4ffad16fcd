//! Applies the fixes of findings to the texts of a configuration. The lines around a change keep their layout and comments.

mod edit;
mod render;

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use hoptax_bootstrap::{Configuration, Text};
use hoptax_text::yaml::envoy;

use self::edit::Original;
use crate::finding::Finding;
use crate::found::Change;

/// A text with changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The index of the text in the configuration.
    pub text: usize,
    /// The text with the changes.
    pub changed: String,
}

/// Reason why a finding was not mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It needs a decision.
    NoFix,
    /// An alias refers to the node, so the change would also take effect elsewhere.
    Alias,
    /// The text has a form that cannot be changed without rewriting it.
    Form,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoFix => "it needs a decision",
            Self::Alias => "a YAML alias refers to it, so the change would also take effect elsewhere",
            Self::Form => "its form in the file cannot be changed automatically",
        })
    }
}

/// A replacement of bytes in a text.
#[derive(Clone, Debug, Default)]
struct Edit {
    bytes: Range<usize>,
    by: String,
    /// The pointer of the node that it creates: no other edit may create the same.
    creates: Option<String>,
    /// Its depth. If several edits add lines at one place, the deepest come first, because they belong to the node that ends there.
    depth: usize,
}

/// Maximum number of rounds of changes. Each round may change nodes that the previous one created.
const MOST_ROUNDS: usize = 8;

/// Mends findings. Returns the changed texts, and the findings that were not mended.
pub fn mend<'f>(
    configuration: &Configuration,
    findings: &[&'f Finding],
) -> (Vec<Mended>, Vec<(&'f Finding, Refused)>) {
    let mut refused: Vec<(&Finding, Refused)> = Vec::new();
    let mut mended = Vec::new();
    for (number, text) in configuration.texts().enumerate() {
        let mut changed = text.text.to_owned();
        let of_text = findings.iter().filter(|finding| finding.text == number);
        let mut pending: Vec<(&'f Finding, Vec<Change>)> = Vec::new();
        for finding in of_text {
            match changes_in(configuration, finding, number) {
                Ok(changes) => pending.push((finding, changes)),
                Err(why) => refused.push((finding, why)),
            }
        }
        for _ in 0..MOST_ROUNDS {
            if pending.is_empty() {
                break;
            }
            match round(&changed, &mut pending, &mut refused) {
                Some(text) => changed = text,
                None => break,
            }
        }
        refused.extend(pending.into_iter().map(|(finding, _)| (finding, Refused::Form)));
        if changed != text.text {
            mended.push(Mended { text: number, changed });
        }
    }
    (mended, refused)
}

/// The file with a changed text in it: the text is the whole file, or a block of lines in it. None if the file contains the text in another
/// form, or is not the file that was read.
pub fn in_file<'f>(file: &'f str, text: &Text<'_>, changed: &str) -> Option<String> {
    if text.first_line <= 1 && file == text.text {
        return Some(changed.to_owned());
    }
    let before = usize::try_from(text.first_line).ok()?.checked_sub(1)?;
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let old: Vec<&str> = text.text.lines().collect();
    let (head, rest) = lines.split_at_checked(before)?;
    let (held, tail) = rest.split_at_checked(old.len())?;
    let content = |line: &&'f str| line.trim_end_matches(['\r', '\n']);
    let (outer, inner) = held.iter().map(content).zip(&old).find(|(_, inner)| !inner.trim().is_empty())?;
    let indent = outer.strip_suffix(inner)?;
    let is_same = |(outer, inner): (&str, &&str)| {
        outer.strip_prefix(indent) == Some(inner) || inner.is_empty() && outer.trim().is_empty()
    };
    if !indent.trim().is_empty() || !held.iter().map(content).zip(&old).all(is_same) {
        return None;
    }
    // Keeps the line endings of the file. The last line may have none.
    let end_of = |line: Option<&&'f str>| {
        line.map_or("\n", |line| line.get(content(line).len()..).unwrap_or_default())
    };
    let (end, last) = (end_of(held.first()), end_of(held.last()));
    let new: Vec<String> = changed
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") })
        .collect();
    Some(head.concat() + &new.join(end) + last + &tail.concat())
}

/// The changes of a finding by the pointers of its text.
fn changes_in(
    configuration: &Configuration,
    finding: &Finding,
    number: usize,
) -> Result<Vec<Change>, Refused> {
    if finding.found.fix.is_empty() {
        return Err(Refused::NoFix);
    }
    let there = |change: &Change| {
        let (text, at) = configuration.origin(change.at());
        if text != number {
            return Err(Refused::Form);
        }
        Ok(match change {
            Change::Set { value, .. } => Change::Set { at, value: value.clone() },
            Change::Remove { .. } => Change::Remove { at },
        })
    };
    finding.found.fix.iter().map(there).collect()
}

/// Makes all changes that do not overlap, and leaves the others pending. None if the result could not be parsed.
fn round<'f>(
    text: &str,
    pending: &mut Vec<(&'f Finding, Vec<Change>)>,
    refused: &mut Vec<(&'f Finding, Refused)>,
) -> Option<String> {
    let tree = envoy::first(text).ok()?;
    let original = Original::new(text, &tree);
    let mut edits: Vec<Edit> = Vec::new();
    let mut later = Vec::new();
    let mut done = Vec::new();
    for (finding, changes) in pending.drain(..) {
        let own: Result<Vec<Vec<Edit>>, Refused> =
            changes.iter().map(|change| original.edits(change)).collect();
        match own.map(|own| own.concat()) {
            Err(why) => refused.push((finding, why)),
            Ok(own) => {
                if own.iter().any(|edit| edits.iter().any(|other| clash(edit, other))) {
                    later.push((finding, changes));
                } else {
                    edits.extend(own);
                    done.push(finding);
                }
            }
        }
    }
    *pending = later;
    let changed = applied(text, edits).filter(|changed| envoy::first(changed).is_ok());
    if changed.is_none() {
        refused.extend(done.into_iter().map(|finding| (finding, Refused::Form)));
    }
    changed
}

/// A text after edits that do not overlap.
fn applied(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end, Reverse(edit.depth)));
    let mut changed = String::with_capacity(text.len());
    let mut at = 0;
    for edit in &edits {
        changed.push_str(text.get(at..edit.bytes.start)?);
        changed.push_str(&edit.by);
        at = edit.bytes.end;
    }
    changed.push_str(text.get(at..)?);
    Some(changed)
}

/// Returns true if two edits cannot be made at once.
fn clash(one: &Edit, other: &Edit) -> bool {
    let creates_same = one.creates.is_some() && one.creates == other.creates;
    // Two insertions at the same place are both possible, unless one of them is inside of the other.
    let are_insertions = one.bytes.is_empty() && other.bytes.is_empty();
    let overlap = one.bytes.start <= other.bytes.end && other.bytes.start <= one.bytes.end;
    creates_same || overlap && !are_insertions
}

#[cfg(test)]
mod tests;
