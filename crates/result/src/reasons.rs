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

    /// A number of failures of one kind in words, as `5 malformed: two different lengths (3), a bare CR (2)`. `number` is how numbers
    /// are written.
    pub fn words(&self, kind: &str, failed: u64, number: impl Fn(u64) -> String) -> String {
        self.words_as(kind, kind, failed, number)
    }

    /// As [`Self::words`], with another name for the kind.
    pub fn words_as(&self, kind: &str, name: &str, failed: u64, number: impl Fn(u64) -> String) -> String {
        let known = self.by_frequency(kind);
        let named = known.get(..MAX_NAMED).unwrap_or(&known);
        let others = failed.saturating_sub(named.iter().map(|(_, requests)| requests).sum());
        let others = (others > 0).then(|| format!("others ({})", number(others)));
        let words = named.iter().map(|(reason, requests)| format!("{reason} ({})", number(*requests)));
        let begin = format!("{} {name}", number(failed));
        if named.is_empty() {
            return begin;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_with_their_most_frequent_reasons_and_the_number_of_others() {
        let mut reasons = Reasons::default();
        let words = |reasons: &Reasons, failed| reasons.words("malformed", failed, |count| count.to_string());
        assert_eq!(words(&reasons, 5), "5 malformed");
        reasons.add("malformed", "a", 2);
        reasons.add("malformed", "b", 3);
        reasons.add("reset", "c", 9);
        assert_eq!(words(&reasons, 5), "5 malformed: b (3), a (2)");
        assert_eq!(words(&reasons, 6), "6 malformed: b (3), a (2), others (1)");
        let failures = [("malformed".to_owned(), 5), ("reset".to_owned(), 9)].into();
        let listed = |reasons: &Reasons| {
            reasons.listed(&failures, vec!["1 unfinished".to_owned()], |count| format!("{count}.0"))
        };
        assert_eq!(listed(&reasons), "5.0 malformed: b (3.0), a (2.0); 9.0 reset: c (9.0); 1 unfinished");
        assert_eq!(listed(&Reasons::default()), "5.0 malformed, 9.0 reset, 1 unfinished");
        reasons.add("timed-out", "never sent", 1);
        let timed_out = reasons.words_as("timed-out", "timed out", 2, |count| count.to_string());
        assert_eq!(timed_out, "2 timed out: never sent (1), others (1)");
        let failures = [("tls".to_owned(), 5)].into();
        let all = reasons.listed(&failures, vec![timed_out], |count| count.to_string());
        assert_eq!(all, "5 tls; 2 timed out: never sent (1), others (1)");
        for (number, reason) in ["d", "e"].iter().enumerate() {
            reasons.add("malformed", reason, 10 * (number as u64 + 1));
        }
        assert_eq!(words(&reasons, 35), "35 malformed: e (20), d (10), b (3), others (2)");
    }

    #[test]
    fn the_number_of_reasons_is_bounded_and_merged_counts_are_those_of_all() {
        let mut all = Reasons::default();
        for number in 0..100 {
            let mut one = Reasons::default();
            one.add("reset", &format!("reason {}", number % 20), 1);
            all.merge(&one);
        }
        let kept = all.by_frequency("reset");
        assert_eq!((kept.len(), kept.iter().map(|(_, count)| count).sum::<u64>()), (8, 40));
    }
}
