//! Tries the arms of a listener: the whole, the whole without each part, with each change, and without all parts. Arms that give
//! the same answers as the whole can be measured.

use std::collections::BTreeSet;
use std::time::Duration;

use hoptax_bootstrap::Replacement;
use hoptax_bootstrap::request::DerivedRequest;

use super::arm::Arm;
use super::change::{Change, Changed};
use super::laboratory::Laboratory;
use super::passed::Passed;
use super::try_out::{Answers, TryOutError};
use crate::failure::Failure;

/// An arm and the responses to its requests.
pub(super) struct Tried {
    /// Name of the arm in texts.
    pub(super) name: String,
    pub(super) arm: Arm,
    /// Responses to its requests, or the reason why it got none.
    pub(super) outcome: Result<Answers, TryOutError>,
    /// The reason why it cannot be compared with the whole in a study; None if it can.
    pub(super) obstacle: Option<String>,
}

/// A tried change.
pub(super) struct TriedChange {
    pub(super) change: Change,
    /// Statistics that move if the replacement of the part acts.
    pub(super) proof: Vec<String>,
    pub(super) tried: Tried,
}

/// The tried arms of a listener.
pub(super) struct Tries {
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
    /// Time of one try, including its share of the laboratory's setup.
    pub(super) of_each: Duration,
}

impl Tries {
    /// All tried arms.
    pub(super) fn all(&self) -> impl Iterator<Item = &Tried> {
        let changes = self.changes.iter().map(|change| &change.tried);
        std::iter::once(&self.whole).chain(&self.parts).chain(changes).chain(&self.all_off)
    }

    /// The arms other than the whole that can be measured, without duplicates: a change may be the removal of a part.
    pub(super) fn measured(&self) -> Vec<Arm> {
        let mut arms: Vec<Arm> = Vec::new();
        for tried in self.all().skip(1).filter(|tried| tried.obstacle.is_none()) {
            if arms.iter().all(|arm| arm.id != tried.arm.id) {
                arms.push(tried.arm.clone());
            }
        }
        arms
    }
}

