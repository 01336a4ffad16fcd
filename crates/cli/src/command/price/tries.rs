//! Tries variants of a configuration: brings each up on Envoy and sends a few requests through it.

use std::path::Path;

use hoptax_bill::{Answers, Trial, TrialError, Variant, difference};
use hoptax_bootstrap::{Adapted, missing_extension};
use hoptax_subject::envoy::process::ProxyError;
use hoptax_subject::envoy::release::Envoy;

use super::passed::Passed;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// How many extensions that Envoy lacks are removed before it is given up.
const MOST_MISSING: usize = 50;

/// A variant, and what its requests got.
pub(super) struct Tried {
    pub(super) name: String,
    pub(super) variant: Variant,
    pub(super) outcome: Result<Answers, TrialError>,
}

/// The variants of a listener, tried.
pub(super) struct Tries {
    /// Pointers of the extensions that this Envoy lacks.
    pub(super) lacking: Vec<String>,
    pub(super) whole: Tried,
    /// What the whole answers.
    pub(super) answers: Answers,
    /// The whole without each part, in the order of the parts.
    pub(super) parts: Vec<Tried>,
    /// The whole without all parts that can be removed one by one, if there are several.
    pub(super) all_off: Option<Tried>,
}

impl Tries {
    /// Why a variant cannot be an arm; none if it can.
    pub(super) fn obstacle(&self, tried: &Tried) -> Option<String> {
        obstacle(&self.answers, tried)
    }

    /// The variants besides the whole that can be arms.
    pub(super) fn measured(&self) -> Vec<Variant> {
        let all = self.parts.iter().chain(&self.all_off);
        all.filter(|tried| self.obstacle(tried).is_none()).map(|tried| tried.variant.clone()).collect()
    }
}

fn obstacle(whole: &Answers, tried: &Tried) -> Option<String> {
    match &tried.outcome {
        Ok(answers) => difference(whole, answers),
        Err(error) => Some(error.to_string()),
    }
}

/// Where variants are tried.
pub(super) struct Bench<'a> {
    pub(super) envoy: &'a Envoy,
    pub(super) program: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) certificates: &'a Path,
    pub(super) interrupt: &'a Interrupt,
}

impl Bench<'_> {
    fn trial(&self, arm: &str) -> Trial<'_> {
        Trial {
            envoy: self.envoy,
            program: self.program,
            folder: self.folder.join(arm),
            certificates: self.certificates,
        }
    }

    /// Has Envoy validate the whole, without the extensions that it lacks. Returns their pointers.
    pub(super) fn accept(&self, adapted: &mut Adapted) -> Result<Vec<String>, Failure> {
        let trial = self.trial("whole");
        let mut lacking = Vec::new();
        for _ in 0..MOST_MISSING {
            let error = match trial.validate(adapted.bootstrap(), self.interrupt.flag()) {
                Ok(()) => return Ok(lacking),
                Err(error) => error,
            };
            let TrialError::Proxy(ProxyError::Refused { reason, .. }) = &error else {
                return Err(Failure::environment(error));
            };
            let missing = missing_extension(reason);
            lacking.extend(missing.map(|name| adapted.extensions(name)).unwrap_or_default());
            if !missing.is_some_and(|name| adapted.remove_extension(name)) {
                return Err(Failure::bad_input(error));
            }
        }
        Err(Failure::bad_input(format!(
            "Envoy lacks more than {MOST_MISSING} extensions of this configuration; use the Envoy that it is for: --envoy PATH"
        )))
    }

    /// Tries the whole, the whole without each part, and without all that can be removed. None after an interrupt.
    ///
    /// # Errors
    /// When the whole gives no response.
    pub(super) fn try_variants(
        &self,
        adapted: &Adapted,
        passed: &Passed,
        lacking: Vec<String>,
    ) -> Result<Option<Tries>, Failure> {
        let Ok(request) = &passed.request else { return Ok(None) };
        let attempt = |name: String, variant: Variant| {
            let trial = self.trial(&variant.arm);
            let (bootstrap, listener) = (adapted.without(&variant.removed), &passed.listener.name);
            let outcome = trial.run(bootstrap, listener, &variant.request, self.interrupt.flag());
            (!self.interrupt.is_requested()).then_some(Tried { name, variant, outcome })
        };
        let Some(whole) = attempt("whole".to_owned(), Variant::whole(request)) else { return Ok(None) };
        let answers = match &whole.outcome {
            Ok(answers) if !answers.statuses.is_empty() => answers.clone(),
            Ok(answers) => {
                let kinds = answers.failures.keys().cloned().collect::<Vec<_>>().join(", ");
                return Err(Failure::bad_input(format!(
                    "no request through listener `{}` got a response ({kinds}); see the log of Envoy in `{}`, or give another request with --request",
                    passed.listener.name,
                    self.folder.join("whole").display()
                )));
            }
            Err(error) => return Err(Failure::environment(error)),
        };
        let mut parts = Vec::new();
        for (part, variant) in passed.parts.iter().zip(Variant::of_parts(&passed.parts, request)) {
            let Some(tried) = attempt(format!("without {} {}", part.kind, part.name), variant) else {
                return Ok(None);
            };
            parts.push(tried);
        }
        let is_removable = |tried: &Tried| obstacle(&answers, tried).is_none();
        let removable = passed.parts.iter().zip(&parts).filter(|(_, tried)| is_removable(tried));
        let all_off = Variant::all_off(&removable.map(|(part, _)| part).collect::<Vec<_>>(), request);
        let all_off = match all_off {
            None => None,
            Some(variant) => match attempt("everything off".to_owned(), variant) {
                None => return Ok(None),
                tried => tried,
            },
        };
        Ok(Some(Tries { lacking, whole, answers, parts, all_off }))
    }
}
