//! Tries the variants of a listener: the whole, the whole without each part, changed, and with everything off.

use std::time::Duration;

use super::variants::{Answers, Change, Changed, Variant};
use hoptax_bootstrap::Replacement;
use hoptax_bootstrap::request::DerivedRequest;

use super::laboratory::{Laboratory, Tried};
use super::passed::Passed;
use crate::failure::Failure;

/// A change, tried.
pub(super) struct TriedChange {
    pub(super) change: Change,
    /// Statistics that move if the replacement of the part acts.
    pub(super) proof: Vec<String>,
    pub(super) tried: Tried,
}

/// The variants of a listener, tried.
pub struct Tries {
    /// The listener.
    pub(super) passed: Passed,
    /// Pointers of the extensions that Envoy lacks.
    pub(super) lacking: Vec<String>,
    /// Replacements of parts of the configuration that a lab cannot provide.
    pub(super) replacements: Vec<Replacement>,
    pub(super) whole: Tried,
    /// Responses of the whole.
    pub(super) answers: Answers,
    /// The whole without each part, in the order of the parts.
    pub(super) parts: Vec<Tried>,
    pub(super) changes: Vec<TriedChange>,
    /// The whole without all parts that can be removed one by one, if there are several.
    pub(super) all_off: Option<Tried>,
    /// Time of one try, with its share of the start of the laboratory.
    pub(super) of_each: Duration,
}

impl Tries {
    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Tried> {
        let changes = self.changes.iter().map(|change| &change.tried);
        std::iter::once(&self.whole).chain(&self.parts).chain(changes).chain(&self.all_off)
    }

    /// The variants besides the whole that can be arms, each once: a change may be the removal of a part.
    pub(super) fn measured(&self) -> Vec<Variant> {
        let mut variants: Vec<Variant> = Vec::new();
        for tried in self.all().skip(1).filter(|tried| tried.obstacle(&self.answers).is_none()) {
            if variants.iter().all(|variant| variant.arm != tried.variant.arm) {
                variants.push(tried.variant.clone());
            }
        }
        variants
    }
}

impl Laboratory<'_> {
    /// Tries the variants of the first listener that forwards its request, else of the first that answers one. The laboratory ends: its
    /// servers wake up now and then, which a study should not see. No try begins later than `within` after the begin of the setup.
    ///
    /// # Errors
    /// When no request goes through any listener, when the whole gives no response, when the time is over, and after an interrupt.
    pub fn try_variants(self, within: Option<Duration>) -> Result<Tries, Failure> {
        let taken = || self.listed.listeners.iter().filter_map(|one| Some((one, one.request.as_ref().ok()?)));
        let forwarding = taken().find(|(_, request)| request.is_forwarded());
        let Some((passed, request)) = forwarding.or_else(|| taken().next()) else {
            return Err(Failure::bad_input(
                "no request goes through any listener; the reasons and what to do are printed above",
            ));
        };
        let changes = self.changes(passed, request)?;
        let attempt = |name: String, variant: Variant| {
            check_time(self.began.elapsed(), within)?;
            self.attempt(name, variant, &passed.listener.name)
        };
        let whole = attempt("whole".to_owned(), Variant::whole(request))?;
        let answers = self.answers(&whole, passed)?;
        let mut parts = Vec::new();
        for (part, variant) in passed.parts.iter().zip(Variant::of_parts(&passed.parts, request)) {
            parts.push(attempt(format!("without {} {}", part.kind, part.name), variant)?);
        }
        let mut tried_changes = Vec::new();
        for (change, Changed { variant, proof }) in changes {
            let tried = attempt(format!("what if {change}"), variant)?;
            tried_changes.push(TriedChange { change, proof, tried });
        }
        let is_removable = |tried: &Tried| tried.obstacle(&answers).is_none();
        let removable = passed.parts.iter().zip(&parts).filter(|(_, tried)| is_removable(tried));
        let all_off = Variant::all_off(&removable.map(|(part, _)| part).collect::<Vec<_>>(), request);
        let all_off = all_off.map(|variant| attempt("everything off".to_owned(), variant)).transpose()?;
        let count = 1 + parts.len() + tried_changes.len() + usize::from(all_off.is_some());
        Ok(Tries {
            of_each: self.began.elapsed() / count as u32,
            passed: passed.clone(),
            lacking: self.lacking.clone(),
            replacements: self.listed.replacements().to_vec(),
            whole,
            answers,
            parts,
            changes: tried_changes,
            all_off,
        })
    }

    /// The variants of the changes that are asked for.
    fn changes(&self, passed: &Passed, request: &DerivedRequest) -> Result<Vec<(Change, Changed)>, Failure> {
        let without = Variant::of_parts(&passed.parts, request);
        let parts: Vec<_> = passed.parts.iter().zip(&without).collect();
        let (mut changes, mut problems) = (Vec::new(), Vec::new());
        for (index, change) in self.configuration.wanted.what_if.iter().enumerate() {
            match change.variant(&parts, request, self.configuration.catalogue, index + 1) {
                Ok(changed) => changes.push((change.clone(), changed)),
                Err(problem) => problems.push(format!("--what-if '{change}': {problem}")),
            }
        }
        if problems.is_empty() { Ok(changes) } else { Err(Failure::bad_input(problems.join("\n"))) }
    }

    /// Returns the responses of the whole.
    fn answers(&self, whole: &Tried, passed: &Passed) -> Result<Answers, Failure> {
        match &whole.outcome {
            Ok(answers) if !answers.answer.statuses.is_empty() => Ok(answers.clone()),
            Ok(answers) => {
                let kinds = answers.failures.keys().cloned().collect::<Vec<_>>().join(", ");
                Err(Failure::bad_input(format!(
                    "no request through listener `{}` got a response ({kinds}); see the log of Envoy in `{}`, or give another request \
                     with --request",
                    passed.listener.name,
                    self.folder_of("whole").display()
                )))
            }
            Err(error) => Err(Failure::environment(error)),
        }
    }
}

/// Checks that tries are still within their time.
fn check_time(elapsed: Duration, within: Option<Duration>) -> Result<(), Failure> {
    match within {
        Some(within) if elapsed > within => Err(Failure::bad_input(format!(
            "to try each part of the configuration takes longer than {} s: give the bill more time, or leave parts out",
            within.as_secs()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_end_with_their_time_if_they_have_one() {
        let (short, long) = (Duration::from_secs(10), Duration::from_secs(11));
        assert!(check_time(long, None).is_ok() && check_time(short, Some(short)).is_ok());
        let refused = check_time(long, Some(short)).unwrap_err().to_string();
        assert!(refused.contains("longer than 10 s"), "{refused}");
    }
}
