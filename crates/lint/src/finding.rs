//! Rules, and what they find.

use std::fmt;

use hoptax_bootstrap::{Configuration, Place};
use serde_json::Value;

use crate::proxy::Proxy;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file alone shows that it does not do what it says, or that Envoy refuses it.
    Error,
    /// It fails under conditions that are usual.
    Warning,
    /// A default that the owner should know, or a matter of the surroundings.
    Info,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// Its name in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A rule: what it looks for, and why.
#[derive(Debug)]
pub struct Rule {
    /// Its name in outputs and in comments that allow a finding.
    pub id: &'static str,
    /// How bad its findings are.
    pub severity: Severity,
    /// What it finds, in a few words.
    pub title: &'static str,
    /// What happens because of it, and where it happened.
    pub why: &'static str,
    /// What to do.
    pub cure: &'static str,
    /// Where this is known from.
    pub source: &'static str,
    /// Finds it.
    pub(crate) check: fn(&Proxy<'_>) -> Vec<Found>,
}

/// A change of a configuration, by pointers of its tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Sets a field. Messages around it that are missing are created; a list gets an item at its end with the step `-`.
    Set {
        /// The pointer of the field.
        at: String,
        /// Its new value.
        value: Value,
    },
    /// Removes a field or an item.
    Remove {
        /// Its pointer.
        at: String,
    },
}

impl Change {
    /// The pointer of what it changes.
    pub fn at(&self) -> &str {
        match self {
            Self::Set { at, .. } | Self::Remove { at } => at,
        }
    }
}

/// What a rule found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The pointer of what is wrong.
    pub at: String,
    /// The number of its text and its place there, if no pointer leads to it.
    pub place: Option<(usize, Place)>,
    /// What is wrong, in one line. It quotes names of the user, but no other texts, which may be secret.
    pub message: String,
    /// How to mend it; empty if that needs a decision.
    pub fix: Vec<Change>,
    /// What a price list may say about it.
    pub price: Option<Price>,
}

/// A function of Envoy whose price matters, by its arm in price lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// What is wrong costs this.
    OfFault(&'static str),
    /// What mends it costs this.
    OfCure(&'static str),
}

impl Found {
    pub(crate) fn new(at: &str, message: impl Into<String>) -> Self {
        Self { at: at.to_owned(), place: None, message: message.into(), fix: Vec::new(), price: None }
    }

    pub(crate) fn elsewhere(text: usize, place: Place, message: impl Into<String>) -> Self {
        Self { place: Some((text, place)), ..Self::new("", message) }
    }

    /// With the price of a function.
    pub(crate) fn at_price(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// With a field to set in order to mend it.
    pub(crate) fn set(mut self, at: String, value: impl Into<Value>) -> Self {
        self.fix.push(Change::Set { at, value: value.into() });
        self
    }

    /// With a node to remove in order to mend it.
    pub(crate) fn remove(mut self, at: &str) -> Self {
        self.fix.push(Change::Remove { at: at.to_owned() });
        self
    }
}

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
