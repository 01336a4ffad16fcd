//! Verdicts from findings, and the numbers that a finding withholds.

use hoptax_result::{Finding, Measure, Measured, Place, RoundMeasure, Severity, Verdict};

fn finding(severity: Severity) -> Finding {
    Finding::new("test", severity, Measured::count(0.0, 0.0, ""), String::new(), "")
}

#[test]
fn a_warning_is_a_caution_and_only_a_result_without_numbers_is_void() {
    assert_eq!(Verdict::from_findings(&[], false), Verdict::Sound);
    assert_eq!(Verdict::from_findings(&[finding(Severity::Info)], false), Verdict::Sound);
    for severity in [Severity::Warn, Severity::Fail] {
        assert_eq!(Verdict::from_findings(&[finding(severity)], false), Verdict::Caution);
    }
    assert_eq!(Verdict::from_findings(&[finding(Severity::Fail)], true), Verdict::Void);
}

/// A finding about the arm `whole` that withholds.
fn about_whole(measures: Vec<Measure>) -> Finding {
    let arm = Some("whole".to_owned());
    Finding { arm, measures, withholds: true, ..finding(Severity::Info) }
}

#[test]
fn a_finding_about_everything_under_one_load_withholds_measures_of_rounds() {
    let memory = Measure::OfRounds(RoundMeasure::MEMORY);
    let level = |arm, measure, load| Place { arm, compared_with: None, load, measure };
    let of_rounds = level("whole", memory, None);
    let difference = Place { arm: "part", compared_with: Some("whole"), ..of_rounds };
    let under = |measures| Finding { load: Some("saturation".to_owned()), ..about_whole(measures) };
    let errors = under(Vec::new());
    assert!(errors.withholds_number(&of_rounds) && errors.withholds_number(&difference));
    assert!(errors.withholds_number(&level("whole", Measure::Cpu, Some("saturation"))));
    assert!(!errors.withholds_number(&level("part", memory, None)), "another arm");
    assert!(!errors.withholds_number(&level("whole", Measure::Cpu, None)), "no measure of rounds");
    assert!(!errors.withholds_number(&level("whole", Measure::Cpu, Some("fixed-rate"))), "another load");
    assert!(!errors.withholds_number(&level("whole", memory, Some("course"))), "of another load alone");
    assert!(!under(Measure::TIMED.to_vec()).withholds_number(&of_rounds), "about times alone");
}

#[test]
fn a_finding_about_the_cost_of_an_arm_keeps_its_level_and_what_is_compared_with_it() {
    let finding = |costs_alone| Finding { costs_alone, ..about_whole(vec![Measure::Cpu]) };
    let place = |arm, compared_with| Place { arm, compared_with, load: None, measure: Measure::Cpu };
    let (level, cost) = (place("whole", None), place("whole", Some("baseline")));
    let (of_other, other) = (place("part", Some("whole")), place("part", None));
    for (costs_alone, withheld) in [(true, [false, true, false, false]), (false, [true, true, true, false])] {
        let found =
            [&level, &cost, &of_other, &other].map(|place| finding(costs_alone).withholds_number(place));
        assert_eq!(found, withheld, "{costs_alone}");
    }
}

#[test]
fn a_vague_level_is_missing_and_the_costs_that_are_compared_with_it_are_not() {
    let vague = Finding {
        id: Finding::VAGUE_LEVEL.to_owned(),
        withholds: false,
        ..about_whole(vec![Measure::ResponseP99])
    };
    let level = Place { arm: "whole", compared_with: None, load: None, measure: Measure::ResponseP99 };
    let cost = Place { arm: "part", compared_with: Some("whole"), ..level };
    assert!(vague.withholds_number_or_vague_level(&level) && !vague.withholds_number(&level));
    assert!(!vague.withholds_number_or_vague_level(&cost));
    let of_other = Place { measure: Measure::ResponseP50, ..level };
    assert!(!vague.withholds_number_or_vague_level(&of_other));
    let (withholding, silent) = (about_whole(Vec::new()), Finding { id: "steal".to_owned(), ..vague });
    assert!(withholding.withholds_number_or_vague_level(&cost));
    assert!(!silent.withholds_number_or_vague_level(&level), "a check that withholds nothing");
}
