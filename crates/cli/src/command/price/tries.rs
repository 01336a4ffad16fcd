//! Tries the variants of a listener: the whole, the whole without each part, changed, and with everything off.

use hoptax_bootstrap::Replacement;
use hoptax_bootstrap::request::DerivedRequest;
use hoptax_session::Interrupt;
use hoptax_variants::{Answers, Change, Changed, Variant};

use super::laboratory::{Laboratory, Tried};
use super::passed::Passed;
use crate::exit::Failure;

/// A change, tried.
pub(super) struct TriedChange {
    pub(super) change: Change,
    /// Statistics that move if what stands for the part acts.
    pub(super) proof: Vec<String>,
    pub(super) tried: Tried,
}

/// The variants of a listener, tried.
pub(super) struct Tries {
    /// Pointers of the extensions that Envoy lacks.
    pub(super) lacking: Vec<String>,
    /// What was replaced in the configuration.
    pub(super) replacements: Vec<Replacement>,
    pub(super) whole: Tried,
    /// What the whole answers.
    pub(super) answers: Answers,
    /// The whole without each part, in the order of the parts.
    pub(super) parts: Vec<Tried>,
    pub(super) changes: Vec<TriedChange>,
    /// The whole without all parts that can be removed one by one, if there are several.
    pub(super) all_off: Option<Tried>,
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

/// Tries the variants of a listener with its request.
///
/// # Errors
/// When the whole gives no response, and after an interrupt.
pub(super) fn try_variants(
    laboratory: &Laboratory,
    (passed, request): (&Passed, &DerivedRequest),
    changes: Vec<(Change, Changed)>,
    interrupt: &Interrupt,
) -> Result<Tries, Failure> {
    let listener = &passed.listener.name;
    let attempt = |name: String, variant: Variant| laboratory.attempt(name, variant, listener, interrupt);
    let whole = attempt("whole".to_owned(), Variant::whole(request))?;
    let answers = match &whole.outcome {
        Ok(answers) if !answers.answer.statuses.is_empty() => answers.clone(),
        Ok(answers) => {
            let kinds = answers.failures.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(Failure::bad_input(format!(
                "no request through listener `{listener}` got a response ({kinds}); see the log of Envoy in `{}`, or give another request with --request",
                laboratory.folder_of("whole").display()
            )));
        }
        Err(error) => return Err(Failure::environment(error)),
    };
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
    Ok(Tries {
        lacking: laboratory.lacking.clone(),
        replacements: laboratory.adapted.replacements.clone(),
        whole,
        answers,
        parts,
        changes: tried_changes,
        all_off,
    })
}
