use hoptax_result::{BilledReplacement, BilledSum, Decision};

use super::*;
use crate::more_rounds;
use crate::render::{html, markdown, terminal};
use crate::{Style, documents};

/// A bill in each of its forms.
fn forms(bill: &BillResult) -> [String; 3] {
    let style = Style { width: 1_000, colour: false };
    let document = documents::bill(bill);
    [terminal::details(&document, style), markdown::text(&document), html::page(&document).unwrap()]
}

#[test]
fn each_form_says_what_exercises_a_part_without_a_statistic() {
    let mut bill = fixture::bill();
    bill.parts[0].activity = Activity::Unknown { exercised_by: Some("a request with a body".to_owned()) };
    for form in forms(&bill) {
        assert!(form.contains("lua (envoy.yaml:12): exercised by a request with a body"), "{form}");
    }
    // Of a part of an unknown type there is nothing to say.
    bill.parts[0].activity = Activity::Unknown { exercised_by: None };
    assert_eq!(without_statistic(&bill), Vec::<String>::new());
}

#[test]
fn a_part_whose_cost_may_be_zero_among_all_is_not_the_most_expensive() {
    let mut bill = fixture::bill();
    let said = |bill: &BillResult| sentences(bill).pop().unwrap();
    assert!(said(&bill).starts_with("The most expensive part is HTTP filter lua: "), "{}", said(&bill));
    bill.parts[0].cost.uncertain_signs = vec![CostMeasure::CpuShare];
    let line = said(&bill);
    assert!(line.starts_with("The most expensive part is HTTP filter rbac: "), "{line}");
    assert!(line.ends_with("; the intervals of lua overlap with it"), "{line}");
    bill.parts[1].cost.uncertain_signs = vec![CostMeasure::CpuUs];
    let line = said(&bill);
    assert!(
        line.starts_with("None of its parts is shown to cost CPU time; the highest estimate is that of HTTP filter lua: +31.2"),
        "{line}"
    );
}

#[test]
fn each_form_names_the_extensions_that_no_number_contains_because_they_cannot_run() {
    let mut bill = fixture::bill();
    let removed = BilledReplacement {
        place: "envoy.yaml:42".to_owned(),
        node: "HTTP filter signing".to_owned(),
        with: "removed: it asks for credentials".to_owned(),
        is_left_out: true,
    };
    bill.replacements.extend([removed.clone(), removed]);
    let line = "HTTP filter signing: no number includes it; removed: it asks for credentials";
    for form in forms(&bill) {
        assert_eq!(form.matches(line).count(), 1, "{form}");
    }
    let named = not_measured(&bill).join("\n");
    assert!(!named.contains("listener `edge`"), "what was only replaced is measured: {named}");
}

#[test]
fn a_sum_that_is_undecided_says_how_many_rounds_decide_it() {
    let mut bill = fixture::bill();
    let undecided = |sum: &mut BilledSum, rounds: Option<u32>| {
        (sum.decision, sum.rounds_until_decided) = (Decision::Undecided, rounds);
    };
    undecided(bill.sum.as_mut().unwrap(), Some(40));
    let second_study = bill.second_study.as_mut().unwrap();
    undecided(second_study.pairs[0].sum.as_mut().unwrap(), Some(30));
    let advice = |rounds: u32| format!("about {rounds} in all: `--rounds {rounds}`");
    let lines = adds_up(&bill);
    assert!(lines[0].contains(&advice(40)) && lines[2].contains(&advice(30)), "{lines:?}");
    // A bill that is continued has no fewer rounds than before.
    undecided(bill.sum.as_mut().unwrap(), Some(5));
    let line = &adds_up(&bill)[0];
    assert!(line.contains("about 5 in all: `--rounds 12`"), "{line}");
    for rounds in [None, Some(more_rounds::MOST + 1)] {
        undecided(bill.sum.as_mut().unwrap(), rounds);
        let line = &adds_up(&bill)[0];
        assert!(line.contains("use a quieter machine") && !line.contains("--rounds"), "{line}");
    }
}

#[test]
fn numbers_with_the_half_width_of_the_resolution_have_the_same_decimals() {
    for estimate in [200.0, 500.0] {
        let number = Interval::around(estimate, 0.1);
        assert_eq!(precise(&number, level), format!("{estimate}.00 ±0.10"));
    }
}

