//! A change of a run's labels, as the API states it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum number of labels that a request adds or removes.
const MAX_LABELS: usize = 20;
/// Maximum number of labels that a run can get through the API. All labels are part of every list of runs.
const MAX_LABELS_OF_RUN: usize = 100;
/// Maximum length of a label, in characters.
const MAX_LETTERS: usize = 64;

/// A change of the labels of a run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelChange {
    /// Labels to add: letters, digits, `-`, `_` and `.`, not digits alone.
    #[serde(default)]
    pub(crate) add: Vec<String>,
    /// Labels to remove; labels that it does not have are ignored.
    #[serde(default)]
    pub(crate) remove: Vec<String>,
    /// True to remove the added labels from all other runs, so that each names only this run. A run is set as reference with the label
    /// `reference`.
    #[serde(default)]
    pub(crate) is_only: bool,
}

impl LabelChange {
    /// Checks that all added labels are valid.
    ///
    /// # Errors
    /// The first invalid label, with the reason.
    pub(crate) fn checked(self) -> Result<Self, String> {
        for (field, labels) in [("add", &self.add), ("remove", &self.remove)] {
            if labels.len() > MAX_LABELS {
                return Err(format!("`{field}`: it has more than {MAX_LABELS} labels"));
            }
            if let Some(why) = labels.iter().find_map(|label| why_not(label)) {
                return Err(format!("`{field}`: {why}"));
            }
        }
        Ok(self)
    }

    /// Checks the number of labels that a run with the labels `before` has after the change. A run with too many labels may still lose
    /// some.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn check_number(&self, before: &[String]) -> Result<(), String> {
        let before: BTreeSet<&str> = before.iter().map(String::as_str).collect();
        let removed: BTreeSet<&str> = self.remove.iter().map(String::as_str).collect();
        let mut after: BTreeSet<&str> = before.difference(&removed).copied().collect();
        after.extend(self.add.iter().map(String::as_str));
        if after.len() > MAX_LABELS_OF_RUN.max(before.len()) {
            return Err(format!(
                "`add`: the run has more than {MAX_LABELS_OF_RUN} labels with these: remove some"
            ));
        }
        Ok(())
    }
}

/// The reason why a text is not a valid label, by the rules of `hoptax runs label`.
fn why_not(label: &str) -> Option<&'static str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if label.is_empty() || label.starts_with('.') || !label.chars().all(is_allowed) {
        Some("a label has letters, digits, `-`, `_` and `.`, and does not begin with `.`")
    } else if label.bytes().all(|byte| byte.is_ascii_digit()) {
        Some("a number would be taken for a run: add a letter")
    } else if label.len() > MAX_LETTERS {
        Some("a label has at most 64 letters")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_short_word_that_is_no_number() {
        let of =
            |label: &str| LabelChange { add: vec![label.to_owned()], ..LabelChange::default() }.checked();
        let longest = "a".repeat(MAX_LETTERS);
        for label in ["nightly", "reference", "v1.2-rc_3", longest.as_str()] {
            assert!(of(label).is_ok(), "{label}");
        }
        let long = format!("{longest}a");
        for label in ["", "12", ".hidden", "a b", "a/b", "ü", "<b>", long.as_str()] {
            assert!(of(label).unwrap_err().starts_with("`add`: "), "{label}");
        }
        let many = LabelChange { remove: vec!["a".to_owned(); MAX_LABELS + 1], ..LabelChange::default() };
        assert!(many.checked().unwrap_err().starts_with("`remove`: "));
    }

    #[test]
    fn a_run_gets_no_more_labels_than_lists_show_and_may_lose_those_that_it_has() {
        let labels =
            |from: usize, to: usize| (from..to).map(|number| format!("a{number}")).collect::<Vec<_>>();
        let change = |add: Vec<String>, remove: Vec<String>| LabelChange { add, remove, is_only: false };
        let (of_run, more) = (labels(0, 95), labels(95, 100));
        assert_eq!(change(more, Vec::new()).check_number(&of_run), Ok(()));
        let refused = change(labels(95, 101), Vec::new()).check_number(&of_run).unwrap_err();
        assert!(refused.contains("more than 100 labels"), "{refused}");
        assert_eq!(change(labels(95, 101), labels(0, 1)).check_number(&of_run), Ok(()));
        assert_eq!(change(of_run.clone(), Vec::new()).check_number(&of_run), Ok(()), "it has them");
        // The command may have given it more.
        assert_eq!(change(Vec::new(), labels(0, 1)).check_number(&labels(0, 200)), Ok(()));
    }
}
