//! The document of a gate: first its outcome with the reason.

mod charts;

use hoptax_result::{GateLimit, GateOutcome, GateResult, Verdict};
use hoptax_text::command_line::path_word;

use crate::document::{Document, FindingText, Judgement, Next, Section};
use crate::gate::{method, outcome, sentences, table};
use crate::usable;
use crate::words::capitalised;
use crate::{environment, more_rounds};

/// The document of a gate.
pub fn gate(result: &GateResult) -> Document {
    let mut sentences = sentences(result).into_iter();
    let answer = std::iter::once(capitalised(&outcome(result))).chain(sentences.by_ref().take(1)).collect();
    let mut document = Document::of(result, format!("gate {}", result.study), "", answer);
    // The outcome is the same, whether the whole study lacks evidence or only the numbers of all limits.
    let verdict = if result.is_unjudged() { Verdict::Void } else { result.verdict };
    document.verdict = Some(Judgement { verdict, usable: usable::of_gate(result) });
    document.notes = sentences.collect();
    document.next = next(result);
    document.findings = FindingText::all_named(&result.findings, |arm| name_of_arm(result, arm));
    document.plots.extend(charts::charts(result));
    document.table = Some(table(result));
    document.sections.extend(Section::of_sentences("Method", &method(result)));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The name of an arm that the study of the gate added a suffix to: that of the table, where the candidate has the name of the arm.
fn name_of_arm(result: &GateResult, arm: &str) -> Option<String> {
    let is_limited = |stem: &&str| result.limits.iter().any(|limit| limit.arm == **stem);
    let stem = |suffix: &str| arm.strip_suffix(suffix).filter(is_limited);
    let candidate = stem(GateResult::CANDIDATE).map(str::to_owned);
    candidate
        .or_else(|| stem(GateResult::REFERENCE).map(|stem| format!("{stem} (reference)")))
        .or_else(|| stem(GateResult::AGAIN).map(|stem| format!("{stem} (A/A)")))
}

/// The document of a gate that was just judged. Its next step is more rounds, if they probably lead to a decision. `again` is the command
/// that judges the same, without its length: `hoptax gate edge.yaml --candidate envoy=1.41.0 --fail-on 'cpu>+3%'`.
pub fn gate_of(result: &GateResult, again: &str) -> Document {
    let mut document = gate(result);
    document.next = document.next.or_else(|| with_more_rounds(result, again));
    document
}

/// The same gate with enough rounds to probably decide every undecided limit. None if a limit failed, or if more rounds would not help.
fn with_more_rounds(result: &GateResult, again: &str) -> Option<Next> {
    if result.has_failed() || !result.answer_differences.is_empty() || result.stored_reference.is_some() {
        return None;
    }
    let needed = |limit: &GateLimit| more_rounds::within_reach(limit.rounds_until_decided);
    let rounds = result.limits.iter().filter_map(needed).max()?;
    Some(Next::new(format!("{again} --rounds {rounds}"), "probably decides what is undecided"))
}

/// Returns the bill of a configuration that exceeds a limit; none for other candidates and outcomes.
fn next(result: &GateResult) -> Option<Next> {
    let has_failed = result.limits.iter().any(|limit| limit.outcome == GateOutcome::Failed);
    let file = result.candidate.strip_prefix("config=").filter(|_| has_failed)?;
    let command = format!("hoptax price {}", path_word(file.as_ref()));
    Some(Next::new(command, "measures what each part of the candidate costs"))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Finding, Measured, Severity};

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
    fn findings_name_arms_as_the_table_does() {
        let mut result = fixture::gate();
        let arm = result.limits[0].arm.clone();
        let finding = |arm: String| {
            let one = Finding::new("x", Severity::Warn, Measured::us(1.0, 0.0), "late".to_owned(), "");
            Finding { arm: Some(arm), ..one }
        };
        let arms = [GateResult::REFERENCE, GateResult::CANDIDATE, GateResult::AGAIN];
        result.findings = arms.map(|suffix| finding(format!("{arm}{suffix}"))).to_vec();
        let scope = |result: &GateResult| gate(result).findings.swap_remove(0).scope;
        assert_eq!(scope(&result), format!(" [{arm} (reference), {arm}, {arm} (A/A)]"));
        result.findings = vec![finding("another.candidate".to_owned()), finding("baseline".to_owned())];
        assert_eq!(scope(&result), " [another.candidate, baseline]");
    }

    #[test]
    fn a_gate_that_judges_nothing_is_void_whatever_the_verdict_of_its_study() {
        let mut result = fixture::gate();
        let last_lines = |result: &GateResult| {
            let verdict = gate(result).verdict.unwrap();
            (verdict.verdict, verdict.usable)
        };
        assert_ne!(last_lines(&result).0, Verdict::Void);
        result.limits.iter_mut().for_each(|limit| {
            (limit.outcome, limit.change_share) = (GateOutcome::Unknown, None);
        });
        for verdict in [Verdict::Caution, Verdict::Void] {
            result.verdict = verdict;
            assert_eq!(last_lines(&result), (Verdict::Void, "nothing can be judged".to_owned()));
        }
    }

    #[test]
    fn the_next_step_of_an_undecided_gate_is_one_with_the_rounds_that_decide() {
        let mut result = fixture::gate();
        let again = "hoptax gate 'my edge.yaml' --candidate envoy=1.41.0 --fail-on 'cpu>+3%'";
        let next = |result: &GateResult| gate_of(result, again).next.map(|next| next.command);
        assert_eq!(next(&result), None, "a limit failed");
        result.limits.retain(|limit| limit.outcome != GateOutcome::Failed);
        assert_eq!(next(&result), Some(format!("{again} --rounds 40")));
        result.limits.iter_mut().for_each(|limit| limit.rounds_until_decided = None);
        assert_eq!(next(&result), None, "out of reach");
    }

    #[test]
    fn the_next_step_of_a_configuration_that_fails_is_its_bill() {
        let mut result = fixture::gate();
        assert!(gate(&result).next.is_none(), "{}", result.candidate);
        result.candidate = "config=my new.yaml".to_owned();
        assert_eq!(gate(&result).next.unwrap().command, "hoptax price 'my new.yaml'");
        result.candidate = "config=-new.yaml".to_owned();
        assert_eq!(gate(&result).next.unwrap().command, "hoptax price ./-new.yaml");
        result.limits.retain(|limit| limit.outcome != GateOutcome::Failed);
        assert!(gate(&result).next.is_none());
    }
}