#[test]
fn small_numbers_reach_to_the_farther_end_of_their_interval() {
    let uneven = Interval::new(0.5, 0.45, 0.56);
    assert_eq!(precise(&uneven, level), "0.500 ±0.060");
}

#[test]
fn the_second_study_confirms_the_difference_of_the_first_or_does_not() {
    let mut bill = fixture::bill();
    let mut said = |decision: Decision, interaction_us: f64| {
        let again = bill.second_study.as_mut().unwrap().sum.as_mut().unwrap();
        again.decision = decision;
        again.interaction_us = Interval::around(interaction_us, 1.0);
        let line = adds_up(&bill).swap_remove(1);
        for form in forms(&bill) {
            assert!(form.contains(" second study of 12 rounds"), "{form}");
        }
        line
    };
    let not_confirmed = said(Decision::Equivalent, -0.5);
    assert!(
        not_confirmed.starts_with("a second study of 12 rounds does not confirm this: they cost ")
            && not_confirmed.ends_with(": they add up within 5 % of the whole"),
        "{not_confirmed}"
    );
    for (decision, interaction_us, judgement) in [
        (Decision::Equivalent, -3.0, "confirms this, but finds it small: they cost"),
        (Decision::Equivalent, 3.0, "contradicts this: they cost"),
        (Decision::Different, -11.6, "confirms this: they cost"),
        (Decision::Different, 11.6, "contradicts this: they cost"),
    ] {
        let line = said(decision, interaction_us);
        assert!(line.starts_with(&format!("a second study of 12 rounds {judgement}")), "{line}");
    }
    let undecided = said(Decision::Undecided, -6.0);
    assert!(undecided.starts_with("in a second study of 12 rounds, they cost"), "{undecided}");
    // An undecided first study has nothing to confirm.
    bill.sum.as_mut().unwrap().decision = Decision::Undecided;
    bill.second_study.as_mut().unwrap().sum.as_mut().unwrap().decision = Decision::Different;
    assert!(adds_up(&bill)[1].starts_with("in a second study"), "{:?}", adds_up(&bill));
}

#[test]
fn a_confirmed_difference_that_pairs_do_not_explain_is_said_to_come_from_others() {
    let mut bill = fixture::bill();
    let elsewhere = "the rest comes from other pairs, or from three parts";
    assert!(forms(&bill).iter().all(|form| !form.contains(elsewhere)));
    let mut pairs_are = |half_width: f64| {
        bill.second_study.as_mut().unwrap().pairs_us = Some(Interval::around(0.4, half_width));
        forms(&bill)
    };
    // A wide interval contains zero, and the difference as well.
    assert!(pairs_are(13.0).iter().all(|form| !form.contains(elsewhere)));
    assert!(pairs_are(1.4).iter().all(|form| form.contains(elsewhere)));
    bill.second_study.as_mut().unwrap().sum.as_mut().unwrap().decision = Decision::Equivalent;
    assert!(forms(&bill).iter().all(|form| !form.contains(elsewhere)));
}

#[test]
fn a_second_study_without_a_sum_is_said_to_say_nothing() {
    let mut bill = fixture::bill();
    bill.second_study.as_mut().unwrap().sum = None;
    assert!(forms(&bill).iter().all(|form| form.contains("does not say whether the parts add up")));
    bill.second_study.as_mut().unwrap().verdict = Verdict::Void;
    assert!(forms(&bill).iter().all(|form| form.contains("neither confirms this")));
}

#[test]
fn a_pair_that_interacts_within_the_margin_is_said_to_interact() {
    let mut bill = fixture::bill();
    let small = "they interact by less than 5 % of the whole";
    assert!(adds_up(&bill).iter().all(|line| !line.contains(small)));
    let sum = bill.second_study.as_mut().unwrap().pairs[0].sum.as_mut().unwrap();
    sum.decision = Decision::Equivalent;
    sum.interaction_us = Interval::new(-2.3, -3.0, -1.6);
    let line = &adds_up(&bill)[2];
    assert!(line.ends_with(&format!("difference -2.30 ±0.70 us: {small}")), "{line}");
}
