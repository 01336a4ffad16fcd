//! Ends, shares and sums of intervals.

use hoptax_result::Interval;

#[test]
fn the_range_that_a_reach_spans_holds_the_whole_interval() {
    for (low, high, reach) in
        [(4.0, 7.5, 2.0), (5.5, 9.0, 3.0), (5.0, 7.0, 1.0), (6.0, 6.0, 0.0), (7.0, 8.0, 2.0)]
    {
        let interval = Interval::new(6.0, low, high);
        assert!((interval.reach() - reach).abs() < 1e-12, "{interval:?}");
        let range = Interval::around(interval.estimate, interval.reach());
        assert!(range.contains(low) && range.contains(high), "{interval:?}");
        assert!(interval.reach() >= interval.half_width(), "{interval:?}");
    }
}

#[test]
fn a_share_reaches_from_the_least_quotient_to_the_greatest() {
    let (amount, interval) =
        (Interval::around(100.0, 20.0), |low: f64, high: f64| Interval::new(6.0, low, high));
    for (low, high, ends) in
        [(2.4, 9.6, (0.02, 0.12)), (-4.0, 9.6, (-0.05, 0.12)), (-9.6, -2.4, (-0.12, -0.02))]
    {
        let share = interval(low, high).share_of(&amount).unwrap();
        assert!((share.low - ends.0).abs() < 1e-12 && (share.high - ends.1).abs() < 1e-12, "{share:?}");
        assert!((share.estimate - 0.06).abs() < 1e-12);
    }
    assert_eq!(interval(1.0, 2.0).share_of(&Interval::around(10.0, 10.0)), None);
}

#[test]
fn ends_of_dependent_numbers_add_up_and_no_number_has_no_sum() {
    let interval =
        |estimate: f64, below: f64, above: f64| Interval::new(estimate, estimate - below, estimate + above);
    let one = interval(10.0, 3.0, 1.0);
    let sum = Interval::sum_of_dependent(&[one, interval(5.0, 4.0, 0.0)]);
    assert_eq!(sum, Some(interval(15.0, 7.0, 1.0)));
    assert_eq!(Interval::sum_of_dependent(&[one]), Some(one));
    assert_eq!(Interval::sum_of_dependent(&[]), None);
}

#[test]
fn an_interval_that_contradicts_itself_is_not_read() {
    let read = |text: &str| serde_json::from_str::<Interval>(text).map_err(|error| error.to_string());
    let one = r#"{"estimate":5.0,"low":4.0,"high":6.0"#;
    assert_eq!(read(&format!("{one}}}")), Ok(Interval::around(5.0, 1.0)));
    let reversed = read(r#"{"estimate":5.0,"low":6.0,"high":4.0}"#).unwrap_err();
    assert!(reversed.starts_with("the interval ends at 4, below its begin 6"), "{reversed}");
    for freedom in ["-3", "0"] {
        let refused = read(&format!("{one},\"degrees_of_freedom\":{freedom}}}")).unwrap_err();
        let expected = format!("degrees of freedom are above 0, and not {freedom}");
        assert!(refused.starts_with(&expected), "{refused}");
    }
    assert!(read(&format!("{one},\"degrees_of_freedom\":0.5}}")).is_ok());
    assert!(read(&format!("{one},\"other\":1}}")).unwrap_err().contains("unknown field `other`"));
}
