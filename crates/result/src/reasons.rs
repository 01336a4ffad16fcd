//! Reasons of failed requests, as texts, by kind of failure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most reasons of one kind that are kept: the first ones. Requests that failed for another reason count in the kind alone.
const MAX_REASONS: usize = 8;
/// The most reasons of one kind in a text.
const MAX_NAMED: usize = 3;

/// The reasons of failed requests, where they are known: by kind of failure, the first reasons with their number of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Reasons(BTreeMap<String, BTreeMap<String, u64>>);

impl Reasons {
    /// True if there are no reasons.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts requests that failed in this way for this reason.
    pub fn add(&mut self, kind: &str, reason: &str, requests: u64) {
        if !self.0.contains_key(kind) {
            self.0.insert(kind.to_owned(), BTreeMap::new());
        }
        let Some(reasons) = self.0.get_mut(kind) else { return };
        if let Some(count) = reasons.get_mut(reason) {
            *count += requests;
        } else if reasons.len() < MAX_REASONS {
            reasons.insert(reason.to_owned(), requests);
        }
    }

    /// Adds the reasons of other requests.
    pub fn merge(&mut self, other: &Self) {
        for (kind, reasons) in &other.0 {
            for (reason, requests) in reasons {
                self.add(kind, reason, *requests);
            }
        }
    }

    /// The reasons of a kind, the most frequent first.
    pub fn by_frequency(&self, kind: &str) -> Vec<(&str, u64)> {
        let reasons = self.0.get(kind).into_iter().flatten();
        let mut reasons: Vec<_> = reasons.map(|(reason, requests)| (reason.as_str(), *requests)).collect();
        reasons.sort_by_key(|(_, requests)| std::cmp::Reverse(*requests));
        reasons
    }

    /// A number of failures of one kind in words, as `5 malformed: two different lengths (3), a bare CR (2)`. A reason of all has no
    /// number of its own. `number` is how numbers are written.
    pub fn words(&self, kind: &str, failed: u64, number: impl Fn(u64) -> String) -> String {
        self.words_as(kind, kind, failed, number)
    }

    /// As [`Self::words`], with another name for the kind.
    pub fn words_as(&self, kind: &str, name: &str, failed: u64, number: impl Fn(u64) -> String) -> String {
        let begin = format!("{} {name}", number(failed));
        let known = self.by_frequency(kind);
        match known.as_slice() {
            [] => return begin,
            [(reason, requests)] if *requests == failed => return format!("{begin}: {reason}"),
            _ => {}
        }
        let named = known.get(..MAX_NAMED).unwrap_or(&known);
        let others = failed.saturating_sub(named.iter().map(|(_, requests)| requests).sum());
        let others = (others > 0).then(|| format!("others ({})", number(others)));
        let words = named.iter().map(|(reason, requests)| format!("{reason} ({})", number(*requests)));
        format!("{begin}: {}", words.chain(others).collect::<Vec<_>>().join(", "))
    }

    /// All failures in words, kind by kind. `others` are words of requests without a response that are no failures, perhaps with reasons.
    pub fn listed(
        &self,
        failures: &BTreeMap<String, u64>,
        others: Vec<String>,
        number: impl Fn(u64) -> String,
    ) -> String {
        let words = failures.iter().map(|(kind, failed)| self.words(kind, *failed, &number));
        let words: Vec<String> = words.chain(others).collect();
        // Reasons are themselves lists.
        let between = if words.iter().any(|one| one.contains(": ")) { "; " } else { ", " };
        words.join(between)
    }
}
