//! Degrees of freedom of the numbers of several sittings as one result.

use hoptax_result::{
    ArmLoad, ArmResult, Borrowed, Contrast, CostMeasure, CostShare, Freedom, FreedomOf, Freedoms, Interval,
    StudyResult, sample,
};

const CPU: CostMeasure = CostMeasure::CpuUs;
const RATE: CostMeasure = CostMeasure::MaxRate;

/// Three sittings as one result, with these degrees of freedom of `lua` itself, and these under its load.
fn three(own: Vec<Freedom>, under: Vec<Freedom>) -> StudyResult {
    let mut result = sample::study("x", "2026-01-01T00:00:00Z", 10.0);
    result.sittings = vec![sample::sitting(10); 3];
    let lua = &mut result.arms[1];
    lua.freedoms = Freedoms(own);
    let share = Interval::around(-0.1, 0.01);
    let share = CostShare { measure: RATE, share, degrees_of_freedom: Some(4.5) };
    lua.cost.shares = [share].into_iter().collect();
    let cost = lua.cost.clone();
    let load = "saturation".to_owned();
    lua.loads = vec![ArmLoad { load, cost, freedoms: Freedoms(under), ..ArmLoad::default() }];
    result
}

/// The degrees of freedom of the level, the cost and the share of the cost in a measure.
fn found(result: &StudyResult, measure: CostMeasure, load: Option<&str>) -> (f64, f64, f64) {
    let level = Contrast { arm: "lua", other: None };
    let cost = Contrast { arm: "lua", other: Some("baseline") };
    (
        result.degrees_of_freedom(level, measure, load),
        result.degrees_of_freedom(cost, measure, load),
        result.degrees_of_freedom_of_share(cost, measure, load),
    )
}

#[test]
fn what_a_result_records_comes_before_what_borrows_and_before_the_number_of_sittings() {
    let own = vec![
        Freedom::new(FreedomOf::Level, CPU, 1.0),
        Freedom::new(FreedomOf::Cost, CPU, 9.0),
        Freedom::new(FreedomOf::Cost, CostMeasure::CpuShare, 8.0),
        Freedom::new(FreedomOf::CostShare, RATE, 7.0),
    ];
    let mut result = three(own, vec![Freedom::new(FreedomOf::Cost, RATE, f64::INFINITY)]);
    let borrowed = Borrowed { measure: CPU, degrees_of_freedom: 3.5 };
    result.arms[1].cost.borrowed = vec![borrowed];
    result.arms[1].loads[0].cost.borrowed = vec![borrowed];
    let load = Some("saturation");
    assert_eq!(found(&result, CPU, None), (1.0, 9.0, 8.0));
    assert_eq!(found(&result, RATE, None), (2.0, 2.0, 7.0));
    assert_eq!(found(&result, CPU, load), (2.0, 3.5, 2.0));
    assert_eq!(found(&result, RATE, load), (2.0, f64::INFINITY, 4.5));
}

#[test]
fn the_normal_distribution_is_null_and_results_without_a_record_are_read() {
    let own = vec![
        Freedom::new(FreedomOf::Cost, CPU, f64::INFINITY),
        Freedom::new(FreedomOf::CostShare, RATE, 7.5),
    ];
    let mut arm = three(own, Vec::new()).arms[1].clone();
    let text = serde_json::to_string(&arm).unwrap();
    let cost = r#"{"measure":"cpu_us","of":"cost","degrees_of_freedom":null}"#;
    let share = r#"{"measure":"max_rate","of":"cost_share","degrees_of_freedom":7.5}"#;
    let expected = format!(r#""freedoms":[{cost},{share}]"#);
    assert!(text.contains(&expected) && text.matches("freedoms").count() == 1, "{text}");
    assert_eq!(serde_json::from_str::<ArmResult>(&text).unwrap(), arm);
    let earlier: ArmResult = serde_json::from_str(&text.replace(&format!("{expected},"), "")).unwrap();
    arm.freedoms = Freedoms::default();
    assert_eq!(earlier, arm);
}
