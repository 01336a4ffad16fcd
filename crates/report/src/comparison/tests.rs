use super::*;

#[test]
fn a_certain_difference_within_the_margin_is_equivalent_and_says_which_is_cheaper() {
    let result = fixture::comparison();
    let mut subject = result.subjects[0].clone();
    let share = Interval::new(0.011, 0.008, 0.014);
    let cpu = &mut subject.measures[0];
    let of = |share: f64| share * cpu.reference;
    cpu.difference = Interval::new(of(share.estimate), of(share.low), of(share.high));
    cpu.difference_share = share;
    cpu.decision = Decision::Equivalent;
    assert_eq!(
        sentence(&result, &subject),
        "`new` takes 1.10 ±0.30 % more CPU time per request than `old`, less than the margin of 2 %: they are equivalent"
    );
}

#[test]
fn a_decrease_is_stated_without_a_sign_and_with_its_whole_interval() {
    let mut cpu = fixture::comparison().subjects[0].measures[0].clone();
    cpu.difference_share = Interval::new(-0.071, -0.083, -0.062);
    assert_eq!(less_or_more(&cpu), "7.1 ±1.2 % less");
}

#[test]
fn an_undecided_measure_that_no_rounds_decide_says_so() {
    let mut body = fixture::comparison().body;
    body.subjects[0].measures[0].rounds_until_decided = None;
    let last = |body: &ComparisonBody| table(&[body]).texts(0).pop();
    assert_eq!(last(&body).as_deref(), Some(""));
    body.subjects[0].measures[0].decision = Decision::Undecided;
    assert_eq!(last(&body).as_deref(), Some("out of reach"));
    body.subjects[0].measures[0].rounds_until_decided = Some(1_040);
    assert_eq!(last(&body).as_deref(), Some("1,040"));
}
