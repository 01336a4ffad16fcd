//! Faults that rules find, with the changes that mend them and the functions of Envoy whose prices matter.

use hoptax_bootstrap::Place;
pub use hoptax_result::LintChange as Change;
use serde_json::Value;

/// Finding of a rule.
#[derive(Clone, Debug)]
pub struct Found {
    /// The pointer of the faulty node.
    pub at: String,
    /// The index of its text and its place there, if no pointer leads to it.
    pub place: Option<(usize, Place)>,
    /// The fault in one line. It may quote the user's names, but no other texts, because they may be secret.
    pub message: String,
    /// The changes that mend it; empty if mending needs a decision.
    pub fix: Vec<Change>,
    /// The function whose price matters, which a price list may state.
    pub price: Option<Price>,
}

/// A function of Envoy whose price matters, by its arm in price lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// The fault has the cost of this function.
    OfFault(&'static str),
    /// The cure has the cost of this function.
    OfCure(&'static str),
}

impl Found {
    pub(crate) fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), place: None, message: message.into(), fix: Vec::new(), price: None }
    }

    pub(crate) fn elsewhere(text: usize, place: Place, message: impl Into<String>) -> Self {
        Self { place: Some((text, place)), ..Self::new("", message) }
    }

    /// Adds the price of a function.
    pub(crate) fn at_price(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// Adds a field to set in order to mend it.
    pub(crate) fn set(mut self, at: String, value: impl Into<Value>) -> Self {
        self.fix.push(Change::Set { at, value: value.into() });
        self
    }

    /// Adds a node to remove in order to mend it.
    pub(crate) fn remove(mut self, at: &str) -> Self {
        self.fix.push(Change::Remove { at: at.to_owned() });
        self
    }
}
