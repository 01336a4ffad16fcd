//! The chart of a comparison: the difference of each measure with its interval, beside the margin and coloured by the decision.

use hoptax_result::{Bound, BoundShare, ComparedMeasure, ComparedSubject, ComparisonBody};

use crate::chart::{DifferenceRow, Differences, Outcome};
use crate::document::Section;
use crate::numbers::{decimals, difference, grouped};
use crate::quantity::Quantity;
use crate::rows::bounded;
use crate::sittings::{scaled, unit};

const PERCENT: f64 = 100.0;

/// The differences of all subjects, A/A arms last, and the bounds of those that have no interval; none without a measure.
pub(super) fn charts(results: &[&ComparisonBody]) -> Option<Section> {
    let first = results.first()?;
    let mut subjects: Vec<(&ComparisonBody, &ComparedSubject)> = Vec::new();
    for result in results {
        subjects.extend(result.subjects.iter().map(|subject| (*result, subject)));
    }
    subjects.sort_by_key(|(_, subject)| subject.is_same);
    let of_subject = |(result, subject): &(&ComparisonBody, &ComparedSubject)| {
        let own = format!("{}{}", subject.subject.name, if subject.is_same { " (A/A)" } else { "" });
        let name = match results {
            [_] => own,
            _ => format!("{own} against {}", result.reference.name),
        };
        let measures = subject.measures.iter().map(|one| row(&name, one));
        let bounds =
            subject.bounds.iter().map(|one| bounded_row(&name, one, subject.bound_share(one.measure)));
        measures.chain(bounds).collect::<Vec<DifferenceRow>>()
    };
    let rows: Vec<DifferenceRow> = subjects.iter().flat_map(of_subject).collect();
    let reference = match results {
        [one] => one.reference.name.as_str(),
        _ => "the reference",
    };
    let title = format!("Differences from {reference}");
    let chart = Differences {
        title: title.clone(),
        axis: format!("difference from {reference}, %"),
        margin: Some(PERCENT * first.margin_share),
        rows,
    };
    Section::of_differences(&title, chart)
}

fn row(subject: &str, one: &ComparedMeasure) -> DifferenceRow {
    let in_unit = scaled(one.difference, one.measure);
    let reference = grouped(one.reference * unit(one.measure), decimals(in_unit.half_width()));
    DifferenceRow {
        subject: subject.to_owned(),
        measure: one.measure.name().to_owned(),
        share: Quantity::difference(&one.difference_share.times(PERCENT), "%"),
        text: format!("{}: {} from {reference}", one.measure.words(), difference(&in_unit)),
        limit: None,
        outcome: one.decision.into(),
    }
}

/// A difference that only bounds hold, with its share of the reference, if that is known.
fn bounded_row(subject: &str, bound: &Bound, share: Option<&BoundShare>) -> DifferenceRow {
    DifferenceRow {
        subject: subject.to_owned(),
        measure: bound.measure.name().to_owned(),
        share: Quantity::bounded_percent(
            share.and_then(|share| share.low),
            share.and_then(|share| share.high),
        ),
        text: bounded(bound).with_unit(),
        limit: None,
        outcome: Outcome::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{BoundOf, ComparisonResult, CostMeasure};

    use super::*;
    use crate::chart::Chart;
    use crate::comparison::fixture;
    use crate::document::Block;
    use crate::quantity::Basis;

    fn differences(results: &[&ComparisonBody]) -> Option<Differences> {
        let section = charts(results)?;
        let [Block::Chart(chart)] = section.blocks.as_slice() else { panic!("{section:?}") };
        let Chart::Differences(differences) = chart.as_ref() else { panic!("{chart:?}") };
        Some(differences.clone())
    }

    #[test]
    fn every_measure_of_every_subject_has_a_row_with_its_decision_and_the_same_arm_is_last() {
        let result: ComparisonResult = fixture::comparison();
        let all = differences(&[&result.body]).unwrap();
        let measures: usize = result.subjects.iter().map(|subject| subject.measures.len()).sum();
        assert_eq!(all.rows.len(), measures);
        assert_eq!(all.margin, Some(PERCENT * result.margin_share));
        let same = result.subjects.iter().find(|subject| subject.is_same).unwrap();
        let marked = format!("{} (A/A)", same.subject.name);
        assert_eq!(all.rows.last().map(|row| &row.subject), Some(&marked));
        let first = result.subjects.iter().find(|subject| !subject.is_same).unwrap();
        let (row, measure) = (&all.rows[0], &first.measures[0]);
        assert_eq!(row.outcome, measure.decision.into());
        assert_eq!(row.share.estimate, Some(PERCENT * measure.difference_share.estimate));
    }

    #[test]
    fn a_difference_that_only_bounds_hold_has_a_row_with_its_ends() {
        let mut one = fixture::comparison().body;
        let measure = one.subjects[0].measures[0].measure;
        one.subjects[1].measures.retain(|other| other.measure != measure);
        one.subjects[1].bounds.extend(Bound::new(BoundOf::Cost, measure, None, Some(24.0)));
        one.subjects[1].bound_shares = vec![BoundShare { measure, low: None, high: Some(0.5) }];
        let unmeasured = Bound::new(BoundOf::Cost, CostMeasure::ResponseP99Us, None, Some(613.0));
        one.subjects[0].bounds.extend(unmeasured);
        let rows = differences(&[&one]).unwrap().rows;
        let bounds: Vec<&DifferenceRow> =
            rows.iter().filter(|row| row.share.basis != Basis::Measured).collect();
        let [share_unknown, share_known] = bounds.as_slice() else { panic!("{bounds:?}") };
        assert_eq!(share_known.share.text(), "≤ +50.0");
        assert_eq!((share_known.share.low, share_known.outcome), (None, Outcome::Undecided));
        assert_eq!((share_unknown.share.low, share_unknown.share.high), (None, None));
        assert_eq!(share_unknown.text, "≤ +613 us");
    }

    #[test]
    fn with_several_references_each_row_names_its_own() {
        let (one, mut other) = (fixture::comparison().body, fixture::comparison().body);
        other.reference.name = "elsewhere".to_owned();
        let all = differences(&[&one, &other]).unwrap();
        assert!(all.rows.iter().any(|row| row.subject.ends_with(" against elsewhere")));
        assert_eq!(all.axis, "difference from the reference, %");
    }

    #[test]
    fn without_a_measure_there_is_no_chart() {
        let mut one = fixture::comparison().body;
        one.subjects.clear();
        assert!(charts(&[&one]).is_none() && charts(&[]).is_none());
    }
}
