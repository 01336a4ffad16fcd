//! The document of a comparison with a reference, of the arms of several studies, and of the decisions of one study.

use hoptax_result::{
    ComparisonBody, ComparisonResult, Finding, Report, StudiesComparison, StudiesComparisonBody, Verdict,
};

use crate::comparison::{decisions as decided, differences, legend, method, missing, sentences, table};
use crate::document::{Block, Document, FindingText, Judgement, Next, Section};
use crate::kind::Documented;
use crate::table::Table;
use crate::{more_rounds, usable, words};

impl Documented for ComparisonBody {
    const DOCUMENT: fn(&Report<Self>) -> Document = comparison;
}

impl Documented for StudiesComparisonBody {
    const DOCUMENT: fn(&Report<Self>) -> Document = studies_comparison;
}

/// The document of one comparison: one sentence per subject, then the differences between configurations, then all measures.
pub fn comparison(result: &ComparisonResult) -> Document {
    document(result.verdict, &result.findings, &[&result.body], None)
}

/// The same for the arms of several studies, and which of them were not measured.
pub fn studies_comparison(result: &StudiesComparison) -> Document {
    let all: Vec<&ComparisonBody> = result.arms.iter().map(|arm| &arm.comparison).collect();
    let left_out: Vec<String> =
        result.left_out.iter().map(|one| format!("`{}` ({})", one.arm, one.reason)).collect();
    let left_out = (!left_out.is_empty()).then(|| format!("arms not measured: {}", left_out.join(", ")));
    document(result.verdict, &result.findings, &all, left_out)
}

/// The decisions of the comparisons of one study; none if there are none.
pub fn decisions(comparisons: &[ComparisonBody]) -> Option<Document> {
    let first = comparisons.first()?;
    let mut document = Document::new(format!("study {}: decisions", first.study), "", Vec::new());
    document.answer.push(format!("Decisions about the arms of {}", first.study));
    document.table = Some(Table::from(decided(comparisons)).with_words(&["compared with"]));
    document.sections.extend(Section::of_sentences("Method", &[method(first)]));
    Some(document)
}

fn document(
    verdict: Verdict,
    findings: &[Finding],
    results: &[&ComparisonBody],
    left_out: Option<String>,
) -> Document {
    let Some(first) = results.first() else {
        return Document::new("compare", "", left_out.into_iter().collect());
    };
    let mut answers = sentences(results).into_iter();
    let answer = answers.by_ref().take(2).collect();
    let mut document = Document::new(format!("compare {}", first.study), "", answer);
    document.verdict =
        Some(Judgement { verdict, usable: usable::of_comparisons(verdict, findings, results) });
    document.findings = FindingText::all(findings);
    document.table = Some(Table::from(table(results)).with_words(&["measure", "decision"]));
    document.notes = answers.chain(legend(results)).chain(missing(results)).chain(left_out).collect();
    document.next = next(results);
    for (heading, lines) in results.iter().flat_map(|result| differences(result)) {
        let title = words::capitalised(heading.trim_end_matches(':'));
        document.sections.push(Section::new(title, vec![Block::Lines(lines)]));
    }
    document.sections.extend(Section::of_sentences("Method", &[method(first)]));
    document
}

/// More rounds, if they would decide undecided measures. The arms of studies are given by their files, which this result does not name.
fn next(results: &[&ComparisonBody]) -> Option<Next> {
    let [result] = results else { return None };
    let measures = result.subjects.iter().flat_map(|subject| &subject.measures);
    let rounds = more_rounds::within_reach(measures.filter_map(|one| one.rounds_until_decided).min())?;
    let others = result.subjects.iter().filter(|subject| !subject.is_same).map(|one| &one.subject);
    let given: Vec<&str> =
        std::iter::once(&result.reference).chain(others).map(|subject| subject.given.as_str()).collect();
    (rounds > result.rounds).then(|| {
        let command = format!("hoptax compare {} --rounds {rounds}", given.join(" "));
        Next::new(command, "probably decides what is undecided")
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Measured, Severity};

    use super::*;
    use crate::Style;
    use crate::comparison::fixture;
    use crate::render::terminal;

    const STYLE: Style = Style { width: 100, colour: false };

    #[test]
    fn a_comparison_of_several_subjects() {
        insta::assert_snapshot!(terminal::screen(&comparison(&fixture::comparison()), STYLE));
    }

    #[test]
    fn what_limits_a_comparison_is_on_its_screen() {
        let mut result = fixture::comparison();
        let finding =
            Finding::new("x", Severity::Warn, Measured::us(1.0, 0.0), "the proxy waited".to_owned(), "");
        result.findings = vec![finding];
        let text = terminal::screen(&comparison(&result), STYLE);
        assert!(text.contains("  x: the proxy waited\n"), "{text}");
    }

    #[test]
    fn a_comparison_of_several_arms_of_studies() {
        insta::assert_snapshot!(terminal::details(&studies_comparison(&fixture::studies()), STYLE));
    }

    #[test]
    fn several_comparisons_have_a_row_for_each_arm() {
        let mut other = fixture::comparison().body;
        other.reference.name = "new".to_owned();
        other.subjects.truncate(1);
        let all = [fixture::comparison().body, other];
        insta::assert_snapshot!(terminal::screen(&decisions(&all).unwrap(), STYLE));
        assert!(decisions(&[]).is_none());
    }
}
