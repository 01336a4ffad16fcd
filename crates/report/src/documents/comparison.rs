//! The document of a comparison with a reference, of a comparison of several studies' arms, and of the decisions of one study.

mod charts;

use hoptax_result::{
    Body, ComparedMeasure, ComparedSubject, ComparisonBody, ComparisonResult, CostMeasure, Decision, Finding,
    Report, StudiesComparison, SubjectName, Verdict,
};
use hoptax_text::command_line;

use crate::comparison::{decisions as decided, differences, legend, method, missing, sentences, table};
use crate::document::{Block, Document, FindingText, Judgement, Next, Section};
use crate::next::{Again, after_remedy};
use crate::{environment, more_rounds, usable, words};

/// The document of one comparison: one sentence per subject, then the differences between configurations, then all measures.
pub fn comparison(result: &ComparisonResult) -> Document {
    of_subjects(result, None)
}

/// The document of a comparison that can be continued.
pub fn comparison_of(result: &ComparisonResult, again: Again<'_>) -> Document {
    of_subjects(result, Some(again))
}

fn of_subjects(result: &ComparisonResult, again: Option<Again<'_>>) -> Document {
    let given = |subject: &SubjectName| subject.given.clone();
    let others = result.subjects.iter().filter(|subject| !subject.is_same).map(|one| given(&one.subject));
    let subjects: Vec<String> = std::iter::once(given(&result.reference)).chain(others).collect();
    let mut document = document(result, &[&result.body], &subjects, again, None);
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The same for the arms of several studies, with the arms that were not measured.
pub fn studies_comparison(result: &StudiesComparison) -> Document {
    of_studies(result, None)
}

/// The document of a comparison of study files that can be continued.
pub fn studies_comparison_of(result: &StudiesComparison, again: Again<'_>) -> Document {
    of_studies(result, Some(again))
}

fn of_studies(result: &StudiesComparison, again: Option<Again<'_>>) -> Document {
    let all: Vec<&ComparisonBody> = result.arms.iter().map(|arm| &arm.comparison).collect();
    let left_out: Vec<String> =
        result.left_out.iter().map(|one| format!("`{}` ({})", one.arm, one.reason)).collect();
    let left_out = (!left_out.is_empty()).then(|| format!("arms not measured: {}", left_out.join(", ")));
    let mut document = document(result, &all, &result.studies, again, left_out);
    // Identical arms are the last in the table, and a note describes them.
    let others = all.iter().flat_map(|one| &one.subjects).filter(|subject| !subject.is_same);
    let rows: usize = others.map(|subject| subject.known_measures().count()).sum();
    document.most_rows = (rows > 0).then_some(rows + 1);
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The decisions of the comparisons of one study. Findings are included if they concern these arms, or differences between identical arms
/// in a measure of the comparisons. None if there are no comparisons.
pub fn decisions(comparisons: &[ComparisonBody], findings: &[Finding]) -> Option<Document> {
    let first = comparisons.first()?;
    let concerning: Vec<Finding> =
        findings.iter().filter(|finding| concerns(finding, comparisons)).cloned().collect();
    let mut document = Document::new(format!("study {}: decisions", first.study), "", Vec::new());
    document.answer.push(format!("Decisions about the arms of `{}`", first.study));
    document.table = Some(decided(comparisons));
    document.notes.extend(beside_same(&concerning));
    document.findings = FindingText::all_named(&concerning, |arm| name_of_arm(comparisons, arm));
    document.sections.extend(Section::of_sentences("Method", &[method(first)]));
    Some(document)
}

/// The name of an arm in the tables of these comparisons; none for an arm of no comparison.
fn name_of_arm<'a>(comparisons: impl IntoIterator<Item = &'a ComparisonBody>, arm: &str) -> Option<String> {
    let names = |one: &'a ComparisonBody| {
        std::iter::once(&one.reference).chain(one.subjects.iter().map(|subject| &subject.subject))
    };
    let mut all = comparisons.into_iter().flat_map(names);
    all.find(|one| one.arm == arm).map(|one| one.name.clone())
}

