//! The document of a gate: first its outcome, and the reason.

mod charts;

use hoptax_result::{GateOutcome, GateResult};

use crate::document::{Document, FindingText, Judgement, Next, Section};
use crate::environment;
use crate::gate::{method, outcome, sentences, table};
use crate::usable;
use crate::words::capitalised;

/// The document of a gate.
pub fn gate(result: &GateResult) -> Document {
    let mut sentences = sentences(result).into_iter();
    let answer = std::iter::once(capitalised(&outcome(result))).chain(sentences.by_ref().take(1)).collect();
    let mut document = Document::new(format!("gate {}", result.study), "", answer);
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable::of_gate(result) });
    document.notes = sentences.collect();
    document.next = next(result);
    document.findings = FindingText::all(&result.findings);
    document.plots.extend(charts::charts(result));
    document.table = Some(table(result));
    document.sections.extend(Section::of_sentences("Method", &method(result)));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// Returns the bill of a configuration that exceeds a limit; none for other candidates and outcomes.
fn next(result: &GateResult) -> Option<Next> {
    let has_failed = result.limits.iter().any(|limit| limit.outcome == GateOutcome::Failed);
    let file = result.candidate.strip_prefix("config=").filter(|_| has_failed)?;
    Some(Next::new(format!("hoptax price {file}"), "measures what each part of the candidate costs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::STYLE;
    use crate::gate::fixture;
    use crate::render::{markdown, terminal};

    #[test]
    fn a_gate_with_every_outcome() {
        insta::assert_snapshot!(terminal::screen(&gate(&fixture::gate()), STYLE));
    }

    #[test]
    fn a_gate_as_markdown() {
        insta::assert_snapshot!(markdown::text(&gate(&fixture::gate())));
        let mut rate = fixture::gate();
        rate.limits[3].limit = "rate<-2%".to_owned();
        let text = markdown::text(&gate(&rate));
        assert!(text.contains("`rate<-2%`") && text.contains("- `lua<&>`: "), "{text}");
    }

    #[test]
    fn the_next_step_of_a_configuration_that_fails_is_its_bill() {
        let mut result = fixture::gate();
        assert!(gate(&result).next.is_none(), "{}", result.candidate);
        result.candidate = "config=new.yaml".to_owned();
        assert_eq!(gate(&result).next.unwrap().command, "hoptax price new.yaml");
        result.limits.retain(|limit| limit.outcome != GateOutcome::Failed);
        assert!(gate(&result).next.is_none());
    }
}
