//! Counts of arms by the state of their cost.

use hoptax_result::{
    Bound, BoundOf, CostMeasure, Finding, HopUse, Interval, Measure, Measured, Severity, Standing,
    StudyResult, sample,
};

fn study(costs: &[Option<f64>]) -> StudyResult {
    let mut result = sample::study("sample", "2026-01-01T00:00:00Z", 1.0);
    let lua = result.arms[1].clone();
    result.arms.truncate(1);
    for (index, us) in costs.iter().enumerate() {
        let mut arm = lua.clone();
        arm.id = format!("lua#{index}");
        arm.hops = vec![HopUse::default()];
        arm.cost.cpu_us_per_request = us.map(|us| Interval::new(us, us, us));
        result.arms.push(arm);
    }
    result.findings.clear();
    result
}

fn of_cpu(result: &StudyResult) -> Standing {
    *result.standings().iter().find(|one| one.measure == CostMeasure::CpuUs).unwrap()
}

#[test]
fn costs_are_sound_doubted_bounded_or_withheld() {
    let mut result = study(&[Some(1.0), Some(2.0), None, None]);
    result.arms[3].bounds.0 =
        Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(1.0), None).into_iter().collect();
    let warning = Finding {
        arm: Some("lua#1".to_owned()),
        measures: vec![Measure::Cpu],
        ..Finding::new("test", Severity::Warn, Measured::us(2.0, 1.0), String::new(), "")
    };
    result.findings.push(warning.clone());
    let found = of_cpu(&result);
    assert_eq!((found.sound, found.doubted, found.bounded, found.withheld), (1, 1, 1, 1));
    assert_eq!(found.arms(), 4);
    // A warning about the whole study names no measure.
    result.findings = vec![Finding { arm: None, measures: Vec::new(), ..warning }];
    assert_eq!(of_cpu(&result).sound, 2);
}

#[test]
fn a_measure_that_no_arm_takes_is_not_judged() {
    let result = study(&[Some(1.0)]);
    let times = [CostMeasure::ResponseP50Us, CostMeasure::ResponseP99Us];
    let is_timed = |one: &Standing| times.contains(&one.measure);
    assert!(!result.standings().iter().any(is_timed), "{:?}", result.standings());
    let mut without = study(&[None]);
    without.arms[1].hops.clear();
    assert!(!without.standings().iter().any(|one| one.measure == CostMeasure::CpuUs));
}