/// The check of identical arms. Its findings concern a measure of all arms.
const SAME_DIFFERS: &str = "same-differs";

/// The note on decisions in a measure in which identical arms differ; none if they differ in no measure.
fn beside_same(findings: &[Finding]) -> Option<String> {
    let note = "where an identical arm differs in a measure, differences that are no larger are undecided";
    findings.iter().any(|finding| finding.id == SAME_DIFFERS).then(|| note.to_owned())
}

/// True if a finding concerns an arm of the comparisons, or identical arms in one of their measures.
fn concerns(finding: &Finding, comparisons: &[ComparisonBody]) -> bool {
    let subjects = || comparisons.iter().flat_map(|one| &one.subjects);
    let Some(arm) = &finding.arm else {
        let mut measures = subjects().flat_map(ComparedSubject::known_measures);
        return finding.id == SAME_DIFFERS
            && measures.any(|measure| finding.measures.contains(&measure.measure()));
    };
    let references = comparisons.iter().map(|one| &one.reference);
    references.chain(subjects().map(|one| &one.subject)).any(|one| one.arm == *arm)
}

fn document<T: Body>(
    report: &Report<T>,
    results: &[&ComparisonBody],
    subjects: &[String],
    again: Option<Again<'_>>,
    left_out: Option<String>,
) -> Document {
    let (verdict, findings) = (report.verdict, report.findings.as_slice());
    let Some(first) = results.first() else {
        return Document::of(report, "compare", "", left_out.into_iter().collect());
    };
    let mut answers = sentences(results).into_iter();
    let answer = answers.by_ref().take(2).collect();
    // Its study is named after the command.
    let mut document = Document::of(report, format!("compare {}", subjects.join(" ")), "", answer);
    document.verdict =
        Some(Judgement { verdict, usable: usable::of_comparisons(verdict, findings, results) });
    document.findings = FindingText::all_named(findings, |arm| name_of_arm(results.iter().copied(), arm));
    document.plots.extend(charts::charts(results));
    // The decision stays if there is no room for all columns.
    document.table = Some(table(results).with_priority("decision", 0));
    let notes = answers.chain(legend(results)).chain(missing(results)).chain(beside_same(findings));
    document.notes = notes.chain(left_out).collect();
    document.next = Some(next(verdict, results, subjects, again));
    for (heading, lines) in results.iter().flat_map(|result| differences(result)) {
        let title = words::capitalised(heading.trim_end_matches(':'));
        document.sections.push(Section::new(title, vec![Block::Lines(lines)]));
    }
    document.sections.extend(Section::of_sentences("Method", &[method(first)]));
    document
}

/// File extensions of configurations, which can be priced.
const CONFIGURATIONS: [&str; 3] = [".yaml", ".yml", ".json"];

/// More rounds, if they would decide an undecided measure; otherwise the bill of a different configuration, or another sitting.
fn next(
    verdict: Verdict,
    results: &[&ComparisonBody],
    subjects: &[String],
    again: Option<Again<'_>>,
) -> Next {
    let anew = || format!("hoptax compare {}", command_line::path_words(subjects));
    let command = again.map_or_else(anew, |again| again.command.to_owned());
    if verdict == Verdict::Void {
        return Next::new(command, after_remedy(None));
    }
    let all = || results.iter().flat_map(|result| &result.subjects);
    let measured = results.iter().map(|result| result.rounds).max().unwrap_or_default();
    // Nobody asks about an identical arm: that its interval is still wide leaves no question open.
    let asked = all().filter(|subject| !subject.is_same);
    if let Some((rounds, purpose)) = deciding_rounds(asked, measured) {
        return Next::of_rounds(&command, again, rounds, &purpose);
    }
    let is_different = |subject: &&ComparedSubject| {
        let mut measures = subject.measures.iter();
        measures.any(|one| one.measure == CostMeasure::CpuUs && one.decision == Decision::Different)
    };
    let differing = all().filter(|subject| !subject.is_same).find(is_different);
    // An arm of a study file, `edge of new.yaml`, is none.
    let given = differing.map(|subject| &subject.subject.given).filter(|given| subjects.contains(given));
    match given.filter(|given| CONFIGURATIONS.iter().any(|ending| given.ends_with(ending))) {
        Some(given) => {
            let command = format!("hoptax price {}", command_line::path_word(given.as_ref()));
            Next::new(command, "measures what each of its parts costs")
        }
        None => Next::new(command, "decides again in another sitting, hours later"),
    }
}