impl Laboratory<'_> {
    /// Tries the arms of the first listener that forwards its request, or else of the first that answers one. Then ends the laboratory,
    /// whose servers wake up now and then and would disturb a study. No try begins later than `within` after the setup began.
    ///
    /// # Errors
    /// When no request passes through any listener, when the whole gives no response, when time runs out, and after an interrupt.
    pub(super) fn try_arms(self, within: Option<Duration>) -> Result<Tries, Failure> {
        let taken = || self.listed.listeners.iter().filter_map(|one| Some((one, one.request.as_ref().ok()?)));
        let forwarding = taken().find(|(_, request)| request.is_forwarded());
        let Some((passed, request)) = forwarding.or_else(|| taken().next()) else {
            return Err(Failure::bad_input(
                "no request goes through any listener; the reasons and what to do are printed above",
            ));
        };
        let changes = self.changes(passed, request)?;
        let attempt = |arm: &Arm| {
            check_time(self.began.elapsed(), within)?;
            self.attempt(arm, &passed.listener.name)
        };
        let whole = Arm::whole(request);
        let outcome = attempt(&whole)?;
        let answers = self.answers(&outcome, passed)?;
        let whole = Tried { name: "whole".to_owned(), arm: whole, outcome, obstacle: None };
        let beside = |name: String, arm: Arm| -> Result<Tried, Failure> {
            let outcome = attempt(&arm)?;
            Ok(Tried { name, arm, obstacle: obstacle(&answers, &outcome), outcome })
        };
        let mut parts = Vec::new();
        for (part, arm) in passed.parts.iter().zip(Arm::of_parts(&passed.parts, request)) {
            parts.push(beside(format!("without {} {}", part.kind, part.name), arm)?);
        }
        let mut tried_changes = Vec::new();
        for (change, Changed { arm, proof }) in changes {
            let tried = beside(format!("what if {change}"), arm)?;
            tried_changes.push(TriedChange { change, proof, tried });
        }
        let removable = passed.parts.iter().zip(&parts).filter(|(_, tried)| tried.obstacle.is_none());
        let all_off = Arm::all_off(&removable.map(|(part, _)| part).collect::<Vec<_>>(), request);
        let all_off = all_off.map(|arm| beside("everything off".to_owned(), arm)).transpose()?;
        let count = 1 + parts.len() + tried_changes.len() + usize::from(all_off.is_some());
        Ok(Tries {
            of_each: self.began.elapsed() / count as u32,
            passed: passed.clone(),
            lacking: self.lacking.clone(),
            replacements: self.listed.adapted.replacements.clone(),
            whole,
            answers,
            parts,
            changes: tried_changes,
            all_off,
        })
    }

    /// The arms of the requested changes.
    fn changes(&self, passed: &Passed, request: &DerivedRequest) -> Result<Vec<(Change, Changed)>, Failure> {
        let without = Arm::of_parts(&passed.parts, request);
        let parts: Vec<_> = passed.parts.iter().zip(&without).collect();
        let (mut changes, mut problems) = (Vec::new(), Vec::new());
        for (index, change) in self.configuration.settings.what_if.iter().enumerate() {
            match change.arm(&parts, request, self.configuration.catalogue, index + 1) {
                Ok(changed) => changes.push((change.clone(), changed)),
                Err(problem) => problems.push(format!("--what-if '{change}': {problem}")),
            }
        }
        if problems.is_empty() { Ok(changes) } else { Err(Failure::bad_input(problems.join("\n"))) }
    }

    /// Returns the responses of the whole, or the reason why no bill is possible.
    fn answers(&self, whole: &Result<Answers, TryOutError>, passed: &Passed) -> Result<Answers, Failure> {
        match whole {
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

/// Returns the reason why an arm with this outcome cannot be compared in a study with a whole that answers `whole`; None if it can.
pub(super) fn obstacle(whole: &Answers, outcome: &Result<Answers, TryOutError>) -> Option<String> {
    match outcome {
        Ok(answers) => difference(whole, answers),
        Err(error) => Some(error.to_string()),
    }
}

/// Statuses with which filters refuse requests.
const REFUSALS: [u16; 3] = [401, 403, 429];

/// Returns the reason why the responses of an arm cannot be compared with those of the whole: they have other statuses. None if they
/// can. A different body size is no obstacle, because it may be the work of the missing part.
fn difference(whole: &Answers, of_arm: &Answers) -> Option<String> {
    // Do not compare the number of responses of each kind: it is random if a filter decides at random.
    let kinds = |answers: &Answers| {
        let statuses = answers.answer.statuses.keys().map(|status| format!("status {status}"));
        let failures = answers.failures.keys().filter(|kind| !kind.starts_with("status"));
        statuses.chain(failures.cloned()).collect::<BTreeSet<String>>()
    };
    let (expected, found) = (kinds(whole), kinds(of_arm));
    let listed = |kinds: BTreeSet<String>| {
        if kinds.is_empty() {
            "nothing".to_owned()
        } else {
            kinds.into_iter().collect::<Vec<_>>().join(" and ")
        }
    };
    if expected == found {
        return None;
    }
    let is_refused =
        |answers: &Answers| answers.answer.statuses.keys().any(|status| REFUSALS.contains(status));
    let reason = match (is_refused(whole), is_refused(of_arm)) {
        (true, false) => {
            "the part refuses the request, and refusing costs less than serving: give a request that it admits (--request, --header)"
        }
        (false, true) => "without the part, another one refuses the request, so it cannot be removed alone",
        _ => "the response depends on the part, so an arm without it cannot be compared",
    };
    Some(format!("the response is {} instead of {}: {reason}", listed(found), listed(expected)))
}

/// Checks that the time limit for tries has not passed.
fn check_time(elapsed: Duration, within: Option<Duration>) -> Result<(), Failure> {
    match within {
        Some(within) if elapsed > within => Err(Failure::bad_input(format!(
            "trying each part of the configuration takes longer than {} s: give the bill more time, or leave parts out",
            within.as_secs()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::Answer;

    use super::*;

    #[test]
    fn tries_end_with_their_time_if_they_have_one() {
        let (short, long) = (Duration::from_secs(10), Duration::from_secs(11));
        assert!(check_time(long, None).is_ok() && check_time(short, Some(short)).is_ok());
        let refused = check_time(long, Some(short)).unwrap_err().to_string();
        assert!(refused.contains("longer than 10 s"), "{refused}");
    }

    #[test]
    fn an_arm_that_responds_differently_is_described() {
        let answers = |statuses: &[(u16, u64)], failures: &[(&str, u64)]| Answers {
            answer: Answer { statuses: statuses.iter().copied().collect(), ..Answer::default() },
            failures: failures.iter().map(|(kind, number)| ((*kind).to_owned(), *number)).collect(),
        };
        let mixed = answers(&[(200, 6), (503, 4)], &[("status", 4)]);
        assert_eq!(difference(&mixed, &answers(&[(200, 3), (503, 7)], &[("status", 7)])), None);
        assert_eq!(
            difference(&mixed, &answers(&[(200, 10)], &[])).unwrap(),
            "the response is status 200 instead of status 200 and status 503: the response depends on the part, so an arm without \
             it cannot be compared"
        );
        let refused = answers(&[(403, 10)], &[]);
        let why = |whole: &Answers, of_arm: &Answers| difference(whole, of_arm).unwrap();
        assert!(why(&refused, &answers(&[(200, 10)], &[])).contains("give a request that it admits"));
        assert!(why(&answers(&[(200, 10)], &[]), &refused).contains("cannot be removed alone"));
        let broken = answers(&[], &[]);
        assert!(difference(&mixed, &broken).unwrap().contains("is nothing instead"));
    }
}
