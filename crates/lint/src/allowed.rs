//! Comments that allow a finding: `# hoptax-lint: allow RULE-ID reason`, on the line of the finding or the line above it.

use hoptax_bootstrap::{Configuration, Place};
use hoptax_text::nearest;
use hoptax_text::yaml::envoy;

use crate::finding::Finding;
use crate::found::Found;
use crate::rule::Rule;
use crate::rules::{ALLOWED_FOR_NO_REASON, ALLOWED_WITHOUT_EFFECT};
use crate::{ALL, Linted};

/// What such a comment begins with.
const MARK: &str = "hoptax-lint:";
const ALLOW: &str = "allow";

/// A comment that allows a finding.
struct Comment {
    text: usize,
    /// The line in its file.
    line: u64,
    /// The lines for which it counts: its own and that of the next node.
    lines: [u64; 2],
    id: String,
    reason: String,
    is_used: bool,
}

/// Sets aside the findings that are allowed, and adds those about comments that allow nothing.
pub(crate) fn sort_out(findings: Vec<Finding>, configuration: &Configuration) -> Linted {
    let mut comments = comments(configuration);
    let mut linted = Linted::default();
    for finding in findings {
        let is_meant = |comment: &&mut Comment| {
            comment.text == finding.text
                && comment.lines.contains(&finding.place.line)
                && comment.id == finding.rule.id
        };
        match comments.iter_mut().find(is_meant) {
            Some(comment) => {
                comment.is_used = true;
                linted.allowed.push((finding, comment.reason.clone()));
            }
            None => linted.findings.push(finding),
        }
    }
    let names: Vec<&str> = configuration.texts().map(|text| text.name).collect();
    for comment in comments {
        let about: Option<(&'static Rule, String)> = if !comment.is_used {
            let hint = if ALL.iter().any(|rule| rule.id == comment.id) {
                String::new()
            } else {
                format!(", and there is no rule of this name{}", hint(&comment.id))
            };
            Some((
                &ALLOWED_WITHOUT_EFFECT,
                format!("this comment allows `{}` where it is not found{hint}", comment.id),
            ))
        } else if comment.reason.is_empty() {
            Some((
                &ALLOWED_FOR_NO_REASON,
                format!("this comment allows `{}` and does not say why", comment.id),
            ))
        } else {
            None
        };
        let Some((rule, message)) = about else { continue };
        let file = names.get(comment.text).copied().unwrap_or_default().to_owned();
        let place = Place { file, line: comment.line, column: 1, pointer: String::new() };
        linted.findings.push(Finding { rule, place, text: comment.text, found: Found::new("", message) });
    }
    linted
}

fn hint(id: &str) -> String {
    nearest::hint(id, ALL.iter().map(|rule| rule.id))
}

fn comments(configuration: &Configuration) -> Vec<Comment> {
    let mut found = Vec::new();
    for (number, text) in configuration.texts().enumerate() {
        // JSON has no comments, and most texts none of these.
        if text.tree.is_none() || !text.text.contains(MARK) {
            continue;
        }
        let lines: Vec<&str> = text.text.lines().collect();
        for (line, comment) in envoy::comments(text.text) {
            let Some(rest) = comment.trim().strip_prefix(MARK) else { continue };
            let Some(rest) = rest.trim_start().strip_prefix(ALLOW) else { continue };
            let (id, reason) = rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            // Several comments may be above one line.
            let is_other = |line: &str| !line.trim_start().starts_with('#');
            let after = usize::try_from(line).unwrap_or(usize::MAX);
            let is_alone =
                after.checked_sub(1).and_then(|at| lines.get(at)).is_some_and(|line| !is_other(line));
            let next = lines.iter().skip(after).position(|line| is_other(line)).unwrap_or_default() as u64;
            let line = line + text.first_line - 1;
            found.push(Comment {
                text: number,
                line,
                lines: [line, if is_alone { line + 1 + next } else { line }],
                id: id.to_owned(),
                reason: reason.trim().to_owned(),
                is_used: false,
            });
        }
    }
    found
}