/// The number of rounds, above the `measured` ones, that decides every undecided measure that rounds can decide, and which these are.
fn deciding_rounds<'a>(
    subjects: impl Iterator<Item = &'a ComparedSubject>,
    measured: u32,
) -> Option<(u32, String)> {
    let subjects: Vec<&ComparedSubject> = subjects.collect();
    let measures = subjects.iter().flat_map(|subject| subject.measures.iter().map(move |one| (subject, one)));
    let undecided: Vec<_> = measures.filter(|(_, one)| one.decision == Decision::Undecided).collect();
    // Nothing says how many rounds make an interval of a bound.
    let bounded: usize = subjects.iter().map(|subject| subject.bounds.len()).sum();
    let all_undecided = undecided.len() + bounded;
    let needed = |one: &ComparedMeasure| {
        more_rounds::within_reach(one.rounds_until_decided).filter(|rounds| *rounds > measured)
    };
    let rounds = undecided.iter().filter_map(|(_, one)| needed(one)).max()?;
    let decided: Vec<String> = undecided
        .iter()
        .filter(|(_, one)| needed(one).is_some())
        .map(|(subject, one)| format!("{} of `{}`", one.measure.words(), subject.subject.name))
        .collect();
    let which = match decided.len() {
        all if all == all_undecided => "what is undecided".to_owned(),
        1 | 2 => format!("{}, and no more of what is undecided", decided.join(" and ")),
        more => format!("{more} of {all_undecided} undecided measures"),
    };
    Some((rounds, format!("probably decides {which}")))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Bound, BoundOf, BoundShare, Measure, Measured, Severity};

    use super::*;
    use crate::comparison::fixture;
    use crate::fixture::STYLE;
    use crate::render::terminal;
    use crate::table::Cell;

    #[test]
    fn a_comparison_of_several_subjects() {
        insta::assert_snapshot!(terminal::screen(&comparison(&fixture::comparison()), STYLE));
    }

    #[test]
    fn a_difference_that_only_bounds_hold_is_an_undecided_row_in_grey() {
        let mut result = fixture::comparison();
        let bound = |measure, low, high| Bound::new(BoundOf::Cost, measure, low, high);
        result.subjects[0].bounds.extend(bound(CostMeasure::ResponseP99Us, Some(-20.0), Some(300.0)));
        result.subjects[2].bounds.extend(bound(CostMeasure::CpuUs, Some(-2.0), Some(30.0)));
        let share = BoundShare { measure: CostMeasure::CpuUs, low: Some(-0.05), high: Some(0.7) };
        result.subjects[2].bound_shares = vec![share];
        let document = comparison(&result);
        let table = document.table.as_ref().unwrap();
        let row = table.rows.iter().find(|row| row.cells[0].text() == "p99 of response time, us").unwrap();
        let texts: Vec<String> = row.cells.iter().map(Cell::text).collect();
        assert_eq!(texts[1..], ["-", "-20 to +300", "-", "undecided", ""]);
        assert!(row.cells[2].is_faint());
        let of_lua = table.rows.iter().find(|row| row.name == "lua").unwrap();
        assert_eq!([&of_lua.cells[2], &of_lua.cells[3]].map(Cell::text), ["-2 to +30", "-5 to +70 %"]);
        let missing = document.notes.iter().find(|note| note.starts_with("not compared: ")).unwrap();
        assert!(!missing.contains("p99 of response time,") && missing.contains("p90"), "{missing}");
        let sentence = "`lua`: undecided whether it costs as much as `old`: only bounds of the difference are known, -2 to +30 us of";
        let mut sentences = document.answer.iter().chain(&document.notes);
        assert!(sentences.any(|one| one.starts_with(sentence)), "{document:?}");
        let decided = decisions(&[result.body.clone()], &[]).unwrap();
        let table = decided.table.unwrap();
        assert!(table.texts(0).contains(&"-20 to +300 us undecided".to_owned()), "{table:?}");
    }

    #[test]
    fn what_limits_a_comparison_is_on_its_screen() {
        let mut result = fixture::comparison();
        let finding =
            Finding::new("x", Severity::Warn, Measured::us(1.0, 0.0), "the proxy waited".to_owned(), "");
        result.findings = vec![finding];
        let text = terminal::screen(&comparison(&result), STYLE);
        assert!(text.contains("  x: the proxy waited\n"), "{text}");
        let has_note = |result: &ComparisonResult| {
            comparison(result).notes.iter().any(|note| note.contains("identical arm differs"))
        };
        assert!(!has_note(&result));
        result.findings[0].id = SAME_DIFFERS.to_owned();
        assert!(has_note(&result));
    }

    #[test]
    fn a_narrow_table_keeps_the_shares_that_the_answer_states() {
        let mut result = fixture::comparison();
        result.subjects[0].subject.name = "a-configuration-of-thirty-char".to_owned();
        let text = terminal::screen(&comparison(&result), STYLE);
        assert!(text.contains("\ncolumns without room: old, rounds until decided\n"), "{text}");
        let row = text.lines().find(|line| line.starts_with("a-configuration")).unwrap();
        assert!(row.contains("-3.42 ±0.43") && row.contains("-7.10 ±0.90 %"), "{row}");
    }

    #[test]
    fn findings_name_subjects_as_the_table_does() {
        let finding = |arm: &str| {
            let one = Finding::new("x", Severity::Warn, Measured::us(1.0, 0.0), "late".to_owned(), "");
            Finding { arm: Some(arm.to_owned()), ..one }
        };
        let mut result = fixture::comparison();
        result.findings = vec![finding("A"), finding("B"), finding("baseline")];
        assert_eq!(comparison(&result).findings[0].scope, " [old, new, baseline]");
        let found = decisions(&[result.body.clone()], &result.findings).unwrap();
        assert_eq!(found.findings[0].scope, " [old, new]");
    }

    #[test]
    fn the_one_machine_that_all_were_measured_on_is_in_the_details() {
        let (mut result, mut studies) = (fixture::comparison(), fixture::studies());
        for environment in [&mut result.environment, &mut studies.environment] {
            environment.cpu_model = "A processor".to_owned();
        }
        for document in [comparison(&result), studies_comparison(&studies)] {
            let text = terminal::details(&document, STYLE);
            assert!(text.contains("Environment\n") && text.contains("A processor"), "{text}");
        }
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
        insta::assert_snapshot!(terminal::screen(&decisions(&all, &[]).unwrap(), STYLE));
        assert!(decisions(&[], &[]).is_none());
    }

    #[test]
    fn decisions_have_the_findings_about_their_arms_and_about_identical_ones() {
        let finding = |id: &str, arm: Option<&str>, measures: &[Measure]| {
            let nothing = Measured::us(1.0, 0.0);
            let one = Finding::new(id, Severity::Warn, nothing, format!("{id} was found"), "");
            Finding { arm: arm.map(str::to_owned), measures: measures.to_vec(), ..one }
        };
        let all = [fixture::comparison().body];
        let (reference, subject) = (all[0].reference.arm.as_str(), all[0].subjects[0].subject.arm.as_str());
        let shown = |one: Finding| {
            let document = decisions(&all, &[one]).unwrap();
            let has_note = document.notes.iter().any(|note| note.contains("identical arm differs"));
            (terminal::screen(&document, STYLE).contains(" was found"), has_note)
        };
        assert_eq!(shown(finding("same-differs", None, &[Measure::Cpu])), (true, true));
        // No comparison has that measure.
        assert_eq!(shown(finding("same-differs", None, &[Measure::ResponseQuietP99])), (false, false));
        assert_eq!(shown(finding("counters", Some(subject), &[])), (true, false));
        assert_eq!(shown(finding("counters", Some(reference), &[])), (true, false));
        assert_eq!(shown(finding("counters", Some("another"), &[])), (false, false));
        assert_eq!(shown(finding("steal", None, &[])), (false, false));
    }

    #[test]
    fn more_rounds_say_which_measures_they_decide() {
        let mut result = fixture::comparison();
        let mut measures = result.subjects.iter().flat_map(|subject| &subject.measures);
        let one = measures.find(|one| one.decision == Decision::Undecided).unwrap().clone();
        let name = result.subjects[0].subject.name.clone();
        let mut next = |needed: &[Option<u32>]| {
            let with = |rounds| ComparedMeasure { rounds_until_decided: rounds, ..one.clone() };
            result.subjects.truncate(1);
            result.subjects[0].measures = needed.iter().copied().map(with).collect();
            comparison(&result).next.unwrap()
        };
        let all = next(&[Some(30), Some(40)]);
        assert!(all.command.ends_with(" --rounds 40"), "{}", all.command);
        assert_eq!(all.purpose, "probably decides what is undecided");
        let some = next(&[Some(30), None, None]);
        assert!(some.command.ends_with(" --rounds 30"), "{}", some.command);
        let measure = one.measure.words();
        assert_eq!(
            some.purpose,
            format!("probably decides {measure} of `{name}`, and no more of what is undecided")
        );
        let three = next(&[Some(30), Some(31), Some(32), None]);
        assert_eq!(three.purpose, "probably decides 3 of 4 undecided measures");
        result.subjects[0].bounds.extend(Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(-2.0), None));
        let beside_a_bound = comparison(&result).next.unwrap();
        assert_eq!(beside_a_bound.purpose, "probably decides 3 of 5 undecided measures");
    }

    #[test]
    fn an_identical_arm_alone_is_no_reason_for_more_rounds() {
        let mut result = fixture::comparison();
        for subject in &mut result.subjects {
            for measure in &mut subject.measures {
                measure.rounds_until_decided = subject.is_same.then_some(40);
                if subject.is_same {
                    measure.decision = Decision::Undecided;
                }
            }
        }
        assert_eq!(comparison(&result).next.unwrap().command, "hoptax price conf/new.yaml");
    }

    #[test]
    fn the_next_step_decides_or_explains() {
        let mut result = fixture::comparison();
        let next = |result: &ComparisonResult| comparison(result).next.unwrap().command;
        assert!(next(&result).ends_with(" lua --rounds 140"), "{}", next(&result));
        let command = "hoptax compare old.yaml lua --margin 1%";
        let continued = Again { command, folder: "my runs/1".as_ref(), missing: None };
        assert_eq!(
            comparison_of(&result, continued).next.unwrap().command,
            "hoptax compare old.yaml lua --margin 1% --resume 'my runs/1' --rounds 140",
            "the measured rounds are kept"
        );
        let of_studies = studies_comparison_of(&fixture::studies(), continued).next.unwrap().command;
        assert!(of_studies.ends_with(" --margin 1% --resume 'my runs/1' --rounds 140"), "{of_studies}");
        for measure in result.subjects.iter_mut().flat_map(|subject| &mut subject.measures) {
            measure.rounds_until_decided = None;
        }
        assert_eq!(next(&result), "hoptax price conf/new.yaml");
        result.subjects[0].subject.given = "jwt".to_owned();
        assert_eq!(next(&result), "hoptax compare conf/old.yaml jwt conf/old.yaml+1.39.3 lua");
        let void = result.judged(Verdict::Void, Vec::new());
        assert_eq!(comparison(&void).next.unwrap().purpose, "measures again, after the remedy");
        let mut studies = fixture::studies();
        let subjects = studies.arms.iter_mut().flat_map(|arm| &mut arm.comparison.subjects);
        for measure in subjects.flat_map(|subject| &mut subject.measures) {
            measure.rounds_until_decided = None;
        }
        let of_studies = studies_comparison(&studies).next.unwrap().command;
        assert_eq!(of_studies, "hoptax compare old.yaml new.yaml");
    }
}
