//! A finding: what a rule found, at its place in the texts of a configuration.

use hoptax_bootstrap::{Configuration, Place};

use crate::found::Found;
use crate::rule::{Rule, Severity};

/// What a rule found at a place of a file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The place.
    pub place: Place,
    /// The number of the text of the configuration with that place.
    pub text: usize,
    /// What was found.
    pub found: Found,
}

impl Finding {
    pub(crate) fn new(rule: &'static Rule, found: Found, configuration: &Configuration) -> Self {
        let of_pointer = || (configuration.origin(&found.at).0, configuration.place(&found.at));
        let (text, place) = found.place.clone().unwrap_or_else(of_pointer);
        Self { rule, place, text, found }
    }

    /// The worst first, then by text and place.
    pub(crate) fn order(&self) -> (Severity, usize, u64, &str, &str) {
        (self.rule.severity, self.text, self.place.line, self.rule.id, &self.place.pointer)
    }

    /// Whether it says the same of the same place.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let is_there = self.text == other.text && self.place.line == other.place.line && self.place.line > 0;
        is_there && self.rule.id == other.rule.id && self.found.message == other.found.message
    }
}
