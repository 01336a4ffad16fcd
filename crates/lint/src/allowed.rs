//! Comments that allow a finding: `# hoptax-lint: allow RULE-ID reason`, on the line of the finding or the line above it.

use std::collections::BTreeMap;

use hoptax_bootstrap::Configuration;
use hoptax_text::nearest;
use hoptax_text::yaml::envoy;

use crate::finding::Finding;
use crate::rules::{ALLOWED_FOR_NO_REASON, ALLOWED_WITHOUT_EFFECT};
use crate::{ALL, Linted};

/// Prefix of such a comment.
const MARK: &str = "hoptax-lint:";
const ALLOW: &str = "allow";

/// A comment that allows a finding.
struct Comment {
    text: usize,
    /// The line in its file.
    line: u64,
    /// The lines to which it applies: its own and that of the next node.
    lines: [u64; 2],
    id: String,
    reason: String,
    is_used: bool,
}

/// Sets aside the findings that comments in a configuration's texts allow, and adds findings about comments that allow nothing.
pub(crate) fn sort_out(findings: Vec<Finding>, configuration: &Configuration) -> Linted {
    let mut comments = Vec::new();
    for (number, text) in configuration.texts().enumerate() {
        // JSON has no comments.
        if text.tree.is_some() {
            comments.extend(comments_of(number, text.text, text.first_line));
        }
    }
    let names: Vec<&str> = configuration.texts().map(|text| text.name).collect();
    by_comments(Linted { findings, allowed: Vec::new() }, comments, &names)
}

/// Like [`sort_out`], for the file from which a configuration was rendered. The findings refer to lines of that file.
pub(crate) fn allow_by_comments(linted: Linted, name: &str, file: &str) -> Linted {
    let mut linted = by_comments(linted, comments_of(0, file, 1), &[name]);
    linted.findings.sort_by(|one, other| one.order().cmp(&other.order()));
    linted
}

fn by_comments(linted: Linted, mut comments: Vec<Comment>, names: &[&str]) -> Linted {
    let Linted { findings, allowed } = linted;
    let mut linted = Linted { findings: Vec::with_capacity(findings.len()), allowed };
    // A file with thousands of listeners may have as many comments, and several findings for each.
    let mut by_line: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
    for (number, comment) in comments.iter().enumerate() {
        for line in comment.lines {
            by_line.entry((comment.text, line)).or_default().push(number);
        }
    }
    for finding in findings {
        let mut near = by_line.get(&(finding.text, finding.place.line)).into_iter().flatten().copied();
        let meant =
            near.find(|number| comments.get(*number).is_some_and(|comment| comment.id == finding.rule.id));
        match meant.and_then(|number| comments.get_mut(number)) {
            Some(comment) => {
                comment.is_used = true;
                linted.allowed.push((finding, comment.reason.clone()));
            }
            None => linted.findings.push(finding),
        }
    }
    for comment in comments {
        let (rule, message) = if !comment.is_used {
            let hint = if ALL.iter().any(|rule| rule.id == comment.id) {
                String::new()
            } else {
                format!(", and no rule has this name{}", hint(&comment.id))
            };
            let message =
                format!("this comment allows `{}`, but the rule finds nothing here{hint}", comment.id);
            (&ALLOWED_WITHOUT_EFFECT, message)
        } else if comment.reason.is_empty() {
            (&ALLOWED_FOR_NO_REASON, format!("this comment allows `{}` and does not say why", comment.id))
        } else {
            continue;
        };
        let file = names.get(comment.text).copied().unwrap_or_default();
        linted.findings.push(Finding::at_line(rule, file, comment.text, comment.line, message));
    }
    linted
}

fn hint(id: &str) -> String {
    nearest::hint(id, ALL.iter().map(|rule| rule.id))
}

/// The comments of a text that allow findings. `first_line` is the line of the file at which the text begins.
fn comments_of(number: usize, text: &str, first_line: u64) -> Vec<Comment> {
    let mut found = Vec::new();
    // Most texts have no such comment.
    if !text.contains(MARK) {
        return found;
    }
    let lines: Vec<&str> = text.lines().collect();
    for (line, comment) in envoy::comments(text) {
        let Some(rest) = comment.trim().strip_prefix(MARK) else { continue };
        let Some(rest) = rest.trim_start().strip_prefix(ALLOW) else { continue };
        let (id, reason) = rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        // Several comments may precede a line.
        let is_other = |line: &str| !line.trim_start().starts_with('#');
        let after = usize::try_from(line).unwrap_or(usize::MAX);
        let is_alone = after.checked_sub(1).and_then(|at| lines.get(at)).is_some_and(|line| !is_other(line));
        let next = lines.iter().skip(after).position(|line| is_other(line)).unwrap_or_default() as u64;
        let line = line + first_line - 1;
        found.push(Comment {
            text: number,
            line,
            lines: [line, if is_alone { line + 1 + next } else { line }],
            id: id.to_owned(),
            reason: reason.trim().to_owned(),
            is_used: false,
        });
    }
    found
}
